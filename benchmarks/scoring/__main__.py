"""The command: all contestants on the same sentences and weights, and a table of their figures."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from benchmarks.costs import megabytes, timed
from benchmarks.scoring import contestants
from benchmarks.scoring.authors import AuthorsScorer, halved
from benchmarks.scoring.contestants import OURS, Contestant, Scores
from benchmarks.scoring.lists import Setting, load
from benchmarks.scoring.measure import machine, sgemm, work_per_token
from reranker.errors import RerankError
from reranker.files.table import aligned
from reranker.process.flags import positive

# Without these, PyTorch on Linux gives its memory back and takes it again all the time, the more
# the less one does about it: all contestants run with the settings of `rerank`.
ALLOCATOR = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000"}
# Log-probabilities of a token, theirs and ours with their 1e-8, must agree to this (nats).
TOLERANCE = 1e-3
# Whose scores are right: not the authors', who add 1e-8 to every probability.
REFERENCE = OURS[0].name


class ContestantResult(NamedTuple):
    contestant: Contestant
    seconds: float  # the median of the rounds
    difference: float | None  # the largest of a candidate's score from the reference's, in nats
    same_winner: int  # sentences in which both choose the same tree


def main(argv: Sequence[str]) -> int:
    arguments = options().parse_args(argv)
    try:
        setting = load(arguments)
        # Random weights have no favourites: who wins how easily says nothing.
        everybody = [each for each in OURS if not (each.winner_only and arguments.paper_size)]
        if arguments.authors:
            everybody.insert(0, contestants.authors(arguments.authors, arguments.authors_memory))
        if arguments.memory_of:
            (contestant,) = (each for each in everybody if each.name == arguments.memory_of)
            print(json.dumps(memory_of(contestant, setting, arguments.threads)))
            return 0
        return run(arguments, argv, setting, everybody)
    except RerankError as error:
        print(error, file=sys.stderr)
        return 2


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scoring",
        description="How fast candidates are scored, by the authors' code and by ours.",
    )
    add = parser.add_argument
    lists = "../shared/data/nbest/gum_dev_50best.txt.gz"
    add("--lists", default=lists, help="n-best lists (default: %(default)s)")
    add("--authors", type=Path, help="a checkout of github.com/nttcslab-nlp/doc_lm")
    add("--authors-memory", type=float, default=8.0, metavar="GB", help="halve larger batches")
    add("--models", nargs="+", default=["ckpt/doc/doc-1.pt"], help="DOC models")
    add("--paper-size", action="store_true", help="random weights in the paper's sizes instead")
    add("--sentences", type=positive, default=4, help="of the lists (default: %(default)s)")
    add("--candidates", type=positive, default=50, help="of each list (default: %(default)s)")
    add("--rounds", type=positive, default=3, help="after one that warms up (default: %(default)s)")
    add("--threads", type=positive, default=1)
    add("--memory-of", metavar="CONTESTANT", help=argparse.SUPPRESS)
    return parser


def run(
    arguments: argparse.Namespace,
    argv: Sequence[str],
    setting: Setting,
    everybody: Sequence[Contestant],
) -> int:
    print(machine(arguments.threads))
    print(f"python -m benchmarks.scoring {' '.join(argv)}")
    if arguments.authors:
        print(f"{check_authors(arguments, setting)}\n", flush=True)
    else:
        print("Without the authors' code: name a checkout of it with --authors.\n", flush=True)
    memory_used = {}
    for contestant in everybody:  # each in a process of its own
        child = [sys.executable, "-m", "benchmarks.scoring", *argv, "--memory-of", contestant.name]
        printed = subprocess.run(child, check=True, stdout=subprocess.PIPE).stdout
        memory_used[contestant.name] = json.loads(printed)
    results, peak = compare(everybody, setting, arguments.rounds, arguments.threads)
    rows, notes = comparison(results, setting, peak, memory_used)
    print("\n".join([f"{setting.title}: all contestants", aligned(rows), *notes]))
    count = len(setting.sentences)
    own = (each for each in results if each.contestant in OURS)
    wrong = [each.contestant.name for each in own if each.same_winner < count]
    for name in wrong:
        print(f"{name} chose other trees than {REFERENCE}", file=sys.stderr)
    return 1 if wrong else 0


def memory_of(contestant: Contestant, setting: Setting, threads: int) -> tuple[float, float]:
    """Return the megabytes of this process with everything loaded, and at most while scoring."""
    score = contestant.prepare(setting.checkpoints, threads)
    loaded = megabytes("VmRSS")
    score(setting.sentences)
    return loaded, megabytes("VmHWM")


def check_authors(arguments: argparse.Namespace, setting: Setting) -> str:
    """Compare their model with our weights and ours, both as log(P + 1e-8), token by token, on the
    shortest list.

    Raises RerankError if they do not compute the same.
    """
    shortest = min(setting.sentences, key=lambda each: sum(map(len, each.ids))).ids[:3]
    largest, in_halves = 0.0, 0
    for checkpoint in setting.checkpoints:
        scorer = AuthorsScorer(arguments.authors, checkpoint, arguments.authors_memory)
        own = contestants.token_scores(checkpoint, shortest, contestants.straightforward).T
        for row, theirs in zip(own, scorer.token_scores(shortest), strict=True):
            expected = np.log(np.exp(row[: len(theirs)]) + 1e-8)
            largest = max(largest, float(np.abs(expected - theirs).max()))
        parts = [halved(sentence.ids, scorer.most_positions) for sentence in setting.sentences]
        in_halves += sum(len(part) > 1 for part in parts)
    if not largest < TOLERANCE:
        raise RerankError(f"the authors' model and ours differ by {largest} nats in a token")
    batches = len(setting.checkpoints) * len(setting.sentences)
    return (
        f"Authors' model and ours, same weights: at most {largest:.1e} nats apart in a token. "
        f"{in_halves} of their {batches} batches are scored in halves to stay under "
        f"{arguments.authors_memory:g} GB."
    )


def compare(
    everybody: Sequence[Contestant], setting: Setting, rounds: int, threads: int
) -> tuple[list[ContestantResult], float]:
    """Return the result of every contestant, ``REFERENCE`` among them, each taking its turn in
    every round and in one before them that warms up; and the operations per second of a matrix
    product meanwhile."""
    scores: dict[str, Scores] = {}
    seconds: dict[str, list[float]] = {each.name: [] for each in everybody}
    scorers = {each.name: each.prepare(setting.checkpoints, threads) for each in everybody}
    peaks = []
    for _ in range(rounds + 1):
        for name, score in scorers.items():
            scores[name], cost = timed(partial(score, setting.sentences))
            seconds[name].append(cost.wall)
        peaks.append(sgemm(threads))
    results = [
        ContestantResult(
            each,
            median(seconds[each.name][1:]),
            *agreement(setting, scores[REFERENCE], scores[each.name]),
        )
        for each in everybody
    ]
    return results, median(peaks[1:])


def agreement(setting: Setting, reference: Scores, scores: Scores) -> tuple[float | None, int]:
    """Return the largest difference of a candidate's score, in nats, and the number of sentences
    with the same best tree; no difference for a contestant that leaves losers at minus infinity."""
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
    """Return a table, heads first, and notes; times are compared with the first contestant's.
    ``memory`` has loaded and peak megabytes by name, measured elsewhere."""
    raw, left, count = setting.raw_tokens, setting.nodes, len(setting.sentences)
    flop = sum(sum(work_per_token(each.model.config)) for each in setting.checkpoints)
    first = results[0]
    heads = ["", "s", "raw tokens/s", "nodes/s", f"x {first.contestant.name}", "of sgemm"]
    rows = [[*heads, "peak MB", "of it loaded", "nats off", "same winner"]]
    for contestant, seconds, difference, same_winner in results:
        computed = left if contestant.shares_prefixes else raw
        loaded, most = memory[contestant.name]
        speeds = [f"{raw / seconds:,.0f}", f"{left / seconds:,.0f}"]
        speeds += [
            f"{first.seconds / seconds:.2f}",
            f"{100 * computed * flop / seconds / peak:.0f}%",
        ]
        off = "-" if difference is None else f"{difference:.1e}"
        held = [f"{most:,.0f}", f"{loaded:,.0f}"]
        row = [contestant.name, f"{seconds:.2f}", *speeds, *held, off]
        rows.append([*row, f"{same_winner}/{count}"])
    candidates = sum(len(sentence.ids) for sentence in setting.sentences)
    notes = [
        f"{count} sentences, {candidates:,} candidates, {raw:,} raw tokens, "
        f"{left:,} trie nodes ({raw / left:.2f} times fewer).",
        f"{flop / 1e6:.1f} MFLOP a token; sgemm {peak / 1e9:.0f} GFLOP/s: "
        f"{left * flop / peak:.2f} s for the nodes at that speed.",
    ]
    return rows, notes


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in ALLOCATOR.items()):
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **ALLOCATOR})
    sys.exit(main(sys.argv[1:]))
