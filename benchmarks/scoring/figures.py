"""All contestants on the same sentences and weights, and the table of what they did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

import numpy as np

from benchmarks.scoring.contestants import OURS, Contestant, Scores
from benchmarks.scoring.measure import interleaved, sgemm, work_per_token
from benchmarks.scoring.setting import Setting, nodes, raw_tokens

# Whose scores are right: not the authors', who add 1e-8 to every probability.
REFERENCE = OURS[0].name


class ContestantResult(NamedTuple):
    contestant: Contestant
    seconds: float  # the median of the rounds
    difference: float | None  # the largest of a candidate's score from the reference's, in nats
    same_winner: int  # sentences in which both choose the same tree


def compare(
    contestants: Sequence[Contestant], setting: Setting, rounds: int, threads: int
) -> tuple[list[ContestantResult], float]:
    """What every contestant did, ``REFERENCE`` among them, and the operations per second of a
    matrix product meanwhile."""
    last: dict[str, Scores] = {}
    peaks: list[float] = []
    scorers = {each.name: each.prepare(setting.checkpoints, threads) for each in contestants}

    def score(name: str) -> None:
        last[name] = scorers[name](setting.sentences)

    actions = {name: partial(score, name) for name in scorers}
    seconds = interleaved({**actions, "sgemm": lambda: peaks.append(sgemm(threads))}, rounds)
    results = [
        ContestantResult(
            each,
            median(seconds[each.name]),
            *agreement(setting, last[REFERENCE], last[each.name]),
        )
        for each in contestants
    ]
    return results, median(peaks[1:])


def agreement(setting: Setting, reference: Scores, scores: Scores) -> tuple[float | None, int]:
    """The largest difference of a candidate's score, in nats, and the number of sentences with the
    same best tree; no difference for a contestant that leaves losers at minus infinity."""
    largest, alike = 0.0, 0
    for sentence, expected, actual in zip(setting.sentences, reference, scores, strict=True):
        largest = max(largest, float(np.abs(expected - actual).max()))
        # Duplicates tie: it is the tree that must be the same, not its place.
        alike += sentence.ids[int(expected.argmax())] == sentence.ids[int(actual.argmax())]
    return (largest if np.isfinite(largest) else None), alike


def comparison(
    results: Sequence[ContestantResult],
    setting: Setting,
    peak: float,
    memory: Mapping[str, tuple[float, float]],
) -> tuple[list[list[str]], list[str]]:
    """A table, heads first, and notes; times are compared with the first contestant's. ``memory``
    has loaded and peak megabytes by name, measured elsewhere."""
    raw, left = raw_tokens(setting.sentences), nodes(setting.sentences)
    flop = sum(work_per_token(each.model.config).total for each in setting.checkpoints)
    first = results[0]
    heads = ["", "s", "raw tokens/s", "nodes/s", f"x {first.contestant.name}", "of sgemm"]
    rows = [[*heads, "peak MB", "of it loaded", "nats off", "same winner"]]
    for contestant, seconds, difference, same_winner in results:
        computed = left if contestant.shares_prefixes else raw
        loaded, most = memory[contestant.name]
        rows.append(
            [
                contestant.name,
                f"{seconds:.2f}",
                f"{raw / seconds:,.0f}",
                f"{left / seconds:,.0f}",
                f"{first.seconds / seconds:.2f}",
                f"{100 * computed * flop / seconds / peak:.0f} %",
                f"{most:,.0f}",
                f"{loaded:,.0f}",
                "-" if difference is None else f"{difference:.1e}",
                f"{same_winner}/{len(setting.sentences)}",
            ]
        )
    candidates = sum(len(sentence.ids) for sentence in setting.sentences)
    notes = [
        f"{len(setting.sentences)} sentences, {candidates:,} candidates, {raw:,} raw tokens, "
        f"{left:,} trie nodes ({raw / left:.2f} times fewer).",
        f"{flop / 1e6:.1f} MFLOP a token; sgemm {peak / 1e9:.0f} GFLOP/s: "
        f"{left * flop / peak:.2f} s for the nodes at that speed.",
    ]
    return rows, notes
