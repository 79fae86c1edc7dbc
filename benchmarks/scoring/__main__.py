"""The command: all contestants' figures, tables of growth, history, page and charts."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scoring import contestants
from benchmarks.scoring.authors import AuthorsScorer, halved
from benchmarks.scoring.contestants import OURS, Contestant
from benchmarks.scoring.figures import (
    LIST_SIZES,
    REFERENCE,
    cases,
    compare,
    comparison_table,
    scale,
    scaling_table,
)
from benchmarks.scoring.measure import machine, memory_now, memory_of, memory_peak
from benchmarks.scoring.publishing import check_files, keep
from benchmarks.scoring.setting import Setting, load, raw_tokens, read, sample
from reranker.errors import RerankError

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
            return print_memory(everybody, arguments, setting)
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
    add("--models", nargs="+", default=["ckpt/doc-forward.pt"], help="DOC models of one vocabulary")
    add("--paper-size", action="store_true", help="random weights in the paper's sizes instead")
    add("--vocabulary-size", type=int, default=6_922, help="of --paper-size")
    add("--ensemble", type=int, default=1, help="models of --paper-size")
    add("--sentences", type=int, default=4, help="how many of the lists (default: %(default)s)")
    add("--candidates", type=int, default=50, help="of each list (default: %(default)s)")
    add("--rounds", type=int, default=3, help="after the one that warms up (default: %(default)s)")
    add("--threads", type=int, default=1)
    add("--scaling", action="store_true", help="tables of list size, vocabulary, J and so on, too")
    add("--long-lists", help="lists of up to 500, for the table of list sizes")
    add("--history", type=Path, help="add the figures to this file, a line of JSON")
    add("--markdown", type=Path, help="put the tables between this file's markers")
    add("--charts", type=Path, metavar="PREFIX", help="draw PREFIX.svg and PREFIX-scaling.svg")
    add("--memory-of", metavar="CONTESTANT", help=argparse.SUPPRESS)
    return parser


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
        head.append("Without the authors' code: name a checkout of it with --authors.")
    print(f"{head[-1]}\n", flush=True)
    memory = {each.name: memory_of([*argv, "--memory-of", each.name]) for each in everybody}
    figures = compare(everybody, setting, arguments.rounds, arguments.threads, memory)
    tables = [comparison_table(f"{setting.title}: all contestants", figures)]
    print(tables[0].text(), flush=True)
    growth = []
    if arguments.scaling:
        for measured in measure_growth(arguments, argv, setting, everybody):
            growth.append(measured)
            tables.append(scaling_table(measured))
            print(f"\n{tables[-1].text()}", flush=True)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"date": now, "head": head, "title": setting.title, **figures, "scaling": growth}
    keep(arguments, record, head, tables)
    ours = [row for row in figures["rows"] if row["name"] in {each.name for each in OURS}]
    wrong = [row["name"] for row in ours if row["same_winner"] < figures["sentences"]]
    for name in wrong:
        print(f"{name} chose other trees than {REFERENCE}", file=sys.stderr)
    return 1 if wrong else 0


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


def print_memory(
    everybody: Sequence[Contestant], arguments: argparse.Namespace, setting: Setting
) -> int:
    """In a child process: loaded and peak megabytes of one contestant."""
    (contestant,) = (each for each in everybody if each.name == arguments.memory_of)
    score = contestant.prepare(setting.checkpoints, arguments.threads)
    loaded = memory_now()
    score(setting.sentences)
    print(json.dumps([loaded, memory_peak()]))
    return 0


def measure_growth(
    arguments: argparse.Namespace,
    argv: Sequence[str],
    setting: Setting,
    everybody: Sequence[Contestant],
) -> Iterator[dict[str, Any]]:
    path = arguments.long_lists or arguments.lists
    lists = sample(read(path, max(LIST_SIZES)), arguments.sentences)
    for title, lines in cases(setting, lists, arguments.threads):
        are_ours = all(line.checkpoints is setting.checkpoints for line in lines)
        sharing = [each for each in everybody if each.shares_prefixes]
        sharing = [each for each in sharing if are_ours or not each.winner_only]
        figures = scale(title, lines, sharing, arguments.rounds)
        if title == "candidates":
            for row in figures["rows"]:
                only = ["--lists", path, "--candidates", str(row["label"]), "--memory-of"]
                row["megabytes_peak"] = {
                    each.name: memory_of([*argv, *only, each.name])[1] for each in sharing
                }
        yield figures


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in ALLOCATOR.items()):
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **ALLOCATOR})
    sys.exit(main(sys.argv[1:]))
