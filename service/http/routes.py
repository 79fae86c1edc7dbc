"""What each path does. ``/rerank``, ``/parse``, ``/score`` and ``/validate`` read a body;
``/models``, ``/info``, ``/health`` and ``/metrics`` say what runs here and how it is."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, cast

from fastapi import Header, Query, Request
from fastapi.responses import Response
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from reranker import Ranking, Weighing
from reranker.nbest import FORMATS, NBest
from reranker.nbest.report import Report
from reranker.process.cancellation import Cancellation
from reranker.ranker import Ranker
from reranker.ranking import Scored
from reranker.service import VERSION
from reranker.service.children.scoring import Served
from reranker.service.errors import JSONLine, ServiceError
from reranker.service.http import answers, streams
from reranker.service.http.parse_route import Parsing
from reranker.service.lifecycle import Running, Service
from reranker.service.requests import bodies, schemas
from reranker.service.requests.readings import Order, Path, Reading
from reranker.service.requests.schemas import AnyRequest, Options
from reranker.service.scheduling.work import Work

# A header is there or not: no client should read that it may be "null".
Timeout = Annotated[
    Annotated[float, Field(gt=0, allow_inf_nan=False)] | SkipJsonSchema[None],
    Header(
        alias="X-Request-Timeout",
        description="seconds until the request is cancelled and answered 504",
    ),
]
Asking = Annotated[schemas.QueryOptions, Query()]
AskingToParse = Annotated[schemas.ParseQuery, Query()]

Answer = bytes | streams.Text | streams.Lines
Job = Callable[[bytes, Served, float], Coroutine[None, None, Answer]]
Scores = Sequence[list[Scored]]  # for each list, what the language models say of each candidate


async def rerank(
    request: Request, service: Running, query: Asking, timeout: Timeout = None
) -> Response:
    """Order the candidates of each sentence, best first.

    The body is JSON in one of four forms, or an n-best text in any dialect as `text/plain`, with
    the options in the query. A candidate that is not a tree is `rejected`; the others are still
    ranked.
    """
    bodies.check_media_type(request, "application/json", "text/plain")
    job = _scoring(request, service, _Reranking(request, service), query)
    return await _answer(request, service, timeout, job)


async def parse(
    request: Request, service: Running, query: AskingToParse, timeout: Timeout = None
) -> Response:
    """Parse text and rerank the trees of each sentence.

    The body is JSON with a `text`, with `sentences` or with the `tokens` of each, or text as
    `text/plain`, with the options in the query. A sentence that the parser cannot parse gets a flat
    tree (`fallback`), and `rejected` says why. `Accept` chooses JSON, the best trees alone, a line
    for each sentence (`text/plain`), or CoNLL-U (`text/x-conllu`).
    """
    bodies.check_media_type(request, "application/json", "text/plain")
    return await _answer(request, service, timeout, Parsing(request, service, query).job)


async def score(request: Request, service: Running, timeout: Timeout = None) -> Response:
    """The log-probability of each tree, in the order given."""
    bodies.check_media_type(request, "application/json")

    job = _scoring(request, service, _Scoring(request), None)
    return await _answer(request, service, timeout, job)


async def validate(
    request: Request, service: Running, query: Asking, timeout: Timeout = None
) -> Response:
    """What is in the lists and what is wrong with them; nothing is scored."""
    bodies.check_media_type(request, "application/json", "text/plain")

    def answer(reading: Reading, reranker: Ranker, cancellation: Cancellation) -> bytes:
        report = Report(reading.files)
        members = {member.name: member.vocabulary.is_unknown for member in reranker.members}
        report.count(cancellation.checked(reading.lists), members)
        return bytes(JSONLine(asdict(report)).body)

    async def job(body: bytes, reranker: Ranker, deadline: float) -> bytes:
        reading = await service.read(Order("/validate", body, bodies.media_type(request), query))
        return await service.in_thread(partial(answer, reading, reranker), len(body))

    return await _answer(request, service, timeout, job)


async def reload(request: Request, service: Running) -> Any:
    """Load models and keys again; needs an admin key. Requests under way are not disturbed."""
    service.keys.check_admin(request.headers)
    service.current()
    return {"models": answers.models(await service.reload())}


async def models(service: Running) -> Any:
    """The checkpoints of the ensemble."""
    reranker = service.current()
    return {
        "models": [
            {
                "name": member.name,
                "sha256": member.sha256,
                "vocabulary_size": len(member.vocabulary),
                "parameters": member.parameters,
            }
            for member in reranker.members
        ],
        "combine": reranker.combination,
    }


async def info(service: Running) -> Any:
    """Version, models, device, and every limit a request can meet."""
    reranker, settings = service.current(), service.settings
    return {
        "version": VERSION,
        "models": answers.models(reranker),
        "combine": reranker.combination,
        "device": reranker.device,
        "precision": reranker.precision,
        "formats": FORMATS,
        "parser": {
            "names": settings.parser_choice.names,
            "jobs": settings.parsers,
            "words": settings.words,
        }
        if service.has_parser
        else None,
        "limits": settings.limits,
        "batching": {
            "batch_tokens": settings.batch_tokens,
            "batch_wait_ms": settings.batch_wait_ms,
        },
        "workers": settings.workers,
    }


async def live(service: Running) -> Any:
    """Whether the process should be kept running."""
    if not service.is_alive:
        raise ServiceError(503, "dead", "the scoring thread cannot be restarted")
    return {"status": "live"}


async def ready(service: Running) -> Any:
    """Whether requests are accepted: from a first real score on, under any load."""
    service.check_ready()
    return {"status": "ready"}


async def metrics(service: Running) -> Response:
    """Counters in Prometheus's text format."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


