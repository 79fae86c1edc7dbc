"""The main table: everybody on the same sentences and weights."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks.scoring.contestants import OURS, Contestant, Scores
from benchmarks.scoring.lists import nodes, raw_tokens
from benchmarks.scoring.measure import interleaved, sgemm
from benchmarks.scoring.setting import Setting
from benchmarks.scoring.table import Table
from benchmarks.scoring.work import work_per_token

# Whose scores are right: not the authors', who add 1e-8 to every probability.
REFERENCE = OURS[0].name

Row = dict[str, Any]


def compare(
    contestants: Sequence[Contestant],
    setting: Setting,
    rounds: int,
    threads: int,
    memory: Mapping[str, tuple[float, float]],
) -> dict[str, Any]:
    """Figures of every contestant; times are compared with the first one's, scores with
    ``REFERENCE``'s. ``memory`` has loaded and peak megabytes by name, measured elsewhere."""
    last: dict[str, Scores] = {}
    peaks: list[float] = []
    measure_peak = sgemm(threads)

    def action(contestant: Contestant) -> Callable[[], object]:
        score = contestant.prepare(setting.checkpoints, threads)

        def run() -> None:
            last[contestant.name] = score(setting.sentences)

        return run

    actions: dict[str, Callable[[], object]] = {one.name: action(one) for one in contestants}
    seconds = interleaved({**actions, "sgemm": lambda: peaks.append(measure_peak())}, rounds)
    raw, left = (
        sum(count(sentence.ids) for sentence in setting.sentences) for count in (raw_tokens, nodes)
    )
    flop = sum(work_per_token(one.model.config).total for one in setting.checkpoints)
    peak = median(peaks[1:])
    base = median(seconds[contestants[0].name])
    rows: list[Row] = []
    for one in contestants:
        taken = median(seconds[one.name])
        computed = left if one.shares_prefixes else raw
        off, alike = agreement(setting, last[REFERENCE], last[one.name])
        loaded, most = memory.get(one.name, (None, None))
        rows.append(
            {
                "name": one.name,
                "seconds": seconds[one.name],
                "median": taken,
                "raw_tokens_per_second": raw / taken,
                "nodes_per_second": left / taken,
                "times_as_fast": base / taken,
                "share_of_peak": computed * flop / taken / peak,
                "megabytes_loaded": loaded,
                "megabytes_peak": most,
                "largest_difference": off,
                "same_winner": alike,
            }
        )
    return {
        "sentences": len(setting.sentences),
        "candidates": sum(len(sentence.ids) for sentence in setting.sentences),
        "raw_tokens": raw,
        "nodes": left,
        "flop_per_token": flop,
        "sgemm": peak,
        "floor_seconds": left * flop / peak,
        "rows": rows,
    }


def agreement(setting: Setting, reference: Scores, found: Scores) -> tuple[float | None, int]:
    """The largest difference of a candidate's score, in nats, and the number of sentences with the
    same best tree; no difference for a contestant that leaves losers at minus infinity."""
    largest, alike = 0.0, 0
    for sentence, expected, mine in zip(setting.sentences, reference, found, strict=True):
        largest = max(largest, float(np.abs(expected - mine).max()))
        # Duplicates tie: it is the tree that must be the same, not its place.
        alike += sentence.ids[int(expected.argmax())] == sentence.ids[int(mine.argmax())]
    return (largest if np.isfinite(largest) else None), alike


def comparison_table(title: str, figures: dict[str, Any]) -> Table:
    base = figures["rows"][0]["name"]
    header = ["", "s", "raw tokens/s", "nodes/s", f"x {base}", "of sgemm", "peak MB"]
    header += ["of it loaded", "nats off", "same winner"]
    rows = []
    for row in figures["rows"]:
        off = row["largest_difference"]
        rows.append(
            [
                row["name"],
                f"{row['median']:.2f}",
                f"{row['raw_tokens_per_second']:,.0f}",
                f"{row['nodes_per_second']:,.0f}",
                f"{row['times_as_fast']:.2f}",
                f"{100 * row['share_of_peak']:.0f} %",
                megabytes(row["megabytes_peak"]),
                megabytes(row["megabytes_loaded"]),
                "-" if off is None else f"{off:.1e}",
                f"{row['same_winner']}/{figures['sentences']}",
            ]
        )
    raw, left = figures["raw_tokens"], figures["nodes"]
    notes = [
        f"{figures['sentences']} sentences, {figures['candidates']:,} candidates, {raw:,} raw "
        f"tokens, {left:,} trie nodes ({raw / left:.2f} times fewer).",
        f"{figures['flop_per_token'] / 1e6:.1f} MFLOP a token; sgemm {figures['sgemm'] / 1e9:.0f} "
        f"GFLOP/s: {figures['floor_seconds']:.2f} s for the nodes at that speed.",
    ]
    return Table(title, header, rows, notes)


def megabytes(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def complain(figures: dict[str, Any]) -> bool:
    """Says on standard error which of ours chose other trees; True if one did."""
    ours = [row for row in figures["rows"] if row["name"] in {one.name for one in OURS}]
    wrong = [row["name"] for row in ours if row["same_winner"] < figures["sentences"]]
    for name in wrong:
        print(f"{name} chose other trees than {REFERENCE}", file=sys.stderr)
    return bool(wrong)
