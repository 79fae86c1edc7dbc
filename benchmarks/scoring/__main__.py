"""The command: all contestants' figures."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.scoring import contestants
from benchmarks.scoring.authors import AuthorsScorer, halved
from benchmarks.scoring.contestants import OURS, Contestant
from benchmarks.scoring.figures import REFERENCE, compare, comparison
from benchmarks.scoring.measure import machine, memory
from benchmarks.scoring.setting import Setting, load, raw_tokens
from reranker.commands.arguments import positive
from reranker.errors import RerankError
from reranker.files.table import aligned

# Without these, PyTorch on Linux gives its memory back and takes it again all the time, the more
# the less one does about it: all contestants run with what `rerank` sets for itself.
ALLOCATOR = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000"}
# Log-probabilities of a token, theirs and ours with their 1e-8, must agree to this (nats).
TOLERANCE = 1e-3


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
    add("--models", nargs="+", default=["ckpt/doc/doc-forward.pt"], help="DOC models")
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
    wrong = [
        result.contestant.name
        for result in results
        if result.contestant in OURS and result.same_winner < len(setting.sentences)
    ]
    for name in wrong:
        print(f"{name} chose other trees than {REFERENCE}", file=sys.stderr)
    return 1 if wrong else 0


def memory_of(contestant: Contestant, setting: Setting, threads: int) -> tuple[float, float]:
    """Megabytes of this process with everything loaded, and at most while scoring."""
    score = contestant.prepare(setting.checkpoints, threads)
    loaded = memory("VmRSS")
    score(setting.sentences)
    return loaded, memory("VmHWM")


def check_authors(arguments: argparse.Namespace, setting: Setting) -> str:
    """Their model with our weights against ours, both as log(P + 1e-8), token by token, on the
    shortest list.

    Raises RerankError if they do not compute the same."""
    shortest = min(setting.sentences, key=lambda sentence: raw_tokens([sentence])).ids[:3]
    largest, in_halves = 0.0, 0
    for checkpoint in setting.checkpoints:
        scorer = AuthorsScorer(arguments.authors, checkpoint, arguments.authors_memory)
        ours = contestants.token_scores(checkpoint, shortest, contestants.straightforward).T
        for row, theirs in zip(ours, scorer.token_scores(shortest), strict=True):
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


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in ALLOCATOR.items()):
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **ALLOCATOR})
    sys.exit(main(sys.argv[1:]))
