"""Where sentences wait for a parser, in the parsing process.

Clients take turns, and so do the requests of each, by words; a request's sentences go to as many
parsers as are free. So that one can be stopped without the others, each is asked for one request at
a time.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from reranker.errors import InputError
from reranker.nbest import NBest, Rejected
from reranker.nbest.data import Sentence
from reranker.parsers.in_process import InProcessParser
from reranker.parsers.parser import Parser, root_of
from reranker.parsers.running import parsed, parsed_list
from reranker.process.cancellation import Cancellation
from reranker.service.children.faults import described
from reranker.service.children.reasons import BROKEN, for_log, presentable
from reranker.service.requests.texts import without_long_trees
from reranker.service.settings import Settings
from reranker.service.turns import Turns
from reranker.text.reading import TextSentence

AHEAD = 32
"""How many sentences of a request are parsed before those before them are scored."""

# A parser that takes no longer for what nobody waits for any more is not killed: it would have to
# load its model again.
_FINISHING_SECONDS = 1.0

# Whoever comes next waits for a batch, however many sentences a parser would take at once.
_MOST_AT_ONCE = 16

NOBODY = 0
"""The number of no request."""

Reply = tuple[int, str, object]
"""Of which request, of what kind, and a value: ``list`` (a list, and the seconds it took),
``refused`` (a ServiceError's arguments) and ``log`` (for the log)."""


@dataclass(eq=False)
class ParseWork:
    """The sentences of one request."""

    number: int
    client: str
    sentences: Sequence[TextSentence]
    cancellation: Cancellation = field(default_factory=Cancellation)
    given: int = 0
    """Sentences that a parser has been given."""
    scored: int = 0
    """Sentences that the service is done with."""
    size: int = 1
    """Of the next batch."""
    sizes: Iterator[int] = field(default_factory=lambda: iter(()))
    """Of those after it."""
    finished: dict[int, tuple[NBest, float]] = field(default_factory=dict)
    """Lists and how long they took, until those before them are finished."""
    sent: int = 0

    @property
    def waits(self) -> bool:
        """Whether there is something to do for it."""
        rest = len(self.sentences) - self.given
        # Not in driblets, since a program may take long to start.
        is_room = self.given + min(self.size, rest) <= self.scored + AHEAD
        return rest > 0 and is_room and not self.cancellation.is_cancelled


@dataclass(eq=False)
class _Slot:
    """A parser, and what it is working on."""

    parser: Parser | None = None
    is_asked: bool = False
    work: ParseWork | None = None


class ParseQueue:
    """``parsers`` threads, each with a parser of its own."""

    def __init__(
        self, settings: Settings, make_parser: Callable[[], Parser], send: Callable[[Reply], None]
    ) -> None:
        """``send`` is called by several threads, one after the other."""
        self._settings, self._make_parser, self._send = settings, make_parser, send
        self._changed = threading.Condition()
        self._works: dict[int, ParseWork] = {}
        self._clients: Turns[str] = Turns()
        self._requests: Turns[ParseWork] = Turns()
        self._is_closed = False
        self._has_parsed = False  # anything at all
        self._slots = [_Slot() for _ in range(settings.parsers)]
        for slot in self._slots:
            threading.Thread(target=self._run, args=(slot,), name="parsing", daemon=True).start()

    def try_parser(self, sentence: Sentence) -> None:
        """Make a first parser, before there are requests, and let it parse a sentence of ours, so
        that the first request need not wait for it. Raises what making it and ``Parser.parse``
        raise, and InputError if it has no tree for that sentence."""
        parser = self._slots[0].parser = self._make_parser()
        (answer,) = parser.parse([sentence])
        if isinstance(answer, str):
            raise InputError(f"the parser cannot parse {' '.join(sentence.words)!r}: {answer}")
        self._has_parsed = True

    def add(self, work: ParseWork) -> None:
        with self._changed:
            self._works[work.number] = work
            self._clients.join(work.client)
            self._requests.join(work)
            self._changed.notify_all()

    def scored(self, number: int, sentences: int) -> None:
        """The service is done with so many sentences of a request in all."""
        with self._changed:
            if work := self._works.get(number):
                work.scored = sentences
                self._changed.notify_all()

    def cancel(self, number: int) -> None:
        """Nobody waits for a request any more, or it is done."""
        with self._changed:
            work = self._works.pop(number, None)
            if work is None:
                return
            work.cancellation.cancel()
            self._requests.leave(work)
            if all(other.client != work.client for other in self._works.values()):
                self._clients.leave(work.client, will_be_back=True)
            for slot in self._slots:
                if slot.work is work:
                    later = threading.Timer(_FINISHING_SECONDS, self._stop, (slot, work))
                    later.daemon = True
                    later.start()

    def close(self) -> None:
        """End all parsers, at once."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            parsers = [slot.parser for slot in self._slots if slot.parser is not None]
        for parser in parsers:
            parser.stop()

    def _stop(self, slot: _Slot, work: ParseWork) -> None:
        """End the parser if it still works on what nobody waits for. One within this process cannot
        be: it goes on in any case, and a new one would only load the model once more."""
        with self._changed:
            is_here = isinstance(slot.parser, InProcessParser)
            if slot.work is not work or not slot.is_asked or is_here:
                return
            parser, slot.parser = slot.parser, None
        if parser is not None:
            parser.stop()

    # What follows runs in the threads.

    def _run(self, slot: _Slot) -> None:
        while (work := self._next(slot)) is not None:
            self._parse(slot, work)
            with self._changed:
                slot.work, slot.is_asked = None, False

    def _next(self, slot: _Slot) -> ParseWork | None:
        """Wait for something to do; None once the queue is closed."""
        with self._changed:
            while not self._is_closed:
                waiting = [work for work in self._works.values() if work.waits]
                if waiting and (slot.parser is not None or not self._others_are_free()):
                    work = slot.work = min(waiting, key=self._turn)
                    self._changed.notify_all()  # for those that waited since this one was free
                    return work
                self._changed.wait()
            return None

    def _others_are_free(self) -> bool:
        """Whether a parser waits that is loaded."""
        return any(slot.parser is not None and slot.work is None for slot in self._slots)

    def _turn(self, work: ParseWork) -> tuple[float, float]:
        return self._clients.given(work.client), self._requests.given(work)

    def _charge(self, work: ParseWork, words: float) -> None:
        if work.number in self._works:
            self._clients.give(work.client, words)
            self._requests.give(work, words)

    def _parse(self, slot: _Slot, work: ParseWork) -> None:
        try:
            parser = slot.parser = slot.parser or self._make_parser()
        except BaseException as error:
            self._log(error)
            return self._fail(work)
        with self._changed:
            if self._is_closed or not work.waits:  # another slot has just taken the rest
                return
            if work.given == 0:
                # Parsers share the small first batches.
                sizes = [min(_MOST_AT_ONCE, size) for size in parser.batch_sizes]
                each = itertools.chain.from_iterable([size] * len(self._slots) for size in sizes)
                work.sizes = itertools.chain(each, itertools.repeat(sizes[-1]))
                work.size = next(work.sizes)
            begin = work.given
            batch = work.sentences[begin : begin + work.size]
            work.given += len(batch)
            work.size = next(work.sizes)
            self._charge(work, sum(1 + len(each.sentence.words) for each in batch))
            slot.is_asked = True
        started = time.monotonic()
        lists = self._lists(slot, parser, work, batch)
        if lists is not None:
            self._finish(slot, begin, lists, (time.monotonic() - started) / len(lists))

    def _lists(
        self, slot: _Slot, parser: Parser, work: ParseWork, batch: Sequence[TextSentence]
    ) -> list[NBest] | None:
        """None if the request is over.

        After an error each sentence is given to a new parser by itself: what was wrong may be one
        of them, or what others had sent to the old parser before.
        """
        lists = self._asked(slot, parser, work, batch)
        if not isinstance(lists, BaseException):
            return lists
        error, root = lists, root_of(parser)
        found: list[NBest] = []
        for each in batch if len(batch) > 1 else ():
            if (alone := self._alone(slot, work, each, root)) is None:
                return None
            found += alone
        if isinstance(error, InputError) and not self._has_parsed:
            self._fail(work)
            return None
        return found or [parsed_list(each, each.problem or BROKEN, root) for each in batch]

    def _alone(
        self, slot: _Slot, work: ParseWork, each: TextSentence, root: str
    ) -> list[NBest] | None:
        """The list of one sentence; None if the request is over."""
        try:
            parser = slot.parser or self._make_parser()
        except BaseException as error:
            self._log(error)
            return [parsed_list(each, each.problem or BROKEN, root)]
        with self._changed:
            slot.parser = parser
            if self._is_over(work):
                return None
        lists = self._asked(slot, parser, work, [each])
        if isinstance(lists, BaseException):
            return [parsed_list(each, each.problem or BROKEN, root)]
        return lists

    def _asked(
        self, slot: _Slot, parser: Parser, work: ParseWork, batch: Sequence[TextSentence]
    ) -> list[NBest] | BaseException | None:
        """The lists, or what was raised, which is logged; None if the request is over."""
        try:
            lists = parsed(parser, batch)
        except BaseException as error:
            slot.parser = None
            parser.stop()
            if self._is_over(work):
                return None
            self._log(error)
            return error
        self._has_parsed = self._has_parsed or any(nbest.candidates for nbest in lists)
        return list(map(self._presentable, batch, lists))

    def _is_over(self, work: ParseWork) -> bool:
        return work.cancellation.is_cancelled or self._is_closed

    def _presentable(self, each: TextSentence, nbest: NBest) -> NBest:
        """Without trees beyond the limits, and without what is for the operator alone."""
        if each.problem is None:  # else it is we who say so
            nbest = replace(nbest, rejected=tuple(map(self._told, nbest.rejected)))
        return without_long_trees(nbest, self._settings.max_tree_tokens)

    def _told(self, entry: Rejected) -> Rejected:
        told = presentable(entry, self._settings.parser_choice.names)
        if told != entry:
            self._send((NOBODY, "log", for_log(entry, self._settings.log_text)))
        return told

    def _finish(self, slot: _Slot, begin: int, lists: Sequence[NBest], seconds: float) -> None:
        with self._changed:
            work, slot.work = slot.work, None  # free before its client can ask for more
            assert work is not None
            for place, nbest in enumerate(lists, begin):
                work.finished[place] = replace(nbest, id=str(place)), seconds
            while found := work.finished.pop(work.sent, None):
                self._send((work.number, "list", found))
                work.sent += 1

    def _fail(self, work: ParseWork) -> None:
        self._send((work.number, "refused", (503, "parser-failed", BROKEN, None)))
        self.cancel(work.number)

    def _log(self, error: BaseException) -> None:
        self._send((NOBODY, "log", described(error, with_text=self._settings.log_text)))
