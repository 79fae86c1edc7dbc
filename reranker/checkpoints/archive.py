"""The files that ``torch.save`` writes, read so that no file takes much more memory than its size.

Such a file is a zip archive: a pickle, and for each tensor a stored (not deflated) record of bytes.
``torch.load`` inflates whatever is deflated, ignores the records' check sums, and even with
``weights_only`` lets a pickle of a few bytes ask for gigabytes. Here the file is read once, and
everything is made of these bytes: what is checked is what is used, whatever becomes of the file.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import pickletools
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import torch

from reranker.errors import CheckpointError, lacks_memory
from reranker.files.output import whole_file, write_errors

_MOST_RECORDS = 10_000
_MOST_CONTAINERS = 20_000  # each some hundred bytes; nested, each some of the stack
_MOST_SHARED = 10  # lists within lists, each twice in the next, would double in size with each
_NO_CODE = "files that contain code are never loaded"
_DIRECTORY_ENTRY = b"PK\1\2"

# All that torch.save makes of containers, numbers, strings and tensors; pickles of other programs
# can make large objects of few bytes.
_NUMBERS = {"NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"}
_FILLING = {"MARK", "APPEND", "APPENDS", "SETITEM", "SETITEMS"}
_PLAIN = _NUMBERS | _FILLING | {"PROTO", "STOP", "BINUNICODE", "GLOBAL", "BINPERSID"}
_CONTAINERS = {
    *("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE"),
    *("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "REDUCE"),
}
_TO_MEMO, _FROM_MEMO = {"BINPUT", "LONG_BINPUT"}, {"BINGET", "LONG_BINGET"}
# What these leave to be memoized, strings and tensors, contains nothing else.
_ATOMS = {"BINUNICODE", "GLOBAL", "BINPERSID", "REDUCE"}


class _Refused(Exception):
    """What the file holds that ``torch.save`` does not make of a checkpoint."""


@dataclass(frozen=True, slots=True)
class Archive:
    """What a file holds: tensors, numbers, strings and containers."""

    content: Any
    size: int
    """Bytes of the file."""
    sha256: str
    """The SHA-256 of the file."""


def read_archive(path: Path, sha256: str = "") -> Archive:
    """What ``write_atomically`` wrote; nothing in the file is executed.

    Raises CheckpointError, naming the file, if it is something else or damaged, and if its SHA-256
    is not ``sha256``, where one is given; MemoryError if memory does not suffice.
    """
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):  # of a large file, only the end is read
                raise _Refused(_NO_CODE)
            file.seek(0)
            data = file.read()
        found = hashlib.sha256(data).hexdigest()
        if sha256 not in ("", found):
            raise CheckpointError(f"{path}: its SHA-256 is {found}, not {sha256}")
        return Archive(_content(data), len(data), found)
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror or 'cannot be read'}") from error
    except zipfile.BadZipFile as error:
        raise CheckpointError(f"{path}: a damaged checkpoint ({error})") from error
    except _Refused as error:
        raise CheckpointError(f"{path}: not a checkpoint of `rerank train` ({error})") from error
    except CheckpointError:
        raise
    except Exception as error:  # damaged bytes make the unpickler raise nearly anything
        if lacks_memory(error):
            raise MemoryError(f"{path}: {error}".rstrip(": ")) from error
        raise CheckpointError(f"{path}: not a checkpoint of `rerank train` ({_NO_CODE})") from error


def write_atomically(path: Path, content: dict[str, Any]) -> None:
    """``torch.save``, whole or not at all. Raises RerankError if the file cannot be written."""
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        _save(content, file)


def _save(content: dict[str, Any], file: IO[bytes]) -> None:
    """``torch.save``; of a disk that is full, torch's zip writer makes a RuntimeError of its own,
    in the context of which is the OSError that is raised here."""
    try:
        torch.save(content, file)
    except RuntimeError as error:
        if isinstance(error.__context__, OSError):
            raise error.__context__ from None
        raise


def _content(data: bytes) -> Any:
    if data.count(_DIRECTORY_ENTRY) > _MOST_RECORDS:
        raise _Refused(f"more than {_MOST_RECORDS} records")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise _Refused("its records are compressed")
        if sum(entry.file_size for entry in entries) > len(data):
            raise _Refused("its records claim to be larger than the file")
        return _Reader(archive).load()


class _Reader(pickle.Unpickler):
    """Makes containers, numbers, strings and tensors; it can call nothing else."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        # torch names the folder in the archive after the file.
        self._folder = archive.namelist()[0].partition("/")[0]
        self._archive = archive
        self._stored: dict[str, torch.Tensor] = {}
        if self._record("byteorder") != sys.byteorder.encode():
            raise _Refused(f"its numbers are not {sys.byteorder}-endian")
        code = self._record("data.pkl")
        _check(code)
        super().__init__(io.BytesIO(code))

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _KNOWN[f"{module} {name}"]
        except KeyError:
            raise _Refused(f"it asks for {module}.{name}; {_NO_CODE}") from None

    def persistent_load(self, identity: Any) -> torch.Tensor:
        """The numbers of a record, in one dimension."""
        _, dtype, key, _, count = identity
        if not isinstance(key, str):
            raise _Refused("its records have no names")
        if key not in self._stored:
            record = self._record(f"data/{key}")
            # frombuffer refuses empty buffers.
            empty = torch.empty(0, dtype=dtype)
            self._stored[key] = (
                torch.frombuffer(bytearray(record), dtype=dtype) if record else empty
            )
        stored = self._stored[key]
        if stored.dtype != dtype or len(stored) != count:
            raise _Refused("its tensors do not fit its records")
        return stored

    def _record(self, name: str) -> bytes:
        """Raises KeyError if there is none, BadZipFile if its check sum is wrong."""
        return self._archive.read(f"{self._folder}/{name}")


def _check(code: bytes) -> None:
    """Refuse a pickle from which objects much larger than itself could be made."""
    containers = shared = 0
    is_container: list[bool] = []  # of what was memoized
    before = ""
    argument: Any
    for opcode, argument, _ in pickletools.genops(code):
        if opcode.name in _TO_MEMO:
            # In turn, as torch.save numbers them: room is made for all smaller numbers.
            if argument != len(is_container):
                raise _Refused("its pickle is not one of torch.save")
            is_container.append(before not in _ATOMS)
        elif opcode.name in _FROM_MEMO:
            shared += is_container[argument]
        elif opcode.name in _CONTAINERS:
            containers += 1
        elif opcode.name not in _PLAIN:
            raise _Refused(_NO_CODE)
        before = opcode.name
    if containers > _MOST_CONTAINERS or shared > _MOST_SHARED:
        raise _Refused(f"{containers} lists and dictionaries, {shared} of them shared")


def _tensor(
    stored: torch.Tensor, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any
) -> torch.Tensor:
    """Part of a record; torch raises RuntimeError if the record is too short."""
    return stored.as_strided(shape, strides, offset)


def _no_hooks() -> None:
    """torch.save writes an empty OrderedDict beside every tensor."""


_KNOWN: dict[str, Any] = {
    "torch._utils _rebuild_tensor_v2": _tensor,
    "collections OrderedDict": _no_hooks,
    "torch DoubleStorage": torch.float64,
    "torch FloatStorage": torch.float32,
    "torch HalfStorage": torch.float16,
    "torch BFloat16Storage": torch.bfloat16,
    "torch LongStorage": torch.int64,
    "torch IntStorage": torch.int32,
    "torch ShortStorage": torch.int16,
    "torch CharStorage": torch.int8,
    "torch ByteStorage": torch.uint8,
    "torch BoolStorage": torch.bool,
}
