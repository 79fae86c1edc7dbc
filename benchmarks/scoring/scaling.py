"""How time grows: with the list, the vocabulary, the mixture, threads and models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from statistics import median
from typing import Any, NamedTuple

from benchmarks.scoring.contestants import Contestant
from benchmarks.scoring.lists import encoded, first, nodes, raw_tokens, sample
from benchmarks.scoring.measure import interleaved
from benchmarks.scoring.setting import Setting, untrained
from benchmarks.scoring.table import Table
from benchmarks.scoring.vocabularies import resized
from benchmarks.scoring.work import work_per_token
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.nbest import NBest

LIST_SIZES = (5, 10, 50, 500)
VOCABULARIES = (2_000, 6_922, 20_000)
MIXTURES = (1, 5, 20, 40)
THREADS = (1, 2)
ENSEMBLES = (1, 2, 3, 5)
SENTENCES = 4


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
    longest = max(len(nbest.candidates) for nbest in long_lists)
    sizes = [size for size in LIST_SIZES if size <= longest]
    yield "candidates", [Case(n, checkpoints, first(long_lists, n), threads) for n in sizes]
    words = [
        untrained(replace(config, vocabulary_size=n), resized(vocabulary, n)) for n in VOCABULARIES
    ]
    yield (
        "words in the vocabulary",
        [Case(n, [one], some, threads) for n, one in zip(VOCABULARIES, words, strict=True)],
    )
    mixtures = [untrained(replace(config, components=quarter(n)), vocabulary) for n in MIXTURES]
    yield (
        "softmaxes",
        [Case(n, [one], some, threads) for n, one in zip(MIXTURES, mixtures, strict=True)],
    )
    yield "threads", [Case(n, checkpoints, some, n) for n in THREADS]
    ensemble = [untrained(config, vocabulary, seed) for seed in range(max(ENSEMBLES))]
    yield "models", [Case(n, ensemble[:n], some, threads) for n in ENSEMBLES]


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
        for one in contestants:
            score = one.prepare(case.checkpoints, case.threads)
            actions[f"{case.label} {title}, {one.name}"] = partial(score, sentences)
        left = sum(nodes(sentence.ids) for sentence in sentences)
        flop = sum(work_per_token(each.model.config).total for each in case.checkpoints)
        rows.append(
            {
                "label": case.label,
                "raw_tokens": sum(raw_tokens(sentence.ids) for sentence in sentences),
                "nodes": left,
                "flop": left * flop,
            }
        )
    seconds = interleaved(actions, rounds)
    for row in rows:
        row["seconds"] = {
            one.name: median(seconds[f"{row['label']} {title}, {one.name}"]) for one in contestants
        }
    return {"title": title, "contestants": [one.name for one in contestants], "rows": rows}


def scaling_table(figures: dict[str, Any]) -> Table:
    """Each contestant's time, and how much it is of the first line's."""
    names, rows = figures["contestants"], figures["rows"]
    has_memory = "megabytes_peak" in rows[0]
    header = [figures["title"], "raw tokens", "nodes", "GFLOP", "x"]
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
    return Table(f"Time by number of {figures['title']}", header, lines, tenfold(figures))


def tenfold(figures: dict[str, Any]) -> list[str]:
    """What ten times as much costs, where the table says it."""
    notes = []
    for before, after in combinations(figures["rows"], 2):
        if after["label"] == 10 * before["label"]:
            costs = [
                f"{after['seconds'][name] / before['seconds'][name]:.2f} ({name})"
                for name in figures["contestants"]
            ]
            notes.append(
                f"From {before['label']} to {after['label']} {figures['title']}: time times "
                f"{', '.join(costs)}, nodes times {after['nodes'] / before['nodes']:.2f}."
            )
    return notes
