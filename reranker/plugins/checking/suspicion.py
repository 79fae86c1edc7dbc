"""The suspicious places of a sentence: brackets that are improbable, missing, or alone."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from reranker.errors import TreeError
from reranker.plugins.checking.evidence import LEAST, Evidence, Expected
from reranker.plugins.checking.index import Index
from reranker.trees.constituents import constituents
from reranker.trees.linearize import linearize
from reranker.trees.tree import UNKNOWN_TAG, Tree

# Chosen on GUM dev (docs/research/measurements.md).
_PROBABLE = 0.5  # a bracket that the tree lacks
_MISSING = 2.0  # added to the log-odds of such a bracket
_VARIATION = 1.0  # times the share of other brackets elsewhere
_ALONE = 2.0  # of a chain of labels that no other place has
_LATER = 6.0  # taken off each further place of a sentence: an error makes several


class Place(NamedTuple):
    """A span of words that is suspicious."""

    suspicion: float
    """Log-odds that something is wrong, in nats; brackets elsewhere in the treebank count, too."""
    start: int
    """The number of the span's first word, from 0."""
    end: int
    gold: str
    """The labels in the treebank, outermost first; empty for none."""
    probability: float | None
    """Probability of the least probable of these labels."""
    likely: str
    """The most probable label that the treebank lacks; empty for none."""
    likely_probability: float | None
    others: int
    """Places of the treebank where the same words, between the same words, have other brackets."""
    occurrences: int
    """Places of the treebank with the same words between the same words."""
    is_alone: bool
    """True if no other place of the treebank has these labels above each other."""
    words: str


def places(tree: Tree, evidence: Evidence, index: Index) -> tuple[list[Place], Expected]:
    """Return the suspicious places of a tree, the most suspicious first, and the expectations.

    Raises TreeError for a tree without brackets, with labels that the model does not know, or that
    is too long.
    """
    words, tags = tuple(tree.words()), tuple(tree.word_tags())
    gold = {(each.start, each.end): each.label for each in constituents(linearize(tree))}
    if not gold or len(words) != len(tags) or (len(words) > 1 and set(tags) == {UNKNOWN_TAG}):
        raise TreeError("not-a-tree", "a flat tree, or words without tags")
    labels = [label for chain in gold.values() for label in chain.split(" ")]
    if 2 * sum(label in evidence.labels for label in labels) < len(labels):
        unknown = ", ".join(sorted({*labels} - evidence.labels)[:3])
        message = f"labels that the model does not know ({unknown}): is it of another language?"
        raise TreeError("not-a-tree", message)
    expected = evidence.of(words, tags)
    likely: dict[tuple[int, int], tuple[float, str]] = {}
    for (start, end, label), value in expected.probabilities.items():
        if value >= _PROBABLE and label not in gold.get((start, end), "").split(" "):
            likely[start, end] = max(likely.get((start, end), (0.0, "")), (value, label))
    found = []
    for start, end in {**gold, **likely}:
        chain = gold.get((start, end), "")
        probability = _least(start, end, chain, expected, evidence)
        missing, label = likely.get((start, end), (None, ""))
        others, occurrences = index.elsewhere(words, start, end, chain)
        is_alone = bool(chain) and index.is_alone(chain)
        suspicion = max(_log_odds(probability, -1.0), _log_odds(missing, 1.0) + _MISSING)
        suspicion += _VARIATION * others / max(1, occurrences) + _ALONE * is_alone
        text = " ".join(words[start:end])
        found.append(
            Place(suspicion, start, end, chain, probability, label, missing, others, occurrences,
                  is_alone, text)
        )  # fmt: skip
    return _demoted(found), expected


def _least(
    start: int, end: int, chain: str, expected: Expected, evidence: Evidence
) -> float | None:
    """Return the probability of the least probable bracket of a chain, None without any that the
    model knows. A label that stands above itself is judged once: the model has no such chains."""
    known = [label for label in chain.split() if label in evidence.labels]
    values = (expected.probabilities.get((start, end, label), LEAST) for label in known)
    return min(values, default=None)


def _log_odds(probability: float | None, sign: float) -> float:
    if probability is None:
        return -math.inf
    bounded = min(max(probability, LEAST), 1 - 1e-6)
    return sign * math.log(bounded / (1 - bounded))


def _demoted(found: Iterable[Place]) -> list[Place]:
    """Return the places of a sentence in order, the later ones less suspicious."""
    ordered = sorted(found, key=lambda each: (-each.suspicion, each.start, -each.end))
    return [
        each._replace(suspicion=each.suspicion - _LATER * rank)
        for rank, each in enumerate(ordered)
        if each.suspicion > -math.inf
    ]
