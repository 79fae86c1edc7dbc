import gzip
import logging
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.trees.treebank import read_treebank

DOG = "(TOP (NP (NN dog)))"
CAT = "(TOP (NP (NN cat)))"
PRETTY_COW = "( (NP\n    (DT a)\n    (NN cow)))\n"


def texts(*paths: Path) -> list[str]:
    return [tree.to_string() for tree in read_treebank(paths)]


def test_files_of_any_shape_in_the_order_given(tmp_path: Path) -> None:
    plain, pretty, zipped = tmp_path / "a.mrg", tmp_path / "b.mrg", tmp_path / "c.mrg.gz"
    plain.write_text(f"{DOG}\n\n{CAT}")
    pretty.write_text(PRETTY_COW)
    zipped.write_bytes(gzip.compress(f"{CAT}\n".encode()))
    assert texts(zipped, plain, pretty) == [CAT, DOG, CAT, "( (NP (DT a) (NN cow)))"]


def test_broken_trees_are_skipped_with_line_and_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.mrg"
    path.write_text(f"{DOG}\n(TOP (NP (NN dog))\n{PRETTY_COW}dog\n(TOP (NP))\n{CAT}\n")
    with caplog.at_level(logging.WARNING):
        assert texts(path) == [DOG, "( (NP (DT a) (NN cow)))", CAT]
    starts = [message.split(": ")[:2] for message in caplog.messages]
    assert starts == [
        [f"{path}:2", "skipped, unbalanced"],
        [f"{path}:6", "skipped, not-a-tree"],
        [f"{path}:7", "skipped, empty"],
    ]


def test_bytes_that_are_not_utf_8_stay_in_their_word(tmp_path: Path) -> None:
    path = tmp_path / "a.mrg"
    path.write_bytes(b"(TOP (NP (NN caf\xe9)))\n")
    (text,) = texts(path)
    assert text.encode(errors="surrogateescape") == b"(TOP (NP (NN caf\xe9)))"


@pytest.mark.parametrize("content", ["", "\n \n", "(TOP (NP (NN dog))\n"])
def test_a_file_without_trees_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.mrg"
    path.write_text(content)
    with pytest.raises(InputError, match=r"a\.mrg: contains no trees"):
        texts(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.mrg: .*No such file"):
        texts(tmp_path / "nowhere.mrg")


def test_a_gzip_file_cut_short_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "a.mrg.gz"
    path.write_bytes(gzip.compress(f"{DOG}\n".encode() * 1_000)[:-12])
    with pytest.raises(InputError, match=r"a\.mrg\.gz: cannot be read past line [0-9]+: "):
        texts(path)
