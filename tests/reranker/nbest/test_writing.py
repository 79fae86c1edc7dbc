"""Conversions from every dialect to every other and back."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.nbest import FORMATS, NBest, ReadOptions, read_nbest
from reranker.nbest.writing import list_text, tokens_text

REAL_LISTS = Path(__file__).parents[4] / "shared" / "data" / "nbest"
SLOW = pytest.mark.slow

TREES = (
    "(S1 (S (NP (PRP It)) (VP (VBZ runs) (ADVP (RB well))) (. .)))",
    "(S1 (S (NP (PRP It)) (VP (VBZ runs) (ADJP (JJ well))) (. .)))",
)
LISTS = (
    f"2\ta\n-30.5\n{TREES[0]}\n-31.25\n{TREES[1]}\n\n"
    "0\tb\n\n"
    "1\tc\n-7\n(S1 (FRAG (-LRB- -LRB-) (NN end) (-RRB- -RRB-)))\n\n"
)
BEAM = 60
HIDES_WORDS = {"seq2seq", "opennmt"}
CARRIES_SCORES = set(FORMATS) - HIDES_WORDS
ALL_CANDIDATES = sorted(set(FORMATS) - {"trees"})


def convert(lists: Iterable[NBest], to: str, folder: Path) -> tuple[Path, ReadOptions]:
    """Write a dialect's file and the sentences; how to read it again."""
    path, tokens = folder / f"lists.{to}", folder / "tokens.tsv"
    with path.open("w") as out, tokens.open("w") as tokens_out:
        for position, nbest in enumerate(lists):
            out.write(list_text(nbest, position, to, BEAM))
            tokens_out.write(tokens_text(nbest))
    options = ReadOptions(
        format="opennmt" if to == "opennmt" else "auto",
        tokens=tokens if to in HIDES_WORDS else None,
        beam=BEAM if to == "opennmt" else None,
    )
    return path, options


def content(lists: Iterable[NBest], with_scores: bool) -> Iterator[list[object]]:
    """Yield the content that must survive: every candidate's tokens in order, and its score."""
    for nbest in lists:
        assert not nbest.rejected
        yield [
            (
                one.index,
                one.tokens,
                with_scores and one.parser_score and pytest.approx(one.parser_score),
            )
            for one in nbest.candidates
        ]


def assert_same(path: Path, first: str, second: str, folder: Path, count: int | None) -> None:
    """Convert a file to a first and a second dialect, and assert that the candidates are
    unchanged."""
    original = itertools.islice(read_nbest(path), count)
    one, one_options = convert(original, first, folder)
    (folder / "again").mkdir()
    there = read_nbest(one, options=one_options)
    two, two_options = convert(there, second, folder / "again")
    with_scores = {first, second} <= CARRIES_SCORES
    back = list(content(read_nbest(two, options=two_options), with_scores))
    expected = list(content(itertools.islice(read_nbest(path), count), with_scores))
    if first == "rnng" or second == "rnng":  # an id without lines at the end leaves no trace
        while expected and not expected[-1]:
            expected.pop()
    assert back == expected


@pytest.mark.parametrize(("first", "second"), list(itertools.product(ALL_CANDIDATES, repeat=2)))
def test_all_pairs(first: str, second: str, tmp_path: Path) -> None:
    path = tmp_path / "parses.txt"
    path.write_text(LISTS)
    assert_same(path, first, second, tmp_path, None)


@SLOW
@pytest.mark.skipif(not REAL_LISTS.exists(), reason=f"{REAL_LISTS} is not here")
@pytest.mark.parametrize("name", ["gum_dev_50best", "craft_dev_first1200_50best"])
@pytest.mark.parametrize(("first", "second"), list(itertools.product(ALL_CANDIDATES, repeat=2)))
def test_all_pairs_on_real_lists(name: str, first: str, second: str, tmp_path: Path) -> None:
    count = int(os.environ.get("REAL_LIST_COUNT", "0")) or None
    assert_same(REAL_LISTS / f"{name}.txt.gz", first, second, tmp_path, count)


@pytest.mark.parametrize("to", ALL_CANDIDATES)
def test_formats_are_seen_again(to: str, tmp_path: Path) -> None:
    path = tmp_path / "parses.txt"
    path.write_text(LISTS)
    converted, options = convert(read_nbest(path), to, tmp_path)
    (file,) = read_nbest(converted, options=options).files
    assert file.format == to
    file.close()


def test_what_each_dialect_looks_like(tmp_path: Path) -> None:
    path = tmp_path / "parses.txt"
    path.write_text(f"1\ta\n-2\n{TREES[0]}\n\n")
    (nbest,) = read_nbest(path)
    nats = repr(-2 * 0.6931471805599453)
    bare = "(S (NP It) (VP runs (ADVP well)) .)"
    linearized = "(S (NP XX )NP (VP XX (ADVP XX )ADVP )VP . )S"
    expected = {
        "bllip": f"1\ta\n-2\n{TREES[0]}\n\n",
        "choe-charniak": f"1\n{2 * 0.6931471805599453:.15g}\n{TREES[0]}\n\n",
        "berkeley": f"{nats}\t{TREES[0]}\n\n",
        "corenlp": f"# Parse 1 with score {nats}\n{TREES[0]}\n",
        "rnng": f"7 ||| {nats} ||| {bare}\n",
        "seq2seq": f"1\n{linearized}\n",
        "trees": f"{TREES[0]}\n",
        # 12 tokens and <eos>
        "fairseq": f"S-7\tIt runs well .\nH-7\t{-2 / 13}\t{linearized}\nP-7\t-2\n",
    }
    assert {name: list_text(nbest, 7, name) for name in expected} == expected
    assert list_text(nbest, 7, "opennmt", 3) == f"{linearized}\n\n\n"
    assert tokens_text(nbest) == "It\tPRP\nruns\tVBZ\nwell\tRB\n.\t.\n\n"
    with pytest.raises(InputError, match=r"opennmt .*'beam'"):
        list_text(nbest, 0, "opennmt")


def test_a_list_longer_than_the_beam_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "parses.txt"
    path.write_text(LISTS)
    first, *_ = read_nbest(path)
    with pytest.raises(InputError, match=r"list a .*2 .*1"):
        list_text(first, 0, "opennmt", 1)


def test_trees_without_scores_stay_without(tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    path.write_text(f"{TREES[0]}\n")
    (nbest,) = read_nbest(path)
    assert list_text(nbest, 0, "bllip") == f"1\t0\n{TREES[0]}\n\n"
    for to in ALL_CANDIDATES:
        converted, options = convert([nbest], to, tmp_path)
        (again,) = read_nbest(converted, options=options)
        assert [one.parser_score for one in again.candidates] == [None]
