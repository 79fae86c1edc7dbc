"""Sentences -> n-best lists, by a program of the user's.

Sentences over which the program dies, hangs or loses count are given to it again, in halves, so
that only those are lost that it cannot parse.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import replace

from reranker.errors import InputError
from reranker.files.text import TextInMemory
from reranker.nbest import NBest, ReadOptions, read_nbest
from reranker.scoring.cancellation import Stopped

_STARTING_SECONDS = 60.0  # to load its model
_LONGEST_REASON = 200  # characters
_HOPELESS = 20
"""After so many sentences in a row that it cannot parse, something else is wrong."""


class Parser:
    """``command`` reads sentences, one a line, and prints a list for each, in their order."""

    def __init__(self, command: str, seconds: float, options: ReadOptions = ReadOptions()) -> None:
        """``seconds`` are for each sentence, on average; ``options`` for the format of the lists.
        Raises InputError for what is not a command."""
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise InputError(f"--parser {command!r}: {error}") from error
        if not self._command:
            raise InputError("--parser is empty; it needs a command")
        self._seconds, self._options = seconds, replace(options, restore=True)
        self._running: set[subprocess.Popen[bytes]] = set()
        self._failed_in_a_row = 0
        self._is_stopped = False

    def parse(self, sentences: Sequence[str]) -> list[NBest | str]:
        """For each sentence its list, with at least one candidate, or why there is none.

        Raises InputError if the program cannot be started, or seems to parse nothing at all, and
        Stopped after ``stop``.
        """
        found = self._run(sentences)
        if isinstance(found, str):
            if len(sentences) > 1:
                middle = len(sentences) // 2
                return self.parse(sentences[:middle]) + self.parse(sentences[middle:])
            found = [found]
        for each in found:
            self._failed_in_a_row = self._failed_in_a_row + 1 if isinstance(each, str) else 0
            if self._failed_in_a_row == _HOPELESS:
                raise InputError(
                    f"--parser: {_HOPELESS} sentences in a row could not be parsed: {each}"
                )
        return found

    def stop(self) -> None:
        """End the programs that run, and whatever they have started."""
        self._is_stopped = True
        for process in tuple(self._running):
            _kill(process.pid)

    def _run(self, sentences: Sequence[str]) -> list[NBest | str] | str:
        """What the program makes of the sentences, or why it does not get through them."""
        given = "".join(f"{sentence}\n" for sentence in sentences).encode()
        if self._is_stopped:
            raise Stopped
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(f"--parser {self._command[0]}: {error.strerror}") from error
        self._running.add(process)
        limit = _STARTING_SECONDS + self._seconds * len(sentences)
        try:
            printed, messages = process.communicate(given, timeout=limit)
        except subprocess.TimeoutExpired:
            return f"the parser took more than {limit:g} s"
        finally:
            self._running.discard(process)
            _kill(process.pid)
            process.communicate()
        if self._is_stopped:
            raise Stopped
        if process.returncode:
            last = messages.decode(errors="replace").strip().rpartition("\n")[2]
            ended = f"the parser ended with status {process.returncode}"
            return f"{ended}: {last}"[:_LONGEST_REASON] if last else ended
        return self._lists(printed, given)

    def _lists(self, printed: bytes, given: bytes) -> list[NBest | str] | str:
        lists = TextInMemory(printed, "the parser's output")
        options = replace(self._options, tokens=TextInMemory(given, "the text"))
        try:
            found = list(read_nbest(lists, options=options, warn=lambda _: None))
        except InputError as error:
            return str(error)
        if any(entry.code == "missing" for nbest in found for entry in nbest.rejected):
            return "the parser printed too few lists"
        return [nbest if nbest.candidates else _reason(nbest) for nbest in found]


def _reason(nbest: NBest) -> str:
    return nbest.rejected[0].message if nbest.rejected else "the parser found no tree"


def _kill(group: int) -> None:
    """A program with all that it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
