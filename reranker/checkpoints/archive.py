"""The files that ``torch.save`` writes, read so that no file takes much more memory than its size.

Such a file is a zip archive: a pickle, and for each tensor a stored (not deflated) record of bytes.
``torch.load`` alone, even with ``weights_only``, would let through

- records that are deflated: 10 MB become 10 GB;
- records whose check sums are wrong;
- pickles of a few bytes that make gigabytes: ``bytearray(10 ** 10)``, lists within lists each twice
  in the next, a dictionary copied 5,000 times;
- bytes before the zip archive in a file, which it reads as a pickle of an older kind.

So the directory is checked first, then the pickle, and torch reads a copy of exactly the checked
records: the file's own directory could mean something else to torch's reader of zip archives than
to Python's.
"""

from __future__ import annotations

import hashlib
import io
import pickletools
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import torch

from reranker.checkpoints import MOST_BYTES
from reranker.errors import CheckpointError, lacks_memory
from reranker.files.opening import open_file
from reranker.files.output import make_folder, whole_file

_MAX_RECORDS = 10_000
_MAX_CONTAINERS = 20_000  # some hundred bytes each and, if nested, some of the stack
_MAX_SHARED = 10  # lists within lists, each twice in the next, would double in size each time
_NO_CODE = "files that contain code are never loaded"
_DIRECTORY_ENTRY = b"PK\1\2"
_FOLDER = "checkpoint/"

# The opcodes that torch.save writes for containers, numbers, strings and tensors; other pickles can
# make large objects of few bytes.
_NUMBERS = {"NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"}
_FILLING = {"MARK", "APPEND", "APPENDS", "SETITEM", "SETITEMS"}
_PLAIN = _NUMBERS | _FILLING | {"PROTO", "STOP", "BINUNICODE", "GLOBAL", "BINPERSID"}
_CONTAINERS = {
    *("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE"),
    *("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "REDUCE"),
}
_TO_MEMO, _FROM_MEMO = {"BINPUT", "LONG_BINPUT"}, {"BINGET", "LONG_BINGET"}
# The results of these opcodes, strings and tensors, contain no other objects.
_ATOMS = {"BINUNICODE", "GLOBAL", "BINPERSID", "REDUCE"}
_NUMBER_TYPES = (
    *("Double", "Float", "Half", "BFloat16"),
    *("Long", "Int", "Short", "Char", "Byte", "Bool"),
)
_KNOWN = {"torch._utils _rebuild_tensor_v2", "collections OrderedDict"}
_KNOWN |= {f"torch {name}Storage" for name in _NUMBER_TYPES}


class _Refused(Exception):
    """A part of the file that ``torch.save`` does not write for a checkpoint."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The content of a file: tensors, numbers, strings and containers."""

    content: Any
    size: int  # the size of the file in bytes
    sha256: str  # the SHA-256 of the file


def read_archive(path: Path, sha256: str = "") -> Archive:
    """Read a file that ``write_atomically`` wrote; nothing in the file is executed.

    Raises CheckpointError, naming the file, if it is something else or damaged, and if its SHA-256
    is not ``sha256``, where one is given; MemoryError if memory does not suffice.
    """
    try:
        with open_file(path, most=MOST_BYTES) as file:
            if not zipfile.is_zipfile(file):  # of a large file, only the end is read
                raise _Refused(_NO_CODE)
            file.seek(0)
            data = file.read()
        digest = hashlib.sha256(data).hexdigest()
        if sha256 not in ("", digest):
            raise CheckpointError(f"{path}: its SHA-256 is {digest}, not {sha256}")
        return Archive(_content(data), len(data), digest)
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror or 'cannot be read'}") from error
    except zipfile.BadZipFile as error:
        raise CheckpointError(f"{path}: a damaged checkpoint ({error})") from error
    except _Refused as error:
        raise CheckpointError(f"{path}: not a checkpoint of `rerank train` ({error})") from error
    except CheckpointError:
        raise
    except RuntimeError as error:
        if lacks_memory(error):
            raise MemoryError(f"{path}: {error}".rstrip(": ")) from error
        reason = str(error).split("\n")[0]
        raise CheckpointError(f"{path}: a damaged checkpoint ({reason:.200})") from error
    except Exception as error:  # damaged bytes make torch's unpickler raise nearly anything
        if lacks_memory(error):
            raise MemoryError(f"{path}: {error}".rstrip(": ")) from error
        raise CheckpointError(f"{path}: not a checkpoint of `rerank train` ({_NO_CODE})") from error


def write_atomically(path: Path, content: dict[str, Any]) -> None:
    """Save with ``torch.save``, whole or not at all. Raises RerankError if the file cannot be
    written."""
    make_folder(path.parent)
    with whole_file(path) as file:
        _save(content, file)


def _save(content: dict[str, Any], file: IO[bytes]) -> None:
    """Call ``torch.save``, and raise the OSError of a full disk: torch's zip writer raises a
    RuntimeError with the OSError as its context."""
    try:
        torch.save(content, file)
    except RuntimeError as error:
        if isinstance(error.__context__, OSError):
            raise error.__context__ from None
        raise


def _content(data: bytes) -> Any:
    if data.count(_DIRECTORY_ENTRY) > _MAX_RECORDS:
        raise _Refused(f"more than {_MAX_RECORDS} records")
    clean = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(clean, "w") as copy:
        copy.writestr(f"{_FOLDER}version", "3\n")  # of the archive's form
        entries = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise _Refused("its records are compressed")
        if sum(entry.file_size for entry in entries) > len(data):
            raise _Refused("its records claim to be larger than the file")
        if not any(entry.filename.endswith("/data.pkl") for entry in entries):
            raise _Refused(_NO_CODE)
        for entry in entries:
            record = archive.read(entry)  # raises BadZipFile if its check sum is wrong
            name = entry.filename.partition("/")[2]  # torch names the folder after the file
            if name == "data.pkl":
                _check(record)
            if name in ("data.pkl", "byteorder") or name.startswith("data/"):
                copy.writestr(_FOLDER + name, record)
    clean.seek(0)
    return torch.load(clean, map_location="cpu", weights_only=True)


def _check(code: bytes) -> None:
    """Raise _Refused for a pickle that could create objects much larger than itself."""
    containers = shared = 0
    is_container: list[bool] = []  # for each memoized object
    before = ""
    argument: Any
    for opcode, argument, _ in pickletools.genops(code):
        if opcode.name in _TO_MEMO:
            # torch.save numbers objects in order; the unpickler allocates all smaller numbers.
            if argument != len(is_container):
                raise _Refused("its pickle is not one of torch.save")
            is_container.append(before not in _ATOMS)
        elif opcode.name in _FROM_MEMO:
            shared += is_container[argument]
        elif opcode.name in _CONTAINERS:
            containers += 1
        elif opcode.name == "GLOBAL" and argument not in _KNOWN:
            raise _Refused(f"it asks for {argument.replace(' ', '.')}; {_NO_CODE}")
        elif opcode.name not in _PLAIN:
            raise _Refused(_NO_CODE)
        before = opcode.name
    if containers > _MAX_CONTAINERS or shared > _MAX_SHARED:
        raise _Refused(f"{containers} lists and dictionaries, {shared} of them shared")
