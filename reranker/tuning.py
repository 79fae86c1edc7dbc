"""Which ``--lm-weight`` is best: scored once, weighed for free.

Reads what ``rerank --output ranked`` wrote, so that any number of weights costs one scoring.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.errors import InputError, TreeError
from reranker.evalb import Gold, Parameters, with_top_root
from reranker.ranking import SCORE_DECIMALS
from reranker.trees import Tree

WEIGHTS = tuple(round(step * 0.05, 2) for step in range(21))


class Counts(NamedTuple):
    """Brackets of one candidate against the gold tree; an invalid one has none and counts not."""

    matched: int
    gold: int
    test: int


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """One list: distinct candidates in the parser's order."""

    lm: NDArray[np.float64]  # log-probability under the ensemble, nats
    parser: NDArray[np.float64]  # the parser's, nats
    counts: tuple[Counts, ...]

    def choice(self, weight: float) -> Counts:
        """What the candidate with the best mixed score is worth; ties keep the parser's order."""
        mixed = weight * self.lm + (1 - weight) * self.parser if weight < 1 else self.lm
        return self.counts[int(np.argmax(mixed.round(SCORE_DECIMALS)))]

    def oracle(self) -> Counts:
        """The candidate with the best F1 of its own, the first of equals."""
        return max(self.counts, key=lambda one: f1([one]) if one.gold + one.test else -1.0)


def f1(chosen: Iterable[Counts]) -> float:
    """Corpus F1 in percent: brackets are summed first, as EVALB does."""
    matched, gold, test = (sum(column) for column in zip(*chosen, strict=True))
    return 200 * matched / (gold + test) if gold + test else 0.0


def read_scored(
    ranked_lines: Iterable[str], gold_lines: Iterable[str], gold_tags: bool
) -> list[ScoredSentence]:
    """Pair ranked output with gold trees; a list without candidates is left out.

    Raises InputError for a line that is not ranked output, or when the numbers of lines differ.
    """
    parameters = Parameters.collins()
    sentences = []
    gold = iter(gold_lines)
    number = 0
    for number, line in enumerate(ranked_lines, 1):
        gold_line = next(gold, None)
        if gold_line is None:
            raise InputError(f"more ranked sentences than the {number - 1} gold trees")
        try:
            ranking = [one for one in json.loads(line)["ranking"] if one["duplicate_of"] is None]
            ranking.sort(key=lambda one: one["index"])
            lm = np.array([-one["nll"] for one in ranking], dtype=np.float64)
            parser = np.array([one["parser_score"] for one in ranking], dtype=np.float64)
            trees = [Tree.from_string(one["tree"]) for one in ranking]
        except (ValueError, KeyError, TypeError, TreeError) as error:
            raise InputError(
                f"line {number} is not a sentence of `rerank --output ranked`: {error}"
            ) from error
        if not trees:
            continue
        standard = Gold(with_top_root(gold_line), parameters)
        tags = Tree.from_string(gold_line).tags() if gold_tags else None
        counts = []
        for tree in trees:
            if tags is not None and len(tags) == len(tree.tags()):
                tree = tree.with_tags(tags)
            score = standard.score(with_top_root(tree.to_string()))
            counts.append(Counts(score.matched, score.gold, score.test))
        sentences.append(ScoredSentence(lm, parser, tuple(counts)))
    if next(gold, None) is not None:
        raise InputError(f"more gold trees than the {number} ranked sentences")
    return sentences


def sweep(sentences: Sequence[ScoredSentence]) -> dict[float, float]:
    """F1 by weight; without parser scores, of weight 1 only."""
    has_scores = all(bool(np.isfinite(one.parser).all()) for one in sentences)
    weights = WEIGHTS if has_scores else (1.0,)
    return {weight: f1(one.choice(weight) for one in sentences) for weight in weights}
