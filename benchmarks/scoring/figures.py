"""What is measured: all contestants on the same sentences and weights, and how time grows with the
list, the vocabulary, the mixture, threads and models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.scoring.contestants import OURS, Contestant, Scores
from benchmarks.scoring.measure import interleaved, sgemm, work_per_token
from benchmarks.scoring.publishing import Table
from benchmarks.scoring.setting import (
    Setting,
    encoded,
    first,
    nodes,
    raw_tokens,
    resized,
    sample,
    untrained,
)
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.nbest import NBest

# Whose scores are right: not the authors', who add 1e-8 to every probability.
REFERENCE = OURS[0].name
LIST_SIZES = (5, 10, 50, 500)
VOCABULARIES = (2_000, 6_922, 20_000)
MIXTURES = (1, 5, 20, 40)
THREADS = (1, 2)
ENSEMBLES = (1, 2, 3, 5)
SENTENCES = 4


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

    scorers = {each.name: each.prepare(setting.checkpoints, threads) for each in contestants}

    def score(name: str) -> None:
        last[name] = scorers[name](setting.sentences)

    actions = {name: partial(score, name) for name in scorers}
    seconds = interleaved({**actions, "sgemm": lambda: peaks.append(measure_peak())}, rounds)
    amount, peak = _amount(setting), median(peaks[1:])
    raw, left, flop = amount["raw_tokens"], amount["nodes"], amount["flop_per_token"]
    base = median(seconds[contestants[0].name])
    rows = []
    for contestant in contestants:
        name, taken = contestant.name, median(seconds[contestant.name])
        computed = left if contestant.shares_prefixes else raw
        difference, alike = agreement(setting, last[REFERENCE], last[name])
        loaded, most = memory.get(name, (None, None))
        rows.append(
            {
                "name": name,
                "seconds": seconds[name],
                "median": taken,
                "raw_tokens_per_second": raw / taken,
                "nodes_per_second": left / taken,
                "times_as_fast": base / taken,
                "share_of_peak": computed * flop / taken / peak,
                "megabytes_loaded": loaded,
                "megabytes_peak": most,
                "largest_difference": difference,
                "same_winner": alike,
            }
        )
    return {**amount, "sgemm": peak, "floor_seconds": left * flop / peak, "rows": rows}


def _amount(setting: Setting) -> dict[str, int]:
    """What there is to score."""
    return {
        "sentences": len(setting.sentences),
        "candidates": sum(len(sentence.ids) for sentence in setting.sentences),
        "raw_tokens": raw_tokens(setting.sentences),
        "nodes": nodes(setting.sentences),
        "flop_per_token": sum(
            work_per_token(each.model.config).total for each in setting.checkpoints
        ),
    }


def agreement(setting: Setting, reference: Scores, scores: Scores) -> tuple[float | None, int]:
    """The largest difference of a candidate's score, in nats, and the number of sentences with the
    same best tree; no difference for a contestant that leaves losers at minus infinity."""
    largest, alike = 0.0, 0
    for sentence, expected, actual in zip(setting.sentences, reference, scores, strict=True):
        largest = max(largest, float(np.abs(expected - actual).max()))
        # Duplicates tie: it is the tree that must be the same, not its place.
        alike += sentence.ids[int(expected.argmax())] == sentence.ids[int(actual.argmax())]
    return (largest if np.isfinite(largest) else None), alike


def comparison_table(title: str, figures: dict[str, Any]) -> Table:
    base = figures["rows"][0]["name"]
    header = ["", "s", "raw tokens/s", "nodes/s", f"x {base}", "of sgemm", "peak MB"]
    header += ["of it loaded", "nats off", "same winner"]
    rows = []
    for row in figures["rows"]:
        difference = row["largest_difference"]
        line = [row["name"], f"{row['median']:.2f}", f"{row['raw_tokens_per_second']:,.0f}"]
        line += [f"{row['nodes_per_second']:,.0f}", f"{row['times_as_fast']:.2f}"]
        line += [f"{100 * row['share_of_peak']:.0f} %"]
        memory = [row["megabytes_peak"], row["megabytes_loaded"]]
        line += ["-" if megabytes is None else f"{megabytes:,.0f}" for megabytes in memory]
        line += ["-" if difference is None else f"{difference:.1e}"]
        rows.append([*line, f"{row['same_winner']}/{figures['sentences']}"])
    raw, left = figures["raw_tokens"], figures["nodes"]
    notes = [
        f"{figures['sentences']} sentences, {figures['candidates']:,} candidates, {raw:,} raw "
        f"tokens, {left:,} trie nodes ({raw / left:.2f} times fewer).",
        f"{figures['flop_per_token'] / 1e6:.1f} MFLOP a token; sgemm {figures['sgemm'] / 1e9:.0f} "
        f"GFLOP/s: {figures['floor_seconds']:.2f} s for the nodes at that speed.",
    ]
    return Table(title, header, rows, notes)


class Case(NamedTuple):
    """One line of a table; ``label`` is a number of something."""

    label: int
    checkpoints: Sequence[Checkpoint]
    lists: Sequence[NBest]
    threads: int


def cases(
    setting: Setting, long_lists: Sequence[NBest], threads: int
) -> Iterator[tuple[str, list[Case]]]:
    """Every table's title and lines; ``long_lists`` are for the first, some of the setting's lists
    for the others, where models other than the setting's have random weights."""
    checkpoints, vocabulary = setting.checkpoints, setting.checkpoints[0].vocabulary
    config = checkpoints[0].model.config
    some = sample([sentence.nbest for sentence in setting.sentences], SENTENCES)

    def of_models(models: Mapping[int, Sequence[Checkpoint]]) -> list[Case]:
        return [Case(label, members, some, threads) for label, members in models.items()]

    longest = max(len(nbest.candidates) for nbest in long_lists)
    sizes = [size for size in LIST_SIZES if size <= longest]
    yield "candidates", [Case(n, checkpoints, first(long_lists, n), threads) for n in sizes]
    words = {
        n: [untrained(replace(config, vocabulary_size=n), resized(vocabulary, n))]
        for n in VOCABULARIES
    }
    yield "words in the vocabulary", of_models(words)
    mixtures = {
        n: [untrained(replace(config, components=quarter(n)), vocabulary)] for n in MIXTURES
    }
    yield "softmaxes", of_models(mixtures)
    yield "threads", [Case(n, checkpoints, some, n) for n in THREADS]
    ensemble = [untrained(config, vocabulary, seed) for seed in range(max(ENSEMBLES))]
    yield "models", of_models({n: ensemble[:n] for n in ENSEMBLES})


