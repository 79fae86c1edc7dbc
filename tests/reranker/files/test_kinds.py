"""Kinds of files by their names, and text that is none of them."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from reranker.errors import KindError
from reranker.files.kinds import (
    KINDS,
    LONGEST_START,
    SIGNATURES,
    is_treebank,
    kind_of,
    refuse_other_than_trees,
)
from reranker.text.reading import other_than_text
from tests.reranker.public_formats import (
    LATE,
    LISTS,
    OTHER,
    TEXTS,
    TREES,
    WRITTEN,
    Example,
)


def text(example: Example) -> str:
    return example.content.decode("utf-8", "surrogateescape")


def identity(example: Example) -> str:
    return example.name


@pytest.mark.parametrize("example", OTHER + LATE, ids=identity)
def test_a_kind_is_named(example: Example) -> None:
    kind = kind_of(text(example))
    assert kind is not None and example.looks_like in kind.name
    assert other_than_text(text(example)) == kind.described("text")
    if is_treebank(kind):
        return
    with pytest.raises(KindError) as error:
        refuse_other_than_trees("f", text(example))
    assert str(error.value) == f"f: not trees: looks like {kind.described('trees')}"


@pytest.mark.parametrize("example", WRITTEN, ids=identity)
def test_marks_and_line_endings_do_not_matter(example: Example) -> None:
    kind = kind_of(text(example))
    assert kind_of("\ufeff" + text(example)) == kind
    assert kind_of(text(example).replace("\n", "\r\n")) == kind


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_of_no_kind(name: str) -> None:
    assert other_than_text(TEXTS[name]) is None
    assert other_than_text(TEXTS[name], is_first=False) is None


@pytest.mark.parametrize("example", LISTS + TREES, ids=identity)
def test_trees_are_no_text(example: Example) -> None:
    assert other_than_text(text(example)) == "trees; to rank them, rerank --nbest FILE"


@pytest.mark.parametrize("example", TREES, ids=identity)
def test_trees_are_trees(example: Example) -> None:
    refuse_other_than_trees("f", text(example))


@pytest.mark.parametrize("example", LISTS, ids=identity)
def test_lists_are_no_treebank(example: Example) -> None:
    with pytest.raises(KindError, match="rerank convert FILE --to trees takes the first"):
        refuse_other_than_trees("f", text(example))


@pytest.mark.parametrize(
    "piece",
    ["(", "( ", "((A ", "<a ", "<a>", '"', '["', '{"a":', "\n", " \n", "```\n", "```x\n", "1\t",
     "1 ", "a_B ", "a/b ", "0 0 0 a 1:", "a(1-1, ", "(a 1) ", "a * ", ",", '","', "#\n", "a: \n",
     "[a]\n"],
)  # fmt: skip
def test_no_start_takes_long(piece: str) -> None:
    """A quadratic expression would take minutes."""
    begin = time.process_time()
    other_than_text(piece * (2 * LONGEST_START // len(piece)))
    other_than_text(piece * (2 * LONGEST_START // len(piece)), is_first=False)
    assert time.process_time() - begin < 20


def test_every_kind_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "other-formats.md").read_text()
    names = {kind.name for kind, _ in [*KINDS, *SIGNATURES]}
    assert {name for name in names if not re.search(rf"[|,] {re.escape(name)}[ ,|]", page)} == set()
