"""What `rerank cluster` adds to the time of `rerank`, on this machine.

    python -m benchmarks.cluster LISTS [--lists 400] [--models ckpt/fast.toml] [--cores 2]
        [--block 200] [--rounds 3]

Both write the same trees of the same lists, one actor against one process with as many cores. They
take turns, and who begins changes. Each is also timed with one list: what that takes is start-up,
and what is left of the time is work. Prints the medians and the ratio of the work.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.blocks import bllip_blocks

FAILURES = {2, 130}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("nbest", help="BLLIP lists, plain or packed")
    parser.add_argument("--models", nargs="+", default=["ckpt/fast.toml"])
    parser.add_argument("--lists", type=int, default=400, help="how many, the first ones")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--block", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    lists = bllip_blocks(arguments.nbest, arguments.lists)
    sizes = (1, len(lists))
    found: dict[tuple[str, int], list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in sizes:
            (folder / f"{size}.txt").write_text("".join(f"{one}\n\n" for one in lists[:size]))
        for number in range(arguments.rounds):
            outputs = []
            for command in ("rerank", "cluster")[:: -1 if number % 2 else 1]:
                for size in sizes:
                    seconds, output = timed(command, folder, size, arguments)
                    found.setdefault((command, size), []).append(seconds)
                outputs.append(output)
            if outputs[0] != outputs[1]:
                sys.exit("the two have not written the same")
            print(
                f"round {number + 1}:",
                ", ".join(f"{c} {size} {found[c, size][-1]:.1f} s" for c, size in found),
                flush=True,
            )
    work = {}
    for command in ("rerank", "cluster"):
        one, every = (statistics.median(found[command, size]) for size in sizes)
        work[command] = every - one
        print(f"{command}: {one:.1f} s with one list, {work[command]:.1f} s more with {len(lists)}")
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(
        f"work of cluster / work of rerank: {work['cluster'] / work['rerank']:.3f} "
        f"(cores {arguments.cores}, blocks of {arguments.block}, load {load})"
    )


def timed(
    command: str, folder: Path, size: int, arguments: argparse.Namespace
) -> tuple[float, bytes]:
    """Seconds for the first ``size`` lists, and what is written."""
    given = ["--nbest", str(folder / f"{size}.txt"), "--models", *arguments.models]
    with tempfile.TemporaryDirectory() as out:
        if command == "cluster":
            written = Path(out, f"{size}.mrg")
            given = ["cluster", *given, "--out", out, "--address", "local", "--actors", "1"]
            given += ["--cores", str(arguments.cores), "--block", str(arguments.block)]
        else:
            written = Path(out, "trees")
            given += ["--out", str(written), "--threads", str(arguments.cores)]
        begin = time.perf_counter()
        process = subprocess.run(
            [sys.executable, "-m", "reranker", *given], stderr=subprocess.PIPE, text=True
        )
        seconds = time.perf_counter() - begin
        if process.returncode in FAILURES:
            sys.exit(process.stderr)
        return seconds, written.read_bytes()


if __name__ == "__main__":
    main()
