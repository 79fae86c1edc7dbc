"""The trees of a sentence and their probabilities, which are searched and measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from reranker.errors import TreeError
from reranker.nbest.data import Candidate, Certainty, NBest, Origin, Rejected
from reranker.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class Parses:
    """A sentence's trees, the most probable first."""

    file: str
    line: int
    trees: tuple[Tree, ...]
    probabilities: tuple[float, ...] | None = None
    """The probability of each tree, with a sum of 1; None if it is unknown: then there is one
    tree."""
    origin: Origin | None = None
    """The sentence's place in its text."""
    id: str = ""
    certainty: Certainty | None = None
    """The parser's certainty, over more trees than these."""


def has_every_score(nbest: NBest) -> bool:
    """Return whether every candidate of a list has a score."""
    return all(each.parser_score is not None for each in nbest.candidates)


def from_nbest(
    nbest: NBest, temperature: float, reject: Callable[[Rejected], None]
) -> Parses | None:
    """Return the distinct trees of a list, with probabilities in proportion to exp(score /
    ``temperature``). If a candidate has no score, return the first tree alone, without a
    probability. Return None if no tree can be used. ``reject`` is called with each candidate that
    proves to be no tree."""
    trees: list[tuple[float, Tree, Candidate]] = []
    seen: set[str] = set()
    has_scores = has_every_score(nbest)
    for candidate in nbest.candidates:
        try:
            tree = candidate.tree
        except TreeError as error:
            reject(candidate.rejected(error.code, str(error)))
            continue
        # Samples come several times, with the same score; white space makes no other tree.
        if (text := tree.to_string()) not in seen:
            seen.add(text)
            trees.append((candidate.parser_score or 0.0, tree, candidate))
        if not has_scores:
            break
    if not trees:
        return None
    trees.sort(key=lambda entry: -entry[0])  # stable: ties stay in the parser's order
    best = trees[0][0]
    weights = [math.exp((score - best) / temperature) for score, _, _ in trees]
    total = math.fsum(weights)
    return Parses(
        trees[0][2].file,
        nbest.line,
        tuple(tree for _, tree, _ in trees),
        tuple(weight / total for weight in weights) if has_scores and len(trees) > 1 else None,
        nbest.origin,
        nbest.id,
        nbest.certainty,
    )
