import gzip
import logging
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.trees.treebank import read_sentences, read_treebank, treebank_files
from tests.reranker.small_files import write

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


def test_trees_in_no_encoding_are_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Their words would be learned, and never be met again."""
    path = tmp_path / "a.mrg"
    path.write_bytes(f"{DOG}\n(TOP (NP (NN chi\xffn)))\n{CAT}\n".encode("latin-1"))
    with caplog.at_level(logging.WARNING):
        trees = [tree.to_string() for tree in read_treebank([path])]
    assert trees == [DOG, CAT]
    assert caplog.messages == [f"{path}:2: skipped, encoding: byte 0xff is not UTF-8"]


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
    with pytest.raises(InputError, match=r"a\.mrg\.gz: .*line [0-9]+: "):
        texts(path)


def test_the_trees_of_a_folder_by_name(tmp_path: Path) -> None:
    for name in ("b/2.mrg", "b/10.mrg.gz", "a/9.MRG", "a.mrg", "c/x.parse.zst"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    for name in ("README", "b/notes.txt", "b/._2.mrg", "b/2.prd", "b/2.mrg.old"):
        (tmp_path / name).write_text("")
    (tmp_path / "d.mrg").mkdir()
    expected = ["a/9.MRG", "a.mrg", "b/10.mrg.gz", "b/2.mrg", "c/x.parse.zst"]
    assert treebank_files([tmp_path]) == [str(tmp_path / name) for name in expected]
    # A file is taken whatever its name.
    given = [f"{tmp_path}/b/2.prd", f"{tmp_path}/b/*.mrg", "-"]
    assert treebank_files(given) == [f"{tmp_path}/b/2.prd", f"{tmp_path}/b/2.mrg", "-"]
    assert treebank_files([f"{tmp_path}/**/2.mrg"]) == [f"{tmp_path}/b/2.mrg"]


def test_a_folder_or_pattern_without_trees_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "README", DOG)
    with pytest.raises(InputError, match=r"\.mrg, "):
        treebank_files([tmp_path])
    with pytest.raises(InputError, match=r"none\*: no file matches"):
        treebank_files([tmp_path / "none*"])


def sentences(*paths: str) -> list[tuple[int, str]]:
    return [(place.line, place.text) for place in read_sentences(paths)]


def test_a_line_is_a_sentence_where_no_tree_has_several(tmp_path: Path) -> None:
    # As EVALB reads: a forest, nothing, a broken tree, prose.
    lines = [f"{DOG} {CAT}", "", f" {DOG[:-1]}", "the dog", CAT]
    file = write(tmp_path / "a", "".join(f"{line}\n" for line in lines))
    assert sentences(file) == [(n, line.strip()) for n, line in enumerate(lines, 1)]


def test_blank_lines_mean_nothing_around_trees_of_several_lines(tmp_path: Path) -> None:
    spread = write(tmp_path / "a", f"\n{PRETTY_COW}\n\n{PRETTY_COW[:-2]}\n{PRETTY_COW}")
    cow = "( (NP (DT a) (NN cow)))"
    assert sentences(spread) == [(2, cow), (7, cow[:-1]), (10, cow)]
    # Nor in the other files of this treebank.
    other = write(tmp_path / "b", f"\n{DOG}\n")
    assert sentences(spread, other) == [(2, cow), (7, cow[:-1]), (10, cow), (2, DOG)]
    assert sentences(other) == [(1, ""), (2, DOG)]


def test_an_unfinished_tree_takes_no_other_with_it(tmp_path: Path) -> None:
    lines = ["(S1 (S (NN a))", "(NP (NN b))", "  (S1 (NN c))"]
    file = write(tmp_path / "a", "".join(f"{line}\n" for line in lines))
    assert sentences(file) == [(n, line.strip()) for n, line in enumerate(lines, 1)]
