"""Models in a process of their own, run by the Python of the version that is measured.

Only what every version since 7399f1c can do is used here. A line on standard input is an action and
an n-best file; the answer is a line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

from reranker import Reranker
from reranker.nbest import read_nbest

Answer = list[float]


def alone(reranker: Reranker, path: str) -> Answer:
    """Seconds that each list takes by itself."""
    seconds = []
    for nbest in list(read_nbest(path)):
        trees = [candidate.text for candidate in nbest.candidates]
        started = time.perf_counter()
        reranker.rerank(trees)
        seconds.append(time.perf_counter() - started)
    return seconds


def together(reranker: Reranker, path: str) -> Answer:
    """Processor seconds a list, all of them in one run, reading included."""
    started = time.process_time()
    count = sum(1 for _ in reranker.rerank_lists(read_nbest(path)))
    return [(time.process_time() - started) / count]


def main(models: list[str]) -> None:
    reranker = Reranker.load(models)
    actions: dict[str, Callable[[Reranker, str], Answer]] = {"alone": alone, "together": together}
    for line in sys.stdin:
        action, path = line.rstrip("\n").split(" ", 1)
        print(json.dumps(actions[action](reranker, path)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
