"""Files on local disks, in object stores and behind HTTP, by their fsspec names."""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from reranker.errors import InputError, RerankError
from reranker.files.claim import claimed, to_disk
from reranker.files.output import NOT_OURS, always, check_own, make_folder, whole_file
from reranker.files.text import TextFile

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_ADVICE = "rename or delete it, or give --out another folder"
_LONGEST_REASON = 300  # characters
# Fields of object stores' packages that identify a file's content, best first; HTTP's, too.
_IDENTITIES = ("ETag", "etag", "md5Hash", "generation", "mtime", "LastModified", "last_modified")
_BUFFER = 1 << 16
_READ_AHEAD = 1 << 22
_AT_ONCE = 16
_OBJECTS = {"s3", "s3a", "gcs", "gs"}
"""Stores whose packages can upload a file and then decide whether it appears."""


class Storage:
    """A folder, local or not, and the files below it."""

    def __init__(self, url: str) -> None:
        """Raise InputError for an unknown kind of storage, and for an empty name."""
        if not url:
            raise InputError("a folder needs a name; '.' is the current folder")
        self.url = url.rstrip("/") or "/"
        self._files, self._root = opened(self.url)

    def check_writable(self) -> None:
        """Raise InputError for storage in which half-written files could be seen."""
        protocols = self._files.protocol
        names = {protocols} if isinstance(protocols, str) else set(protocols)
        if not self._is_local and not names & _OBJECTS:
            raise InputError(
                f"{self.url}: cannot be written: only local folders, s3:// and gs:// can"
            )

    @property
    def _is_local(self) -> bool:
        return isinstance(self._files, LocalFileSystem)

    def _place(self, name: str) -> str:
        """Return the path of a file or folder below this one. Raises InputError if a name or a link
        leads out of the storage."""
        parts = name.split("/") if name else []
        if {"", ".", ".."} & {*parts}:
            raise InputError(f"{self.path(name)}: leads out of the folder of --out")
        for number in range(1, len(parts)) if self._is_local else ():
            above = Path(self._root, *parts[:number])
            if above.is_symlink() or (above.exists() and not above.is_dir()):
                what = "a link" if above.is_symlink() else "no folder"
                raise InputError(f"{above}: {what}; {_ADVICE}")
        return "/".join([self._root, *parts])

    def check_own(self, name: str, is_own: Callable[[], bool]) -> bool:
        """Return whether there is a file of this name, to be replaced. Raises InputError if there
        is something that a run has not made, as ``is_own`` tells, or that is no file."""
        with _errors(self.path(name), "written", InputError):
            target = self._place(name)
            if self._is_local:
                return check_own(Path(target), lambda _: is_own(), _ADVICE)
            self._files.invalidate_cache()
            if self._files.isfile(target) and not is_own():
                raise InputError(f"{self.path(name)}: {NOT_OURS}; {_ADVICE}")
            return bool(self._files.isfile(target))

    def own(self, names: Iterable[str], is_own: Callable[[str], bool]) -> set[str]:
        """Return the names at which there is a file. Raises InputError as ``check_own`` does."""
        names = [*names]
        if not self._is_local:  # in which a listing is cheaper than a question for each
            there = self.sizes()
            names = [name for name in names if name in there]
        return {name for name in names if self.check_own(name, functools.partial(is_own, name))}

    def folds_case(self, folder: str) -> bool:
        """Return whether names that differ in case alone are one file here, as the lock of the
        claimed ``folder`` shows."""
        lock = Path(self._root, f"{folder}.lock")
        try:
            return self._is_local and lock.samefile(lock.with_name(lock.name.upper()))
        except OSError:
            return False

    def path(self, name: str) -> str:
        """Return the name by which a user can find a file of this folder."""
        return f"{self.url}/{name}"

    @contextlib.contextmanager
    def claimed(self, folder: str) -> Iterator[None]:
        """Claim ``folder`` for this process until the end of the context, where this storage has
        locks: on local disks. Raises InputError, naming the process, if another process has claimed
        the folder."""
        if not self._is_local:
            yield
            return
        make_folder(Path(self._root))
        with claimed(Path(self._root, folder)):
            yield

    def written_input(self, urls: Iterable[str], names: Iterable[str], own: str) -> str | None:
        """Return the first of ``urls`` that is, under any name, one of the files ``names`` to be
        written or lies in the folder ``own``; None if there is none."""
        inputs = [(url, *opened(url)) for url in urls]
        inputs = [each for each in inputs if each[1] == self._files]
        outputs = {_same(self._files, f"{self._root}/{name}") for name in names}
        folder = _same(self._files, f"{self._root}/{own}")
        for url, files, path in inputs:
            above = {_same(files, str(each)) for each in PurePosixPath(path).parents}
            if _same(files, path) in outputs or folder in above:
                return url
        return None

    def write(
        self, name: str, content: Iterator[bytes], is_own: Callable[[], bool] | None = None
    ) -> int:
        """Write a file, whole or not at all; return its size. ``is_own`` tells whether a run has
        made a file of that name; None: the name is in the run's own folder. Raises InputError for a
        file that no run has made, and RerankError."""

        def check() -> None:
            if is_own is not None:
                self.check_own(name, is_own)

        with _errors(self.path(name), "written", RerankError):
            target = self._place(name)
            check()
            self._files.makedirs(os.path.dirname(target), exist_ok=True)
            if self._is_local:
                return _replace(target, content, is_own or (lambda: True))
            return _put(self._files, target, content, check)

    def read(self, name: str) -> bytes:
        """Read a file. Raises RerankError if the file is missing or cannot be read."""
        with _errors(self.path(name), "read", RerankError):
            if self._is_local:
                check_own(Path(self._place(name)), always, _ADVICE)  # reading a pipe would wait
            return cast(bytes, self._files.cat_file(self._place(name)))

    def read_all(self, names: Sequence[str]) -> list[bytes]:
        """Read the contents of many files, several at a time."""
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            return list(threads.map(self.read, names))

    def sha256_all(self, names: Sequence[str]) -> dict[str, str]:
        """Return the SHA-256 of each file, read several at a time. Raises RerankError."""

        def sha256(name: str) -> str:
            errors = _errors(self.path(name), "read", RerankError)
            with errors, self._files.open(self._place(name), "rb") as file:
                return hashlib.file_digest(cast(Any, file), "sha256").hexdigest()

        with ThreadPoolExecutor(_AT_ONCE) as threads:
            return dict(zip(names, threads.map(sha256, names), strict=True))

    def sizes(self, folder: str = "") -> dict[str, int]:
        """Return every file below ``folder`` with its size; nothing for a missing folder."""
        with _errors(self.path(folder), "read", RerankError):
            start = self._place(folder)
            self._files.invalidate_cache()
            entries = self._files.find(start, detail=True)
        length = len(self._root) + 1
        return {path[length:]: int(entry["size"] or 0) for path, entry in entries.items()}

    def remove_file(self, name: str) -> None:
        """Remove a file, if it is there. Raises RerankError."""
        with _errors(self.path(name), "removed", RerankError):
            if self._files.exists(target := self._place(name)):
                self._files.rm_file(target)

    def remove(self, folder: str) -> None:
        """Remove a folder and everything in it, if it is there. Raises RerankError."""
        with _errors(self.path(folder), "removed", RerankError):
            if self._is_local:
                with contextlib.suppress(FileNotFoundError):
                    shutil.rmtree(self._place(folder))
                return
            paths = [self._place(name) for name in self.sizes(folder)]
            with ThreadPoolExecutor(_AT_ONCE) as threads:
                # Not the file system's own way for many, which takes [ and * for patterns.
                list(threads.map(self._files.rm_file, paths))


