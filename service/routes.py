"""What each path does. ``/rerank``, ``/score`` and ``/validate`` read a body; ``/models``,
``/info``, ``/health`` and ``/metrics`` say what runs here and how it is."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import Header, Query, Request
from fastapi.responses import Response
from pydantic import Field, TypeAdapter
from pydantic.json_schema import SkipJsonSchema

from reranker import Reranker
from reranker.nbest import FORMATS, NBest
from reranker.nbest.report import Report
from reranker.scoring.lanes import Cancellation
from reranker.service import answers, bodies, counting, schemas
from reranker.service.errors import JSONLine, ServiceError
from reranker.service.lifecycle import Running, Service
from reranker.service.lists import read_lists, read_trees
from reranker.service.queue import Scores

_SCORE_BODY = TypeAdapter(schemas.ScoreRequest)

# A header is there or not: no client should read that it may be "null".
Timeout = Annotated[
    Annotated[float, Field(gt=0, allow_inf_nan=False)] | SkipJsonSchema[None],
    Header(
        alias="X-Request-Timeout",
        description="seconds until the request is cancelled and answered 504",
    ),
]
Options = Annotated[schemas.QueryOptions, Query()]

Asked = TypeVar("Asked", schemas.AnyRequest, schemas.ScoreRequest)
Job = Callable[[bytes, Reranker, float], Coroutine[None, None, bytes]]


async def rerank(
    request: Request, service: Running, query: Options, timeout: Timeout = None
) -> Response:
    """Order the candidates of each sentence, best first.

    The body is JSON in one of four forms, or an n-best text in any dialect as `text/plain`, with
    the options in the query. A candidate that is not a tree is `rejected`; the others are still
    ranked.
    """
    bodies.check_media_type(request, "application/json", "text/plain")
    warnings: list[str] = []

    def read(body: bytes, cancellation: Cancellation) -> tuple[schemas.AnyRequest, list[NBest]]:
        asked = bodies.parse_lists(body, bodies.media_type(request), query, cancellation)
        lists = read_lists(asked, service.settings, warnings.append, cancellation=cancellation)
        return asked, lists

    def write(
        reranker: Reranker,
        lists: list[NBest],
        scores: Scores,
        asked: schemas.AnyRequest,
        tokens: int,
    ) -> bytes:
        weighing = reranker.weighing.replaced(asked.lm_weight, asked.criterion)
        ranked = answers.rankings(reranker, lists, scores, weighing)
        words = sum(len(nbest.candidates[0].words) for nbest in lists if nbest.candidates)
        service.metrics.ranked(ranked, words)
        return answers.rerank_answer(
            request.state.request_id, reranker, lists, ranked, asked, weighing, tokens, warnings
        )

    return await _answer(request, service, timeout, _scoring(request, service, read, write))


async def score(request: Request, service: Running, timeout: Timeout = None) -> Response:
    """The log-probability of each tree, in the order given."""
    bodies.check_media_type(request, "application/json")

    def read(body: bytes, cancellation: Cancellation) -> tuple[schemas.ScoreRequest, list[NBest]]:
        asked = bodies.parse(_SCORE_BODY, body, cancellation)
        return asked, read_trees(asked, service.settings, cancellation)

    write = partial(answers.score_answer, request.state.request_id)
    return await _answer(request, service, timeout, _scoring(request, service, read, write))


async def validate(
    request: Request, service: Running, query: Options, timeout: Timeout = None
) -> Response:
    """What is in the lists and what is wrong with them; nothing is scored."""
    bodies.check_media_type(request, "application/json", "text/plain")

    def answer(body: bytes, reranker: Reranker, cancellation: Cancellation) -> bytes:
        asked = bodies.parse_lists(body, bodies.media_type(request), query, cancellation)
        report = Report()
        lists = read_lists(
            asked, service.settings, lambda _: None, report.files.append, cancellation
        )
        members = {member.name: member.vocabulary.is_unknown for member in reranker.members}
        report.count(lists, members)
        return JSONLine(asdict(report)).body  # type: ignore[return-value]

    async def job(body: bytes, reranker: Reranker, deadline: float) -> bytes:
        return await service.in_thread(partial(answer, body, reranker))

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
                "parameters": sum(weight.numel() for weight in member.model.parameters()),
            }
            for member in reranker.members
        ],
        "combine": reranker.combination,
    }


async def info(service: Running) -> Any:
    """Version, models, device, and every limit a request can meet."""
    reranker, settings = service.current(), service.settings
    return {
        "version": answers.VERSION,
        "models": answers.models(reranker),
        "combine": reranker.combination,
        "device": reranker.device,
        "precision": reranker.precision,
        "formats": FORMATS,
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
    settings = service.settings
    seconds = min(timeout or settings.request_seconds, settings.max_request_seconds)
    deadline = request.state.arrived + seconds
    try:
        with service.visit() as reranker, service.body_bytes.held() as hold:
            count = counting.of(bodies.media_type(request), settings)
            body = await bodies.read_body(
                request, settings, deadline, hold, partial(service.count, count)
            )
            content = await bodies.while_awaited(request, job(body, reranker, deadline), deadline)
    except bodies.ClientGone:
        service.metrics.dropped.labels("disconnect").inc()
        return Response(status_code=499)  # for the log; nobody reads it
    except ServiceError as error:
        if error.code == "deadline":
            service.metrics.dropped.labels("deadline").inc()
        raise
    return Response(content, media_type="application/json")


def _scoring(
    request: Request,
    service: Service,
    read: Callable[[bytes, Cancellation], tuple[Asked, list[NBest]]],
    write: Callable[[Reranker, list[NBest], Scores, Asked, int], bytes],
) -> Job:
    """Reads a body, scores its lists and writes the answer, all outside of the event loop."""

    async def job(body: bytes, reranker: Reranker, deadline: float) -> bytes:
        asked, lists = await service.in_thread(partial(read, body))
        request.state.details.update(
            sentences=len(lists),
            candidates=sum(len(nbest.candidates) for nbest in lists),
            rejected=sum(len(nbest.rejected) for nbest in lists),
        )
        if service.settings.log_text:
            request.state.details["text"] = body[:2000].decode("utf-8", "replace")
        token_scores = getattr(asked, "return_token_scores", False)
        scores, tokens = await service.score(reranker, lists, deadline, token_scores)
        return await service.in_thread(lambda _: write(reranker, lists, scores, asked, tokens))

    return job
