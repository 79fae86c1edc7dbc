"""A whole run of `rerank`, and how long its parts take by themselves.

    python benchmarks/end_to_end.py --sentences 2000 --models ckpt/*.pt --nbest LISTS [LISTS ...]

Reading (with linearising) and writing are done once more alone, in this process; in the run itself
they happen while other lists are scored.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from reranker.nbest import NBest, read_nbest
from reranker.scoring.distinct import DistinctCandidates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nbest", nargs="+", required=True)
    parser.add_argument("--models", nargs="+", required=True)
    parser.add_argument("--sentences", type=int, default=2_000)
    parser.add_argument("--output", choices=("best", "ranked"), default="best")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lists = Path(folder, "lists.txt.gz")
        out = Path(folder, "out")
        taken = list(itertools.islice(_lists(arguments.nbest), arguments.sentences))
        _copy(taken, lists)
        started = time.perf_counter()
        sentences = [DistinctCandidates(nbest) for nbest in read_nbest(str(lists))]
        reading = time.perf_counter() - started
        command = [str(Path(sys.executable).with_name("rerank")), "--nbest", str(lists)]
        command += ["--models", *arguments.models, "--output", arguments.output, "--out", str(out)]
        started = time.perf_counter()
        subprocess.run(command, check=True)
        whole = time.perf_counter() - started
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        text = out.read_bytes()
        started = time.perf_counter()
        with Path(folder, "again").open("wb") as file:
            file.writelines(text.splitlines(keepends=True))
            file.flush()
            os.fsync(file.fileno())
        writing = time.perf_counter() - started
    candidates = sum(len(sentence.nbest.candidates) for sentence in sentences)
    tokens = sum(len(c.tokens) + 1 for each in sentences for c in each.nbest.candidates)
    print(f"{len(sentences)} sentences, {candidates} candidates, {tokens} tokens")
    print(f"whole run    {whole:8.1f} s wall, {used.ru_utime + used.ru_stime:.1f} s of processor")
    print(f"reading      {reading:8.1f} s alone, linearising included")
    print(f"writing      {writing:8.2f} s alone, {len(text) / 1e6:.1f} MB")
    print(f"candidates/s {candidates / whole:8.0f}, tokens/s {tokens / whole:.0f}")
    print(f"peak memory  {used.ru_maxrss / 1e3:8.0f} MB")


def _lists(paths: list[str]) -> Iterator[NBest]:
    return itertools.chain.from_iterable(read_nbest(path) for path in paths)


def _copy(lists: list[NBest], path: Path) -> None:
    """As the parser prints them, numbered from 0."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for number, nbest in enumerate(lists):
            file.write(f"{len(nbest.candidates)}\t{number}\n")
            for candidate in nbest.candidates:
                file.write(
                    f"{(candidate.parser_score or 0.0) / 0.6931471805599453!r}\n{candidate.text}\n"
                )
            file.write("\n")


if __name__ == "__main__":
    main()
