"""The least sure bracket in words."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest

from reranker.nbest import Candidate, NBest
from reranker.nbest.data import Certainty
from reranker.ranking import Ranking, Scored, Weighing, rank
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree

_SAW = "(S (NP (PRP I)) (VP (VBD saw) {}))"
_MAN, _WITH = "(NP (DT the) (NN man))", "(PP (IN with) (NP (NNS glasses)))"
TO_THE_MAN = _SAW.format(f"(NP {_MAN} {_WITH})")
TO_THE_VERB = _SAW.format(f"{_MAN} {_WITH}")
ICE_CREAM = "(S (NP (PRP We)) (VP (VBD ate) ({} (NN ice) (NN cream))))"
DOGS = "(S (NP (PRP We)) (VP (VBD fed) {}))"
HER_DOG = DOGS.format("(NP (PRP$ her) (NN dog) (NNS biscuits))")
TWO_NPS = DOGS.format("(NP (PRP her)) (NP (NN dog) (NNS biscuits))")
LONG = "(S (NP (NP {}) (PP (IN of) (NP (NNS words)))) (VP (VBD came)))".format("(NN a) " * 12)
FLAT_LONG = "(S (NP {}) (PP (IN of) (NP (NNS words))) (VP (VBD came)))".format("(NN a) " * 12)
THAT = "(NP (NP (NN proof)) (SBAR (WHNP (WDT that)) (S (VP (VBZ ends)) {})) {})"

UNARY = "(SBARQ (WHNP (WP What)) (SQ (VP (VBD made) (NP (PRP it)))))"
FLAT_QUESTION = "(SBARQ (WHNP (WP What)) (SQ (VBD made) (NP (PRP it))))"


class Case(NamedTuple):
    doubtful: tuple[int, int, str]
    probability: float
    trees: tuple[str, ...]
    expected: tuple[str, int | None] | None
    others: tuple[tuple[tuple[int, int, str], float], ...] = ()


CASES = {
    # The bracket leaves 0.2, and the one other tree gets all of that.
    "goes with": Case(
        (2, 6, "NP"),
        0.8,
        (TO_THE_MAN, TO_THE_VERB),
        ("“with glasses” goes with “the man” (80%) or with “saw” (20%)", 1),
    ),
    "in every tree": Case(
        (1, 6, "VP"),
        0.25,
        (TO_THE_VERB, TO_THE_MAN),
        ("“saw the man with glasses”: verb phrase (25%)", None),
    ),
    "two labels": Case(
        (2, 4, "NP"),
        0.783,
        (ICE_CREAM.format("NP"), ICE_CREAM.format("S"), ICE_CREAM.format("NX")),
        ("“ice cream”: noun phrase (78%) or clause (13%)", 1),
        (((2, 4, "S"), 0.125), ((2, 4, "NX"), 0.01)),
    ),
    "no part": Case(
        (2, 5, "NP"), 0.96, (HER_DOG, TWO_NPS), ("“her dog biscuits”: noun phrase (96%)", 1)
    ),
    "in no other tree": Case(
        (2, 5, "NP"), 0.5, (HER_DOG,), ("“her dog biscuits”: noun phrase (50%)", None)
    ),
    "sure": Case((2, 5, "NP"), 0.991, (HER_DOG, TWO_NPS), None),
    "many words": Case(
        (0, 14, "NP"),
        0.005,
        (LONG, FLAT_LONG),
        ("“a a a a … a a of words”: noun phrase (less than 1%)", 1),
    ),
    "only in the best tree, which has the other's bracket, too": Case(
        (1, 3, "VP"), 0.4, (UNARY, FLAT_QUESTION), ("“made it”: verb phrase (40%)", 1)
    ),
    "behind that": Case(
        (1, 3, "SBAR"),
        0.6,
        (THAT.format("", ""), THAT.format("", "").replace("SBAR", "X")),
        ("“that ends”: subordinate clause (60%) or X (less than 1%)", 1),
    ),
}


def ranking_of(case: Case) -> Ranking:
    """Return trees in order, the first twice as probable as the second, and so on."""
    probabilities: dict[tuple[int, int, str], float] = {}
    trees = [Tree.from_string(tree) for tree in case.trees]
    for start, end, label, _ in Certainty({}, 0.0).of(linearize(trees[0])):
        probabilities[start, end, label] = 1.0
    probabilities |= {case.doubtful: case.probability, **dict(case.others)}
    candidates = [
        Candidate(index, text, tuple(linearize(tree)), -math.log(2) * index, 1)
        for index, (text, tree) in enumerate(zip(case.trees, trees, strict=True))
    ]
    scores = [Scored(1.0 + each.index, 2.0, 3, 0, None) for each in candidates]
    nbest = NBest("x", tuple(candidates), (), 1, certainty=Certainty(probabilities, 0.1))
    return rank(nbest, scores, Weighing())


@pytest.mark.parametrize("name", CASES)
def test_the_doubt_about_a_tree(name: str) -> None:
    doubt = ranking_of(CASES[name]).doubt
    assert ((doubt.text, doubt.other) if doubt else None) == CASES[name].expected


def test_words_of_the_sentence_are_every_second_part() -> None:
    doubt = ranking_of(CASES["goes with"]).doubt
    assert doubt and doubt.parts[1::2] == ("with glasses", "the man", "saw")


def test_without_probabilities_nothing_is_in_doubt() -> None:
    nbest = NBest("x", (Candidate(0, HER_DOG, ("x",), 0.0, 1),), (), 1)
    assert rank(nbest, [Scored(1.0, 2.0, 3, 0, None)], Weighing()).doubt is None
    assert Ranking("x", (), ()).doubt is None
