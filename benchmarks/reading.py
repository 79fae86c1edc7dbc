"""How fast n-best lists are read and linearised, and in how much memory.

    python benchmarks/reading.py parses.txt.gz [--copies 14]

Three ways, interleaved, on the same file: lines only (unpacking and decoding), reading and
linearising as `rerank` does, and linearising by way of a Tree for each candidate, the obvious way
the fast one is tested against. Then the file is read `--copies` times over as one stream, for the
growth of memory.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from reranker.files.text import open_text
from reranker.nbest import read_nbest
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree

ROUNDS = 5


def lines_only(path: str) -> int:
    with open_text(path) as lines:
        return sum(line[0] == "(" for line in lines)


def as_rerank_does(path: str) -> int:
    return sum(len(nbest.candidates) for nbest in read_nbest(path))


def by_way_of_trees(path: str) -> int:
    with open_text(path) as lines:
        return sum(bool(linearize(Tree.from_string(line))) for line in lines if line[0] == "(")


def timed(function: Callable[[str], int], path: str) -> float:
    """Candidates a second of processor time."""
    start = time.process_time()
    return function(path) / (time.process_time() - start)


def peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("nbest")
    parser.add_argument("--copies", type=int, default=14)
    arguments = parser.parse_args()
    functions = (lines_only, as_rerank_does, by_way_of_trees)
    rates: dict[str, list[float]] = {function.__name__: [] for function in functions}
    for _ in range(ROUNDS):
        for function in functions:
            rates[function.__name__].append(timed(function, arguments.nbest))
    slow = statistics.median(rates["by_way_of_trees"])
    for name, values in rates.items():
        median = statistics.median(values)
        print(f"{name:16} {median:10,.0f} candidates/s of processor time, {median / slow:5.2f}")
    before = peak_memory()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.gz"
        whole = Path(arguments.nbest).read_bytes()
        if not whole.startswith(b"\x1f\x8b"):
            whole = gzip.compress(whole)
        with path.open("wb") as file:
            for _ in range(arguments.copies):  # gzip members may follow one another
                file.write(whole)
        del whole
        candidates = as_rerank_does(os.fspath(path))
    growth = peak_memory() - before
    print(f"{candidates:,} candidates in one stream: peak memory grew by {growth:.1f} MiB")


if __name__ == "__main__":
    main()
