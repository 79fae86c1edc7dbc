"""A whole run of `rerank`, and how long its parts take by themselves.

    python benchmarks/end_to_end.py --sentences 2000 --models ckpt/*.pt --nbest LISTS [LISTS ...]

Reading (with linearising) and writing are done once more alone, in this process; in the run itself
they happen while other lists are scored.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import chain, islice
from pathlib import Path

from reranker.nbest import read_nbest
from reranker.nbest.writing import list_text
from reranker.scoring.distinct import DistinctCandidates


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nbest", nargs="+", required=True)
    parser.add_argument("--models", nargs="+", required=True)
    parser.add_argument("--sentences", type=int, default=2_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lists, out = Path(folder, "lists.txt.gz"), Path(folder, "out")
        with gzip.open(lists, "wt", encoding="utf-8") as file:
            given = chain.from_iterable(map(read_nbest, arguments.nbest))
            for number, nbest in enumerate(islice(given, arguments.sentences)):
                file.write(list_text(nbest, number, "bllip"))
        started = time.perf_counter()
        sentences = [DistinctCandidates(nbest) for nbest in read_nbest(lists)]
        reading = time.perf_counter() - started
        rerank = Path(sys.executable).with_name("rerank")
        command = [rerank, "--nbest", lists, "--models", *arguments.models, "--out", out]
        started = time.perf_counter()
        subprocess.run(list(map(str, command)), check=True)
        whole = time.perf_counter() - started
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        content = out.read_bytes()
        started = time.perf_counter()
        with Path(folder, "again").open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        writing = time.perf_counter() - started
    candidates = sum(len(sentence.nbest.candidates) for sentence in sentences)
    tokens = sum(len(c.tokens) + 1 for each in sentences for c in each.nbest.candidates)
    print(f"{len(sentences)} sentences, {candidates} candidates, {tokens} tokens")
    print(f"whole run    {whole:8.1f} s wall, {used.ru_utime + used.ru_stime:.1f} s of processor")
    print(f"reading      {reading:8.1f} s alone, linearising included")
    print(f"writing      {writing:8.2f} s alone, {len(content) / 1e6:.1f} MB")
    print(f"candidates/s {candidates / whole:8.0f}, tokens/s {tokens / whole:.0f}")
    print(f"peak memory  {used.ru_maxrss / 1e3:8.0f} MB")


if __name__ == "__main__":
    main()
