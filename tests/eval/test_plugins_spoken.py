"""eval/plugins/spoken.py: brackets are aligned by the words that are spoken."""

from __future__ import annotations

import pytest

from reranker.trees.tree import Tree
from tests.eval.scripts import module

script = module("plugins/spoken.py")

TREE = Tree.from_string(
    "(TOP (S (INTJ (UH Uh)) (, ,) (NP (PRP I)) (VP (VBD left) (PRN (-LRB- -LRB-))) (. .)))"
)


def test_brackets_count_spoken_words() -> None:
    assert script.kept(TREE) == [True, False, True, True, False, False]
    found = list(script.brackets_of(TREE, 10))
    assert found == [("S", 10, 13), ("INTJ", 10, 11), ("NP", 11, 12), ("VP", 12, 13)]


def test_figures() -> None:
    assert script.f1([1, 3, 5], [1, 2, 3, 4]) == ("50.0", "66.7", "57.1")
    right = [(0.95, True), (0.95, False), (0.05, False)]
    assert script.error(right) == pytest.approx((0.9 + 0.05) / 3)
