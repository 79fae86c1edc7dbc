"""Binary kinds of files, by the bytes with which they begin."""

from __future__ import annotations

import re

from reranker.files.kinds.start import Kind

_UNPACK = "unpack it first"
_CONVERT = "convert it to UTF-8 first"
_TAKE_TEXT = "take its text out of it first"


def _data(what: str, instead: str = "") -> Kind:
    return Kind(f"binary data ({what})", instead)


_MAGIC = {
    b"\x1f\x8b": Kind("a gzip file", _UNPACK),
    b"\x28\xb5\x2f\xfd": Kind("a zstd file", _UNPACK),
    b"BZh": Kind("a bzip2 file", _UNPACK),
    b"\xfd7zXZ": Kind("a xz file", _UNPACK),
    b"7z\xbc\xaf": Kind("a 7-Zip file", _UNPACK),
    b"\x04\x22\x4d\x18": Kind("a lz4 file", _UNPACK),
    b"\x1f\x9d": Kind("a compress (.Z) file", _UNPACK),
    b"LZIP\x01": Kind("a lzip file", _UNPACK),
    b"Rar!\x1a": Kind("a RAR archive", _UNPACK),
    b"\xff\xfe\0\0": Kind("UTF-32", _CONVERT),
    b"\0\0\xfe\xff": Kind("UTF-32", _CONVERT),
    b"\xff\xfe": Kind("UTF-16", _CONVERT),
    b"\xfe\xff": Kind("UTF-16", _CONVERT),
    b"\x89PNG": _data("a PNG image"),
    b"\xff\xd8\xff": _data("a JPEG image"),
    b"GIF8": _data("a GIF image"),
    b"II*\0": _data("a TIFF image"),
    b"MM\0*": _data("a TIFF image"),
    b"OggS": _data("an Ogg file"),
    b"fLaC": _data("a FLAC file"),
    b"ID3\x02": _data("an MP3 file"),
    b"ID3\x03": _data("an MP3 file"),
    b"ID3\x04": _data("an MP3 file"),
    b"%PDF": _data("a PDF document", "take its text out of it first, with pdftotext"),
    b"%!PS": Kind("PostScript", _TAKE_TEXT),
    b"\xd0\xcf\x11\xe0": _data("a document of an old Microsoft Office", _TAKE_TEXT),
    b"SQLite format 3\0": _data("an SQLite database"),
    b"\x7fELF": _data("a program"),
    b"PAR1": _data("a Parquet table", "write its sentences as text, one a line"),
    b"ARROW1": _data("an Arrow table", "write its sentences as text, one a line"),
    b"Obj\x01": _data("an Avro file", "write its sentences as text, one a line"),
    b"\x89HDF": _data("an HDF5 file"),
    b"\x93NUMPY": _data("a NumPy array"),
    b"GGUF": _data("a GGUF model"),
}
_CHECKPOINT = _data("a PyTorch checkpoint", "language models are named by --models")
_RIFF = re.compile(rb"RIFF.{4}(?:WAVE|AVI |WEBP)", re.DOTALL)
_SAFETENSORS = re.compile(rb".{2,5}\0{3,6}\{\"", re.DOTALL)
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_ZIP = b"PK\x03\x04"
_IN_ZIPS = {
    b"/data.pkl": _CHECKPOINT,
    b"word/": _data("a Word document", _TAKE_TEXT),
    b"xl/": _data("an Excel table", "write its sentences as text, one a line"),
    b"mimetypeapplication/": _data("an OpenDocument or EPUB file", _TAKE_TEXT),
    b"[Content_Types].xml": _data("a document of Microsoft Office", _TAKE_TEXT),
    b".npy": _data("a NumPy archive"),
}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MIN_CONTROLS = 32  # control characters: text may have a few
_MIN_FAULTS = 100  # bytes that are not UTF-8, so that one name of a short text does not count
_EXAMINED_BYTES = 4096  # bytes


def binary_kind(start: bytes) -> Kind | None:
    """Return the kind of a file that begins with these bytes, or None if it may be UTF-8 text."""
    start = start[:_EXAMINED_BYTES]
    is_pickle = _PICKLE.match(start) is not None
    if is_pickle and b"torch" in start:
        return _CHECKPOINT
    if start.startswith(_ZIP):
        inside = (kind for name, kind in _IN_ZIPS.items() if name in start[:200])
        return next(inside, _data("a ZIP archive", _UNPACK))
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return kind
    if is_pickle:
        return _data("a Python pickle")
    if _SAFETENSORS.match(start):
        return _data("a safetensors checkpoint", "models are named by --models")
    if _RIFF.match(start):
        return _data("sound, a film or a WebP image")
    if start[257:262] == b"ustar":
        return Kind("a tar archive", _UNPACK)
    if _is_utf_16(start[::2], start[1::2]) or _is_utf_16(start[1::2], start[::2]):
        return Kind("UTF-16", _CONVERT)
    controls = len(_CONTROL.findall(start))
    if controls >= _MIN_CONTROLS and 20 * controls > len(start):
        return Kind("binary data", "")
    text = start.decode("utf-8", "surrogateescape")
    faults = sum("\udc80" <= each <= "\udcff" for each in text)
    if faults >= _MIN_FAULTS and 4 * faults > len(start):
        return Kind("another encoding than UTF-8, or binary data", _CONVERT)
    return None


def _is_utf_16(upper: bytes, lower: bytes) -> bool:
    """Return whether every ASCII character has a zero byte before or after it."""
    many = 10 * upper.count(0) > 9 * len(upper)
    return len(upper) > 3 and many and 10 * lower.count(0) < len(lower)
