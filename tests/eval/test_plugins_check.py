"""eval/plugins/check.py: errors are planted as they are named, and counted."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from reranker.plugins.checking.evidence import Evidence, Expected
from reranker.trees.constituents import brackets
from reranker.trees.tree import Tree
from tests.eval.scripts import module

script = module("plugins/check.py")

TREE = Tree.from_string(
    "(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (JJ old) (NN man))"
    " (PP (IN on) (NP (NN foot))))))"
)


@pytest.mark.parametrize("kind", script.KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_an_error_is_of_its_kind(kind: str, seed: int) -> None:
    root = script.Node(TREE)
    assert script.plant(root, kind, ["QP"], random.Random(seed))
    changed = root.tree()
    assert changed.leaves() == TREE.leaves()
    spans = script.difference(TREE, changed)
    assert len(spans) == {"label": 1, "removed": 1, "added": 1}.get(kind, len(spans)) > 0
    more = len(brackets(changed)) - len(brackets(TREE))
    assert more == {"removed": -1, "added": 1}.get(kind, 0)
    labels = Counter(node.label for node, _, _ in brackets(changed))
    assert labels["QP"] == (kind in ("label", "added"))


class Knowing(Evidence):
    """A model that expects the gold tree."""

    def __init__(self) -> None:
        self.labels = {node.label for node, _, _ in brackets(TREE)} | {"QP"}

    def of(self, words: tuple[str, ...], tags: tuple[str, ...]) -> Expected:
        return Expected({(start, end, node.label): 0.99 for node, start, end in brackets(TREE)}, "")


def test_what_is_found() -> None:
    """Of 40 trees with 6 brackets each, two have errors: both are among the first 12 places."""
    trees, errors = script.with_errors([TREE] * 40, 2, random.Random(1))
    assert {kind for kind, _ in errors.values()} == {"label", "moved"}
    assert sum(one is not TREE for one in trees) == 2
    found = script.first_found(trees, errors, Knowing(), random.Random(1))
    assert sorted(found["suspicion"]) == ["label", "moved"]
