"""A program of the user's: it reads sentences, one per line, and prints a list for each, in order,
in a format we know.

It gets many sentences at a time, since most programs take seconds to start and print little before
they have read everything. It fails on sentences over which it dies, hangs or loses count.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from reranker.errors import InputError
from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers.lists import BatchParser, given_lines, printed_lists
from reranker.parsers.parser import ParserSettings
from reranker.parsers.program import Exceeded, Program, exchange, how_it_ended
from reranker.process.cancellation import Stopped

_STARTING_SECONDS = 60.0  # to load its model
# 50 trees of a sentence of 100 words have 200 kB. Bytes, of which some are for the program as such.
_MOST_PRINTED, _MOST_FOR_A_SENTENCE = 32 << 20, 2 << 20


class CommandParser(BatchParser):
    """Runs ``settings.command`` for each batch; ``settings.seconds`` is the limit per sentence, on
    average over a batch."""

    batch_sizes = (8, 16, 32, 64, 100)  # the first answers come soon

    def __init__(self, settings: ParserSettings) -> None:
        """Check the command. Raises InputError for an invalid one."""
        try:
            self._command = shlex.split(settings.command)
        except ValueError as error:
            raise InputError(f"--parser-command {settings.command!r}: {error}") from error
        if not self._command:
            raise InputError("--parser-command is empty; it needs a program")
        self._seconds, self._options = settings.seconds, settings.options
        self._running: set[Program] = set()
        super().__init__("--parser-command")

    def stop(self) -> None:
        """Stop the running programs and everything they have started."""
        super().stop()
        for program in tuple(self._running):
            program.kill()

    def _run(self, sentences: Sequence[Sentence]) -> list[NBest | str] | str:
        given = given_lines(sentences)
        if self._is_stopped:
            raise Stopped
        try:
            program = Program(self._command)
        except OSError as error:
            raise InputError(f"--parser-command {self._command[0]}: {error.strerror}") from error
        self._running.add(program)
        if self._is_stopped:
            program.kill()
        limit = _STARTING_SECONDS + self._seconds * len(sentences)
        most = _MOST_PRINTED + _MOST_FOR_A_SENTENCE * len(sentences)
        with program.process as process:  # closes the pipes, at last
            try:
                printed, messages = exchange(process, given, limit, most)
            except Exceeded as exceeded:
                return str(exceeded)
            finally:
                self._running.discard(program)
                program.end()
        if self._is_stopped:
            raise Stopped
        if process.returncode:
            return how_it_ended(process.returncode, messages)
        return printed_lists(printed, sentences, self._options)
