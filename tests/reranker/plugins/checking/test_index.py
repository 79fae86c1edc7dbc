"""Variation nuclei and chains of labels, counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.plugins.checking import index as module
from reranker.plugins.checking.index import Index
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree
from tests.reranker.small_files import write

# Between "saw" and "." stands "the man" twice as NP, once in no bracket.
NP = "(S (NP (PRP We)) (VP (VBD saw) (NP (DT The) (NN man))) (. .))"
NONE = "(S (NP (PRP She)) (VP (VBD saw) (DT the) (NN man)) (. .))"
OTHER = "(S (NP (DT the) (NN man)) (VP (S (VP (VBD left)))))"


def test_counts_by_hand(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "a.mrg", f"{NP}\n(S (NP\n{OTHER}\n"),
        write(tmp_path / "b.mrg", f"{NP}\n{NONE}\n"),
        write(tmp_path / "c.mrg", "not trees"),
    ]
    index = Index.of(files)
    words = ["they", "saw", "the", "man", "."]
    assert index.elsewhere(words, 2, 4, "NP") == (1, 3)
    assert index.elsewhere(words, 2, 4, "") == (2, 3)
    assert index.elsewhere(words, 2, 4, "VP") == (3, 3)
    assert index.elsewhere(["the", "man", "left"], 0, 2, "NP") == (0, 1)
    assert index.elsewhere(words, 0, 1, "NP") == (0, 0)
    bare = Index(context=0)
    trees = [linearize(Tree.from_string(text)) for text in (NP, OTHER, NP, NONE)]
    for take in (bare.add, bare.count):
        for tokens in trees:
            take(tokens)
    assert bare.elsewhere(words, 2, 4, "NP") == (1, 4)
    assert index.is_alone("VP S VP") and not index.is_alone("NP")


def test_the_first_constituents_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_NUCLEI", 4)
    index = Index.of([write(tmp_path / "a.mrg", f"{NP}\n{NONE}\n")])
    assert index.elsewhere(["saw", "the", "man", "."], 1, 3, "NP") == (1, 2)
    assert index.elsewhere(["She", "saw"], 0, 1, "NP") == (0, 0)  # the fifth
