"""Trees over several lines are nltk's, and read back the same."""

from __future__ import annotations

import nltk
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reranker.outputs.penn import pretty
from reranker.trees.tree import Tree
from tests.reranker.outputs.any_trees import TREES

TREE = Tree.from_string(
    "(S1 (S (NP (PRP She)) (VP (VBD met) (NP (NP (DT the) (NN man)) (PP (IN on) (NP Monday)))) .))"
)


@pytest.mark.parametrize("width", [1, 10, 20, 30, 50, 80, 200])
def test_it_prints_what_nltk_prints(width: int) -> None:
    assert pretty(TREE, width) == nltk.Tree.fromstring(TREE.to_string()).pformat(margin=width)


@settings(deadline=None, max_examples=25)
@given(TREES, st.integers(0, 90))
def test_it_is_the_same_tree(tree: Tree, width: int) -> None:
    assert Tree.from_string(pretty(tree, width)) == tree


def test_depth_does_not_matter() -> None:
    deep = Tree.from_string("(X " * 1900 + "a" + ")" * 1900)
    lines = pretty(deep).split("\n")
    assert len(lines) > 1850 and lines[1] == "  (X"
    assert Tree.from_string("\n".join(lines)) == deep