def opened(url: str) -> tuple[Any, str]:
    """Return the file system of a URL or path, and the path in it. Raises InputError."""
    with _errors(url, "opened", InputError):
        files, path = fsspec.core.url_to_fs(absolute(url))
        return files, os.path.abspath(path) if isinstance(files, LocalFileSystem) else path


def absolute(url: str) -> str:
    """Return the name that means the same in every process: a cluster's processes were started in
    other folders."""
    return os.path.abspath(url) if is_local(url) else url


def is_local(url: str) -> bool:
    """Return whether a name is that of a local file, which ``open`` accepts."""
    return "://" not in url and "::" not in url


def expanded(patterns: list[str]) -> dict[str, str]:
    """Return the files that names and patterns stand for, sorted, each with an identifier that
    differs if the content does. Raises InputError for a pattern that matches nothing."""
    identities: dict[str, str] = {}
    for pattern in patterns:
        with _errors(pattern, "read", InputError):
            files, path = opened(pattern)
            is_pattern = glob.has_magic(path) and not files.exists(path)
            paths = sorted(files.glob(path)) if is_pattern else [path]
            if not paths:
                raise InputError(f"{pattern}: no file matches")
            for each in paths:
                entry = files.info(each)
                if entry["type"] == "directory" and not is_pattern:
                    raise InputError(f"{pattern}: a folder; name its files: '{pattern}/*'")
                if entry["type"] != "directory":
                    name = each if is_local(pattern) else str(files.unstrip_protocol(each))
                    identities[name] = _identity(entry)
    return identities


