"""eval/lists/jackknife.py: who parses what, and the files of a shard. No parser is needed."""

from __future__ import annotations

import gzip
import importlib.util
from collections.abc import Sequence
from pathlib import Path

from reranker.nbest import read_nbest
from tests.eval.toy_study import ROOT

_specification = importlib.util.spec_from_file_location(
    "jackknife", ROOT / "eval" / "lists" / "jackknife.py"
)
assert _specification and _specification.loader
jackknife = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(jackknife)

ABSTRACT = "(TOP (NP (NN Abstract)))"


def titled(*sizes: int) -> list[str]:
    """Articles of so many trees, title and heading among them."""
    return [
        tree
        for number, size in enumerate(sizes)
        for tree in (f"(TOP (NN title{number}))", ABSTRACT, *["(TOP (NN x))"] * (size - 2))
    ]


def test_documents_stay_together() -> None:
    folds = jackknife.folds_of(titled(3, *[2] * 10))
    assert folds[0] == [0, 1, 2, 21, 22]  # the first and the eleventh article
    assert folds[1] == [3, 4]
    assert sorted(place for fold in folds for place in fold) == list(range(23))


def test_without_headings_neighbours_stay_together() -> None:
    folds = jackknife.folds_of(["(TOP (NN x))"] * (10 * 256 + 7))
    assert folds[0] == [*range(256), *range(2560, 2567)]
    assert folds[9] == [*range(9 * 256, 2560)]


def test_shards_are_alike_in_size_and_interleaved() -> None:
    gum = jackknife.shards("gum", 3, range(600))
    craft = jackknife.shards("craft", 3, range(1000, 2600))
    assert [list(shard.places) for shard in gum] == [[*range(300)], [*range(300, 600)]]
    assert [len(shard.places) for shard in craft] == [400] * 4
    assert [shard.name for shard in jackknife.interleaved([gum, craft])] == [
        *("craft-3-00", "gum-3-00", "craft-3-01"),
        *("craft-3-02", "gum-3-01", "craft-3-03"),
    ]


def test_no_parser_is_trained_on_what_it_parses() -> None:
    trees = {"gum": ["(TOP (NN a))", "(TOP (NN b))"], "wsj_sample": ["(TOP (NN c))"]}
    folds = {"gum": [[0], [1]]}
    assert list(jackknife.training_part(trees, folds, 0)) == ["(S1 (NN b))", "(S1 (NN c))"]
    assert list(jackknife.training_part(trees, folds, 1)) == ["(S1 (NN a))", "(S1 (NN c))"]


class OneTree:
    """Knows every sentence but that of one word."""

    def parse(self, words: Sequence[str]) -> tuple[list[str], float] | None:
        if len(words) == 1:
            return None
        return ["-3.5", f"(S1 (NP {' '.join(f'(NN {word})' for word in words)}))"], 0.25


def test_a_shard_has_lists_gold_and_failures(tmp_path: Path) -> None:
    for folder in ("lists", "gold"):
        (tmp_path / folder).mkdir()
    trees = ["", "(TOP (NP (DT the) (NN cat)))", "(TOP (NN no))", "(TOP (NP (-LRB- -LRB-) (NN I)))"]
    shard = jackknife.FoldShard("gum", 0, 1, [1, 2, 3])
    jackknife.write_shard(tmp_path, shard, trees, OneTree())

    lists = list(read_nbest(str(tmp_path / "lists" / "gum-0-01.txt.gz")))
    assert [one.id for one in lists] == ["1", "3"]
    assert [one.candidates[0].tree.leaves() for one in lists] == [["the", "cat"], ["-LRB-", "I"]]
    gold = gzip.decompress((tmp_path / "gold" / "gum-0-01.mrg.gz").read_bytes()).decode()
    assert gold.splitlines() == [trees[1], trees[3]]
    assert (tmp_path / "failures.tsv").read_text() == "gum\t2\t1 words\n"
    assert (tmp_path / "progress.tsv").read_text().split("\t")[1:] == ["gum-0-01", "2", "1", "0\n"]
