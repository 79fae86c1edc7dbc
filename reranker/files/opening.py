"""Files to be read: their names, which may be patterns, their opening, and their digests. Anything
but a file is rejected before a byte is read: a named pipe without a writer hangs, and a device has
no end."""

from __future__ import annotations

import errno
import glob
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from reranker.errors import InputError
from reranker.files.both_ways import note_input

_ADDRESS = re.compile(r"(?:https?|ftp|s3|gs):/")
_MOST_TEXT = 1 << 26  # bytes of a file of settings or of a vocabulary


def refuse_second_stdin(files: Iterable[str]) -> None:
    """Raise InputError if standard input is among the files twice."""
    if [*files].count("-") > 1:
        raise InputError("standard input (-) can be read only once")


def expanded(names: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the names with globs expanded; the name of an existing file may look like a glob.

    Raises InputError for a glob that no file matches.
    """
    paths: list[str] = []
    for name in map(str, names):
        is_glob = glob.has_magic(name) and not os.path.lexists(name)
        matches = sorted(glob.glob(name, recursive=True)) if is_glob else [name]
        if not matches:
            raise InputError(f"{name}: no file matches")
        paths.extend(matches)
    return paths


def shown_path(path: str | os.PathLike[str]) -> str:
    """Return a path as it stands in messages."""
    text = str(path)
    if _ADDRESS.match(text):  # Path takes its two slashes for one
        return text
    return "standard input" if text == "-" else str(Path(text))


def open_file(
    path: str | os.PathLike[str] | int, *, streams: bool = False, most: int | None = None
) -> io.BufferedReader:
    """Open a file, given by name or by its descriptor, which stays open. Only a file that
    ``streams``, read once from beginning to end, may be a named pipe. A shell's own pipes, whose
    other ends are open, may stand for any file.

    Raises OSError, whose ``strerror`` is the reason, also for more than ``most`` bytes and for a
    file that the running command is about to replace.
    """
    kind = _refused(path, streams)
    if kind is not None:
        raise OSError(errno.EINVAL, f"it is {kind}")
    file = open(path, "rb", closefd=not isinstance(path, int))  # noqa: SIM115 - the caller closes it
    try:
        status = os.fstat(file.fileno())
        if stat.S_ISCHR(status.st_mode) and not (file.isatty() or _is_null(status)):
            raise OSError(errno.EINVAL, "it is a device")
        if most is not None and status.st_size > most:
            raise _too_large(status.st_size, most)
        note_input(status)
    except BaseException:
        file.close()
        raise
    return file


def read_text(path: str | os.PathLike[str], encoding: str = "utf-8", most: int = _MOST_TEXT) -> str:
    """Return the text of a file of settings or of a list, read whole. Raises OSError, also for more
    than ``most`` bytes, and UnicodeDecodeError."""
    with open_file(path, most=most) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise _too_large(len(content), most)
    return io.TextIOWrapper(io.BytesIO(content), encoding).read()


def text_digest(*parts: str) -> str:
    """Return a short hash of texts and their order."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=12).hexdigest()


def file_sha256(path: str | os.PathLike[str], most: int | None = None) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal. Raises InputError if the file cannot
    be read or has more than ``most`` bytes."""
    try:
        with open_file(path, most=most) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def input_digest(path: str) -> str:
    """Return a file's SHA-256, or the name of standard input or a pipe, which reading would use
    up. Raises InputError."""
    return file_sha256(path) if os.path.isfile(path) else path


def _refused(path: str | os.PathLike[str] | int, streams: bool) -> str | None:
    """Return the kind of a path that cannot be read, such as ``a device``; None if it can."""
    if isinstance(path, str | Path) and _ADDRESS.match(str(path)) and not os.path.lexists(path):
        return "an address: download the file first"
    mode = os.stat(path).st_mode
    if stat.S_ISBLK(mode):
        return "a device"
    if stat.S_ISSOCK(mode) and not isinstance(path, int):
        return "a socket"
    if stat.S_ISFIFO(mode) and not (streams or isinstance(path, int)):
        # A shell's pipe has a name, /dev/fd/63, that leads to no name in a folder.
        return "a named pipe" if Path(os.path.realpath(path)).is_fifo() else None
    return None


def _is_null(status: os.stat_result) -> bool:
    return status.st_rdev == os.stat(os.devnull).st_rdev


def _too_large(size: int, most: int) -> OSError:
    return OSError(errno.EFBIG, f"it has {size:,} bytes, more than {most:,}")
