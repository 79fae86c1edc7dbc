"""The BLLIP parser's model: a folder, or a packed file that is unpacked for the parser.

It is unpacked once, into the user's cache (``~/.cache/parse-reranker``, or in ``XDG_CACHE_HOME``),
in a folder named by the hash of the packed file; where nothing can be written there, into a
temporary folder, once per process, which is removed when the program ends.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tarfile
import tempfile
import threading
import zlib
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from reranker.checkpoints.installed import BLLIP_FILE, installed_parser_models
from reranker.commands.endings import at_exit
from reranker.errors import InputError
from reranker.files.opening import file_sha256

_LISTING = ".files.json"
_MOST_FILES, _MOST_BYTES = 200, 1 << 30
_LONGEST_NAME = 255  # bytes, on all common file systems
_BUFFER = 1 << 14
_LONGEST_HEADER = 1 << 16  # bytes; tar's extended headers hold a name or a time

_temporary: dict[str, Path] = {}
"""The temporary folders of this process, by the hash of the packed file."""
_unpacking = threading.Lock()


class _Packed(gzip.GzipFile):
    """A packed file that refuses headers that tarfile would read whole, however long they are, and
    content without end, before anything is inflated."""

    def read(self, size: int | None = -1) -> bytes:
        """Read bytes. Raises ValueError for more than a header."""
        if size is None or not 0 <= size <= _LONGEST_HEADER:
            raise ValueError(f"a header of {size} bytes")
        return super().read(size)

    def seek(self, position: int, whence: int = 0) -> int:
        """Move to a position. Raises ValueError for a position beyond the size of any model."""
        if position > 2 * _MOST_BYTES:
            raise ValueError("too large")
        return super().seek(position, whence)


class BllipModel(NamedTuple):
    """The place of a model."""

    path: Path
    sha256: str | None  # the hash of a packed model

    def folder(self) -> Path:
        """Return the folder with the model's files, unpacked if necessary. Raises InputError unless
        it is a model."""
        return self.path if self.sha256 is None else _unpacked(self.path, self.sha256)


def bllip_model(name: str = "") -> BllipModel:
    """Return a folder, a packed file, or an installed model by its name; without a name, the first
    that is installed. Raises InputError for a missing model and for a wrong hash."""
    if os.path.isdir(name):
        if not (Path(name) / BLLIP_FILE).is_file():
            raise InputError(f"{name}: not the folder of a BLLIP model: no {BLLIP_FILE}")
        return BllipModel(Path(name), None)
    if os.path.exists(name):
        return BllipModel(Path(name), file_sha256(name, _MOST_BYTES))
    installed = installed_parser_models()
    if not installed and not name:
        raise InputError(
            "no model for the BLLIP parser: install parse-reranker-models (`make wheels` in a "
            "clone builds it), or name one after --parser-model"
        )
    for model in installed:
        if name in ("", model.name):
            if model.path.is_dir():
                return BllipModel(model.path, None)
            digest = file_sha256(model.path)
            if digest != model.sha256:
                raise InputError(
                    f"{model.path}: its SHA-256 is {digest:.8}..., not {model.sha256:.8}...: not "
                    "the file that was published"
                )
            return BllipModel(model.path, digest)
    names = ", ".join(model.name for model in installed) or "none"
    raise InputError(
        f"{name}: no such folder or file, and no model of that name (there is {names})"
    )


def cache_folder() -> Path:
    """Return the folder in which packed models are unpacked."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(cache) / "parse-reranker"


def _unpacked(packed: Path, sha256: str) -> Path:
    folder = cache_folder() / f"bllip-{sha256[:16]}"
    if not folder.is_absolute():  # without a home it would be in the working directory
        return _unpacked_for_now(packed, sha256)
    if _is_whole(folder):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
    except OSError:  # a home that is read-only, or that is not there
        return _unpacked_for_now(packed, sha256)
    try:
        _unpack(packed, new)
        if folder.exists() and not _is_whole(folder):  # something has tidied up in it
            for name in [*json.loads((new / _LISTING).read_text("utf-8")), _LISTING]:
                (new / name).replace(folder / name)
        else:
            new.rename(folder)
    except OSError:
        if not _is_whole(folder):  # where another process has not been faster
            return _unpacked_for_now(packed, sha256)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return folder


def _unpacked_for_now(packed: Path, sha256: str) -> Path:
    with _unpacking:
        folder = _temporary.get(sha256)
        if folder is not None and _is_whole(folder):
            return folder
        if folder is not None:  # something has tidied up in it
            shutil.rmtree(folder, ignore_errors=True)
        folder = _temporary[sha256] = _new_temporary(packed)
        return folder


def _new_temporary(packed: Path) -> Path:
    try:
        folder = Path(tempfile.mkdtemp(prefix="parse-reranker-"))
        try:
            _unpack(packed, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    except OSError as error:
        raise InputError(
            f"{packed}: there is no folder to unpack it into, neither {cache_folder()} nor a "
            f"temporary one: {error.strerror}"
        ) from error
    return folder


@at_exit
def remove_temporary_models() -> None:
    """Remove the temporary folders."""
    with _unpacking:
        while _temporary:
            shutil.rmtree(_temporary.popitem()[1], ignore_errors=True)


def _unpack(packed: Path, folder: Path) -> None:
    """Extract the files of an archive, all in one folder there, into ``folder``. Raises InputError
    for anything else, OSError if they cannot be written."""
    sizes: dict[str, int] = {}
    try:
        with _Packed(packed) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
            for number, member in enumerate(archive, 1):
                if not member.isdir():
                    sizes[PurePosixPath(member.name).name] = member.size
                if number > _MOST_FILES or sum(sizes.values()) > _MOST_BYTES:
                    raise InputError(f"{packed}: too large for a BLLIP model")
                if member.isdir():
                    continue
                name = PurePosixPath(member.name).name
                content = archive.extractfile(member) if member.isfile() else None
                if content is None or not _can_be_a_file(name):
                    raise InputError(f"{packed}: not a BLLIP model: {member.name!r:.60} is in it")
                with (folder / name).open("xb") as file:
                    shutil.copyfileobj(content, file, _BUFFER)
            stream.read(_BUFFER)  # to the end, where the check sum is
    except FileExistsError as error:
        raise InputError(f"{packed}: not a BLLIP model: two files are called {name}") from error
    except (tarfile.TarError, EOFError, ValueError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{packed}: not a packed BLLIP model (.tar.gz): {error}") from error
    if BLLIP_FILE not in sizes:
        raise InputError(f"{packed}: not a BLLIP model: no {BLLIP_FILE}")
    (folder / _LISTING).write_text(json.dumps(sizes), "utf-8")


def _can_be_a_file(name: str) -> bool:
    """Return whether the name can be that of a model's file, on any system."""
    length = len(name.encode(errors="surrogateescape"))
    return 0 < length <= _LONGEST_NAME and name[0] != "." and "\0" not in name


def _is_whole(folder: Path) -> bool:
    """Return whether every unpacked file is there, in full length."""
    try:
        sizes = json.loads((folder / _LISTING).read_text("utf-8"))
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False
