"""What ``/parse`` makes of a body: while sentences are parsed, those before them are scored, on the
same way as the lists of other requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import NamedTuple, cast

from starlette.requests import Request

from reranker import Ranking, Weighing
from reranker.nbest import NBest
from reranker.outputs.registry import format_ranking
from reranker.process.cancellation import Cancellation
from reranker.ranking import Scored
from reranker.service.children.parsing import ParsingProcess
from reranker.service.children.scoring import Served
from reranker.service.errors import ServiceError
from reranker.service.http import accepting, answers, streams
from reranker.service.lifecycle import Service
from reranker.service.requests import bodies, schemas
from reranker.service.requests.readings import Order
from reranker.text.reading import TextSentence

# How often to look whether there is room among what waits to be scored.
_LOOKING_SECONDS = 0.05

_LOGGED = 2000  # bytes of a text

CONLLU = "text/x-conllu"
"""Nobody has registered a media type for CoNLL-U."""

_FORMS = ("application/json", "text/plain", CONLLU, streams.LINES)

# Of the answers that are no JSON: what `rerank parse --output` calls them.
_OUTPUTS = {"text/plain": "best", CONLLU: "conllu"}

_NO_PARSER = (
    "this service has no parser: install the built-in one's model (pip install "
    "parse-reranker-models), or start `rerank serve` with --parser-model and a span model, or with "
    "--parser-command and a program that prints n-best lists"
)


class _Given(NamedTuple):
    """A text, and what is to be done with it."""

    sentences: list[TextSentence]
    asked: schemas.AnyToParse
    warnings: list[str]
    reranker: Served
    weighing: Weighing
    deadline: float


class Parsing:
    """A request for ``/parse``."""

    def __init__(self, request: Request, service: Service, query: schemas.ParseQuery) -> None:
        """Raises ServiceError 406 for a form of answer that there is not."""
        self._request, self._service, self._query = request, service, query
        self._form = accepting.chosen(request, _FORMS)
        self._usage: Counter[str] = Counter()

    async def job(
        self, body: bytes, reranker: Served, deadline: float
    ) -> bytes | streams.Text | streams.Lines:
        """The answer, in the form that the client takes."""
        if not self._service.has_parser:
            raise ServiceError(501, "no-parser", _NO_PARSER)
        if self._service.settings.log_text:
            self._request.state.details["text"] = body[:_LOGGED].decode("utf-8", "replace")
        given = await self._read(body, reranker, deadline)
        if self._form == streams.LINES:
            lines = self._lines(given)
            return streams.Lines(await anext(lines), lines)
        if (output := _OUTPUTS.get(self._form)) is not None:
            written = await self._whole(given, len(body), partial(_formatted, output))
            return streams.Text(b"".join(written), self._form)
        written = await self._whole(given, len(body), answers.parsed_sentence)
        return answers.parse_answer(
            self._id, reranker, given.weighing, self._usage, written, given.warnings
        )

    async def _read(self, body: bytes, reranker: Served, deadline: float) -> _Given:
        """Raises ServiceError."""
        media = bodies.media_type(self._request)
        reading = await self._service.read(Order("/parse", body, media, self._query))
        words = sum(len(each.sentence.words) for each in reading.sentences)
        self._request.state.details.update(sentences=len(reading.sentences), words=words)
        asked = cast(schemas.AnyToParse, reading.asked)
        weighing = reranker.weighing.replaced(asked.lm_weight, asked.criterion)
        return _Given(reading.sentences, asked, reading.warnings, reranker, weighing, deadline)

    async def _whole(
        self, given: _Given, size: int, write: Callable[[Ranking, schemas.ParseOptions], bytes]
    ) -> list[bytes]:
        """What is written of all sentences is held in memory, and counts like the body."""
        written = list[bytes]()
        async with contextlib.aclosing(self._written(given, write)) as sentences:
            async for sentence in sentences:
                written.append(sentence)
                size += len(sentence)
                self._request.state.hold(size, 0)
        return written

    async def _lines(self, given: _Given) -> AsyncGenerator[bytes]:
        async with contextlib.aclosing(self._written(given, answers.parsed_line)) as lines:
            start = answers.parse_start_line(
                self._id, given.reranker, given.weighing, len(given.sentences)
            )
            async for line in lines:
                yield start + line
                start = b""
        yield answers.parse_end_line(self._usage, given.warnings)

    async def _written(
        self, given: _Given, write: Callable[[Ranking, schemas.ParseOptions], bytes]
    ) -> AsyncGenerator[bytes]:
        """What is written of each sentence, in order. Raises ServiceError."""
        parsing = self._service.parsing
        scored = self._scored(given) if parsing is None else self._by_others(given, parsing)
        async with contextlib.aclosing(scored):
            async for nbest, scores in scored:
                self._count(nbest, scores)
                job = partial(self._ranked, given, nbest, scores, write)
                yield await self._service.in_thread(job)

    async def _scored(
        self, given: _Given, lists: Sequence[NBest] | None = None
    ) -> AsyncGenerator[tuple[NBest, list[Scored]]]:
        """The list of each sentence and its scores; with ``lists``, those of other parsers."""
        service = self._service
        work = await service.work(
            given.reranker,
            lists or (),
            given.deadline,
            self._request.state.client,
            given.asked.return_token_scores,
            size=0,
            is_admitted=lists is not None,
            sentences=given.sentences if lists is None else (),
        )
        while lists is not None and not service.has_room(work):
            await asyncio.sleep(_LOOKING_SECONDS)
        async with contextlib.aclosing(service.scores(work)) as scores:
            for place in range(work.count):
                scored = await anext(scores)
                yield work.list_of(place), scored

    async def _by_others(
        self, given: _Given, parsing: ParsingProcess
    ) -> AsyncGenerator[tuple[NBest, list[Scored]]]:
        """The same by other parsers than the built-in one."""
        client = self._request.state.client
        async with parsing.parse(given.sentences, client, given.deadline) as parse:
            while lists := await parse.lists():
                async with contextlib.aclosing(self._scored(given, lists)) as scored:
                    async for each in scored:
                        yield each

    def _ranked(
        self,
        given: _Given,
        nbest: NBest,
        scores: list[Scored],
        write: Callable[[Ranking, schemas.ParseOptions], bytes],
        _: Cancellation,
    ) -> bytes:
        ranked = answers.rankings(given.reranker, [nbest], [scores], given.weighing)
        self._service.metrics.ranked(ranked, len(nbest.words))
        return write(ranked[0], given.asked)

    def _count(self, nbest: NBest, scores: Sequence[Scored]) -> None:
        self._usage.update(answers.usage_of([nbest], [scores]))
        names = ("candidates", "rejected")
        self._request.state.details.update({name: self._usage[name] for name in names})

    @property
    def _id(self) -> str:
        request_id: str = self._request.state.request_id
        return request_id


def _formatted(output: str, ranking: Ranking, _: schemas.ParseOptions) -> bytes:
    return f"{format_ranking(ranking, output)}\n".encode("utf-8", "replace")
