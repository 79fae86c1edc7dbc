"""Names for files: those that nobody else has, and claims, so that one process writes at a time.

While a process writes ``NAME`` it holds a lock on ``NAME.lock``, which says who it is. The kernel
releases the lock when the process dies, however that happens; the next one takes the file over.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import re
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from reranker.errors import InputError, RerankError

_LOGGER = logging.getLogger(__name__)
_HOLDER = re.compile(rb"parse-reranker: process (\d+) on (.*) is writing\n")
_HELD_BY_ANOTHER = (errno.EAGAIN, errno.EACCES)

_held: list[_Claim] = []


def new_file(path: Path) -> tuple[Path, IO[bytes]]:
    """A file beside ``path`` that did not exist, open for writing and reading."""
    temporary = path.with_name(f"{path.name[:50]}.{secrets.token_hex(8)}.tmp")
    return temporary, temporary.open("x+b")


def give_name(temporary: Path, path: Path) -> None:
    """Rename a file, unless there is one of that name: then raises FileExistsError."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        temporary.rename(path)
    else:
        temporary.unlink()


def has_name(file: IO[bytes], path: Path) -> bool:
    """Whether ``path`` is that open file, and not a newer one or none at all."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.lstat())
    except FileNotFoundError:
        return False


def to_disk(file: IO[bytes]) -> None:
    """Let what was written outlast a power cut."""
    file.flush()
    os.fsync(file.fileno())


def names_to_disk(folder: Path) -> None:
    """Let the names of files in a folder outlast a power cut, where the system has a way for it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[None]:
    """A context in which no other process claims ``path``, a file or a folder.

    Raises InputError, naming the process, if another one is writing it, if there is a
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
    """Raises RerankError if someone has deleted or replaced the lock of a claim that this process
    holds: from then on, another process may be writing."""
    for claim in _held:
        claim.check()


class _Claim:
    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, path.with_name(path.name + ".lock")
        temporary, self._file = new_file(self._lock)
        try:
            holder = f"parse-reranker: process {os.getpid()} on {socket.gethostname()} is writing\n"
            self._file.write(holder.encode())
            self._file.flush()
            _lock(self._file)  # before it has a name, so that nobody sees it unlocked
            while not self._take(temporary):
                pass
        except BaseException:
            self._file.close()
            raise
        finally:
            temporary.unlink(missing_ok=True)

    def _take(self, temporary: Path) -> bool:
        """Name the file that we have locked ``NAME.lock``; False if that has to be tried again,
        since another process has just done something with it."""
        try:
            give_name(temporary, self._lock)
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
                    raise InputError(f"{self._path}: {_named(holder)} is writing it")
                if not has_name(before, self._lock):
                    return False
                temporary.replace(self._lock)  # its process has died
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
    """Whether no other process has locked the file; now we have."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD_BY_ANOTHER:
            return False
        _LOGGER.warning("%s: cannot be locked here; see that no other run writes it", file.name)
    return True


def _named(holder: re.Match[bytes]) -> str:
    number, host = holder[1].decode(), os.fsdecode(holder[2])
    return f"process {number}" + (f" on {host}" if host != socket.gethostname() else "")
