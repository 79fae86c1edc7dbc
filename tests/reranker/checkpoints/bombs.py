"""Small files that ask for much memory, time or stack."""

from __future__ import annotations

import copy
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

NESTED = b"\x80\x02)" + b"\x85" * 1_000_000 + b"."
LISTS = b"\x80\x02](" + b"]" * 1_000_000 + b"e."
SETS = b"\x80\x02](" + b"\x8f" * 1_000_000 + b"e."
BYTES = b"\x80\x02cbuiltins\nbytearray\nJ\x00\xca\x9a;\x85R."  # bytearray(10 ** 9)
MEMO = b"\x80\x02]r\xff\xff\xff\x0f."  # item 2 ** 28 of the memo
DOUBLED = (  # [[[... [[], []], [...]]]], 40 deep
    b"\x80\x02]q\x00"
    + b"".join(b"](h%ch%ceq%c" % (number, number, number + 1) for number in range(40))
    + b"."
)
_MANY = b"}(" + b"".join(b"J" + struct.pack("<i", number) + b"N" for number in range(50_000)) + b"u"
COPIES = (  # OrderedDict(many), 5000 times
    b"\x80\x02ccollections\nOrderedDict\nq\x00"
    + _MANY
    + b"q\x01]("
    + b"h\x00h\x01\x85R" * 5000
    + b"e."
)
_STORAGE = b"(X\x07\x00\x00\x00storagectorch\nByteStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
CLAIMS = (  # a tensor of 10 ** 9 bytes, of which one is stored
    b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("
    + _STORAGE
    + b"J\x00\xca\x9a;tQK\x00J\x00\xca\x9a;\x85K\x01\x85\x89NtR."
)


def _zip(path: Path, records: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", kind, compresslevel=1) as archive:
        for name, record in records.items():
            archive.writestr(f"archive/{name}", record)


def _pickled(code: bytes) -> Callable[[Path], None]:
    records = {"byteorder": sys.byteorder.encode(), "data.pkl": code, "data/0": b"\x00"}
    return lambda path: _zip(path, records)


def _deflated(path: Path) -> None:
    zeros = bytes(150_000_000)
    size = struct.pack("<i", len(zeros))
    code = CLAIMS.replace(b"\x00\xca\x9a;", size)
    order = sys.byteorder.encode()
    records = {"byteorder": order, "data.pkl": code, "version": b"3\n", "data/0": zeros}
    _zip(path, records, zipfile.ZIP_DEFLATED)


def _lying(path: Path) -> None:
    """Write an archive whose directory says that a record has 2 GB."""
    _pickled(CLAIMS)(path)
    content = bytearray(path.read_bytes())
    sizes = content.rindex(b"PK\1\2") + 20
    content[sizes : sizes + 8] = struct.pack("<II", 2**31, 2**31)
    path.write_bytes(content)


def _overlapping(path: Path) -> None:
    """Write a record of 2 MB under 500 names."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data/0", bytes(2_000_000))
        for number in range(1, 500):
            again = copy.copy(archive.filelist[0])
            again.filename = again.orig_filename = f"archive/data/{number}"
            archive.filelist.append(again)


def _crowded(path: Path) -> None:
    _zip(path, {f"data/{number}": b"" for number in range(40_000)})


def _prefixed(path: Path) -> None:
    """Write a pickle of torch's old form before the zip archive."""
    _pickled(BYTES)(path)
    path.write_bytes(BYTES + path.read_bytes())


def _capitals(path: Path) -> None:
    """Write names in capitals: torch's reader of zip archives ignores the case of names."""
    _zip(path, {"DATA.PKL": BYTES, "data.pkl": BYTES, "data/0": b""})


BOMBS: dict[str, tuple[Callable[[Path], None], str]] = {
    "deflated": (_deflated, "its records are compressed"),
    "lying": (_lying, "its records claim to be larger than the file"),
    "overlapping": (_overlapping, "its records claim to be larger than the file"),
    "crowded": (_crowded, "more than 10000 records"),
    "nested": (_pickled(NESTED), "1000001 lists and dictionaries, 0 of them shared"),
    "lists": (_pickled(LISTS), "1000001 lists and dictionaries, 0 of them shared"),
    "sets": (_pickled(SETS), "files that contain code are never loaded"),
    "bytes": (_pickled(BYTES), "it asks for builtins.bytearray; files that contain code are never"),
    "memo": (_pickled(MEMO), "its pickle is not one of torch.save"),
    "doubled": (_pickled(DOUBLED), "41 lists and dictionaries, 80 of them shared"),
    "copies": (_pickled(COPIES), "10002 lists and dictionaries, 5000 of them shared"),
    "claims": (_pickled(CLAIMS), "record size (1 bytes) does not match expected size"),
    "prefixed": (_prefixed, "it asks for builtins.bytearray"),
    "capitals": (_capitals, "it asks for builtins.bytearray"),
}
"""The function that writes each bomb, and the message about it."""
