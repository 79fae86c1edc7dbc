"""Limits on trees that the built-in parser proposes."""

from __future__ import annotations

from reranker.nbest import from_candidates
from reranker.service.children.scoring_main import without_long_trees


def test_trees_of_too_many_tokens_are_rejected() -> None:
    nbest = from_candidates(["(S (NN a) (NN b))", "(S (NP (NN a)) (NN b))"])  # <eos>: 5 and 7
    assert without_long_trees(nbest, 7) is nbest
    found = without_long_trees(nbest, 6)
    assert [each.index for each in found.candidates] == [0]
    (rejected,) = found.rejected
    assert (rejected.index, rejected.code) == (1, "too-long")
    assert rejected.message == "more tokens than max_tree_tokens = 6"