def open_text(url: str) -> str | TextFile:
    """Return the argument for ``read_nbest``: the name of a local file, or the opened stream of
    another.

    Raises InputError if that cannot be opened.
    """
    if is_local(url):
        return url
    with _errors(url, "read", InputError):
        files, path = opened(url)
        size = files.info(path)["size"]
        return _RemoteText(files.open(path, "rb", block_size=_READ_AHEAD), url, size)


class _RemoteText(TextFile):
    """The text of a stream. Unlike damage on a disk, which is permanent, a network failure does not
    end the text: reading raises InputError."""

    def __init__(self, stream: IO[bytes], url: str, size: int | None) -> None:
        self.name = url
        self._binary = io.BufferedReader(_Stream(stream, url), _BUFFER)
        self.size = size
        self._source = None
        self.damage = None


class _Stream(io.RawIOBase):
    def __init__(self, stream: IO[bytes], url: str) -> None:
        self._stream, self._url = stream, url

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        with _errors(self._url, "read", InputError):
            data = self._stream.read(len(view))
        view[: len(data)] = data
        return len(data)

    def tell(self) -> int:
        return self._stream.tell()

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def _same(files: Any, path: str) -> object:
    """Return the identity of a file, whatever links lead to it."""
    if isinstance(files, LocalFileSystem):
        with contextlib.suppress(OSError):
            status = os.stat(path)
            return status.st_dev, status.st_ino
    return path


def _identity(entry: dict[str, Any]) -> str:
    known = next((entry[name] for name in _IDENTITIES if entry.get(name) is not None), "")
    return f"{entry.get('size')} {known}"


def _replace(target: str, content: Iterator[bytes], is_own: Callable[[], bool]) -> int:
    # Two processes that write the same file, after a kill was noticed late, write the same.
    size, digest = 0, hashlib.sha256()
    with whole_file(Path(target), lambda _: is_own()) as file:
        for piece in content:
            size += file.write(piece)
            digest.update(piece)
        to_disk(file)
        if hasattr(os, "posix_fadvise"):  # so that it is read from the disk
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(0)
        if hashlib.file_digest(cast(Any, file), "sha256").digest() != digest.digest():
            raise OSError("the file on disk differs from what was written")
    return size


def _put(files: Any, target: str, content: Iterator[bytes], check: Callable[[], object]) -> int:
    """Upload an object, which appears once it is complete and so needs no temporary name; ``check``
    is called before that."""
    size = 0
    file = files.open(target, "wb", autocommit=False)
    try:
        for piece in content:
            size += file.write(piece)
        file.close()
        check()
    except BaseException:
        with contextlib.suppress(Exception):
            file.discard()
        file.closed = True  # or it would be uploaded when Python forgets it
        raise
    file.commit()
    return size


@contextlib.contextmanager
def _errors(name: str, done: str, kind: type[RerankError]) -> Iterator[None]:
    """Raise any error of a storage package as an error that names the file."""
    try:
        yield
    except RerankError:
        raise
    except ImportError as error:
        raise InputError(f"{name}: {error}") from error
    except Exception as error:
        message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        lines = (message or "").strip().splitlines()
        reason = lines[0] if lines else type(error).__name__
        if isinstance(error, FileNotFoundError):
            reason = "no such file"
        raise kind(f"{name}: cannot be {done}: {reason[:_LONGEST_REASON]}") from error
