"""Sentences -> n-best lists, by a program of the user's.

Sentences over which the program dies, hangs or loses count are given to it again, in halves, so
that only those are lost that it cannot parse.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

from reranker.errors import InputError, TreeError
from reranker.files.text import TextInMemory
from reranker.nbest import NBest, ReadOptions, check_words, read_nbest

_STARTING_SECONDS = 120.0  # to load its model
_LONGEST_REASON = 200  # characters


class Parser:
    """``command`` reads sentences, one a line, and prints a list for each, in their order."""

    def __init__(self, command: str, seconds: float, options: ReadOptions = ReadOptions()) -> None:
        """``seconds`` are for each sentence, ``options`` for the format of the lists. Raises
        InputError for what is not a command."""
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise InputError(f"--parser {command!r}: {error}") from error
        if not self._command:
            raise InputError("--parser: there is no command")
        self._seconds, self._options = seconds, options

    def parse(self, sentences: Sequence[str]) -> tuple[str, dict[int, str]]:
        """What the program prints for the sentences that it can parse, and the places of the
        others, with the reason. Raises InputError if the program cannot be started."""
        text, fault = self._run(sentences)
        if not fault:
            return text, {}
        if len(sentences) == 1:
            return "", {0: fault}
        middle = len(sentences) // 2
        first, failed = self.parse(sentences[:middle])
        second, others = self.parse(sentences[middle:])
        return first + second, failed | {middle + place: why for place, why in others.items()}

    def lists(self, text: str, name: str = "the parser's lists") -> list[NBest]:
        """The lists in what the program printed. Raises InputError if there are none."""
        content = TextInMemory(text.encode("utf-8", "surrogateescape"), name)
        return list(read_nbest(content, options=self._options, warn=lambda _: None))

    def _run(self, sentences: Sequence[str]) -> tuple[str, str]:
        """What the program prints, and what is wrong with it."""
        given = "".join(f"{sentence}\n" for sentence in sentences).encode()
        limit = _STARTING_SECONDS + self._seconds * len(sentences)
        try:
            done = subprocess.run(self._command, input=given, capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return "", f"the parser took more than {self._seconds:g} s"
        except OSError as error:
            raise InputError(f"--parser {self._command[0]}: {error.strerror}") from error
        if done.returncode:
            last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            ended = f"the parser ended with status {done.returncode}"
            return "", f"{ended}: {last}"[:_LONGEST_REASON] if last else ended
        text = done.stdout.decode("utf-8", "surrogateescape").rstrip("\n") + "\n\n"
        try:
            return text, _fault(self.lists(text), sentences)
        except InputError as error:
            return "", str(error)


def _fault(lists: Sequence[NBest], sentences: Sequence[str]) -> str:
    """What is wrong with the lists for these sentences."""
    if len(lists) != len(sentences):
        return f"the parser printed {len(lists)} lists for {len(sentences)} sentences"
    for nbest, sentence in zip(lists, sentences, strict=True):
        if not nbest.candidates:
            return nbest.rejected[0].message if nbest.rejected else "the parser found no tree"
        try:
            check_words(nbest.words, sentence.split(" "))
        except TreeError as error:
            return f"the parser changed the words: {error}"
    return ""
