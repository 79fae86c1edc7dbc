"""Messages of commands, and their progress, which is shown on a terminal only."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Self, TypeVar

from reranker.commands.endings import deferred
from reranker.files.visible import visible, visible_message
from reranker.work.loop import Progress, Source

if TYPE_CHECKING:
    from tqdm import tqdm

T = TypeVar("T")

SHOWN_REJECTIONS = 10
_TO_LINE_START_AND_CLEAR = "\r\x1b[K"


class _Rejections:
    """The number of rejections that this command has printed, and the number that it has left out
    since ``count_rejections`` was called last."""

    shown = left_out = 0


def message(text: str) -> None:
    """Print a message to standard error, above a progress bar if there is one."""
    count_rejections()
    _print(text)


def rejection(text: str) -> None:
    """Print a message about a rejected tree, line or file, as ``message`` does. A command prints
    ten; ``count_rejections`` prints the number of the others."""
    if _Rejections.shown < SHOWN_REJECTIONS:
        _Rejections.shown += 1
        _print(text)
    else:
        _Rejections.left_out += 1


def count_rejections() -> None:
    """Print how many rejections were left out, if there are any."""
    number, _Rejections.left_out = _Rejections.left_out, 0
    if number:
        _print(f"rerank: ... and {number:,} more")


def start_messages() -> None:
    """Begin a command: none of its rejections is printed yet."""
    _Rejections.shown = _Rejections.left_out = 0


def _print(text: str) -> None:
    if _is_terminal():
        from tqdm import tqdm

        tqdm.write(visible_message(text), file=sys.stderr)
    else:
        print(visible_message(text), file=sys.stderr)


class MessageHandler(logging.Handler):
    """Prints log records as ``message`` does; warnings, of which there may be many, as
    ``rejection`` does. Of other packages' records, such as matplotlib's on its fonts, it prints
    none but warnings and errors."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING and not record.name.startswith("reranker"):
            return
        (rejection if record.levelno == logging.WARNING else message)(self.format(record))


@contextlib.contextmanager
def logged_messages() -> Iterator[None]:
    """Print log records until the context ends."""
    root, package = logging.getLogger(), logging.getLogger("reranker")
    handler, level = MessageHandler(), package.level
    handler.setFormatter(logging.Formatter("rerank: %(message)s"))
    root.addHandler(handler)
    package.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        package.setLevel(level)


