"""Files that are written whole or not at all, and checks that nothing is ever overwritten: no input
and, under a name that the program chose, no file that the program did not make."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TextIO

from reranker.errors import InputError, RerankError
from reranker.files.both_ways import note_output, release
from reranker.files.claim import NewFile, check_claims, names_to_disk, to_disk
from reranker.files.text import read_lines
from reranker.files.visible import visible

IsOwn = Callable[[Path], bool]
"""Tells whether the program made a regular file that exists."""

OTHER_FOLDER = "rename or delete it, or choose another folder"
NOT_OURS = "not a file that this run may replace"
_LEFT = {".lock", ".tmp"}
_KINDS = {stat.S_IFREG: "", stat.S_IFDIR: ", but a folder", stat.S_IFLNK: ", but a link"}


def output_path(path: Path | None, inputs: Iterable[str | os.PathLike[str]] = ()) -> Path | None:
    """Return the file to write, links followed; None, standard output, stays None.

    Raises InputError if the path is not a regular file in an existing folder, is one of ``inputs``
    (``-`` is standard input), or was read by the running command: it would be destroyed. Every
    command that writes checks this before it computes anything; ``inputs`` are the files that it
    has yet to open.
    """
    if path is None:
        _check_is_none_of(inputs, "standard output", 1)
        return None
    try:
        resolved = path.resolve()
        if not path.name or resolved.is_dir():
            raise InputError(f"{path or '.'}: cannot be written: it is a directory")
        if resolved.exists() and not resolved.is_file():
            raise InputError(
                f"{path}: not a regular file; leave the file out to write to standard output"
            )
        if not resolved.parent.is_dir():
            folder = path.parent if path.parent != Path(".") else resolved.parent
            raise InputError(f"{path}: there is no folder {folder}; create it first")
        _check_is_none_of(inputs, path, resolved)
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be written: {reason}") from error
    return resolved


def output_paths(
    paths: Iterable[Path | None], inputs: Iterable[str | os.PathLike[str]] = ()
) -> list[Path | None]:
    """Apply ``output_path`` to several outputs, which must be different files."""
    inputs, resolved = [*inputs], []
    for path in paths:
        output = output_path(path, inputs)
        if output is not None and output in resolved:
            raise InputError(f"{path}: two outputs are the same file")
        resolved.append(output)
    return resolved


def _check_is_none_of(
    inputs: Iterable[str | os.PathLike[str]], name: object, file: Path | int
) -> None:
    """Raise InputError if a file, given by path or descriptor, is one of ``inputs`` under any name;
    devices and terminals may be both."""
    with contextlib.suppress(OSError):  # the file does not exist
        output = os.stat(file)
        is_input = note_output(file, output)
        for source in inputs if stat.S_ISREG(output.st_mode) else ():
            with contextlib.suppress(OSError, ValueError):
                is_input |= os.path.samestat(output, os.stat(0 if source == "-" else source))
        if is_input:
            raise InputError(f"{name}: is also an input; give the output another name")


def files_of(names: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the names, and for folders also the files in them, for inputs that are read whole."""
    files = [Path(name) for name in names if name]
    for folder in filter(Path.is_dir, tuple(files)):
        with contextlib.suppress(OSError):
            files += folder.iterdir()
    return files


def always(_: Path) -> bool:
    """Return True: the caller makes sure in another way that the file is the run's own."""
    return True


def never(_: Path) -> bool:
    """Return False: no file of this name is replaced, whoever made it."""
    return False


def check_own(
    path: Path, is_own: IsOwn, advice: str = OTHER_FOLDER, reason: str = NOT_OURS
) -> bool:
    """Return whether there is a file at ``path``, a name that the program chose, to be replaced.

    Raises InputError, with the reason and the advice, for anything there that the program did not
    make, which would be destroyed.
    """
    try:
        kind = stat.S_IFMT(path.lstat().st_mode)
        if kind == stat.S_IFREG and is_own(path):
            return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    what = _KINDS.get(kind, ", but a device or pipe")
    raise InputError(f"{path}: {reason}{what}; {advice}")


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, unless they exist. Raises InputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InputError(f"{folder}: cannot be written: it is not a folder") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{folder}: cannot be written: {reason}") from error


def check_new(folder: Path, advice: str) -> None:
    """Raise InputError if a folder that a run is about to fill already has files of another kind; a
    claim or a kill may have left some."""
    if folder.is_dir() and any(each.suffix not in _LEFT for each in folder.iterdir()):
        raise InputError(f"{folder} contains files of another kind: {advice}")


def record_in(path: Path) -> str | None:
    """Return the record by which a run recognises its folder; None if there is none. Raises
    InputError if something else has its name."""
    return "".join(read_lines(path)) if check_own(path, always) else None


@contextlib.contextmanager
def whole_file(path: Path, is_own: IsOwn | None = None) -> Iterator[IO[bytes]]:
    """Open a file that appears only once it is complete, on the disk.

    The user chose ``path``, and ``output_path`` has checked it. If the program chose it, ``is_own``
    tells whether a file of that name may be replaced, both before the first byte is written and
    before the file gets its name. Raises RerankError if it may not be replaced, if the file cannot
    be written, and if this process has lost a claim.
    """
    if is_own is not None:
        check_own(path, is_own)
    with write_errors(path), NewFile(path) as new, new.file as file:
        yield file
        to_disk(file)
        check_claims()
        new.give_name(replace=is_own is None or check_own(path, is_own))
        release(path)
        names_to_disk(path.parent)


@contextlib.contextmanager
def open_whole(path: Path | None, is_own: IsOwn | None = None) -> Iterator[Writer]:
    """Return standard output for None, else a text file that appears only once it is complete.

    ``is_own`` and errors are as in ``whole_file``.
    """
    if path is None:
        yield standard_output()
        with write_errors("standard output"):
            sys.stdout.flush()
        return
    with whole_file(path, is_own) as file:
        text = io.TextIOWrapper(file, "utf-8", errors="surrogateescape", newline="")
        yield Writer(str(path), text)
        text.detach()  # flushed, and not closed


class Writer:
    """A text file whose write errors are RerankErrors that name it. On a terminal the text cannot
    control the terminal."""

    def __init__(self, name: str, file: TextIO) -> None:
        self._name, self._file, self._is_terminal = name, file, file.isatty()

    def write(self, text: str, *, is_painted: bool = False) -> None:
        """Write text; ``is_painted`` means that the text is made visible already and then coloured.
        Raises RerankError if writing fails, for instance because the disk is full."""
        with write_errors(self._name):
            self._file.write(visible(text) if self._is_terminal and not is_painted else text)


def standard_output() -> Writer:
    """Return the one way to standard output."""
    return Writer("standard output", sys.stdout)


def write_line(text: str) -> None:
    """Write text and a line break to standard output."""
    standard_output().write(text + "\n")


@contextlib.contextmanager
def write_errors(name: object, advice: str = "") -> Iterator[None]:
    """Raise RerankError for write errors; let BrokenPipeError through."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise RerankError(f"{name}: cannot be written: {reason}{advice}") from error
