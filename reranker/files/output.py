"""Where the answers go: standard output, or a file that appears only when it is complete.

Beside a file ``NAME`` grow ``NAME.part``, the answers so far, and ``NAME.journal``: a line with the
settings of the run, then one for each sentence in ``NAME.part``. A kill can leave either with a
torn end; ``resume`` cuts both back to the last sentence that is whole in both and goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol, TextIO

from reranker.errors import InputError, RerankError

_VERSION = 1


class Written(NamedTuple):
    """What must be known of a sentence after its answer was written: for summary and gold table."""

    best_index: int | None
    ranked: int
    rejected: int
    repaired: int


class Output(Protocol):
    def resumed(self) -> Iterator[Written]:
        """The sentences an interrupted run had written already, in order."""

    def write(self, line: str, written: Written) -> None:
        """Add a sentence's answer; ``line`` has no line break. Raises RerankError if the disk is
        full and the like."""


def output_path(path: Path | None, inputs: Iterable[str | os.PathLike[str]] = ()) -> Path | None:
    """The file to be written, links followed; None, standard output, stays.

    Raises InputError for what is no regular file, and for one of ``inputs``: it would be replaced.
    """
    if path is None:
        return None
    try:
        resolved = path.resolve()
        if not path.name or resolved.is_dir():
            raise InputError(f"{path or '.'}: cannot be written: it is a directory")
        if resolved.exists() and not resolved.is_file():
            raise InputError(f"{path}: is no regular file; without it, standard output is written")
        for one in inputs:
            if resolved.exists() and os.path.exists(one) and os.path.samefile(resolved, one):
                raise InputError(f"{path}: is read as well; give the output another name")
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be written: {reason}") from error
    return resolved


@contextlib.contextmanager
def open_output(path: Path | None, resume: bool, settings: Mapping[str, Any]) -> Iterator[Output]:
    """Standard output for None, else the file; after an error or a kill its parts stay.

    ``settings`` is what the answers depend on, plain data. Raises InputError if the file cannot be
    made, if parts of another run are in the way or, with ``resume``, have other settings.
    """
    if path is None:
        if resume:
            raise InputError("--resume needs --out FILE")
        yield _StandardOutput()
        _flush_standard_output()
        return
    file = _JournaledFile(path, resume, settings)
    try:
        yield file
        file.complete()
    finally:
        file.close()


@contextlib.contextmanager
def open_whole(path: Path | None) -> Iterator[Writer]:
    """Standard output for None, else a file that appears only when complete; no resuming.

    Raises RerankError if it cannot be written.
    """
    if path is None:
        yield Writer("standard output", sys.stdout)
        _flush_standard_output()
        return
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            yield Writer(str(path), file)
        temporary.replace(path)
    except OSError as error:
        raise _unwritable(str(path), error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


class Writer:
    """A text file whose errors are ours."""

    def __init__(self, name: str, file: TextIO) -> None:
        self._name, self._file = name, file

    def write(self, text: str) -> None:
        """Raises RerankError if the disk is full and the like."""
        with _told(self._name):
            self._file.write(text)


class _StandardOutput:
    def resumed(self) -> Iterator[Written]:
        return iter(())

    def write(self, line: str, written: Written) -> None:
        Writer("standard output", sys.stdout).write(line + "\n")


def _flush_standard_output() -> None:
    with _told("standard output"):
        sys.stdout.flush()


@contextlib.contextmanager
def _told(name: str) -> Iterator[None]:
    """Errors of writing as ours; of a closed pipe, the command itself tells."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _unwritable(name, error) from error


