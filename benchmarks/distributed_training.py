"""What `rerank train --nproc` brings: tokens a second with one process and with several.

    python -m benchmarks.distributed_training --train train.mrg.gz --dev dev.mrg.gz \
        [--config models/configs/small.toml] [--nproc 2] [--device cuda] [--seconds 60] [--rounds 3]

All compute the same shards of the same batches, in processes of one thread, so that they differ in
nothing but the number of processes. They take turns, and who begins changes; the time is that of
training, without starting processes and reading trees. Prints each round, medians and their ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--train", type=Path, nargs="+", required=True)
    parser.add_argument("--dev", type=Path, nargs="+", required=True)
    parser.add_argument("--config", type=Path, default=ROOT / "models/configs/small.toml")
    parser.add_argument("--nproc", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    found: dict[int, list[float]] = {1: [], arguments.nproc: []}
    for number in range(arguments.rounds):
        for count in sorted(found, reverse=bool(number % 2)):
            found[count].append(speed(arguments, count))
            print(f"round {number + 1}: {count} processes, {found[count][-1]:,.0f} tokens/s")
    one, several = (statistics.median(found[count]) for count in (1, arguments.nproc))
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(
        f"{arguments.config.name} on {arguments.device}, medians of {arguments.rounds}: "
        f"{one:,.0f} tokens/s with one process, {several:,.0f} with {arguments.nproc}, "
        f"{several / one:.2f} times as many (cores {len(os.sched_getaffinity(0))}, load {load})"
    )


def speed(arguments: argparse.Namespace, count: int) -> float:
    """Tokens a second of ``count`` processes."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config.toml")
        config.write_text(never_evaluating(tomllib.loads(arguments.config.read_text("utf-8"))))
        subprocess.run(
            [
                *(sys.executable, "-m", "reranker", "train", "--config", config),
                *("--train", *arguments.train, "--dev", *arguments.dev),
                *("--out", Path(folder, "m.pt"), "--log-folder", folder, "--threads", "1"),
                *("--device", arguments.device, "--budget", str(arguments.seconds / 60)),
                *("--nproc", str(count), "--shards", str(arguments.nproc), "--restarts", "0"),
            ],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        last = json.loads(Path(folder, "log.jsonl").read_text("utf-8").splitlines()[-1])
    return float(last["tokens"]) / float(last["seconds"])


def never_evaluating(tables: dict[str, dict[str, Any]]) -> str:
    """A configuration as TOML, but that the dev trees are only read at the end."""
    tables["training"] |= {"validate_every": 10**9}
    tables["training"].pop("epochs", None)
    return "".join(
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        for name, table in tables.items()
    )


if __name__ == "__main__":
    main()
