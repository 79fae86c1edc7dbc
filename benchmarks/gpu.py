"""The speed of a GPU that scores and parses, beside all cores of the CPU of the same machine.

    python -m benchmarks.gpu [--device cuda] [--lists LISTS] [--json FILE]     # or make gpu

Prints Markdown tables, each row once it is measured. A rate is the median of rounds after one that
warms up; models are loaded before. Each round has other sentences, since a span model's readings
are kept; lists that are too few are repeated with other words. Scoring begins with whole batches,
as it otherwise does after a second. ``--device cpu`` runs the code without a GPU, on little data.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, cycle, islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch

from benchmarks.scoring.lists import untrained
from benchmarks.scoring.measure import machine
from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.models import Config
from reranker.nbest import Candidate, NBest, read_nbest
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser
from reranker.pipeline import Reranker
from reranker.process.machine import available_cores
from reranker.scoring import pools, windows
from reranker.trees.linearize import is_word

GUM, EXAMPLES = Path("../shared/data/nbest/gum_dev_50best.txt.gz"), Path("examples/parses.txt")
PAPER = "papers' sizes"
ROUNDS, SECONDS = 3, 2.0  # of one measurement: it ends with the first of the two

# Distinct tokens of the lists scored together, and prefixes computed at once; first the usual ones.
BATCHES = [(60_000, 4_800), (15_000, 4_800), (240_000, 4_800), (240_000, 19_200)]


class Sizes(NamedTuple):
    """The number of lists, of sentences, and of each for the CPU."""

    lists: int
    lists_of_paper: int
    lists_on_cpu: int
    lists_of_paper_on_cpu: int
    sentences: int
    sentences_on_cpu: int
    candidates: int
    batches: int


LARGE = Sizes(150, 75, 32, 8, 300, 100, 50, len(BATCHES))
SMALL = Sizes(3, 1, 2, 1, 6, 4, 8, 1)


class Input(NamedTuple):
    device: str
    sizes: Sizes
    source: Sequence[NBest]

    def rounds(self, wanted: int, candidates: int | None = None) -> list[list[NBest]]:
        """Return so many lists for each round, every one of another sentence."""
        some = candidates or self.sizes.candidates
        cut = [replace(each, candidates=each.candidates[:some]) for each in self.source]
        spare = cycle([word for nbest in cut for word in nbest.words][1:])  # one fewer: no period
        lists = chain(cut, (with_words(nbest, spare) for nbest in cycle(cut)))
        return [list(islice(lists, wanted)) for _ in range(1 + ROUNDS)]


def with_words(nbest: NBest, spare: Iterator[str]) -> NBest:
    """Return the list with the next words."""
    words = list(islice(spare, len(nbest.words)))

    def renamed(candidate: Candidate) -> Candidate:
        given = iter(words)
        tokens = tuple(next(given) if is_word(token) else token for token in candidate.tokens)
        return replace(candidate, tokens=tokens)

    return replace(nbest, candidates=tuple(map(renamed, nbest.candidates)))


class Report:
    """The rows measured so far: printed at once, kept for a file."""

    def __init__(self, path: Path | None) -> None:
        self._path, self.rows = path, list[dict[str, Any]]()

    def head(self, title: str, *heads: str) -> None:
        lines = [f"\n{title}\n", f"| {' | '.join(['', *heads])} |", "|---" * (len(heads) + 1) + "|"]
        print("\n".join(lines), flush=True)

    def row(self, name: str, *cells: str, **figures: Any) -> None:
        print(f"| {' | '.join([name, *cells])} |", flush=True)
        self.rows.append({"name": name, **figures})
        if self._path:
            self._path.write_text(json.dumps(self.rows, indent=1), "utf-8")


class Cost(NamedTuple):
    """The seconds of a round, and the most megabytes of the GPU, weights included."""

    seconds: float
    megabytes: float


def cost_of(work: Callable[[list[NBest]], object], rounds: list[list[NBest]], device: str) -> Cost:
    """Measure the work on the lists of some rounds, of which the first warms up."""
    taken: list[float] = []
    for lists in rounds:
        began = time.perf_counter()
        work(lists)
        if device != "cpu":
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - began)
        if len(taken) == 1 and device != "cpu":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        if sum(taken[1:]) > SECONDS:
            break
    most = 0.0 if device == "cpu" else torch.cuda.max_memory_allocated() / 2**20
    return Cost(median(taken[1:]), most)


@contextmanager
def batches_of(tokens: int, rows: int) -> Iterator[None]:
    """Score batches of so many tokens, from the first one on."""
    before = pools.BATCH_TOKENS, pools.FIRST_POOL_TOKENS, windows._DEVICE_WINDOW_ROWS
    pools.BATCH_TOKENS, pools.FIRST_POOL_TOKENS = tokens, tokens * pools.POOL_BATCHES
    windows._DEVICE_WINDOW_ROWS = rows
    try:
        yield
    finally:
        pools.BATCH_TOKENS, pools.FIRST_POOL_TOKENS, windows._DEVICE_WINDOW_ROWS = before


def all_scores(reranker: Reranker, lists: list[NBest]) -> None:
    for _ in reranker.score_lists(lists):
        pass


def best_trees(reranker: Reranker, lists: list[NBest]) -> None:
    for _ in reranker.rerank_lists(lists, top=1):
        pass


def ensemble(name: str, device: str) -> Reranker:
    """Load an ensemble; that of the paper's sizes has random weights."""
    if name != PAPER:
        return Reranker.load(name, device=device)
    vocabulary = load_checkpoint("ckpt/doc/doc-1.pt").vocabulary
    member = untrained(Config(len(vocabulary)), vocabulary)
    member.model.to(device)
    return Reranker([member], threads=None if device == "cpu" else 1)


