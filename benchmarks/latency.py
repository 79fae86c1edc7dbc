"""The time until answers come: start-up, one list; and the time of a bulk run.

    python -m benchmarks.latency [MEASURE ...] [--lists LISTS] [--models FILE ...] [--quick]

docs/research/performance.md says what each measure is. Figures are medians over the rounds; what a
measure starts is warmed up first. To compare two versions, run this in the
checkout of each, in turns.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import httpx

from benchmarks.costs import Cost, peak_megabytes, timed
from benchmarks.scoring.measure import machine
from benchmarks.servers import RERANK, serving
from reranker.checkpoints.ensemble_file import named_models
from reranker.errors import RerankError
from reranker.files.table import aligned
from reranker.nbest import Candidate, NBest, read_nbest
from reranker.nbest.writing import list_text
from reranker.pipeline import Reranker
from reranker.process.flags import positive
from reranker.process.machine import available_cores
from reranker.trees.linearize import delinearize

GUM, EXAMPLES = "../shared/data/nbest/gum_dev_50best.txt.gz", "examples/parses.txt"
SAY_IMPORTS = {"PYTHONPROFILEIMPORTTIME": "1"}
# Of 500 real candidates (BLLIP, 12 sentences of GUM dev), this share repeats an earlier one.
REPEATED = 0.41

Figures = Mapping[str, float]
Measure = Callable[["Input", ExitStack], Callable[[], Figures]]


class Input(NamedTuple):
    path: Path
    lists: list[NBest]
    models: list[str]
    folder: Path  # for files
    quick: bool

    def file(self, name: str, lists: Sequence[NBest]) -> Path:
        path = self.folder / f"{name}.txt"
        path.write_text("".join(list_text(each, n, "bllip") for n, each in enumerate(lists)))
        return path

    def rerank(self, nbest: Path, *flags: str) -> list[str]:
        return [*RERANK, "--nbest", str(nbest), "--models", *self.models, *flags]


def of_size(lists: Sequence[NBest], candidates: int, words: int, wanted: int) -> list[NBest]:
    """Return at most ``wanted`` lists, the nearest in length first; if none has so many candidates,
    the longest lists, made longer by ``stretched``, as trees that can be read again."""
    enough = min(candidates, max(len(nbest.candidates) for nbest in lists))
    long_enough = [nbest for nbest in lists if len(nbest.candidates) >= enough]
    long_enough.sort(key=lambda nbest: abs(len(nbest.words) - words))
    return [_resized(nbest, candidates) for nbest in long_enough[:wanted]]


def _resized(nbest: NBest, candidates: int) -> NBest:
    given, longer = len(nbest.candidates), stretched(nbest, candidates)
    tags = nbest.candidates[0].tree.tags()
    added = (_with_text(candidate, tags) for candidate in longer.candidates[given:])
    return replace(longer, candidates=(*longer.candidates[:given], *added))


def stretched(nbest: NBest, length: int, seed: int = 0) -> NBest:
    """Return a list of ``length`` candidates, longer than a parser has printed: the given ones
    first, then earlier ones again, most of them with the label of one opening bracket exchanged for
    another of the list's.

    Words and lengths stay, brackets need not match, and only ``tokens`` change. On real lists of 50
    this leaves about as many trie nodes as real lists of 500 have.
    """
    draw = random.Random(seed)
    candidates = list(nbest.candidates[:length])
    labels = sorted({token for each in candidates for token in each.tokens if token[0] == "("})
    while len(candidates) < length:
        again = draw.choice(candidates)
        tokens = list(again.tokens)
        openings = [place for place, token in enumerate(tokens) if token[0] == "("]
        if openings and draw.random() >= REPEATED:
            tokens[draw.choice(openings)] = draw.choice(labels)
        candidates.append(replace(again, index=len(candidates), tokens=tuple(tokens)))
    return replace(nbest, candidates=tuple(candidates))


def _with_text(candidate: Candidate, tags: Sequence[str]) -> Candidate:
    """Return the candidate with the text of its tokens, every bracket closed by the label that
    opened it."""
    opened: list[str] = []
    tokens = []
    for token in candidate.tokens:
        if token[0] == "(":
            opened.append(token[1:])
        tokens.append(f"){opened.pop()}" if token[0] == ")" else token)
    text = delinearize(tokens, candidate.words, tags, "S1").to_string()
    return replace(candidate, text=text, tokens=tuple(tokens))


def usage(command: Sequence[str]) -> Cost:
    """Run a command to its end; return its time. Raises RerankError if the command fails."""
    return timed(partial(_run, command))[1]


def _run(command: Sequence[str], **environment: str) -> str:
    """Run a command; return its standard error. Raises RerankError if the command fails."""
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode not in (0, 1):  # 1: candidates were rejected
        raise RerankError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done.stderr


def imported(command: Sequence[str]) -> set[str]:
    """Return the modules that import statements import, in all processes of a command."""
    return imports(_run(command, **SAY_IMPORTS).splitlines())


def imports(messages: Iterable[str]) -> set[str]:
    """Return the modules that processes say they import, where ``SAY_IMPORTS`` is in their
    environment."""
    lines = (line for line in messages if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip() for line in lines}


def start_up(given: Input, opened: ExitStack) -> Callable[[], Figures]:
    """Measure two sentences x three candidates."""
    command = given.rerank(given.file("two", of_size(given.lists, 3, 10, 2)))
    torch = [sys.executable, "-c", "import torch"]
    more_modules = len(imported(command) - imported(torch))

    def measure() -> Figures:
        whole, bare = usage(command), usage(torch)
        return {
            "CPU-s over `import torch`": whole.processor - bare.processor,
            "CPU-s": whole.processor,
            "wall, s": whole.wall,
            "modules over `import torch`": more_modules,
        }

    return measure


def one_list(candidates: int, words: int, given: Input, opened: ExitStack) -> Callable[[], Figures]:
    """Measure each list by itself, from Python and over HTTP, and the processor's time for many at
    once."""
    wanted = min(200, max(8, (1_000 if given.quick else 2_000) // candidates))
    lists = of_size(given.lists, candidates, words, wanted)
    few = lists[: 3 if given.quick else 5]
    reranker, client = Reranker.load(given.models), _client(given, opened)
    bodies = [list_text(nbest, 0, "bllip").encode() for nbest in few]
    headers = {"X-Request-Timeout": "600", "Content-Type": "text/plain"}

    def post(body: bytes) -> None:
        client.post("/rerank", content=body, headers=headers).raise_for_status()

    def measure() -> Figures:
        trees = [[candidate.text for candidate in nbest.candidates] for nbest in few]
        python = median(timed(partial(reranker.rerank, each))[1].wall for each in trees)
        http = median(timed(partial(post, body))[1].wall for body in bodies)
        _, all_at_once = timed(lambda: deque(reranker.rerank_lists(lists), maxlen=0))
        bulk = all_at_once.processor / len(lists)
        return {
            "Python, p50, ms": 1000 * python,
            "HTTP, p50, ms": 1000 * http,
            "bulk, CPU-ms a list": 1000 * bulk,
            "HTTP / (bulk / cores)": http / (bulk / available_cores()),
        }

    measure()  # warms up
    return measure


def bulk(given: Input, opened: ExitStack) -> Callable[[], Figures]:
    """Measure the first lists of the file, start included."""
    path = given.file("bulk", given.lists[: 30 if given.quick else 100])

    def measure() -> Figures:
        figures = {}
        for output in ("ranked", "best"):
            spent = usage(given.rerank(path, "--output", output))
            figures[f"{output}, CPU-s"] = spent.processor
            figures[f"{output}, wall, s"] = spent.wall
        return figures

    return measure


def memory(given: Input, opened: ExitStack) -> Callable[[], Figures]:
    """Measure lists of 500 candidates x 40 words."""
    lists = [_resized(nbest, 500) for nbest in of_size(given.lists, 50, 40, 4)]
    command = given.rerank(given.file("large", lists), "--output", "ranked")
    return lambda: {"peak, MB": peak_megabytes(command)}


def _client(given: Input, opened: ExitStack) -> httpx.Client:
    """Open one connection to a service of its own, ready."""
    server = opened.enter_context(serving(given.models, OMP_NUM_THREADS=str(available_cores())))
    client = opened.enter_context(server.client())
    client.timeout = httpx.Timeout(None)
    return client


MEASURES: dict[str, Measure] = {"start": start_up, "bulk": bulk, "memory": memory}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.latency", description=(__doc__ or "").partition("\n\n")[0]
    )
    add = parser.add_argument
    names = [*MEASURES, "lists"]
    add("measures", nargs="*", metavar="MEASURE", help=f"{', '.join(names)} (default: all)")
    add("--lists", type=Path, help=f"n-best lists (default: {GUM}, else {EXAMPLES})")
    add("--models", nargs="+", default=["ckpt/"], help="(default: ckpt/)")
    add("--candidates", type=positive, nargs="+", default=[5, 50], help="of one list")
    add("--words", type=positive, nargs="+", default=[20], help="of one list")
    add("--rounds", type=positive, default=3, help="(default: %(default)s)")
    add("--quick", action="store_true", help="one round, fewer lists")
    arguments = parser.parse_args(argv)
    if unknown := set(arguments.measures) - {*names}:
        parser.error(f"no measure {unknown.pop()!r}; there are {', '.join(names)}")
    path = arguments.lists or Path(GUM if Path(GUM).is_file() else EXAMPLES)
    try:
        lists = [nbest for nbest in read_nbest(path) if nbest.candidates]
        models = [str(path) for path in named_models(arguments.models).paths]
        print(f"{machine(available_cores())}, load {os.getloadavg()[0]:.1f}")
        print(f"python -m benchmarks.latency {' '.join(argv)}")
        with tempfile.TemporaryDirectory() as folder:
            given = Input(path, lists, models, Path(folder), arguments.quick)
            for name, measure in _chosen(arguments):
                with ExitStack() as opened:
                    once = measure(given, opened)
                    rounds = [once() for _ in range(1 if arguments.quick else arguments.rounds)]
                rows = [(row, f"{median(each[row] for each in rounds):,.2f}") for row in rounds[0]]
                print(f"\n{name}\n{aligned(rows)}", flush=True)
    except RerankError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _chosen(arguments: argparse.Namespace) -> Iterator[tuple[str, Measure]]:
    for name in arguments.measures or [*MEASURES, "lists"]:
        if name in MEASURES:
            yield name, MEASURES[name]
            continue
        for candidates in arguments.candidates:
            for words in arguments.words:
                title = f"one list: {candidates} candidates x {words} words"
                yield title, partial(one_list, candidates, words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
