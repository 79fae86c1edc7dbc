"""Tags: the most probable ones, but for punctuation."""

from __future__ import annotations

import numpy as np

from reranker.chart.tagging import best_tags

TAGS = ("NN", ",", ":", "HYPH", "``", "''")


def row(best: str, second: str = "NN") -> list[float]:
    return [0.0 if tag == best else -1.0 if tag == second else -9.0 for tag in TAGS]


def test_the_most_probable_tag() -> None:
    rows = np.array([row("NN"), row("HYPH"), row("``", "''")])
    assert best_tags(("dog", "-", '"'), rows, TAGS) == ("NN", "HYPH", "``")


def test_punctuation_has_the_tag_of_all_treebanks() -> None:
    words = (",", "?", "--", ";", "”", "-RRB-", "-LSB-", "}")
    rows = np.array([row("NN")] * len(words))
    expected = (",", ".", ":", ":", "''", "-RRB-", "-LRB-", "-RRB-")
    assert best_tags(words, rows, TAGS) == expected


def test_words_are_no_punctuation() -> None:
    rows = np.array([row(",", "HYPH"), row(":", "NN")])
    assert best_tags(("comma", "3"), rows, TAGS) == ("HYPH", "NN")


def test_a_model_without_tags() -> None:
    assert best_tags(("dog", "."), np.zeros((2, 0)), ()) == ("XX", ".")
