"""The example's files agree with each other, so that the demonstration scores every sentence."""

from __future__ import annotations

from pathlib import Path

from reranker.nbest import read_nbest
from reranker.trees.tree import Tree

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LISTS = list(read_nbest(EXAMPLES / "parses.txt"))
GOLD = (EXAMPLES / "gold.mrg").read_text(encoding="utf-8").splitlines()
SENTENCES = (EXAMPLES / "sentences.txt").read_text(encoding="utf-8").splitlines()


def test_there_is_a_list_and_a_gold_tree_for_each_sentence_in_order() -> None:
    assert len(SENTENCES) >= 20
    assert len(GOLD) == len(SENTENCES)
    assert [nbest.id for nbest in LISTS] == [f"s{n + 1}" for n in range(len(SENTENCES))]


def test_gold_trees_hold_the_sentences_as_the_treebanks_write_trees() -> None:
    trees = [Tree.from_string(line) for line in GOLD]
    assert [tree.to_string() for tree in trees] == GOLD
    assert [tree.leaves() for tree in trees] == [sentence.split(" ") for sentence in SENTENCES]
    assert {tree.label for tree in trees} == {"TOP"}
    labels = {node.label for tree in trees for node in tree.preorder()}
    # No function tags and no traces: the only labels with a hyphen are the brackets' tags.
    assert {label for label in labels if "-" in label} <= {"-LRB-", "-RRB-"}


def test_every_candidate_has_its_sentences_words() -> None:
    for nbest, sentence in zip(LISTS, SENTENCES, strict=True):
        words = {tuple(candidate.tree.leaves()) for candidate in nbest.candidates}
        assert words == {tuple(sentence.split(" "))}, nbest.id


def test_the_parsers_lists_are_complete_and_best_first() -> None:
    for nbest in LISTS:
        assert not nbest.rejected, nbest.id
        assert [candidate.index for candidate in nbest.candidates] == list(range(50)), nbest.id
        scores = [
            candidate.parser_score
            for candidate in nbest.candidates
            if candidate.parser_score is not None
        ]
        assert len(scores) == 50 and scores == sorted(scores, reverse=True), nbest.id