def quarter(softmaxes: int) -> tuple[int, int, int, int]:
    """The paper's division: a quarter of the softmaxes from the second layer, the others from the
    third."""
    return 0, 0, softmaxes // 4, softmaxes - softmaxes // 4


def scale(
    title: str, lines: Sequence[Case], contestants: Sequence[Contestant], rounds: int
) -> dict[str, Any]:
    """Median seconds of each contestant in each case, all interleaved."""
    actions: dict[str, Callable[[], object]] = {}
    rows: list[dict[str, Any]] = []
    for case in lines:
        sentences = encoded(case.lists, case.checkpoints[0].vocabulary)
        for contestant in contestants:
            score = contestant.prepare(case.checkpoints, case.threads)
            actions[f"{case.label} {title}, {contestant.name}"] = partial(score, sentences)
        raw, left = raw_tokens(sentences), nodes(sentences)
        flop = sum(work_per_token(each.model.config).total for each in case.checkpoints)
        rows.append({"label": case.label, "raw_tokens": raw, "nodes": left, "flop": left * flop})
    seconds = interleaved(actions, rounds)
    names = [contestant.name for contestant in contestants]
    for row in rows:
        row["seconds"] = {
            name: median(seconds[f"{row['label']} {title}, {name}"]) for name in names
        }
    return {"title": title, "contestants": names, "rows": rows}


def scaling_table(figures: dict[str, Any]) -> Table:
    """Each contestant's time, and how much it is of the first line's; below, what ten times as much
    costs, where the table has it."""
    title, names, rows = figures["title"], figures["contestants"], figures["rows"]
    has_memory = "megabytes_peak" in rows[0]
    header = [title, "raw tokens", "nodes", "GFLOP", "x"]
    for name in names:
        header += [f"{name}, s", "x", "GFLOP/s"] + (["peak MB"] if has_memory else [])
    lines = []
    for row in rows:
        line = [f"{row['label']:,}", f"{row['raw_tokens']:,}", f"{row['nodes']:,}"]
        line += [f"{row['flop'] / 1e9:,.0f}", f"{row['flop'] / rows[0]['flop']:.2f}"]
        for name in names:
            taken = row["seconds"][name]
            line += [f"{taken:.2f}", f"{taken / rows[0]['seconds'][name]:.2f}"]
            line += [f"{row['flop'] / taken / 1e9:.0f}"]
            line += [f"{row['megabytes_peak'][name]:,.0f}"] if has_memory else []
        lines.append(line)
    notes = []
    for before, after in combinations(rows, 2):
        if after["label"] == 10 * before["label"]:
            times = [(name, after["seconds"][name] / before["seconds"][name]) for name in names]
            notes.append(
                f"From {before['label']} to {after['label']} {title}: time times "
                f"{', '.join(f'{ratio:.2f} ({name})' for name, ratio in times)}, nodes times "
                f"{after['nodes'] / before['nodes']:.2f}."
            )
    return Table(f"Time by number of {title}", header, lines, notes)
