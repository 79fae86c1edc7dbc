"""What ``/parse`` makes of a body: while sentences are parsed, those before them are scored, on the
same way as the lists of other requests."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import NamedTuple

from starlette.requests import Request

from reranker import Ranking, Weighing
from reranker.nbest import NBest
from reranker.ranking import Scored
from reranker.scoring.cancellation import Cancellation
from reranker.service import answers, bodies, schemas, streams
from reranker.service.lifecycle import Service
from reranker.service.parsing_process import Parse
from reranker.service.scoring_process import Served
from reranker.service.texts import TextOrder
from reranker.service.work import Work

# How often to look whether there is room among what waits to be scored.
_LOOKING_SECONDS = 0.05

_LOGGED = 2000  # bytes of a text


class _Given(NamedTuple):
    """A text, and what is to be done with it."""

    parse: Parse
    asked: schemas.AnyToParse
    warnings: list[str]
    sentences: int
    reranker: Served
    weighing: Weighing
    deadline: float


class Parsing:
    """A request for ``/parse``."""

    def __init__(self, request: Request, service: Service, query: schemas.ParseQuery) -> None:
        self._request, self._service, self._query = request, service, query
        self._usage: Counter[str] = Counter()

    async def job(self, body: bytes, reranker: Served, deadline: float) -> bytes | streams.Lines:
        """The answer; in lines, if they are wanted."""
        order = TextOrder(body, bodies.media_type(self._request), self._query)
        if self._service.settings.log_text:
            self._request.state.details["text"] = body[:_LOGGED].decode("utf-8", "replace")
        if streams.are_wanted(self._request):
            lines = self._lines(order, reranker, deadline)
            return streams.Lines(await anext(lines), lines)
        return await self._whole(order, reranker, deadline)

    async def _whole(self, order: TextOrder, reranker: Served, deadline: float) -> bytes:
        """What is written is held in memory until all of it is, and counts like the body."""
        size, written = len(order.body), list[bytes]()
        async with (
            self._parse(order, reranker, deadline) as given,
            contextlib.aclosing(self._written(given, answers.parsed_sentence)) as sentences,
        ):
            async for sentence in sentences:
                written.append(sentence)
                size += len(sentence)
                self._request.state.hold(size, 0)
        return answers.parse_answer(
            self._id, reranker, given.weighing, self._usage, written, given.warnings
        )

    async def _lines(
        self, order: TextOrder, reranker: Served, deadline: float
    ) -> AsyncGenerator[bytes]:
        async with (
            self._parse(order, reranker, deadline) as given,
            contextlib.aclosing(self._written(given, answers.sentence_line)) as lines,
        ):
            start = answers.parse_start_line(self._id, reranker, given.weighing, given.sentences)
            async for line in lines:
                yield start + line
                start = b""
        yield answers.parse_end_line(self._usage, given.warnings)

    @contextlib.asynccontextmanager
    async def _parse(
        self, order: TextOrder, reranker: Served, deadline: float
    ) -> AsyncGenerator[_Given]:
        """Cancelled when this ends. Raises ServiceError."""
        async with self._service.parsing.parse(order, self._request.state.client) as parse:
            text = await parse.read(deadline - time.monotonic())
            self._request.state.details.update(sentences=text.sentences, words=text.words)
            asked, warnings = text.reading.asked, text.reading.warnings
            weighing = reranker.weighing.replaced(asked.lm_weight, asked.criterion)
            yield _Given(parse, asked, warnings, text.sentences, reranker, weighing, deadline)

    async def _written(
        self, given: _Given, write: Callable[[Ranking, schemas.AnswerOptions], bytes]
    ) -> AsyncGenerator[bytes]:
        """What is written of each sentence, in order. Raises ServiceError."""
        service = self._service
        while lists := await given.parse.lists():
            work = await service.work(
                given.reranker,
                lists,
                given.deadline,
                self._request.state.client,
                given.asked.return_token_scores,
                size=0,
                is_admitted=True,
            )
            self._count(work)
            while not service.has_room(work):
                await asyncio.sleep(_LOOKING_SECONDS)
            async with contextlib.aclosing(service.scores(work)) as scores:
                for nbest in lists:
                    job = partial(self._ranked, given, nbest, await anext(scores), write)
                    yield await service.in_thread(job)

    def _ranked(
        self,
        given: _Given,
        nbest: NBest,
        scores: list[Scored],
        write: Callable[[Ranking, schemas.AnswerOptions], bytes],
        _: Cancellation,
    ) -> bytes:
        ranked = answers.rankings(given.reranker, [nbest], [scores], given.weighing)
        self._service.metrics.ranked(ranked, len(nbest.words))
        return write(ranked[0], given.asked)

    def _count(self, work: Work) -> None:
        self._usage.update(answers.usage(work))
        names = ("candidates", "rejected")
        self._request.state.details.update({name: self._usage[name] for name in names})

    @property
    def _id(self) -> str:
        request_id: str = self._request.state.request_id
        return request_id
