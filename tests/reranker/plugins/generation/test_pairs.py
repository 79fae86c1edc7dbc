from __future__ import annotations

import gzip
import logging
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.plugins.generation.pair_vocabulary import Pair
from reranker.plugins.generation.pairs import MOST_WORDS, text_pairs, tree_pairs
from reranker.trees.tree import Tree

TREE = Tree.from_string(
    "(TOP (S (NP-SBJ (DT The) (NN dog)) (VP (VBZ says) (, ,) (NP (-NONE- *T*)) (`` ``)) (. .)))"
)


def test_parts_of_speech_stand_for_words() -> None:
    (pair,) = tree_pairs([TREE], tags=True)
    assert pair.source == ("The", "dog", "says", ",", "``", ".")
    assert " ".join(pair.target) == "(S (NP _DT_ _NN_ )NP (VP _VBZ_ , `` )VP . )S"


def test_or_xx_does() -> None:
    (pair,) = tree_pairs([TREE], tags=False)
    assert " ".join(pair.target) == "(S (NP XX XX )NP (VP XX , `` )VP . )S"


def test_two_files_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "en.gz").write_bytes(gzip.compress(b"a dog\ntwo  dogs\r\n"))
    (tmp_path / "de").write_text("ein hund\nzwei hunde\n")
    assert list(text_pairs(tmp_path / "en.gz", tmp_path / "de")) == [
        Pair(("a", "dog"), ("ein", "hund")),
        Pair(("two", "dogs"), ("zwei", "hunde")),
    ]


def test_lines_that_cannot_be_used_are_skipped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    long = b"x " * (MOST_WORDS + 1)
    lines = [b"a\tb", b"no tab", b"a\tb\tc", b"\tb", b"a\t ", b"\xff\tb", b"a\t" + long, b"c\td"]
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"\n".join(lines))
    with caplog.at_level(logging.WARNING):
        assert list(text_pairs(path)) == [Pair(("a",), ("b",)), Pair(("c",), ("d",))]
    assert [message.removeprefix(f"{path}:") for message in caplog.messages] == [
        "2: skipped, 0 tabs, not one between source and target",
        "3: skipped, 2 tabs, not one between source and target",
        "4: skipped, its source has 0 words, not 1 to 1000",
        "5: skipped, its target has 0 words, not 1 to 1000",
        "6: skipped, byte 0xff is not UTF-8",
        "7: skipped, its target has 1001 words, not 1 to 1000",
    ]


def test_files_of_different_lengths_and_without_pairs(tmp_path: Path) -> None:
    (tmp_path / "two").write_text("a\nb\n")
    (tmp_path / "one").write_text("a\n")
    (tmp_path / "none").write_text("no tab\n")
    with pytest.raises(InputError, match=r"one: .*1 lines.*two"):
        list(text_pairs(tmp_path / "two", tmp_path / "one"))
    with pytest.raises(InputError, match=r"one: .*1 lines.*two"):
        list(text_pairs(tmp_path / "one", tmp_path / "two"))
    with pytest.raises(InputError, match="contains no pairs"):
        list(text_pairs(tmp_path / "none"))
    with pytest.raises(InputError, match="cannot be read"):
        list(text_pairs(tmp_path / "missing"))
