"""Answers written one by one to standard output, or to a file that can be resumed after an
interruption: the one mechanism for every command that works through sentences.
(A training run saves its whole state instead, in plugins/training/loop/run.py; `rerank cluster`
keeps blocks in any order on any storage, in plugins/cluster/parts.py.)

Beside a file ``NAME`` grow ``NAME.part``, the answers so far, and ``NAME.journal``: a line with the
settings of the run, then one for each sentence in ``NAME.part``, with check sums of its answer and
of its input. A kill can leave either with an incomplete end; resuming cuts both back to the last
sentence that is complete in both.

Only a process that has claimed ``NAME`` touches them, and only if the journal is one of ours and
``NAME.part`` begins with what it describes. A ``NAME.part`` of ours always does: both files are
created with the first answer in them, the journal first.
"""

from __future__ import annotations

import contextlib
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

from reranker.errors import InputError, RerankError
from reranker.files.claim import (
    NewFile,
    beside,
    check_claims,
    claimed,
    has_name,
    names_to_disk,
    to_disk,
)
from reranker.files.output import (
    always,
    check_own,
    open_whole,
    output_paths,
    whole_file,
    write_errors,
    write_line,
)
from reranker.files.records import AnswerCounts, JournalHead, Record

_OTHER = "rename or delete it, or give the output another name"

Finish = Callable[[Iterable[str]], Iterable[str]]
"""Makes the text of the file, piece by piece, from answers that are not its text."""


class AnswerOutput:
    """Standard output, where nothing can be resumed."""

    kept = 0  # the number of sentences that a run could resume after, if interrupted now

    def resumed(self, inputs: Iterable[str]) -> Iterator[AnswerCounts]:
        """Yield the sentences that an interrupted run had already written, in order; ``inputs`` are
        the digests of all sentences' inputs; one is read for each sentence that is yielded.

        Raises InputError if they differ from those of the interrupted run.
        """
        return iter(())

    def write(self, answer: str, counts: AnswerCounts, digest: str) -> None:
        """Add a sentence's answer and a line break; ``digest`` is that of its input. Raises
        RerankError if that fails, for instance because the disk is full."""
        with write_errors("standard output"):
            write_line(answer)
            sys.stdout.flush()  # a pipe's reader gets it at once


def journaled_path(
    path: Path | None,
    inputs: Iterable[str | os.PathLike[str]] = (),
    others: Sequence[Path | None] = (),
) -> Path | None:
    """Return ``output_path`` for ``open_output``. Raises InputError if the file or one that the run
    writes beside it is one of ``inputs`` or of ``others``, further outputs."""
    inputs = [*inputs]
    resolved, *_ = output_paths([path, *others], inputs)
    if resolved is not None:
        output_paths([*_beside(resolved), beside(resolved, ".lock"), *others], inputs)
    return resolved


def _beside(path: Path) -> tuple[Path, Path]:
    """Return the paths of the answers so far and of the journal."""
    return beside(path, ".part"), beside(path, ".journal")


@contextlib.contextmanager
def open_output(
    path: Path | None,
    resume: bool,
    settings: Mapping[str, Any],
    finish: Finish | None = None,
) -> Iterator[AnswerOutput]:
    """Open standard output for None, else the file; after an error or a kill its parts stay.

    ``settings`` are the plain data on which the answers depend. With ``finish``, each answer is one
    line, and the file is the text that ``finish`` makes of all answers. Raises InputError if the
    file cannot be created, if another process is writing it, if there are parts of an interrupted
    run but ``resume`` is false or the settings differ, and if files of their names are not ours.
    """
    if path is None:
        if resume:
            raise InputError("standard output cannot be resumed; name an output file")
        with open_whole(None):
            yield AnswerOutput()
        return
    with claimed(path):
        file = _JournaledFile(path, resume, settings)
        try:
            yield file
            file.complete(finish)
        finally:
            file.close()


