"""Drawings in files: SVG, and PNG and PDF made of it by typst.

typst draws by itself, without a browser or a library of the system, joins Arabic letters, and has a
font for machines that have none. The same drawing is the same file to the byte.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Literal

from reranker.errors import InputError, needing
from reranker.files.both_ways import release
from reranker.files.opening import open_file
from reranker.files.output import output_path, whole_file
from reranker.trees import svg
from reranker.trees.tree import Tree

KINDS = ("svg", "png", "pdf")
_OURS = b"parse-reranker"
_FONTS = "Arial, Helvetica, Liberation Sans, DejaVu Sans, Noto Sans, sans-serif"
_PAGE = f"""#set document(date: none, keywords: "{_OURS.decode()}")
#set page(width: auto, height: auto, margin: 0pt)
#for place in range(int(sys.inputs.pages)) {{
  if place > 0 {{ pagebreak() }}
  image(bytes(sys.inputs.at(str(place))), format: "svg")
}}
"""
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')
_PIXELS = 48e6  # of a PNG, which takes some 600 MB while it is made
_SCALE = 2.0  # pixels for each of the drawing's
_LONGEST = 19_200  # of the drawing's pixels, which are 200 inches: the most in a PDF
_NEEDED = "PNG and PDF need typst: pip install 'parse-reranker[draw]'; SVG does not"
_PNG_START, _PNG_HEAD = b"\x89PNG\r\n\x1a\n", 33  # bytes before the chunks that may have any order
_PDF_END = 4096  # bytes in which the document's keywords are


class TooLargeError(InputError):
    """A drawing has too many pixels for a PNG or PDF."""


def draw(tree: Tree, path: str | PathLike[str]) -> None:
    """Write the drawing of a tree as SVG, PNG or PDF, as the name ends. Raises InputError for
    another ending, for a drawing that is too large, and without typst for PNG and PDF."""
    path = Path(path)
    kind = path.suffix.removeprefix(".").lower()
    if kind not in KINDS:
        raise InputError(f"{path}: a drawing ends in {', '.join(f'.{each}' for each in KINDS)}")
    write_picture([svg.drawing(tree)], kind, path)


def write_picture(
    drawings: Sequence[str],
    kind: str,
    path: Path,
    inputs: Iterable[str] = (),
    *,
    is_named: bool = True,
) -> None:
    """Write an SVG drawing as one of ``KINDS``, or several as pages of a PDF. ``inputs`` are not
    replaced, nor are others' files if the program chose the name, not the user. Raises InputError
    as ``draw`` does."""
    resolved = output_path(path, inputs)
    if resolved is not None and not is_named:
        release(resolved)  # _is_picture reads it
    data = picture(drawings, kind, path)
    with whole_file(resolved or path) if is_named else whole_file(path, _is_picture) as file:
        file.write(data)


def check_installed(kind: str) -> None:
    """Raise InputError if a kind of picture needs a library that is not there."""
    if kind != "svg":
        with needing(_NEEDED):
            import typst  # noqa: F401


def picture(drawings: Sequence[str], kind: str, name: object = "the drawing") -> bytes:
    """Return an SVG drawing as the bytes of one of ``KINDS``, or several as pages of a PDF. Raises
    InputError as ``draw`` does; ``name`` begins the message."""
    if kind == "svg":
        (drawing,) = drawings
        return drawing.encode("utf-8", "surrogateescape")
    scale = _SCALE
    for drawing in drawings:
        width, height = map(float, _SIZE.findall(drawing)[0])
        scale = min(_SCALE, (_PIXELS / (width * height)) ** 0.5)
        if scale < 1 if kind == "png" else max(width, height) > _LONGEST:
            raise TooLargeError(
                f"{name}: {width:.0f} x {height:.0f} pixels are too many for a {kind.upper()}; SVG "
                "has no limit"
            )
    check_installed(kind)
    import typst

    inputs = {"pages": str(len(drawings))}
    for place, drawing in enumerate(drawings):
        fonts = drawing.replace('font-family="sans-serif"', f'font-family="{_FONTS}"', 1)
        inputs[str(place)] = fonts.encode("utf-8", "replace").decode()
    form: Literal["png", "pdf"] = "png" if kind == "png" else "pdf"
    data = typst.compile(_PAGE.encode(), format=form, ppi=96 * scale, sys_inputs=inputs)
    assert isinstance(data, bytes)  # a list only of several PNGs
    return _marked(data) if kind == "png" else data


def _marked(png: bytes) -> bytes:
    """Return a PNG that names its maker, by which a later run knows the file as its own."""
    chunk = b"tEXtSoftware\0" + _OURS
    size, check = len(chunk) - 4, zlib.crc32(chunk)
    mark = size.to_bytes(4, "big") + chunk + check.to_bytes(4, "big")
    return png[:_PNG_HEAD] + mark + png[_PNG_HEAD:]


def _is_picture(path: Path) -> bool:
    """Return whether ``picture`` has made a file. Raises OSError."""
    if path.suffix == ".svg":
        return svg.is_drawing(path)
    with open_file(path) as file:
        start = file.read(_PNG_HEAD + 100)
        if start.startswith(_PNG_START):
            return b"tEXtSoftware\0" + _OURS in start
        file.seek(max(0, path.stat().st_size - _PDF_END))
        return start.startswith(b"%PDF") and b"Keywords(%s)" % _OURS in file.read(_PDF_END)
