"""The command: measures, versions taking turns, and a table for each."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from tqdm import tqdm

from benchmarks.latency.measures import (
    LISTS,
    MEASURES,
    TARGETS,
    Figures,
    Input,
    Measure,
    Sizes,
    Target,
    chosen,
)
from benchmarks.latency.versions import Version
from benchmarks.scoring.measure import machine
from reranker.commands.arguments import positive
from reranker.errors import RerankError
from reranker.nbest import read_nbest
from reranker.process.cores import available_cores

ROOT = Path(__file__).resolve().parents[2]
GUM, EXAMPLES = "../shared/data/nbest/gum_dev_50best.txt.gz", "examples/parses.txt"
CANDIDATES, WORDS = (1, 5, 50, 500), (10, 20, 40)
QUICK = Sizes(bulk=30, window=20.0, alone=3, together=1_000, large=2)
NOISE = 0.03  # what a ratio of two times may be short of its target
EXAMPLE_COMMANDS = """examples:
  python -m benchmarks.latency --quick                          # this version alone: minutes
  git worktree add ../old 7399f1c && make -C ../old install
  python -m benchmarks.latency --against ../old --quick         # ten minutes
  python -m benchmarks.latency --against ../old                 # more than an hour
  python -m benchmarks.latency lists --candidates 50 --words 20 --against ../old
"""


def main(argv: Sequence[str]) -> int:
    arguments = options().parse_args(argv)
    try:
        versions = [Version.of(ROOT, arguments.models, Path(sys.executable))]
        if arguments.against:
            versions.append(Version.of(arguments.against, arguments.models))
        path = Path(arguments.lists or (GUM if Path(GUM).is_file() else EXAMPLES))
        lists = [nbest for nbest in read_nbest(path) if nbest.candidates]
        print(f"{machine(available_cores())}\npython -m benchmarks.latency {' '.join(argv)}")
        print(f"here {versions[0].commit}", *(f"there {v.commit}" for v in versions[1:]), sep=", ")
        print(f"{path}: {len(lists)} lists, {len(versions[0].models)} models")
        print(f"load average at the start {os.getloadavg()[0]:.1f}")
        if not arguments.lists and path == Path(EXAMPLES):
            print(f"{GUM} is not there: the examples are few, and sizes only roughly as named.")
        sizes = QUICK if arguments.quick else Sizes()
        print(", ".join(f"{name} {value:g}" for name, value in sizes._asdict().items()))
        with tempfile.TemporaryDirectory() as folder:
            given = Input(path, lists, Path(folder), sizes)
            rounds = 1 if arguments.quick else arguments.rounds
            names = arguments.measures or [*MEASURES, LISTS]
            candidates = arguments.candidates or ([5, 50] if arguments.quick else CANDIDATES)
            words = arguments.words or ([20] if arguments.quick else WORDS)
            for title, measure in chosen(names, candidates, words):
                results = in_turns(measure, given, versions, rounds, title)
                print("\n".join(["", f"### {title}", "", *table(results)]), flush=True)
        return 0
    except RerankError as error:
        print(error, file=sys.stderr)
        return 2


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.latency",
        description="How soon answers come, against bulk and against an older version.",
        epilog=EXAMPLE_COMMANDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    names = [*MEASURES, LISTS]
    add("measures", nargs="*", metavar="MEASURE", help=f"{', '.join(names)} (default: all)")
    add("--against", type=Path, metavar="CHECKOUT", help="of another version, installed in .venv")
    add("--lists", help=f"n-best lists (default: {GUM}, else {EXAMPLES})")
    add("--models", default="ckpt/*.pt", help="in each checkout (default: %(default)s)")
    add("--candidates", type=positive, nargs="+", metavar="N", help="of one list (1 5 50 500)")
    add("--words", type=positive, nargs="+", metavar="N", help="of one list (10 20 40)")
    add("--rounds", type=positive, default=3, help="(default: %(default)s)")
    add("--quick", action="store_true", help="one round, few lists and sizes")
    return parser


def in_turns(
    measure: Measure, given: Input, versions: Sequence[Version], rounds: int, title: str
) -> list[list[Figures]]:
    """For each version, its figures of each round; who begins changes from round to round."""
    results: list[list[Figures]] = [[] for _ in versions]
    with ExitStack() as opened, tqdm(total=rounds * len(versions), disable=None) as progress:
        progress.set_description(title)
        turns = [measure(given, version, opened) for version in versions]
        for number in range(rounds):
            places = list(range(len(versions)))
            for place in places[:: -1 if number % 2 else 1]:
                results[place].append(turns[place]())
                progress.update()
    return results


def table(results: Sequence[Sequence[Figures]]) -> list[str]:
    """Markdown: medians of the rounds here and, if measured, there, and whether targets are met."""
    lines = ["| | target | here | there | there / here | |", "|---|---|---|---|---|---|"]
    for row in results[0][0]:
        figures = [median(each[row] for each in version) for version in results]
        here, there = figures[0], figures[1] if len(figures) > 1 else None
        wanted, verdict = judged(TARGETS.get(row, Target()), here, there)
        ratio = "-" if there is None else f"{there / here:.2f}"
        shown = "-" if there is None else f"{there:,.2f}"
        lines.append(f"| {row} | {wanted} | {here:,.2f} | {shown} | {ratio} | {verdict} |")
    return lines


def judged(target: Target, here: float, there: float | None) -> tuple[str, str]:
    """The target in words, and whether it is met."""
    if target.limit is not None:
        return f"at most {target.limit:g}", "met" if here <= target.limit else "missed"
    if target.times is None:
        return "", ""
    wanted = "not slower" if target.times == 1 else f"{target.times:g} times faster"
    if there is None:
        return wanted, "-"
    return wanted, "met" if there / here >= target.times - NOISE else "missed"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
