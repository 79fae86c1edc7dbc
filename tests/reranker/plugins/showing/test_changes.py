"""Right, wrong and changed brackets, counted by hand."""

from __future__ import annotations

from reranker.evaluation.parameters import Parameters
from reranker.evaluation.sentence import score_pair
from reranker.plugins.showing.changes import compare
from reranker.trees.constituents import brackets
from reranker.trees.marks import places
from reranker.trees.tree import Tree

COLLINS = Parameters.collins()


def labels(text: str, other: str | None, gold: str | None) -> list[str]:
    tree = Tree.from_string(text)
    other_tree = None if other is None else Tree.from_string(other)
    gold_tree = None if gold is None else Tree.from_string(gold)
    marked = compare(tree, other_tree, gold_tree, COLLINS)
    return [marked.label(bracket.node) for bracket in brackets(tree)]


def test_spans_of_brackets() -> None:
    tree = Tree.from_string("(S (NP (DT the) (NN cat)) (VP (VBZ is) (ADJP (JJ old))) (. .))")
    found = [(node.label, start, end) for node, start, end in brackets(tree)]
    assert found == [("S", 0, 5), ("NP", 0, 2), ("VP", 2, 4), ("ADJP", 3, 4)]


def test_a_bracket_twice_is_right_as_often_as_gold_has_it() -> None:
    twice, once = "(TOP (NP (NP (NN tea))))", "(TOP (NP (NN tea)))"
    assert labels(twice, None, once) == ["TOP", "NP✓", "NP✗"]
    assert labels(twice, once, None) == ["TOP", "NP", "*NP"]
    assert labels(once, twice, twice) == ["TOP", "NP✓"]


def test_punctuation_counts_as_a_change_but_not_against_gold() -> None:
    inside = "(S1 (S (NP (NN tea) (, ,)) (VP (VBZ is)) (. .)))"
    outside = "(S1 (S (NP (NN tea)) (, ,) (VP (VBZ is)) (. .)))"
    assert labels(inside, outside, outside) == ["S1", "S✓", "*NP✓", "VP✓"]


def test_what_evalb_does_not_tell_apart() -> None:
    # Function tags, roots, ADVP and PRT; a constituent of punctuation alone is not counted.
    tree = "(ROOT (S (NP-SBJ (NN tea)) (PRT (RB up)) (PRN (: -))))"
    gold = "(S1 (S (NP (NN tea)) (ADVP (RB up)) (PRN (: -))))"
    assert labels(tree, gold, gold) == ["ROOT", "S✓", "NP-SBJ✓", "*PRT✓", "PRN"]
    assert score_pair(gold, tree, COLLINS).matched == 3


def test_words_without_parts_of_speech() -> None:
    tree = Tree.from_string("(S (NP Ms. Haag) (VP plays (NP Elianti)))")
    assert [(node.label, start, end) for node, start, end in brackets(tree)] == [
        ("S", 0, 4),
        ("NP", 0, 2),
        ("VP", 2, 4),
    ]  # (NP Elianti) reads as a part of speech: only the dialect knows better
    assert [(place.depth, place.parent) for place in places(tree)][-3:] == [(2, 4), (2, 4), (3, 6)]
