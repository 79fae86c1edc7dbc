"""The places of answers: standard output or files, as text in some form, or a list."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic

from reranker.errors import InputError, lacks_memory
from reranker.files.journal import AnswerOutput, open_output
from reranker.files.output import Writer, open_whole, standard_output
from reranker.files.records import AnswerCounts
from reranker.files.visible import counted
from reranker.outputs.form import Form
from reranker.work.loop import A, Identity, S

_LONGEST_ADVICE = 300  # characters of a command


@dataclass(frozen=True, slots=True)
class Destination:
    """A file that can be resumed, or standard output."""

    path: Path | None = None
    is_resumed: bool = False
    inputs: Sequence[str] = field(default=())
    command_line: Sequence[str] = field(default=())
    """The arguments of `rerank`, for the message that says how to continue."""

    @contextmanager
    def opened(
        self,
        identity: Callable[[], Identity],
        finish: Callable[[Iterable[str]], Iterable[str]] | None,
    ) -> Iterator[AnswerOutput]:
        """Open the output as ``open_output`` does; the error of an interruption, an unusable input
        or lack of memory tells how much of the output is kept."""
        output = AnswerOutput()
        settings = {} if self.path is None else identity()
        try:
            with open_output(self.path, self.is_resumed, settings, finish) as output:
                yield output
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_kept(output.kept, self._advice())) from None
        except InputError as error:
            advice = ": correct this and run the same command with --resume to continue"
            raise InputError(f"{error}{_kept(output.kept, advice)}") from error
        except Exception as error:
            if lacks_memory(error):
                error.add_note(_kept(output.kept, self._advice()))
            raise

    def _advice(self) -> str:
        """Say how to resume: by the command itself, if it is short and can be repeated."""
        program = sys.argv[0]
        if Path(program).name != "rerank" or shutil.which("rerank") == program:
            program = "rerank"
        command = shlex.join([program, *self.command_line])
        if not self.is_resumed:
            command += " --resume"
        are_files = all(map(os.path.isfile, self.inputs))
        if len(command) > _LONGEST_ADVICE or not are_files:
            return ": run the same command with --resume to continue"
        return f"; to continue: {command}"


def _kept(sentences: int, advice: str) -> str:
    """Return the message about the sentences that an interrupted run has written to ``--out``."""
    if not sentences:
        return ""
    are = "is" if sentences == 1 else "are"
    return f"; {counted(sentences, 'sentence')} {are} kept{advice}"


class TextSink(Generic[A]):
    """Answers as text, in a file that can be resumed or on standard output."""

    def __init__(self, form: Form[A], destination: Destination = Destination()) -> None:
        self._form, self._destination = form, destination
        self._output = AnswerOutput()
        self._number = 0  # of the last sentence that is written
        self.is_terminal = destination.path is None

    @contextmanager
    def opened(self, identity: Callable[[], Identity]) -> Iterator[None]:
        """Open the file, and complete it at the end."""
        finish = self._whole if self._form.is_table else None
        with self._destination.opened(identity, finish) as self._output:
            yield
            if self.is_terminal:
                self._show(("" if self._number else self._form.begin()) + self._form.end())

    def already_written(self, sentences: Iterable[S]) -> Iterator[tuple[S, AnswerCounts]]:
        """Yield the sentences that the journal records, with their counts."""
        if not self._output.kept:
            return
        read, again = itertools.tee(sentences)
        # The records first: after the last of them, no further sentence is read.
        records = self._output.resumed(each.digest() for each in again)
        for counts, sentence in zip(records, read, strict=False):
            self._number += 1
            yield sentence, counts

    def write(self, answer: A | None, counts: AnswerCounts, digest: str) -> None:
        """Write an answer in its form; None has no text in a table."""
        form = self._form
        plain = form.plain(answer) if form.is_table and answer is not None else None
        if form.is_table and not self.is_terminal:
            self._output.write(json.dumps(plain), counts, digest)
            return
        heading = "" if self._number else form.begin()
        self._number += 1
        if not form.is_table:
            self._output.write(heading + form.line(answer, self._number), counts, digest)
            return
        self._show(heading)
        if plain is not None:
            self._show(form.line(plain, self._number))

    def _show(self, text: str) -> None:
        if text:
            standard_output().write(text, is_painted=self._form.is_painted)

    def _whole(self, answers: Iterable[str]) -> Iterator[str]:
        """Yield the text of a table from the answers that the journal has."""
        yield self._form.begin()
        for number, kept in enumerate(answers, 1):
            if (answer := json.loads(kept)) is not None:
                yield self._form.line(answer, number)
        yield self._form.end()


class WholeFiles(Generic[A]):
    """Answers as text, in files that appear only once all of them are complete; a file without a
    path is standard output."""

    def __init__(self, *files: tuple[Path | None, Form[A]]) -> None:
        """Take each file and its form."""
        self._files = files
        self._writers: list[_FormWriter[A]] = []
        self._number = 0  # of the last sentence
        self.is_terminal = any(path is None for path, _ in files)

    @contextmanager
    def opened(self, identity: Callable[[], Identity]) -> Iterator[None]:
        """Open the files, and complete them at the end."""
        with ExitStack() as opened:
            for path, form in self._files:
                self._writers.append(_FormWriter(opened.enter_context(open_whole(path)), form))
            yield
            for file in self._writers:
                file.end()

    def already_written(self, sentences: Iterable[S]) -> Iterator[tuple[S, AnswerCounts]]:
        """Yield nothing: an interrupted run leaves no file."""
        return iter(())

    def write(self, answer: A, counts: AnswerCounts, digest: str) -> None:
        """Write an answer; None stands for a sentence that is left out."""
        self._number += 1
        if answer is not None:
            for file in self._writers:
                file.write(answer, self._number)


class _FormWriter(Generic[A]):
    """A file of answers in a form. The text before the first answer is written with that."""

    def __init__(self, file: Writer, form: Form[A]) -> None:
        self._file, self._form = file, form
        self._heading = form.begin()

    def write(self, answer: A, number: int) -> None:
        """Write the answer to the sentence with this number from 1, unless it has no text."""
        form = self._form
        if not form.is_table:
            text = form.line(answer, number) + "\n"
        else:
            plain = form.plain(answer)
            text = "" if plain is None else form.line(plain, number)
        if text:
            self._file.write(self._heading + text)
            self._heading = ""

    def end(self) -> None:
        """Write the text after the last answer."""
        self._file.write(self._heading + self._form.end())


class ListSink(list[A]):
    """Answers in memory, for Python."""

    is_terminal = False

    @contextmanager
    def opened(self, identity: Callable[[], Identity]) -> Iterator[None]:
        yield

    def already_written(self, sentences: Iterable[S]) -> Iterator[tuple[S, AnswerCounts]]:
        """Yield nothing: a list is not resumed."""
        return iter(())

    def write(self, answer: A | None, counts: AnswerCounts, digest: str) -> None:
        """Append an answer; None stands for a sentence that is left out."""
        if answer is not None:
            self.append(answer)
