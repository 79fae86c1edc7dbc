"""The command: everybody's figures, tables of growth, history, page and charts."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from benchmarks.scoring import authors, contestants
from benchmarks.scoring.comparison import compare, comparison_table, complain
from benchmarks.scoring.contestants import Contestant
from benchmarks.scoring.lists import raw_tokens, read, sample
from benchmarks.scoring.measure import memory_now, memory_of, memory_peak
from benchmarks.scoring.publishing import check_files, keep
from benchmarks.scoring.scaling import LIST_SIZES, cases, scale, scaling_table
from benchmarks.scoring.setting import Setting, load, machine, options
from reranker.errors import RerankError

# Without these, PyTorch on Linux gives its memory back and takes it anew all the time, the more
# the less one does about it: everybody runs with what `rerank` sets for itself.
ALLOCATOR = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000"}
# Log-probabilities of a token, theirs and ours with their 1e-8, must agree to this (nats).
TOLERANCE = 1e-3


def main(argv: Sequence[str]) -> int:
    arguments = options().parse_args(argv)
    try:
        setting = load(arguments)
        # Random weights have no favourites: who wins how easily says nothing.
        everybody = [c for c in contestants.OURS if not (c.winner_only and arguments.paper_size)]
        if arguments.authors:
            everybody.insert(0, contestants.authors(arguments.authors, arguments.authors_memory))
        if arguments.memory_of:
            return print_memory(everybody, arguments, setting)
        return run(arguments, argv, setting, everybody)
    except RerankError as error:
        print(error, file=sys.stderr)
        return 2


def run(
    arguments: argparse.Namespace,
    argv: Sequence[str],
    setting: Setting,
    everybody: Sequence[Contestant],
) -> int:
    check_files(arguments)
    head = [machine(arguments.threads), f"python -m benchmarks.scoring {' '.join(argv)}"]
    print("\n".join(head))
    if arguments.authors:
        head.append(check_authors(arguments, setting))
    else:
        head.append("The authors' code takes no part: name a checkout of it with --authors.")
    print(f"{head[-1]}\n", flush=True)
    memory = {one.name: memory_of([*argv, "--memory-of", one.name]) for one in everybody}
    figures = compare(everybody, setting, arguments.rounds, arguments.threads, memory)
    tables = [comparison_table(f"{setting.title}: everybody", figures)]
    print(tables[0].text(), flush=True)
    growth: list[dict[str, Any]] = []
    if arguments.scaling:
        scaling = [one for one in everybody if one.shares_prefixes]
        for found in measure_growth(arguments, argv, setting, scaling):
            growth.append(found)
            tables.append(scaling_table(found))
            print(f"\n{tables[-1].text()}", flush=True)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"date": now, "head": head, "title": setting.title, **figures, "scaling": growth}
    keep(arguments, record, head, tables)
    return 1 if complain(figures) else 0


def check_authors(arguments: argparse.Namespace, setting: Setting) -> str:
    """Their model with our weights against ours, token by token, on the shortest list.

    Raises RerankError if they do not compute the same."""
    shortest = min((one.ids for one in setting.sentences), key=raw_tokens)
    largest, halved = 0.0, 0
    for one in setting.checkpoints:
        scorer = authors.AuthorsScorer(arguments.authors, one, arguments.authors_memory)
        largest = max(largest, authors.largest_difference(scorer, one.model, shortest[:3]))
        parts = [authors.halved(each.ids, scorer.most_positions) for each in setting.sentences]
        halved += sum(len(one) > 1 for one in parts)
    if not largest < TOLERANCE:
        raise RerankError(f"the authors' model and ours differ by {largest} nats in a token")
    batches = len(setting.checkpoints) * len(setting.sentences)
    return (
        f"Authors' model and ours, same weights: at most {largest:.1e} nats apart in a token. "
        f"{halved} of their {batches} batches are scored in halves to stay under "
        f"{arguments.authors_memory:g} GB."
    )


def print_memory(
    everybody: Sequence[Contestant], arguments: argparse.Namespace, setting: Setting
) -> int:
    """In a child process: loaded and peak megabytes of one contestant."""
    (contestant,) = (one for one in everybody if one.name == arguments.memory_of)
    score = contestant.prepare(setting.checkpoints, arguments.threads)
    loaded = memory_now()
    score(setting.sentences)
    print(json.dumps([loaded, memory_peak()]))
    return 0


def measure_growth(
    arguments: argparse.Namespace,
    argv: Sequence[str],
    setting: Setting,
    scaling: Sequence[Contestant],
) -> list[dict[str, Any]]:
    found = []
    path = arguments.long_lists or arguments.lists
    lists = sample(read(path, max(LIST_SIZES)), arguments.sentences)
    for title, lines in cases(setting, lists, arguments.threads):
        are_ours = all(line.checkpoints is setting.checkpoints for line in lines)
        taking_part = [one for one in scaling if are_ours or not one.winner_only]
        figures = scale(title, lines, taking_part, arguments.rounds)
        if title == "candidates":
            for row in figures["rows"]:
                only = ["--lists", path, "--candidates", str(row["label"]), "--memory-of"]
                row["megabytes_peak"] = {
                    one.name: memory_of([*argv, *only, one.name])[1] for one in taking_part
                }
        found.append(figures)
    return found


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in ALLOCATOR.items()):
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **ALLOCATOR})
    sys.exit(main(sys.argv[1:]))
