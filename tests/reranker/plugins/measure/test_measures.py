"""Expectations and spreads, against counting out all combinations of parses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from reranker.plugins.measure.measures import RATIOS, Counted, Difference, Row, Totals, differences
from reranker.plugins.measure.structures import COUNTED, counts
from reranker.trees.tree import Tree
from reranker.work.parses import Parses

THE_MAN, WITH_EYES = "(NP (DT the) (NN man))", "(PP (IN with) (NP (NNS eyes)))"
TREES = [
    Tree.from_string(f"(TOP ({label} (NP (PRP I)) (VP (VBD saw) {rest})))")
    for label, rest in (
        ("S", f"{THE_MAN} {WITH_EYES}"),
        ("S", f"(NP {THE_MAN} {WITH_EYES})"),
        ("NP", f"{THE_MAN} {WITH_EYES}"),
    )
]
HE_RAN = Tree.from_string("(TOP (S (NP (PRP He)) (VP (VBD ran))))")
IT = {"saw": Parses("a", 1, tuple(TREES), (0.5, 0.3, 0.2)), "ran": Parses("a", 2, (HE_RAN,))}


def by_name(rows: Iterable[Row] | Iterable[Difference]) -> dict[str, Any]:
    return {row.measure: row for row in rows}


def test_a_sentence_is_expected_over_its_trees() -> None:
    rows = by_name(Counted.of(IT["saw"]).rows())
    assert rows["CN"][1:4] == (0, pytest.approx(0.3 + 0.2), pytest.approx(0.5))
    # The third tree has neither T-unit nor clause: ratios to these numbers leave it out.
    assert rows["MLT"][1:4] == (6, pytest.approx(6), pytest.approx(0))
    assert rows["CN/T"][1:3] == (0, pytest.approx(0.3 / 0.8))
    assert rows["CN/T"].parses == pytest.approx(math.sqrt(0.375 * 0.625))
    assert rows["T/S"][1:3] == (1, pytest.approx(0.8))
    alone = by_name(Counted.of(IT["ran"]).rows())
    assert alone["MLS"] == Row("MLS", 2, 2, 0)
    nothing = by_name(Counted.of(Parses("a", 1, (TREES[2],))).rows())
    assert nothing["MLT"] == Row("MLT", None, None, None)


def test_a_text_has_the_ratios_of_expected_sums() -> None:
    totals = Totals()
    for parses in IT.values():
        totals.add(Counted.of(parses))
    rows = by_name(totals.rows())
    assert rows["T"] == ("T", 2, pytest.approx(1.8), pytest.approx(0.4), None)
    assert rows["MLT"].value == 8 / 2 and rows["MLT"].expected == pytest.approx(8 / 1.8)
    assert rows["MLS"][1:4] == (4, 4, 0)
    # Two sentences of 6 and 2 words: the standard error of their mean is a sample's.
    assert rows["MLS"].sentences == pytest.approx(np.std([6, 2], ddof=1) / math.sqrt(2))
    assert by_name(Totals().rows())["MLT"] == Row("MLT", None, None, None)


def test_the_spread_over_parses_is_that_of_all_combinations() -> None:
    """The two agree to the first order: in a text where each sentence is a small part."""
    copies = 6
    totals = Totals()
    for parses in [IT["saw"]] * copies + [IT["ran"]] * 20:
        totals.add(Counted.of(parses))
    rows = by_name(totals.rows())
    saw, ran = np.array([counts(tree) for tree in TREES]), counts(HE_RAN)
    combinations, weights = [], []
    for chosen in itertools.product(range(3), repeat=copies):
        combinations.append(saw[list(chosen)].sum(0) + 20 * ran)
        weights.append(math.prod([(0.5, 0.3, 0.2)[each] for each in chosen]))
    table = dict(zip(COUNTED, np.array(combinations).T, strict=True))
    assert sum(weights) == pytest.approx(1)
    for name, (over, under) in RATIOS.items():
        values = table[over] / table[under]
        mean = np.average(values, weights=weights)
        spread = math.sqrt(np.average((values - mean) ** 2, weights=weights))
        assert rows[name].expected == pytest.approx(mean, rel=0.01), name
        assert rows[name].parses == pytest.approx(spread, rel=0.1, abs=1e-9), name


def test_the_error_over_sentences_is_that_of_drawing_them_again() -> None:
    """The bootstrap's standard error of MLT, for a text whose trees are known."""
    generator = np.random.default_rng(1)
    lengths = generator.integers(2, 30, 200)
    totals = Totals()
    for number, length in enumerate(lengths):
        words = " ".join("(NN x)" for _ in range(length - 1))
        tree = Tree.from_string(f"(TOP (S (NP {words}) (VP (VBD ran))))")
        totals.add(Counted.of(Parses("a", number, (tree,))))
    drawn = generator.choice(lengths, (4_000, len(lengths))).mean(1)
    row = by_name(totals.rows())["MLT"]
    assert row.sentences == pytest.approx(drawn.std(), rel=0.1) and row.parses == 0


def test_two_texts() -> None:
    first, second = Totals(), Totals()
    for _ in range(2):
        for parses in IT.values():
            first.add(Counted.of(parses))
    second.add(Counted.of(IT["ran"]))
    rows = by_name(differences(first, second))
    assert list(rows) == list(RATIOS)
    mine = by_name(first.rows())["T/S"]
    assert rows["T/S"][1:5] == (mine.expected, 1, 1 - mine.expected, mine.parses)
    # One sentence says nothing of how much sentences differ.
    assert rows["T/S"][5:] == (None, None)
    second.add(Counted.of(IT["saw"]))
    row = by_name(differences(first, second))["MLS"]
    assert row.difference == 0 and row.z == 0
    undefined = Totals()
    undefined.add(Counted.of(Parses("a", 1, (TREES[2],))))
    assert by_name(differences(first, undefined))["MLT"][3:] == (None,) * 4