@contextlib.contextmanager
def status(text: str) -> Iterator[None]:
    """Show a line on a terminal until the context ends."""
    if not _is_terminal():
        yield
        return
    print(visible(text), end=" ", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # the terminal is gone
            print(_TO_LINE_START_AND_CLEAR, end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def loading(what: str) -> Iterator[None]:
    """Show that PyTorch or models are being loaded; interruptions are deferred until that is
    done."""
    with deferred(), status(f"loading {what}"):
        yield


class ProgressBar(Progress):
    """The progress through n-best files or texts: a bar, the number of finished sentences, their
    rate and the time left; for pipes, whose size is unknown, the number and rate.

    A reader may take several lists at a time, which then end at one position. So the number of all
    lists is estimated from the lists read before the position last changed."""

    def __init__(
        self, lists: Source[Any], report: Callable[[Any, int], None] | None = None
    ) -> None:
        """Take the source. ``report`` is called with each answer and the sentence's number, from 1,
        before the answer is written."""
        self._lists, self._report = lists, report
        self._ends: deque[int | None] = deque()  # of the lists that were read but not finished
        self._position = self._sentences = self._first = 0
        self._read = self._read_to = 0  # lists, and the position where the last of them ends
        self._all: float | None = None  # about how many lists there are, once that is known
        self._bar: tqdm[Any] | None = None

    def read(self, lists: Iterable[T]) -> Iterator[T]:
        """Yield the lists, and remember where each ends in the files."""
        for each in lists:
            if _is_terminal():
                self._ends.append(self._lists.position)
                self._estimate(self._lists.position)
            yield each
        self._all = self._read

    def skipping(self) -> AbstractContextManager[None]:
        """Show that written sentences are skipped."""
        return status("skipping what the interrupted run has written")

    def answered(self, answer: Any, number: int) -> None:
        """Report an answer."""
        if self._report is not None:
            self._report(answer, number)

    def start(self) -> None:
        """Show the bar; lists that are already finished do not count in the rate."""
        if not _is_terminal():
            return
        from tqdm import tqdm

        self._first = self._sentences
        size = self._lists.size
        bar = "" if size is None else "{percentage:3.0f}% |{bar}| "
        self._bar = tqdm(
            desc=self._description(0),
            total=size,
            initial=self._position,
            bar_format=bar + "{desc}{elapsed}{postfix}",
            dynamic_ncols=True,
            mininterval=0,  # results come in bursts, and the last of a burst must be shown too
            miniters=0,
            smoothing=0,
        )

    def finish_sentence(self) -> None:
        """Count the first of the lists that were read as finished."""
        if not self._ends:
            return
        self._sentences += 1
        self._move(self._ends.popleft())

    def finish(self) -> None:
        """Show that all lists are finished."""
        if self._bar is not None:
            self._move(self._lists.size)

    def hidden(self) -> AbstractContextManager[None]:
        """Return a context in which the bar leaves the terminal to standard output, if both share
        it."""
        if self._bar is None or not sys.stdout.isatty():
            return contextlib.nullcontext()
        return self._bar.external_write_mode(file=sys.stdout)

    def close(self) -> None:
        """Leave the bar on its line, unless there is only one sentence, and start a new line."""
        if self._bar is not None:
            self._bar.leave = self._sentences > 1
            self._bar.close()
            self._bar = None

    def _move(self, position: int | None) -> None:
        self._position = max(self._position, position or 0)  # in packed files, an estimate
        if self._bar is not None:
            self._bar.n = self._position
            seconds = self._bar.format_dict["elapsed"]
            left = self.seconds_left(seconds)
            text = "" if left is None else f"{self._bar.format_interval(left)} left"
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.set_description_str(self._description(seconds))

    def _estimate(self, position: int) -> None:
        """Count a list that ends at ``position``."""
        size = self._lists.size
        if size and 0 < self._read_to < position:
            self._all = self._read * size / self._read_to
        self._read_to = position
        self._read += 1

    def seconds_left(self, seconds: float) -> float | None:
        """Return the seconds left, given that this run's own sentences, not those of the
        interrupted run, took ``seconds``; None if the time is not known."""
        done = self._sentences - self._first
        if not done or self._all is None or self._lists.size is None:
            return None
        return max(0.0, self._all - self._sentences) * seconds / done

    def _description(self, seconds: float) -> str:
        count = self._sentences - self._first
        rate = f"{count / seconds:.1f}/s, " if count and seconds else ""
        noun = "sentence" if self._sentences == 1 else "sentences"
        return f"{self._sentences:,} {noun}, {rate}"


class Bar:
    """The progress of a stage, as a share if the total is known; a context manager."""

    def __init__(self, name: str, unit: str = "", total: float | None = None) -> None:
        from tqdm import tqdm

        rest = "{n:,.0f}" + unit if total is None else "{percentage:3.0f}% |{bar}|"
        self._bar = tqdm(
            total=total,
            disable=not _is_terminal(),
            desc=visible(name),
            bar_format=f"{{desc}}: {rest} {{elapsed}}",
            dynamic_ncols=True,
        )

    def add(self, number: float) -> None:
        """Advance the bar by ``number``."""
        self._bar.update(number)

    def describe(self, text: str) -> None:
        """Change the name that is shown."""
        self._bar.set_description_str(visible(text))

    def reach(self, number: float) -> None:
        """Advance the bar to ``number`` in all."""
        self._bar.update(number - self._bar.n)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()


def _is_terminal() -> bool:
    return sys.stderr.isatty()