class _JournaledFile(AnswerOutput):
    _part: IO[bytes] | None = None
    _journal: IO[bytes] | None = None

    def __init__(self, path: Path, resume: bool, settings: Mapping[str, Any]) -> None:
        self.path = path
        self._part_path, self._journal_path = _beside(path)
        self._size = 0  # bytes of the complete answers
        self._journal_size = 0
        self._has_incomplete_end = False
        self._opened = contextlib.ExitStack()
        self._head = JournalHead(settings)
        try:
            self._look(resume)
        except OSError as error:
            self.close()
            raise InputError(f"{path}: cannot be written: {error.strerror}") from error
        except BaseException:
            self.close()
            raise

    def _look(self, resume: bool) -> None:
        """Open the files that an interrupted run has left, without changing them. Raises InputError
        if the run must not be resumed."""
        has_part, has_journal = (check_own(path, always, _OTHER) for path in _beside(self.path))
        if not has_journal:
            if has_part:
                self._refuse(self._part_path, f"there is no {self._journal_path.name} beside it")
            return
        journal = self._opened.enter_context(self._journal_path.open("r+b"))
        first = journal.readline()
        before = JournalHead.from_line(first)
        if before is None:
            self._refuse(self._journal_path, "it is not a journal of this version")
        self._journal, self._journal_size = journal, len(first)
        if not has_part:  # complete, but for a kill at the very end; or deleted to start over
            return
        self._part = self._opened.enter_context(self._part_path.open("r+b"))
        self._find_end(self._part, journal)
        if not self.kept:
            self._refuse(self._part_path, f"{self._journal_path.name} is that of another file")
        if not resume:
            raise InputError(
                f"{self._part_path} holds the answers of an interrupted run: resume it "
                "with --resume, or delete the file to start over"
            )
        if reason := self._head.mismatch(before):
            raise InputError(f"{self._part_path}: {reason} in the interrupted run; {_OTHER}")

    def _refuse(self, path: Path, reason: str) -> NoReturn:
        raise InputError(
            f"{path}: not the output of an interrupted run that can be resumed: {reason}; {_OTHER}"
        )

    def _find_end(self, part: IO[bytes], journal: IO[bytes]) -> None:
        """Count the sentences that are complete in both files, and find where they end."""
        available = os.fstat(part.fileno()).st_size
        for line in journal:
            record = Record.from_line(line)
            if record is None or not self._size < record.end <= available:
                break
            if zlib.crc32(part.read(record.end - self._size)) != record.checksum:
                break
            self._size, self.kept = record.end, self.kept + 1
            self._journal_size += len(line)
        self._has_incomplete_end = True

    def resumed(self, inputs: Iterable[str]) -> Iterator[AnswerCounts]:
        if not self.kept:
            return
        assert self._journal is not None
        self._journal.seek(0)
        self._journal.readline()
        inputs = iter(inputs)
        for number in range(1, self.kept + 1):
            record, digest = Record.from_line(self._journal.readline()), next(inputs, None)
            assert record is not None
            if digest is None:
                raise InputError("there are fewer sentences than the interrupted run wrote")
            if digest != record.digest:
                raise InputError(
                    f"cannot resume {self.path}: sentence {number} differs from the one that the "
                    "interrupted run read"
                )
            yield record.counts

    def write(self, answer: str, counts: AnswerCounts, digest: str) -> None:
        data = (answer + "\n").encode("utf-8", "surrogateescape")
        record = Record(self._size + len(data), zlib.crc32(data), digest, counts)
        with write_errors(self._part_path, "; what is written so far can be resumed"):
            if self._part is None:
                self._begin(data, record)
            else:
                self._check_names()
                self._cut()
                # In this order: a record is proof that its answer is there.
                self._part.write(data)
                self._part.flush()
                assert self._journal is not None
                self._journal.write(record.to_line())
                self._journal.flush()
        self._size = record.end
        self.kept += 1

    def _begin(self, data: bytes, record: Record) -> None:
        """Create both files with the first answer."""
        content = self._head.to_line() + record.to_line()
        self._journal = self._opened.enter_context(
            _created(self._journal_path, content, self._journal)
        )
        try:
            self._part = self._opened.enter_context(_created(self._part_path, data))
        except FileExistsError:
            self._delete_journal()
            raise

    def _cut(self) -> None:
        """Cut off incomplete ends, but only once there is something to add, so that a refused run
        changes nothing."""
        if self._has_incomplete_end:
            assert self._part is not None and self._journal is not None
            for file, size in ((self._part, self._size), (self._journal, self._journal_size)):
                file.truncate(size)
                file.seek(size)
        self._has_incomplete_end = False

    def _check_names(self) -> None:
        """Raise RerankError if the files that this process writes were taken away."""
        check_claims()
        for path, file in ((self._part_path, self._part), (self._journal_path, self._journal)):
            if file is not None and not has_name(file, path):
                raise RerankError(
                    f"{path} was deleted or replaced while this run was writing it: it stops"
                )

    def complete(self, finish: Finish | None) -> None:
        """Give the file its name, or make it from the answers."""
        if self._part is None:
            with whole_file(self.path):
                pass
            return self._delete_journal()
        with write_errors(self.path):
            self._cut()
            if finish is None:
                to_disk(self._part)
                self._check_names()
                self._part_path.replace(self.path)
                names_to_disk(self.path.parent)
            else:
                self._finish(finish, self._part)
        self.kept = 0
        self._delete_journal()

    def _finish(self, finish: Finish, part: IO[bytes]) -> None:
        """Make the file, which only then replaces the answers."""
        self._check_names()
        part.seek(0)
        with whole_file(self.path) as file:
            for text in finish(line.decode("utf-8", "surrogateescape") for line in part):
                file.write(text.encode("utf-8", "surrogateescape"))
        self._part_path.unlink()

    def _delete_journal(self) -> None:
        with contextlib.suppress(OSError):
            if self._journal is not None and has_name(self._journal, self._journal_path):
                self._journal_path.unlink()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._opened.close()


def _created(path: Path, content: bytes, before: IO[bytes] | None = None) -> IO[bytes]:
    """Create a file with this content, which is on the disk before it gets its name; open at its
    end. Raises OSError if there is a file of that name other than ``before``."""
    with NewFile(path) as new:
        new.file.write(content)
        to_disk(new.file)
        new.give_name(replace=before is not None and has_name(before, path))
        names_to_disk(path.parent)
    return new.file
