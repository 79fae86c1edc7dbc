"""What runs in the parsing child, for other parsers than the built-in one: sentences become n-best
lists, mostly in processes of the parsers' own. Each lane has a parser."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from reranker.errors import InputError
from reranker.nbest import NBest, Rejected
from reranker.nbest.data import Sentence
from reranker.nbest.dialects.registry import DIALECTS
from reranker.parsers.in_process import InProcessParser
from reranker.parsers.parser import Parser, root_of
from reranker.parsers.running import parsed, parsed_list
from reranker.process.cancellation import Stopped
from reranker.process.memory import periodic_memory_return, share_freed_memory
from reranker.service.children.child import Lane, Request, serve
from reranker.service.children.reasons import BROKEN, for_log, presentable, without_long_trees
from reranker.service.errors import RequestError, described
from reranker.service.settings import Settings
from reranker.text.reading import TextSentence

# A parser that takes no longer for a request that was cancelled is not ended: it would have to load
# its model again.
_FINISHING_SECONDS = 1.0

_FIRST = Sentence.of(("It", "runs", "."))


def lanes(at_end: contextlib.ExitStack, settings: Settings) -> list[Lane]:
    """``at_end`` gets what ends the parsers and removes what is temporary, such as a model that is
    unpacked: nothing is tidied up after ``_exit``."""
    with contextlib.suppress(OSError):  # only some parsers need a folder
        tempfile.tempdir = tempfile.mkdtemp(prefix="parse-reranker-")
        at_end.callback(shutil.rmtree, tempfile.tempdir, ignore_errors=True)
    made = [ParsingLane(settings, partial(parser_of, settings)) for _ in range(settings.parsers)]
    for lane in made:
        at_end.callback(lane.stop)
    return [lane.serve for lane in made]


def parser_of(settings: Settings) -> Parser:
    """The parser that the settings name. Raises InputError."""
    form = settings.parser_format
    if form in DIALECTS and DIALECTS[form].needs_beam and not settings.parser_beam:
        raise InputError(f"--parser-format {form} needs --parser-beam K")
    return settings.parser_choice.create()


class ParsingLane:
    """A parser, made when it is first needed and again after it has failed."""

    has_parsed = False
    """Whether any parser of this process has parsed anything."""

    def __init__(self, settings: Settings, make_parser: Callable[[], Parser]) -> None:
        self._settings, self._make_parser = settings, make_parser
        self._lock = threading.Lock()
        self._parser: Parser | None = None
        self._request: Request | None = None  # that the parser works on
        self._faults: list[dict[str, str]] = []

    def serve(self, request: Request) -> Sequence[int] | list[NBest]:
        """What the service asks: None tries the parser out, before there are requests, and gets its
        ``batch_sizes``; sentences are parsed. What is for the log is sent before the reply.

        Raises InputError for a parser that does not work when it is tried, RequestError 503 if
        nothing has ever been parsed, and Stopped if cancelled.
        """
        if request.value is None:
            return self._try()
        batch: Sequence[TextSentence] = request.value
        if request.is_cancelled:
            raise Stopped
        self._faults, self._request = [], request
        request.on_cancel = lambda: self._end_later(request)
        try:
            return self._lists(request, batch)
        finally:
            if self._faults:
                request.progress(self._faults)
            with self._lock:
                self._request = None

    def stop(self) -> None:
        with self._lock:
            parser, self._parser = self._parser, None
        if parser is not None:
            parser.stop()

    def _try(self) -> Sequence[int]:
        parser = self._parser = self._parser or self._make_parser()
        (answer,) = parser.parse([_FIRST])
        if isinstance(answer, str):
            raise InputError(f"the parser cannot parse {' '.join(_FIRST.words)!r}: {answer}")
        ParsingLane.has_parsed = True
        return parser.batch_sizes

    def _end_later(self, request: Request) -> None:
        """End the parser if it does not finish soon. One within this process cannot be ended: it
        goes on in any case, and a new one would only load the model once more."""

        def end() -> None:
            with self._lock:
                is_here = isinstance(self._parser, InProcessParser)
                if self._request is not request or is_here:
                    return
            self.stop()

        later = threading.Timer(_FINISHING_SECONDS, end)
        later.daemon = True
        later.start()

    def _lists(self, request: Request, batch: Sequence[TextSentence]) -> list[NBest]:
        """After an error each sentence is given to a new parser by itself: what was wrong may be
        one of them, or what others had sent to the old parser before."""
        try:
            root = root_of(self._made())
        except Exception as error:
            self._log(error)
            raise _BROKEN from error
        answer = self._asked(request, batch)
        if isinstance(answer, list):
            return answer
        lists = [self._alone(request, each, root) for each in batch if len(batch) > 1]
        if isinstance(answer, InputError) and not self.has_parsed:
            raise _BROKEN
        return lists or [_broken(each, root) for each in batch]

    def _alone(self, request: Request, each: TextSentence, root: str) -> NBest:
        answer = self._asked(request, [each])
        return answer[0] if isinstance(answer, list) else _broken(each, root)

    def _made(self) -> Parser:
        if self._parser is None:
            self._parser = self._make_parser()
        return self._parser

    def _asked(self, request: Request, batch: Sequence[TextSentence]) -> list[NBest] | Exception:
        """The lists, or what was raised, which is logged. Raises Stopped if cancelled."""
        parser = None
        try:
            parser = self._made()
            lists = parsed(parser, batch)
        except Exception as error:
            self.stop()
            if parser is not None:
                parser.stop()
            if request.is_cancelled:
                raise Stopped from error
            self._log(error)
            return error
        ParsingLane.has_parsed = self.has_parsed or any(nbest.candidates for nbest in lists)
        return list(map(self._presentable, batch, lists))

    def _presentable(self, each: TextSentence, nbest: NBest) -> NBest:
        """Without trees beyond the limits, and without what is for the operator alone."""
        if each.problem is None:  # else it is we who say so
            nbest = replace(nbest, rejected=tuple(map(self._for_clients, nbest.rejected)))
        return without_long_trees(nbest, self._settings.max_tree_tokens)

    def _for_clients(self, entry: Rejected) -> Rejected:
        shown = presentable(entry, self._settings.parser_choice.names)
        if shown != entry:
            self._faults.append(for_log(entry, self._settings.log_text))
        return shown

    def _log(self, error: BaseException) -> None:
        self._faults.append(described(error, with_text=self._settings.log_text))


_BROKEN = RequestError(503, "parser-failed", BROKEN, retry_after=5)


def _broken(each: TextSentence, root: str) -> NBest:
    return parsed_list(each, each.problem or BROKEN, root)


if __name__ == "__main__":
    share_freed_memory(1)  # threads take turns in Python anyway
    stack = contextlib.ExitStack()
    serve(partial(lanes, stack), periodic_memory_return(), stack.close)
