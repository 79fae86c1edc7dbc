"""What is read of plain text, and what is left out."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from reranker.adaptation.text import read_text
from reranker.errors import InputError


def test_lines_that_cannot_be_parsed_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(b"One (two) three\n\n  \nbad \xff byte\none two three four\nNa\xc3\xafve .")
    found = [(type(one).__name__, one.line, one[2]) for one in read_text([path], 3)]
    assert found == [
        ("Plain", 1, "One -LRB-two-RRB- three"),
        ("Refused", 4, "byte 0xff is not UTF-8"),
        ("Refused", 5, "4 words, more than 3"),
        ("Plain", 6, "Na\N{LATIN SMALL LETTER I WITH DIAERESIS}ve ."),
    ]


def test_a_damaged_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "t.txt.gz"
    path.write_bytes(gzip.compress(b"a b\n" * 50_000, 1)[:-30])
    *lines, last = read_text([path], 3)
    assert len(lines) > 1000
    assert "cut short" in str(last)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.txt"):
        list(read_text([tmp_path / "none.txt"], 3))
