"""What is measured. Each measure starts what it needs of a version, warmed up, and returns a
function that measures once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import httpx

from benchmarks.latency.lists import long_tree, of_size, resized, written
from benchmarks.latency.versions import Version, imported, outputs, peak_megabytes, usage
from reranker.errors import RerankError
from reranker.nbest import NBest
from reranker.nbest.writing import list_text
from reranker.process.cores import available_cores


class Sizes(NamedTuple):
    """How much of each thing; the defaults are those of a whole run."""

    bulk: int = 100  # lists
    window: float = 60.0  # seconds in which output is watched after the first
    alone: int = 5  # lists of a size, each by itself
    together: int = 2_000  # candidates of a size in one run
    large: int = 4  # lists of 500 candidates in the measure of memory
    tree: int = 1_400  # tokens


class Input(NamedTuple):
    path: Path
    lists: list[NBest]
    folder: Path  # for files
    sizes: Sizes

    def file(self, name: str, lists: Sequence[NBest]) -> Path:
        return written(lists, self.folder / f"{name}.txt")


class Target(NamedTuple):
    """At most ``limit``, or ``times`` less than the other version."""

    limit: float | None = None
    times: float | None = None


Figures = Mapping[str, float]
Measure = Callable[[Input, Version, ExitStack], Callable[[], Figures]]

OVER_TORCH, MODULES, FIRST, WAIT = (
    "CPU-s over `import torch`",
    "modules over `import torch`",
    "first sentence, s after start and load",
    "longest wait between outputs, s",
)
HEALTH, TREE, MEMORY = "p50, ms", "p50, s", "peak, MB"
RANKED, BEST = "--output ranked, CPU-s", "--output best, CPU-s"
HTTP_SHARE = "{} x {}: HTTP / (bulk / cores)"


def start_up(given: Input, version: Version, opened: ExitStack) -> Callable[[], Figures]:
    """Two sentences x three candidates."""
    command = _two_sentences(given, version)
    torch = [str(version.python), "-c", "import torch"]

    more_modules = len(imported(command) - imported(torch))

    def measure() -> Figures:
        whole, bare = usage(command), usage(torch)
        return {
            OVER_TORCH: whole.cpu - bare.cpu,
            "CPU-s": whole.cpu,
            "wall, s": whole.wall,
            "`import torch`, CPU-s": bare.cpu,
            MODULES: more_modules,
        }

    measure()
    return measure


def _two_sentences(given: Input, version: Version) -> list[str]:
    return version.rerank(given.file("two", of_size(given.lists, 3, 10, 2)))


def first_output(given: Input, version: Version, opened: ExitStack) -> Callable[[], Figures]:
    """The whole file, to a pipe. Load is what the two sentences take."""
    two, command = _two_sentences(given, version), version.rerank(given.path)
    usage(two)

    def measure() -> Figures:
        load = usage(two).wall
        first, wait = outputs(command, given.sizes.window)
        return {FIRST: first - load, "first sentence, s": first, WAIT: wait}

    return measure


def one_list(
    candidates: int, words: int, given: Input, version: Version, opened: ExitStack
) -> Callable[[], Figures]:
    """From Python and over HTTP, each list by itself, and the processor's time for many at once."""
    wanted = min(200, max(8, given.sizes.together // candidates))
    lists = of_size(given.lists, candidates, words, wanted)
    together = given.file("together", lists)
    alone = given.file("alone", lists[: given.sizes.alone])
    bodies = [list_text(nbest, 0, "bllip").encode() for nbest in lists[: given.sizes.alone]]
    driver = opened.enter_context(version.driver(version.models))
    client = opened.enter_context(version.client())
    driver.ask("alone", given.file("first", lists[:1]))
    _post(client, bodies[0])
    size = f"{candidates} x {words}"

    def measure() -> Figures:
        python = median(driver.ask("alone", alone))
        http = median(_post(client, body) for body in bodies)
        (bulk,) = driver.ask("together", together)
        share = bulk / available_cores()
        return {
            f"{size}: Python, p50, ms": 1000 * python,
            f"{size}: HTTP, p50, ms": 1000 * http,
            f"{size}: bulk, CPU-ms a list": 1000 * bulk,
            f"{size}: Python / (bulk / cores)": python / share,
            HTTP_SHARE.format(candidates, words): http / share,
        }

    return measure


def _post(client: httpx.Client, body: bytes) -> float:
    started = time.perf_counter()
    client.post("/rerank", content=body).raise_for_status()
    return time.perf_counter() - started


def keep_alive(given: Input, version: Version, opened: ExitStack) -> Callable[[], Figures]:
    """GET /health/live over one connection."""
    client = opened.enter_context(version.client())

    def milliseconds() -> float:
        started = time.perf_counter()
        client.get("/health/live").raise_for_status()
        return 1000 * (time.perf_counter() - started)

    milliseconds()
    return lambda: {HEALTH: median(milliseconds() for _ in range(100))}


def one_tree(given: Input, version: Version, opened: ExitStack) -> Callable[[], Figures]:
    """One long tree, from Python."""
    driver = opened.enter_context(version.driver(version.models[:1]))
    path = given.file("long", [long_tree(given.lists, given.sizes.tree)])
    driver.ask("alone", given.file("first", of_size(given.lists, 1, 10, 1)))
    return lambda: {TREE: driver.ask("alone", path)[0]}


def bulk(given: Input, version: Version, opened: ExitStack) -> Callable[[], Figures]:
    """The first lists of the file, start included."""
    path = given.file("bulk", given.lists[: given.sizes.bulk])

    def measure() -> Figures:
        ranked, best = (
            usage(version.rerank(path, "--output", output)) for output in ("ranked", "best")
        )
        return {
            RANKED: ranked.cpu,
            "--output ranked, wall, s": ranked.wall,
            BEST: best.cpu,
            "--output best, wall, s": best.wall,
        }

    return measure


def memory(given: Input, version: Version, opened: ExitStack) -> Callable[[], Figures]:
    """Lists of 500 candidates x 40 words."""
    lists = [resized(nbest, 500) for nbest in of_size(given.lists, 50, 40, given.sizes.large)]
    command = version.rerank(given.file("large", lists), "--output", "ranked")
    return lambda: {MEMORY: peak_megabytes(command)}


MEASURES: dict[str, tuple[str, Measure]] = {
    "start": ("Start-up: two sentences x three candidates", start_up),
    "first": ("First output: the whole file, to a pipe", first_output),
    "health": ("Keep-alive: GET /health/live over one connection", keep_alive),
    "tree": ("One long tree, one model", one_tree),
    "bulk": ("Bulk: the first lists of the file, start included", bulk),
    "memory": ("Memory: lists of 500 candidates x 40 words", memory),
}
LISTS = "lists"


def chosen(
    names: Sequence[str], candidates: Sequence[int], words: Sequence[int]
) -> list[tuple[str, Measure]]:
    """Title and measure; a measure of one list for each of its sizes. Raises RerankError for a
    name that none has."""
    if unknown := set(names) - {*MEASURES, LISTS}:
        raise RerankError(f"no measure {unknown.pop()!r}; there are {', '.join(MEASURES)}, {LISTS}")
    cells = [
        (f"One list: {number} candidates x {length} words", partial(one_list, number, length))
        for number in candidates
        for length in words
    ]
    others = [MEASURES[name] for name in names if name != LISTS]
    return [*others, *(cells if LISTS in names else [])]


# What the rows should be; the others are for comparison only.
TARGETS = {
    OVER_TORCH: Target(1.0),
    MODULES: Target(200),
    FIRST: Target(3.0),
    WAIT: Target(2.0),
    HEALTH: Target(2.0),
    HTTP_SHARE.format(50, 20): Target(1.5),
    TREE: Target(times=3.0),
    RANKED: Target(times=1.0),
    BEST: Target(times=1.0),
    MEMORY: Target(600.0),
}
