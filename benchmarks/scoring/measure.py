"""Clocks, the machine's peak, and memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from tqdm import tqdm

MATRIX = 2_048


def interleaved(actions: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of every action in each of ``rounds`` rounds, one after the other in each; a round
    before them warms up and is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    with tqdm(total=(rounds + 1) * len(actions), disable=None, unit="run") as progress:
        for number in range(rounds + 1):
            for name, action in actions.items():
                progress.set_description(name)
                started = time.perf_counter()
                action()
                if number > 0:
                    seconds[name].append(time.perf_counter() - started)
                progress.update()
    return seconds


def sgemm(threads: int) -> Callable[[], float]:
    """A large product in float32, operations per second: the best of three."""
    left, right = torch.randn(MATRIX, MATRIX), torch.randn(MATRIX, MATRIX)
    product = torch.empty(MATRIX, MATRIX)

    def measure() -> float:
        torch.set_num_threads(threads)
        best = 0.0
        for _ in range(3):
            started = time.perf_counter()
            torch.mm(left, right, out=product)
            best = max(best, 2 * MATRIX**3 / (time.perf_counter() - started))
        return best

    return measure


def memory_now() -> float:
    """Resident memory of this process in megabytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def memory_peak() -> float:
    """The most this process has had, in megabytes.

    Not ``ru_maxrss``: a child starts with its parent's there.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 2**10


def memory_of(command: Sequence[str]) -> tuple[float, float]:
    """Loaded and peak megabytes of a child of this benchmark, which prints them as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scoring", *command],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    loaded, peak = json.loads(done.stdout)
    return loaded, peak
