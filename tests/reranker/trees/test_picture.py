"""Drawings as files: SVG, and PNG and PDF of it."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.trees.picture import draw, picture
from reranker.trees.svg import drawing
from reranker.trees.tree import Tree

pytest.importorskip("typst")

TREE = Tree.from_string("(S (NP (PRP We)) (VP (VBD saw) (NP (PRP it))))")
SIZE = r'width="([\d.]+)" height="([\d.]+)"'


def size(svg: str) -> tuple[float, float]:
    (found,) = re.findall(SIZE, svg)[:1]
    return float(found[0]), float(found[1])


def test_a_png_has_two_pixels_for_one_and_the_words_are_dark_on_white() -> None:
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(picture([drawing(TREE)], "png")))
    width, height = size(drawing(TREE))
    assert image.size == pytest.approx((2 * width, 2 * height), abs=2)
    assert image.text == {"Software": "parse-reranker"}
    grey = image.convert("L")
    assert grey.getpixel((0, 0)) == 255 and grey.getextrema()[0] < 60
    words = grey.crop((0, grey.height - 80, grey.width, grey.height))  # the lowest row
    assert words.getextrema()[0] < 60


def test_a_pdf_is_one_page_of_the_drawings_size() -> None:
    data = picture([drawing(TREE)], "pdf")
    (box,) = re.findall(rb"/MediaBox ?\[([^\]]*)\]", data)
    points = [float(number) for number in box.split()]
    assert points[2:] == pytest.approx([0.75 * side for side in size(drawing(TREE))], abs=1)
    assert data.startswith(b"%PDF") and data.count(b"/Type/Page/") == 1


def test_several_drawings_are_pages_of_a_pdf_each_of_its_size() -> None:
    drawings = [drawing(TREE), drawing(Tree.from_string("(NP (PRP it))"))]
    data = picture(drawings, "pdf")
    boxes = re.findall(rb"/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]", data)
    sizes = [tuple(0.75 * side for side in size(each)) for each in drawings]
    assert sorted(tuple(map(float, box)) for box in boxes) == [
        pytest.approx(each, abs=1) for each in sorted(sizes)
    ]
    assert data.count(b"/Type/Page/") == 2 and picture(drawings, "pdf") == data


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_the_same_tree_is_the_same_file_by_its_ending(kind: str, tmp_path: Path) -> None:
    for name in (f"a.{kind}", f"b.{kind.upper()}"):
        draw(TREE, tmp_path / name)
        assert (tmp_path / name).read_bytes() == picture([drawing(TREE)], kind)


def test_endings_and_sizes_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tree\.gif: .*\.svg, \.png, \.pdf"):
        draw(TREE, tmp_path / "tree.gif")
    wide = drawing(TREE)
    for kind, sides, area in (
        ("png", "9000 x 6000", (9000, 6000)),
        ("pdf", "19201 x 9", (19201, 9)),
    ):
        huge = re.sub(SIZE, f'width="{area[0]}" height="{area[1]}"', wide, count=1)
        with pytest.raises(InputError, match=f"{sides} pixels .*{kind.upper()}"):
            picture([huge], kind)
    assert not any(tmp_path.iterdir())


def test_a_large_png_has_fewer_pixels() -> None:
    large = re.sub(SIZE, 'width="4800" height="4000"', drawing(TREE), count=1)
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(picture([large], "png")))
    assert image.width == pytest.approx(4800 * 2.5**0.5, abs=2)
