"""Files that are written whole or not at all, and what must never be overwritten."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from reranker.errors import InputError, RerankError


def output_path(path: Path | None, inputs: Iterable[str | os.PathLike[str]] = ()) -> Path | None:
    """The file to write, links followed; None, standard output, stays None.

    Raises InputError if that is not a regular file in an existing folder, or is one of ``inputs``,
    which writing it would destroy.
    """
    if path is None:
        return None
    try:
        resolved = path.resolve()
        if not path.name or resolved.is_dir():
            raise InputError(f"{path or '.'}: cannot be written: it is a directory")
        if resolved.exists() and not resolved.is_file():
            raise InputError(
                f"{path}: not a regular file; without a file, standard output is written"
            )
        if not resolved.parent.is_dir():
            folder = path.parent if path.parent != Path(".") else resolved.parent
            raise InputError(f"{path}: there is no folder {folder}; create it first")
        for source in inputs:
            if resolved.exists() and os.path.exists(source) and os.path.samefile(resolved, source):
                raise InputError(f"{path}: is also an input; give the output another name")
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be written: {reason}") from error
    return resolved


@contextlib.contextmanager
def open_whole(path: Path | None) -> Iterator[Writer]:
    """Standard output for None, else a file that appears only once it is complete.

    Raises RerankError if it cannot be written.
    """
    if path is None:
        yield Writer("standard output", sys.stdout)
        with write_errors("standard output"):
            sys.stdout.flush()
        return
    temporary = path.with_name(path.name + ".tmp")
    try:
        with write_errors(path):
            with temporary.open(
                "w", encoding="utf-8", errors="surrogateescape", newline=""
            ) as file:
                yield Writer(str(path), file)
            temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def copy_whole(source: Path, path: Path) -> None:
    """Copy a file, whole or not at all. Raises RerankError if that fails."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, temporary)
            temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


class Writer:
    """A text file whose write errors are RerankErrors that name it."""

    def __init__(self, name: str, file: TextIO) -> None:
        self._name, self._file = name, file

    def write(self, text: str) -> None:
        """Raises RerankError if that fails, for instance because the disk is full."""
        with write_errors(self._name):
            self._file.write(text)


@contextlib.contextmanager
def write_errors(name: object, advice: str = "") -> Iterator[None]:
    """Re-raises write errors as RerankError; BrokenPipeError passes through."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise RerankError(f"{name}: cannot be written: {reason}{advice}") from error