class _JournaledFile:
    def __init__(self, path: Path, resume: bool, settings: Mapping[str, Any]) -> None:
        self.path = path
        self._part_path = path.with_name(path.name + ".part")
        self._journal_path = path.with_name(path.name + ".journal")
        self._size = 0  # bytes of the answers that are whole
        self._journal_size = 0
        self._count = 0
        header = {"version": _VERSION, "settings": json.loads(json.dumps(settings))}
        try:
            has_parts = self._part_path.exists() and self._journal_path.exists()
            if has_parts and not resume:
                raise InputError(
                    f"{self._part_path} is left of an interrupted run: give --resume to go on with "
                    "it, or delete it to start over"
                )
            if has_parts:
                self._recover(header)
            mode = "r+b" if self._count else "wb"
            self._part: IO[bytes] = self._part_path.open(mode)
            self._journal: IO[bytes] = self._journal_path.open(mode)
            if self._count:
                self._part.truncate(self._size)
                self._journal.truncate(self._journal_size)
            else:
                self._journal.write((json.dumps(header) + "\n").encode())
                self._journal.flush()
                self._journal_size = self._journal.tell()
            self._part.seek(self._size)
            self._journal.seek(self._journal_size)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}") from error

    def resumed(self) -> Iterator[Written]:
        if self._count:
            with self._journal_path.open("rb") as journal:
                next(journal)
                for _ in range(self._count):
                    yield Written(*json.loads(next(journal))[1:])

    def write(self, line: str, written: Written) -> None:
        data = (line + "\n").encode("utf-8", "surrogateescape")
        record = (json.dumps([self._size + len(data), *written]) + "\n").encode()
        try:
            # In this order: a record is proof that its answer is there.
            self._part.write(data)
            self._part.flush()
            self._journal.write(record)
            self._journal.flush()
        except OSError as error:
            raise _unwritable(str(self._part_path), error) from error
        self._size += len(data)
        self._count += 1

    def complete(self) -> None:
        """Give the file its name."""
        try:
            os.fsync(self._part.fileno())
            self._part_path.replace(self.path)
        except OSError as error:
            raise _unwritable(str(self.path), error) from error
        self._journal_path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the files; those without a single answer go."""
        for file in (self._part, self._journal):
            with contextlib.suppress(OSError):
                file.close()
        if not self._count:
            self._part_path.unlink(missing_ok=True)
            self._journal_path.unlink(missing_ok=True)

    def _recover(self, header: dict[str, Any]) -> None:
        """Count the sentences that are whole in both files and where they end."""
        with self._journal_path.open("rb") as journal, self._part_path.open("rb") as part:
            available = os.fstat(part.fileno()).st_size
            first = journal.readline()
            if not first.endswith(b"\n"):
                return
            self._check(header, first)
            self._journal_size = len(first)
            for record in journal:
                end = _end(record)
                if end is None or end > available:
                    break
                part.seek(end - 1)
                if part.read(1) != b"\n":
                    break
                self._size, self._count = end, self._count + 1
                self._journal_size += len(record)

    def _check(self, header: dict[str, Any], first: bytes) -> None:
        try:
            found = json.loads(first)
            before, now = found["settings"], header["settings"]
            is_ours = found["version"] == _VERSION and isinstance(before, dict)
        except (ValueError, KeyError, TypeError):
            is_ours = False
        if not is_ours:
            raise InputError(f"{self._journal_path} is no journal of this version; delete it")
        for name in now:
            if before.get(name) != now[name]:
                raise InputError(
                    f"cannot resume {self.path}: {name} is {_shown(now[name])}, in the interrupted "
                    f"run it was {_shown(before.get(name))}"
                )


def _end(record: bytes) -> int | None:
    """Where the answer ends that a journal line vouches for; None if the line is torn."""
    try:
        end, *written = json.loads(record)
    except (ValueError, TypeError):
        return None
    is_whole = record.endswith(b"\n") and len(written) == len(Written._fields)
    return end if is_whole and isinstance(end, int) and end > 0 else None


def _shown(value: Any) -> str:
    return json.dumps(value)[:80]


def _unwritable(name: str, error: OSError) -> RerankError:
    advice = "; run again with --resume to go on from here" if name.endswith(".part") else ""
    return RerankError(f"{name}: cannot be written: {error.strerror or error}{advice}")
