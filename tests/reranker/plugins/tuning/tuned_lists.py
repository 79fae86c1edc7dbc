"""Lists for the tests of tuning, from plain numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reranker.plugins.tuning.scored_lists import ScoredLists
from tests.reranker.small_files import write

GOLD = "(TOP (S (NP (A a)) (VP (B b) (NP (C c)))))"  # brackets S, NP, VP, NP
WORSE = "(S1 (S (NP (A a)) (VP (B b) (C c))))"  # matches 3 of its 3, gold 4
WORST = "(S1 (X (A a) (B b) (C c)))"  # matches 0 of its 1
BEST = "(S1 (S (NP (A a)) (VP (B b) (NP (C c)))))"


def entry(
    index: int, tree: str, nll: float, parser: float | None, *member_nll: float
) -> dict[str, object]:
    """Return a candidate of ranked output, as far as tuning reads it."""
    members = {"member_nll": list(member_nll)} if member_nll else {}
    return {
        "index": index,
        "tree": tree,
        "nll": nll,
        "parser_score": parser,
        "tokens": 2 * tree.count("(") - 3,  # no node but these is without a bracket token
        "duplicate_of": None,
        **members,
    }


def ranked(*sentences: Sequence[dict[str, object]]) -> str:
    return "".join(json.dumps({"ranking": sentence}) + "\n" for sentence in sentences)


def lists(*sentences: Sequence[tuple[Sequence[float], float, int, Sequence[int]]]) -> ScoredLists:
    """Return lists of one length, with candidates (log-probability by member, parser's, tokens,
    counts)."""

    def column(place: int, kind: Any) -> Any:
        return np.array([[one[place] for one in sentence] for sentence in sentences], dtype=kind)

    present = np.ones((len(sentences), len(sentences[0])), dtype=np.bool_)
    floats = column(0, np.float64), column(1, np.float64), column(2, np.float64)
    has_first = np.ones(len(sentences), dtype=np.bool_)
    return ScoredLists(present, *floats, column(3, np.int64), has_first)


def random_lists(seed: int, sentences: int, candidates: int, members: int) -> ScoredLists:
    """Draw lists of two to ``candidates`` candidates with random scores and brackets."""
    random = np.random.default_rng(seed)
    shape = sentences, candidates
    sizes = random.integers(2, candidates + 1, sentences)
    gold = np.repeat(random.integers(5, 20, (sentences, 1)), candidates, axis=1)
    test = random.integers(5, 20, shape)
    matched = random.integers(0, np.minimum(gold, test))
    return ScoredLists(
        np.arange(candidates) < sizes[:, None],
        random.normal(-50, 3, (*shape, members)),
        random.normal(-50, 3, shape),
        random.integers(10, 30, shape).astype(np.float64),
        np.stack([matched, gold, test], axis=2),
        np.ones(sentences, dtype=np.bool_),
    )


def tuning(folder: Path, content: str) -> list[str]:
    """Write ranked output, and GOLD for each of its sentences; return the command to tune on
    them."""
    gold = f"{GOLD}\n" * content.count("\n")
    return ["tune", write(folder / "r.jsonl", content), write(folder / "gold.mrg", gold)]


def sure_and_unsure(pairs: int) -> str:
    """Return ranked output of two members. In every other sentence both strongly prefer BEST to the
    parser's first, and the parser hardly objects; in the rest one slightly prefers WORST, and the
    parser objects."""
    first = entry(0, WORSE, 40.0, -10.0, 20.0, 20.0)
    sure = [first, entry(1, BEST, 20.0, -11.0, 10.0, 10.0)]
    unsure = [first, entry(1, WORST, 34.5, -18.0, 15.0, 19.5)]
    return ranked(*[sure, unsure] * pairs)
