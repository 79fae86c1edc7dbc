"""The one path of ``/rerank``, ``/parse`` and ``/score``: a body is read, its lists arrive, are
scored and are written.

Lists come from the body, or from the built-in parser, which proposes trees where they are scored.
Reading, scoring and parsing run in children; the rest runs in threads, a few lists at a time.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import NamedTuple

from reranker.nbest import NBest
from reranker.parsers.language import LanguageCheck
from reranker.process.cancellation import Cancellation
from reranker.ranking import Scored
from reranker.service.children.scoring import Best, Models
from reranker.service.errors import RequestError
from reranker.service.http import answers, streams
from reranker.service.http.answers import AnswerWriter
from reranker.service.http.request_state import RequestState
from reranker.service.lifecycle import Service
from reranker.service.requests.reading import Body, Contents
from reranker.service.requests.schemas import ParseOptions, ScoreRequest

_LOGGED = 2000  # bytes of a text

_NO_PARSER = (
    "this service has no parser: install the built-in one's model (pip install "
    "parse-reranker-models), or start `rerank serve` with --parser-model and a span model; or POST "
    "the lists of another parser to /rerank"
)

Group = Sequence[tuple[NBest, Sequence[Scored | None]]]
"""Lists that are there at once, with their scores."""


class RankedRequest:
    """A request for trees in order, or for their scores."""

    def __init__(self, service: Service, state: RequestState, form: str) -> None:
        """Take the state of the request; ``form`` is the media type of the answer."""
        self._service, self._state, self._form = service, state, form
        self._usage = Counter[str]()

    async def answer(self, body: Body, models: Models, deadline: float) -> bytes | streams.Lines:
        """Return the answer to a body, in the form that the client takes; raises RequestError."""
        service, state = self._service, self._state
        size, form = len(body.content), self._form
        if body.path == "/parse" and not service.has_parser:
            raise RequestError(501, "no-parser", _NO_PARSER)
        if service.settings.log_text:
            text = body.content[:_LOGGED].decode(body.codec or "utf-8", "replace")
            state.details["text"] = text
        if body.path != "/parse":
            service.expect(size, state.client, deadline)
        contents = await service.readers.read(body, state.client)
        state.details.update(_counted(contents))
        if isinstance(contents.asked, ParseOptions) and not contents.asked.wants_language_models:
            models = models.for_text or models
        writer = answers.writer(form, state.request_id, models, contents.asked, contents.warnings)
        wanted = writer.best, writer.is_certainty_wanted
        given = _Given(contents, models, deadline, size, state.client, *wanted)
        if form == streams.LINES and writer.has_lines and (contents.lists or contents.sentences):
            lines = self._lines(given, writer)
            return streams.Lines(await anext(lines), lines)
        return await self._whole(given, writer)

    async def _whole(self, given: _Given, writer: AnswerWriter) -> bytes:
        """Return the whole answer. The written sentences of a text, and drawings, count like the
        body, which is far shorter."""
        entries = list[bytes]()
        size = given.size
        async with contextlib.aclosing(self._written(given, writer)) as groups:
            async for group in groups:
                entries += group
                size += sum(map(len, group))
                if given.contents.sentences or writer.has_drawings:
                    self._state.reserve(size, 0)

        def whole(_: Cancellation) -> bytes:
            return writer.whole(entries, self._usage or answers.usage_of([], 0))

        return await self._service.in_thread(whole, given.size)

    async def _lines(self, given: _Given, writer: AnswerWriter) -> AsyncGenerator[bytes]:
        sentences, start = len(given.contents.sentences), b""
        async with contextlib.aclosing(self._written(given, writer)) as groups:
            async for group in groups:
                lines = [*map(writer.line, group)]
                if not start:
                    start = writer.start_line(None if sentences else self._known, sentences)
                    lines.insert(0, start)
                yield b"".join(lines)
        yield writer.end_line(self._usage if sentences else None)

    async def _written(self, given: _Given, writer: AnswerWriter) -> AsyncGenerator[list[bytes]]:
        """Yield the written lists, in order, a few at a time, and count the lists."""
        service, place = self._service, 0
        parser = given.models.parser if given.contents.sentences else None
        check = LanguageCheck(parser.language, parser.unknown_words) if parser else None
        work = await service.work(*given)
        self._known = answers.usage_of(work.lists, work.tokens)
        async with contextlib.aclosing(service.engines.score(work)) as groups:
            async for group in groups:
                job = partial(self._write, writer, group, place, check)
                yield await service.in_thread(job, given.size)
                place += len(group)
        if check is not None:
            writer.warn(check.end())

    def _write(
        self,
        writer: AnswerWriter,
        group: Group,
        place: int,
        check: LanguageCheck | None,
        cancellation: Cancellation,
    ) -> list[bytes]:
        ranked = [writer.rank(nbest, scores) for nbest, scores in group]
        if check is not None:
            for nbest, _scores in group:
                writer.warn(check.add("text", nbest.words))
        if not isinstance(writer.asked, ScoreRequest):
            self._service.metrics.ranked(ranked, sum(len(nbest.words) for nbest, _ in group))
        self._usage.update(answers.usage_of_lists([nbest for nbest, _ in group]))
        names = ("candidates", "rejected")
        self._state.details.update({name: self._usage[name] for name in names})
        written = zip(ranked, (nbest for nbest, _ in group), strict=True)
        return [
            writer.entry(number, ranking, nbest)
            for number, (ranking, nbest) in enumerate(cancellation.until_cancelled(written), place)
        ]


class _Given(NamedTuple):
    """The arguments of ``Service.work``: lists or sentences to be scored, the models for them, the
    bytes of the body, and the parts of an answer that are wanted."""

    contents: Contents
    models: Models
    deadline: float
    size: int
    client: str
    best: Best | None
    is_certainty_wanted: bool


def _counted(contents: Contents) -> dict[str, int]:
    """Return the counts of a body for the log."""
    if contents.sentences:
        words = sum(len(each.sentence.words) for each in contents.sentences)
        return {"sentences": len(contents.sentences), "words": words}
    known = answers.usage_of(contents.lists, 0)
    return {name: known[name] for name in ("sentences", "candidates", "rejected")}
