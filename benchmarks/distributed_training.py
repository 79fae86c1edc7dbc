"""What `rerank train --nproc` brings: tokens a second with one process and with several.

    python -m benchmarks.distributed_training --train train.mrg.gz --dev dev.mrg.gz \
        [--config models/configs/small.toml] [--nproc 2] [--device cuda] [--seconds 60] [--rounds 3]

All compute the same shards of the same batches, in processes of one thread, so that they differ in
nothing but the number of processes. They take turns, and who begins changes; the time is that of
training, without starting processes and reading trees. Beside them as many trainings run that have
nothing to do with each other: no training together can be faster than these on the same cores.
Prints each round, medians and their ratios.
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
from collections.abc import Sequence
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
    count: int = arguments.nproc
    apart = f"{count} trainings apart"
    arms = {
        "1 process": lambda: speed(arguments, [1]),
        f"{count} processes": lambda: speed(arguments, [count]),
        apart: lambda: speed(arguments, [1] * count),
    }
    found: dict[str, list[float]] = {name: [] for name in arms}
    for number in range(arguments.rounds):
        for name in (list(arms) * 2)[number % len(arms) :][: len(arms)]:
            found[name].append(arms[name]())
            print(f"round {number + 1}: {name}, {found[name][-1]:,.0f} tokens/s", flush=True)
    one, together, best = (statistics.median(found[name]) for name in arms)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(
        f"{arguments.config.name} on {arguments.device}, medians of {arguments.rounds}: "
        f"{one:,.0f} tokens/s with one process, {together:,.0f} with {count}, "
        f"{together / one:.2f} times as many; {apart}: {best / one:.2f} times "
        f"(cores {len(os.sched_getaffinity(0))}, load {load})"
    )


def speed(arguments: argparse.Namespace, counts: Sequence[int]) -> float:
    """Tokens a second of trainings side by side, each of so many processes."""
    with tempfile.TemporaryDirectory() as name:
        config = Path(name, "config.toml")
        config.write_text(never_evaluating(tomllib.loads(arguments.config.read_text("utf-8"))))
        folders = [Path(name, str(place)) for place in range(len(counts))]
        running = [
            subprocess.Popen(
                [
                    *(sys.executable, "-m", "reranker", "train", "--config", config),
                    *("--train", *arguments.train, "--dev", *arguments.dev),
                    *("--out", folder / "m.pt", "--log-folder", folder, "--threads", "1"),
                    *("--device", arguments.device, "--budget", str(arguments.seconds / 60)),
                    *("--nproc", str(count), "--shards", str(arguments.nproc), "--restarts", "0"),
                ],
                stderr=subprocess.DEVNULL,
                # Each its own GPU, if there are several trainings.
                env={**os.environ, "CUDA_VISIBLE_DEVICES": str(place)} if counts[1:] else None,
            )
            for place, (folder, count) in enumerate(zip(folders, counts, strict=True))
        ]
        if any([process.wait() for process in running]):
            sys.exit("a training failed")
        logs = [Path(folder, "log.jsonl").read_text("utf-8") for folder in folders]
        last = [json.loads(log.splitlines()[-1]) for log in logs]
    return sum(float(each["tokens"]) / float(each["seconds"]) for each in last)


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