async def _answer(request: Request, service: Service, timeout: float | None, job: Job) -> Response:
    """Run ``job`` on the body, until the deadline or until the client hangs up."""
    settings, client = service.settings, request.state.client
    seconds = min(timeout or settings.request_seconds, settings.max_request_seconds)
    deadline = request.state.arrived + seconds
    async with contextlib.AsyncExitStack() as held:
        try:
            reranker = held.enter_context(service.visit(client))
            hold = held.enter_context(service.body_bytes.held(client))
            request.state.hold = hold  # for answers that are much longer than their bodies
            count = held.enter_context(service.counting(bodies.media_type(request)))
            body = await bodies.read_body(request, settings, deadline, hold, count)
            content = await bodies.while_awaited(request, job(body, reranker, deadline), deadline)
        except bodies.ClientGone:
            service.metrics.dropped.labels("disconnect").inc()
            return Response(status_code=499)  # for the log; nobody reads it
        except ServiceError as error:
            if error.code == "deadline":
                service.metrics.dropped.labels("deadline").inc()
            raise
        return streams.Answer(content, request, service.metrics, deadline, held.pop_all())


class _Reranking:
    """What ``/rerank`` makes of a body, and of its scores."""

    path: Path = "/rerank"
    asked: AnyRequest
    warnings: Sequence[str] = ()

    def __init__(self, request: Request, service: Service) -> None:
        self._request, self._service = request, service

    def write(self, work: Work, scores: Scores) -> bytes:
        weighing = self._weighing(work)
        ranked = self._ranked(work, work.lists, scores, weighing)
        id = self._request.state.request_id
        return answers.rerank_answer(id, work, ranked, self.asked, weighing, self.warnings)

    def lines(self, work: Work) -> AsyncGenerator[bytes] | None:
        """The answer a sentence at a time; None if that is not wanted, or is not its form."""
        is_wanted = streams.are_wanted(self._request) and work.lists
        asked = self.asked
        return self._lines(work, asked) if is_wanted and isinstance(asked, Options) else None

    async def _lines(self, work: Work, asked: Options) -> AsyncGenerator[bytes]:
        weighing = self._weighing(work)
        start = answers.start_line(self._request.state.request_id, work, weighing)
        lists = iter(work.lists)

        def line(scored: list[Scored], _: Cancellation) -> bytes:
            (ranking,) = self._ranked(work, [next(lists)], [scored], weighing)
            return answers.sentence_line(ranking, asked)

        async with contextlib.aclosing(self._service.scores(work)) as scores:
            async for scored in scores:
                yield start + await self._service.in_thread(partial(line, scored))
                start = b""
        yield answers.end_line(self.warnings)

    def _weighing(self, work: Work) -> Weighing:
        return work.reranker.weighing.replaced(self.asked.lm_weight, self.asked.criterion)

    def _ranked(
        self, work: Work, lists: Sequence[NBest], scores: Scores, weighing: Weighing
    ) -> list[Ranking]:
        ranked = answers.rankings(work.reranker, lists, scores, weighing)
        words = sum(len(nbest.candidates[0].words) for nbest in lists if nbest.candidates)
        self._service.metrics.ranked(ranked, words)
        return ranked


class _Scoring:
    """What ``/score`` makes of a body, and of its scores."""

    path: Path = "/score"
    asked: schemas.ScoreRequest
    warnings: Sequence[str] = ()

    def __init__(self, request: Request) -> None:
        self._request = request

    def write(self, work: Work, scores: Scores) -> bytes:
        return answers.score_answer(self._request.state.request_id, work, scores, self.asked)

    def lines(self, work: Work) -> None:
        """Trees are scored in one answer."""


def _scoring(
    request: Request,
    service: Service,
    kind: _Reranking | _Scoring,
    query: schemas.QueryOptions | None,
) -> Job:
    """Reads a body, scores its lists and writes the answer, all outside of the event loop; in
    lines, if wanted and if the answer is one of sentences."""

    async def job(body: bytes, reranker: Served, deadline: float) -> bytes | streams.Lines:
        size = len(body)
        service.expect(size, request.state.client, deadline)
        reading = await service.read(Order(kind.path, body, bodies.media_type(request), query))
        lists, kind.warnings = reading.lists, reading.warnings
        kind.asked = cast(Any, reading.asked)  # of the path's own kind
        request.state.details.update(
            sentences=len(lists),
            candidates=sum(len(nbest.candidates) for nbest in lists),
            rejected=sum(len(nbest.rejected) for nbest in lists),
        )
        if service.settings.log_text:
            request.state.details["text"] = body[:2000].decode("utf-8", "replace")
        token_scores = getattr(kind.asked, "return_token_scores", False)
        client = request.state.client
        work = await service.work(reranker, lists, deadline, client, token_scores, size)
        if (others := kind.lines(work)) is not None:
            return streams.Lines(await anext(others), others)
        async with contextlib.aclosing(service.scores(work)) as scores:
            scored = [one async for one in scores]
        return await service.in_thread(lambda _: kind.write(work, scored), size)

    return job