def scoring(given: Input, report: Report) -> None:
    """Measure the scores of all candidates."""
    heads = "candidates a second", "lists a second", "on the CPU", "times", "MB of the GPU"
    report.head(f"All scores, lists of {given.sizes.candidates} candidates", *heads)
    for name in ("best", "doc", PAPER):
        is_paper, sizes = name == PAPER, given.sizes
        wanted = sizes.lists_of_paper_on_cpu if is_paper else sizes.lists_on_cpu
        with ensemble(name, "cpu") as reranker, batches_of(*BATCHES[0]):
            work = partial(all_scores, reranker)
            cpu = wanted / cost_of(work, given.rounds(wanted), "cpu").seconds
        wanted = sizes.lists_of_paper if is_paper else sizes.lists
        rounds = given.rounds(wanted)
        candidates = sum(len(each.candidates) for lists in rounds for each in lists) / len(rounds)
        with ensemble(name, given.device) as reranker:
            for tokens, rows in BATCHES[: 1 if name == "best" else sizes.batches]:
                with batches_of(tokens, rows):
                    cost = cost_of(partial(all_scores, reranker), rounds, given.device)
                rate = wanted / cost.seconds
                title = f"`{name}`, batches of {tokens:,} tokens, {rows:,} rows"
                cells = f"{candidates / cost.seconds:,.0f}", f"{rate:,.1f}", f"{cpu:,.1f}"
                figures = {"a_second": rate, "cpu_a_second": cpu, "megabytes": cost.megabytes}
                report.row(title, *cells, f"{rate / cpu:.1f}", f"{cost.megabytes:,.0f}", **figures)


def winners(given: Input, report: Report) -> None:
    """Measure the search for the best tree only."""
    heads = "lists a second", "on the CPU", "times"
    report.head(f"The best tree only, lists of {given.sizes.candidates} candidates", *heads)
    for name in ("fast", "best", "doc"):
        rates = []
        sizes = {given.device: given.sizes.lists, "cpu": given.sizes.lists_on_cpu}
        for device in (given.device, "cpu"):
            with ensemble(name, device) as reranker:
                work, rounds = partial(best_trees, reranker), given.rounds(sizes[device])
                rates.append(sizes[device] / cost_of(work, rounds, device).seconds)
        compare(report, f"`{name}`", *rates)


def parsing(given: Input, report: Report) -> None:
    """Measure parsing and ranking together, from words to the best tree."""
    report.head("From words to the best tree", "sentences a second", "on the CPU", "times")
    for name, candidates in (("fast", 1), ("best", 20)):
        cpu = parsed_a_second(given, name, candidates, "cpu", available_cores())
        for jobs in sorted({1, available_cores()}):
            gpu = parsed_a_second(given, name, candidates, given.device, jobs)
            compare(report, f"`{name}`, {candidates} candidates, {jobs} jobs", gpu, cpu)


def parsed_a_second(given: Input, name: str, candidates: int, device: str, jobs: int) -> float:
    sizes = given.sizes
    wanted = sizes.sentences_on_cpu if device == "cpu" else sizes.sentences
    parser = create_parser("chart", ParserSettings(device=device, candidates=candidates))
    with Reranker.load(name, device=device) as reranker:

        def work(lists: list[NBest]) -> None:
            sentences = [list(nbest.words) for nbest in lists]
            for _ in reranker.stream(sentences, parser, top=1, jobs=jobs):
                pass

        return wanted / cost_of(work, given.rounds(wanted, candidates=1), device).seconds


def compare(report: Report, title: str, gpu: float, cpu: float) -> None:
    cells = f"{gpu:,.1f}", f"{cpu:,.1f}", f"{gpu / cpu:.1f}"
    report.row(title, *cells, a_second=gpu, cpu_a_second=cpu)


SECTIONS = {each.__name__: each for each in (scoring, parsing, winners)}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS])
    parser.add_argument("--device", default="cuda", help="cuda, or cpu: little data")
    parser.add_argument("--lists", type=Path, default=GUM if GUM.exists() else EXAMPLES)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()
    device = arguments.device if ":" in arguments.device else arguments.device.replace("a", "a:0")
    sizes = SMALL if device == "cpu" else LARGE
    source = islice(
        (each for each in read_nbest(arguments.lists) if each.candidates), sizes.lists * 5
    )
    given, report = Input(device, sizes, list(source)), Report(arguments.json)
    where = "the CPU in its place" if device == "cpu" else torch.cuda.get_device_name(device)
    print(f"{where}; {machine(available_cores())}; {arguments.lists}")
    status = 0
    for name in arguments.sections or SECTIONS:
        began = time.monotonic()
        try:
            SECTIONS[name](given, report)
        except Exception as error:
            print(f"\n{name}: {type(error).__name__}: {str(error).partition(chr(10))[0]}")
            status = 1
        print(f"\n{name}: {time.monotonic() - began:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
