"""How far `rerank cluster` scales: what a sentence costs is measured, and from this what many
machines would do is computed (docs/scaling.md).

    python -m benchmarks.scaling measure LISTS measured.json [--models ckpt/fast.toml]
    python -m benchmarks.scaling draw measured.json docs/images/scaling.svg

`measure` takes five minutes on a machine with nothing else to do, writes each figure to the file
as soon as it has it, and measures no figure again that is there already. It reads and ranks lists,
evenly spread over the file, in this process; sends tiny ones through Ray in blocks of one; and
ranks with 1, 2 and 4 actors, of which each may only run a fifth of the time, to check that twice as
many do twice as much.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.blocks import bllip_blocks
from reranker.files.figure import label_plainly, new_figure, save_figure

ACTORS = (1, 2, 4)
SHARE = 0.2
"""Of a core that each actor gets in the check."""
SLOT_SECONDS = 0.05
SMALL_BLOCK = 4
"""Of the check: many blocks, so that their times say how fast they follow each other."""
TINY = "1\t0\n-1\n(S1 (S (NP (DT the) (NN cat))))\n\n"
SENTENCES = 10**9
MACHINES = (10, 100, 1000)
CORES = 16
"""Of a machine."""
BLOCK = 200
NETWORK = 1.25e9
"""Bytes a second that a machine sends or receives: 10 Gbit/s."""


FIGURES = {
    "read_seconds": "core-seconds to read a sentence's list",
    "rank_seconds": "core-seconds to rank it",
    "small_block_seconds": f"core-seconds to rank it in blocks of {SMALL_BLOCK}",
    "load_seconds": "core-seconds until an actor has its models",
    "file_bytes": "bytes of a sentence's list, packed with gzip",
    "block_bytes": "bytes of it in the object store, on the way from reader to actor",
    "part_bytes": "bytes that an actor writes for it, which are read again to be joined",
    "driver_seconds": "core-seconds for a block of the process that deals them out",
    "block_seconds": "seconds from a block to the next, of an actor that has next to nothing to do",
    "rate_1": "sentences a second of 1 throttled actor",
    "rate_2": "of 2",
    "rate_4": "of 4",
}
Measured = dict[str, float]
"""By the names of ``FIGURES``."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("nbest", help="BLLIP lists, plain or packed")
    measuring.add_argument("measured", type=Path)
    measuring.add_argument("--models", nargs="+", default=["ckpt/fast.toml"])
    measuring.add_argument("--lists", type=int, default=100, help="how many")
    drawing = commands.add_parser("draw")
    drawing.add_argument("measured", type=Path)
    drawing.add_argument("figure", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "measure":
        measure(arguments)
        return
    measured = json.loads(arguments.measured.read_text())
    tell(measured)
    draw(measured, arguments.figure)


def measure(arguments: argparse.Namespace) -> None:
    path: Path = arguments.measured
    measured: Measured = json.loads(path.read_text()) if path.exists() else {}
    models = arguments.models
    blocks = bllip_blocks(arguments.nbest)
    lists = blocks[:: max(1, len(blocks) // arguments.lists)][: arguments.lists]
    text = "".join(f"{block}\n\n" for block in lists)

    def add(found: Measured) -> None:
        measured.update(found)
        path.write_text(json.dumps(measured, indent=1) + "\n")

    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as ray:
        folder = Path(name)
        if "rank_seconds" not in measured:
            add(without_ray(text, folder / "alone", models, BLOCK))
            small = without_ray(text, folder / "small", models, SMALL_BLOCK)
            add({"small_block_seconds": small["rank_seconds"]})
        ray.enter_context(ray_here())
        if "driver_seconds" not in measured:
            add(of_blocks(folder, models))
        for actors in ACTORS:
            if f"rate_{actors}" not in measured:
                add({f"rate_{actors}": rate(text, actors, folder, models)})


def without_ray(text: str, folder: Path, models: Sequence[str], block: int) -> Measured:
    """What the readers and actors of `rerank cluster` do, one after the other, in this process."""
    from reranker.checkpoints.ensemble_file import named_models
    from reranker.nbest import ReadOptions
    from reranker.ray.parts import shards
    from reranker.ray.storage import expanded
    from reranker.ray.work import Ranked, Ranker, Reading, self_contained

    folder.mkdir()
    (folder / "lists").write_text(text)
    wanted = shards(expanded([str(folder / "lists")]), "best", {}, block)
    out = str(folder / "out")
    named = named_models(models)
    ranked = Ranked(
        self_contained(named, "sum", named.weighing), "sum", "cpu", 1, "exact", "best", False, None
    )
    begin = time.process_time()
    rows = list(Reading(tuple(wanted), out, ReadOptions())({"shard": [0]}))
    read = time.process_time()
    ranker = Ranker(wanted, out, ranked, [path.read_bytes() for path in named.paths])
    loaded = time.process_time()
    for row in rows:
        ranker(row)
    ranked_seconds = time.process_time() - loaded
    sentences = text.count("\n\n")
    parts = sum(path.stat().st_size for path in Path(out).rglob("*") if path.is_file())
    return {
        "file_bytes": len(gzip.compress(text.encode())) / sentences,
        "read_seconds": (read - begin) / sentences,
        "load_seconds": loaded - read,
        "rank_seconds": ranked_seconds / sentences,
        "block_bytes": sum(len(row["content"][0]) for row in rows) / sentences,
        "part_bytes": parts / sentences,
    }


@contextlib.contextmanager
def ray_here() -> Iterator[None]:
    """A cluster of this machine that takes it for one of 8 cores."""
    import ray

    os.environ |= {"RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    ray.init(address="local", num_cpus=8, include_dashboard=False, log_to_driver=False)
    try:
        yield
    finally:
        ray.shutdown()


def cluster(lists: Path, out: Path, models: Sequence[str], block: int, actors: int) -> None:
    from reranker.commands.main import main

    flags = ["--block", str(block), "--actors", f"{actors}:{actors}", "--cores", "1"]
    given = ["--nbest", str(lists), "--out", str(out), "--models", *models]
    if main(["cluster", *given, *flags]) == 2:
        sys.exit("rerank cluster failed")


def of_blocks(folder: Path, models: Sequence[str], blocks: int = 300) -> Measured:
    """What a block costs in which there is next to nothing to do."""
    spent, spans = {}, {}
    for count in (1, blocks):
        lists, out = folder / f"tiny-{count}", folder / f"out-{count}"
        lists.write_text("".join(TINY.replace("\t0", f"\t{place}") for place in range(count)))
        with watching(out) as seen:
            begin = time.process_time()
            cluster(lists, out, models, 1, 1)
            spent[count] = time.process_time() - begin
        spans[count] = max(seen.values()) - min(seen.values())
    more = blocks - 1
    return {
        "driver_seconds": (spent[blocks] - spent[1]) / more,
        "block_seconds": spans[blocks] / more,
    }


def rate(text: str, actors: int, folder: Path, models: Sequence[str]) -> float:
    """Sentences a second of throttled actors, once all of them work: in the last half of the
    blocks."""
    lists, out = folder / f"for-{actors}", folder / f"throttled-{actors}"
    # Each has as much to do, and the last half is the same sentences for any number of them.
    lists.write_text(text * 2 * actors)
    with watching(out) as seen, throttled():
        cluster(lists, out, models, SMALL_BLOCK, actors)
    times = sorted(seen.values())
    half = times[len(times) // 2 :]
    return SMALL_BLOCK * (len(half) - 1) / (half[-1] - half[0])


@contextlib.contextmanager
def watching(out: Path) -> Iterator[dict[str, float]]:
    """When each part was written, as they are removed in the end."""
    seen: dict[str, float] = {}
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            for path in (out / "_rerank/parts").rglob("*"):
                with contextlib.suppress(OSError):
                    if path.is_file() and path.suffix != ".tmp":
                        seen.setdefault(str(path), path.stat().st_mtime)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def throttled() -> Iterator[None]:
    """Every actor runs in its own fifth of the time, and not in that of the others: as if each had
    a core, though a slow one."""
    ended = threading.Event()
    slots = round(1 / SHARE)

    def take_turns() -> None:
        actors: list[int] = []
        number = 0
        while not ended.is_set():
            if number % (20 * slots) == 0:
                actors = rankers()
            number += 1
            for place, actor in enumerate(actors):
                turn = number % slots == place
                send(actor, signal.SIGCONT if turn else signal.SIGSTOP)
            time.sleep(SLOT_SECONDS)
        for actor in actors:
            send(actor, signal.SIGCONT)

    thread = threading.Thread(target=take_turns)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def rankers() -> list[int]:
    """The actors of this process's cluster that have their models."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            title = path.read_bytes()
            is_ranking = b"Ranker" in title and b"__init__" not in title
            if is_ranking and is_below(int(path.parent.name)):
                found.append(int(path.parent.name))
    return sorted(found)


def is_below(process: int) -> bool:
    """Whether this process has started it, or what has started it."""
    while process > 1:
        stat = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        process = int(stat[1])
        if process == os.getpid():
            return True
    return False


def send(process: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def sentences_a_second(measured: Measured, machines: float, block: int = BLOCK) -> dict[str, float]:
    """What each part could do if it had nothing to wait for; the slowest decides."""
    cost = measured["rank_seconds"] + measured["read_seconds"]
    moved = measured["file_bytes"] + measured["block_bytes"] + 3 * measured["part_bytes"]
    return {
        "cores": machines * CORES / cost,
        "driver": block / measured["driver_seconds"],
        "network": machines * NETWORK / moved,
    }


def tell(measured: Measured) -> None:
    for name, meaning in FIGURES.items():
        print(f"{measured[name]:10,.4g} {meaning}")
    cost = measured["small_block_seconds"] + measured["read_seconds"]
    for actors in ACTORS:
        rate = measured[f"rate_{actors}"]
        times, modelled = rate / measured["rate_1"], actors * SHARE / cost
        print(
            f"{actors} throttled actors: {rate:.2f} sentences/s, {times:.2f} times one; "
            f"modelled {modelled:.2f}"
        )
    for block in (BLOCK, 10 * BLOCK):
        for machines in MACHINES:
            limits = sentences_a_second(measured, machines, block)
            limit = min(limits, key=lambda name: limits[name])
            hours = SENTENCES / limits[limit] / 3600
            print(
                f"blocks of {block}, {machines} machines: {limits[limit]:,.0f} sentences/s "
                f"({limit}), {hours:,.2f} hours for {SENTENCES:,}"
            )


def draw(measured: Measured, path: Path) -> None:
    figure = new_figure(path)
    axes = figure.add_subplot()
    machines = [10 ** (exponent / 20) for exponent in range(0, 81)]
    for block, style in ((BLOCK, "-"), (10 * BLOCK, "--")):
        limits = [sentences_a_second(measured, count, block) for count in machines]
        axes.plot(
            machines,
            [min(limit.values()) for limit in limits],
            style,
            label=f"blocks of {block:,} sentences",
        )
    cores = [sentences_a_second(measured, count)["cores"] for count in machines]
    axes.plot(machines, cores, ":", color="grey", label="if nothing but cores counted")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"machines of {CORES} cores")
    axes.set_ylabel("sentences a second")
    label_plainly(axes.xaxis)
    for count in MACHINES:
        axes.axvline(count, color="lightgrey", linewidth=0.8, zorder=0)
    axes.legend()
    save_figure(figure, path)


if __name__ == "__main__":
    main()
