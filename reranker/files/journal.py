"""Answers written one by one to standard output, or to a file that an interrupted run can resume.

Beside a file ``NAME`` grow ``NAME.part``, the answers so far, and ``NAME.journal``: a line with the
settings of the run, then one for each sentence in ``NAME.part``. A kill can leave either with an
incomplete end; resuming cuts both back to the last sentence that is complete in both.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from reranker.errors import InputError
from reranker.files.output import open_whole, write_errors

_VERSION = 2  # 1 had samples in the order of the file


class Written(NamedTuple):
    """What the summary and the gold table need of a sentence whose answer is written."""

    best_index: int | None
    ranked: int
    rejected: int
    repaired: int

    def counts(self) -> dict[str, int]:
        """Of this one sentence; those of several add up to what the summary says."""
        return {
            "sentences": 1,
            "candidates": self.ranked,
            "rejected": self.rejected,
            "repaired": self.repaired,
            "changed": int(self.best_index not in (None, 0)),
            "failed": int(self.best_index is None),
        }


class Output:
    """Standard output, which has nothing to resume."""

    kept = 0
    """How many sentences an interruption would leave for a run that resumes."""

    def resumed(self) -> Iterator[Written]:
        """The sentences that an interrupted run had already written, in order."""
        return iter(())

    def write(self, answer: str, written: Written) -> None:
        """Add a sentence's answer and a line break. Raises RerankError if that fails,
        for instance because the disk is full."""
        with write_errors("standard output"):
            sys.stdout.write(answer + "\n")
            sys.stdout.flush()  # a pipe's reader gets it at once


@contextlib.contextmanager
def open_output(path: Path | None, resume: bool, settings: Mapping[str, Any]) -> Iterator[Output]:
    """Standard output for None, else the file; after an error or a kill its parts stay.

    ``settings``, plain data, are what the answers depend on. Raises InputError if the file cannot
    be created, and if there are parts of an interrupted run that ``resume`` does not ask for or
    that was given other settings.
    """
    if path is None:
        if resume:
            raise InputError("standard output cannot be resumed: name an output file")
        with open_whole(None):
            yield Output()
        return
    file = _JournaledFile(path, resume, settings)
    try:
        yield file
        file.complete()
    finally:
        file.close()


class _JournaledFile(Output):
    def __init__(self, path: Path, resume: bool, settings: Mapping[str, Any]) -> None:
        self.path = path
        self._part_path = path.with_name(path.name + ".part")
        self._journal_path = path.with_name(path.name + ".journal")
        self._size = 0  # bytes of the complete answers
        self._journal_size = 0
        header = {"version": _VERSION, "settings": json.loads(json.dumps(settings))}
        try:
            if self._part_path.exists() and self._journal_path.exists():
                if not resume:
                    raise InputError(
                        f"{self._part_path} holds the answers of an interrupted run: resume it "
                        "with --resume, or delete the file to start over"
                    )
                self._recover(header)
            self._open(header)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}") from error

    def _open(self, header: dict[str, Any]) -> None:
        """Open both files where the answers that were recovered end."""
        mode = "r+b" if self.kept else "wb"
        self._part: IO[bytes] = self._part_path.open(mode)
        self._journal: IO[bytes] = self._journal_path.open(mode)
        if self.kept:
            self._part.truncate(self._size)
            self._journal.truncate(self._journal_size)
        else:
            self._journal_size = self._journal.write((json.dumps(header) + "\n").encode())
            self._journal.flush()
        self._part.seek(self._size)
        self._journal.seek(self._journal_size)

    def resumed(self) -> Iterator[Written]:
        if self.kept:
            with self._journal_path.open("rb") as journal:
                next(journal)
                for _ in range(self.kept):
                    yield Written(*json.loads(next(journal))[1:])

    def write(self, answer: str, written: Written) -> None:
        data = (answer + "\n").encode("utf-8", "surrogateescape")
        record = (json.dumps([self._size + len(data), *written]) + "\n").encode()
        with write_errors(self._part_path, "; what is written so far can be resumed"):
            # In this order: a record is proof that its answer is there.
            self._part.write(data)
            self._part.flush()
            self._journal.write(record)
            self._journal.flush()
        self._size += len(data)
        self.kept += 1

    def complete(self) -> None:
        """Give the file its name."""
        with write_errors(self.path):
            os.fsync(self._part.fileno())
            self._part_path.replace(self.path)
        self.kept = 0
        self._journal_path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the files; delete them if they hold no answer."""
        for file in (self._part, self._journal):
            with contextlib.suppress(OSError):
                file.close()
        if not self.kept:
            self._part_path.unlink(missing_ok=True)
            self._journal_path.unlink(missing_ok=True)

    def _recover(self, header: dict[str, Any]) -> None:
        """Count the sentences that are complete in both files, and find where they end."""
        with self._journal_path.open("rb") as journal, self._part_path.open("rb") as part:
            available = os.fstat(part.fileno()).st_size
            first = journal.readline()
            if not first.endswith(b"\n"):
                return
            self._check(header, first)
            self._journal_size = len(first)
            for record in journal:
                end = _answer_end(record)
                if end is None or end > available:
                    break
                part.seek(end - 1)
                if part.read(1) != b"\n":
                    break
                self._size, self.kept = end, self.kept + 1
                self._journal_size += len(record)

    def _check(self, header: dict[str, Any], first: bytes) -> None:
        """Raises InputError unless the journal's first line has the version and settings of
        ``header``."""
        try:
            content = json.loads(first)
            before, now = content["settings"], header["settings"]
            is_journal = content["version"] == _VERSION and isinstance(before, dict)
        except (ValueError, KeyError, TypeError):
            is_journal = False
        if not is_journal:
            raise InputError(f"{self._journal_path} is not a journal of this version; delete it")
        for name in now:
            if before.get(name) != now[name]:
                values = [json.dumps(value)[:80] for value in (now[name], before.get(name))]
                raise InputError(
                    f"cannot resume {self.path}: {name} is {values[0]}, but was {values[1]} in the "
                    "interrupted run"
                )


def _answer_end(record: bytes) -> int | None:
    """Where the answer that a journal line is about ends; None if the line is incomplete."""
    try:
        end, *written = json.loads(record)
    except (ValueError, TypeError):
        return None
    is_complete = record.endswith(b"\n") and len(written) == len(Written._fields)
    return end if is_complete and isinstance(end, int) and end > 0 else None
