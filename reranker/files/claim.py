"""New files that no other process can touch, and claims, so that only one process writes at a time.

While a process writes ``NAME`` it holds a lock on ``NAME.lock``, which identifies the process. The
kernel releases the lock when the process dies, in whatever way; the next process takes the file
over.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import logging
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Self

from reranker.errors import InputError, RerankError

_LOGGER = logging.getLogger(__name__)
_HOLDER = re.compile(rb"parse-reranker: process (\d+) on (.*) is writing\n")
_LONGEST_NAME = 255  # bytes, of most file systems
_SHORTENED = 200
_HELD_BY_ANOTHER = (errno.EAGAIN, errno.EACCES)

# A process killed while it starts another leaves a copy of itself, with the lock, until the copy
# has become the other program.
_SECONDS_TO_DIE = 10.0

_held: list[_Claim] = []


class NewFile:
    """A file that gets the name ``path`` once it is complete, and stays open; a context manager.

    Until then the file has no name at all, so that nothing is left when the process is killed; if
    the file or operating system does not support that, it has a unique name.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(f"{path.name[:50]}.{secrets.token_hex(8)}.tmp")
        unnamed = _unnamed(path.parent)
        self._is_unnamed = unnamed is not None
        self.file = unnamed or self._temporary.open("x+b")

    def give_name(self, *, replace: bool) -> None:
        """Give the file its name. Raises FileExistsError if a file has the name and must not be
        replaced."""
        if replace:
            if self._is_unnamed:
                _link(self.file, self._temporary)
            self._temporary.replace(self._path)
        elif self._is_unnamed:
            _link(self.file, self._path)
        else:
            self._rename()

    def _rename(self) -> None:
        try:
            os.link(self._temporary, self._path)
        except FileExistsError:
            raise
        except OSError as error:  # a file system without hard links
            if os.path.lexists(self._path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
            self._temporary.rename(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            with contextlib.suppress(OSError):
                self.file.close()
        with contextlib.suppress(OSError):
            self._temporary.unlink(missing_ok=True)


def _unnamed(folder: Path) -> IO[bytes] | None:
    """Return a file without a name in ``folder``; None if the system does not support such
    files."""
    with contextlib.suppress(OSError, AttributeError):
        file = os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666), "r+b")
        if os.path.exists(f"/proc/self/fd/{file.fileno()}"):
            return file
        file.close()
    return None


def _link(file: IO[bytes], path: Path) -> None:
    """Give an unnamed file a name."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # With a folder, Python follows the link in /proc to the file.
        os.link(f"/proc/self/fd/{file.fileno()}", path.name, dst_dir_fd=folder)
    finally:
        os.close(folder)


def beside(path: Path, ending: str) -> Path:
    """Return the path of a file beside ``path``, named ``path`` with an ending; a name that would
    be too long is shortened, with a check sum."""
    name = os.fsencode(path.name)
    if len(name) <= _LONGEST_NAME < len(name) + len(ending):
        short = name[:_SHORTENED].decode("utf-8", "ignore")
        return path.with_name(f"{short}.{hashlib.sha256(name).hexdigest()[:16]}{ending}")
    return path.with_name(path.name + ending)


def has_name(file: IO[bytes], path: Path) -> bool:
    """Return whether ``path`` is still this open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.lstat())
    except FileNotFoundError:
        return False


def to_disk(file: IO[bytes]) -> None:
    """Make the written bytes survive a power cut."""
    file.flush()
    os.fsync(file.fileno())


def names_to_disk(folder: Path) -> None:
    """Make the names of files in a folder survive a power cut, where the system supports it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Claim ``path``, a file or a folder in another, against other processes while the context
    lasts.

    Raises InputError if another process, which the message names, is writing it, if there is a
    ``NAME.lock`` that is not ours, and if none can be written.
    """
    try:
        claim = _Claim(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
    _held.append(claim)
    try:
        yield
    finally:
        _held.remove(claim)
        claim.release()


def check_claims() -> None:
    """Raise RerankError if the lock of a claim that this process holds has been deleted or
    replaced: from then on, another process may be writing."""
    for claim in _held:
        claim.check()


class _Claim:
    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, beside(path, ".lock")
        self._deadline = time.monotonic() + _SECONDS_TO_DIE
        holder = f"parse-reranker: process {os.getpid()} on {socket.gethostname()} is writing\n"
        with NewFile(self._lock) as new:
            self._file = new.file
            self._file.write(holder.encode())
            self._file.flush()
            _lock(self._file)  # before the file has a name, so that nobody sees it unlocked
            while not self._take(new):
                pass

    def _take(self, new: NewFile) -> bool:
        """Give the file that we have locked the name ``NAME.lock``; return False if another process
        has just interfered, so that the attempt must be repeated."""
        try:
            new.give_name(replace=False)
            return True
        except FileExistsError:
            pass
        try:
            if not self._lock.is_file():
                raise self._not_ours()
            with self._lock.open("r+b") as before:
                holder = _HOLDER.fullmatch(before.read(1000))
                if holder is None:
                    raise self._not_ours()
                if not _lock(before):
                    if _is_alive(holder) or time.monotonic() > self._deadline:
                        raise InputError(f"{self._path}: {_named(holder)} is writing it")
                    time.sleep(0.02)
                    return False
                if not has_name(before, self._lock):
                    return False
                new.give_name(replace=True)  # its process has died
                return True
        except FileNotFoundError:
            return False

    def _not_ours(self) -> InputError:
        return InputError(
            f"{self._lock}: is not a lock of this program; give the output another name"
        )

    def check(self) -> None:
        if not has_name(self._file, self._lock):
            raise RerankError(
                f"{self._path}: {self._lock.name} was deleted or replaced while this process was "
                "writing; it stops, since another one may be writing now"
            )

    def release(self) -> None:
        with contextlib.suppress(OSError):
            if has_name(self._file, self._lock):
                self._lock.unlink()
        self._file.close()


def _lock(file: IO[bytes]) -> bool:
    """Lock the file; return False if another process holds the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD_BY_ANOTHER:
            return False
        _LOGGER.warning("files cannot be locked here; see that no other run writes the same")
    return True


def _is_alive(holder: re.Match[bytes]) -> bool:
    """Return whether the process is running, as far as this machine can tell."""
    if os.fsdecode(holder[2]) == socket.gethostname():
        try:
            os.kill(int(holder[1]), 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OverflowError):
            return True
    return True


def _named(holder: re.Match[bytes]) -> str:
    number, host = holder[1].decode(), os.fsdecode(holder[2])
    return f"process {number}" + (f" on {host}" if host != socket.gethostname() else "")
