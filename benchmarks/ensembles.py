"""What ensembles cost: the best tree of each list by one and by another, taking turns.

    python -m benchmarks.ensembles LISTS --models ckpt/ --models ckpt/fast.toml [--lists 100]

Each is what one ``rerank --models`` would name; the first is the one that the others are compared
with. Prints CPU seconds a list (medians over the rounds, every other of which begins at the other
end), the medians of the rounds' ratios, and how often the best tree is another.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence

from reranker import Reranker
from reranker.nbest import NBest, read_nbest


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("nbest", nargs="+", help="n-best lists, plain or packed")
    parser.add_argument("--models", action="append", required=True, metavar="NAME")
    parser.add_argument("--lists", type=int, default=100, help="of each file, evenly spread")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args(arguments)
    lists = [nbest for path in given.nbest for nbest in spread(path, given.lists)]
    rerankers = [Reranker.load(name, threads=1) for name in given.models]
    best: list[list[int | None]] = [[] for _ in rerankers]
    seconds: list[list[float]] = [[] for _ in rerankers]
    for round_number in range(-1, given.rounds):  # the first warms up
        order = range(len(rerankers))
        for number in order if round_number % 2 else reversed(order):
            began = time.process_time()
            rankings = rerankers[number].rerank_lists(lists, top=1)
            best[number] = [each.best.index if each.best else None for each in rankings]
            if round_number >= 0:
                seconds[number].append((time.process_time() - began) / len(lists))
    for number, name in enumerate(given.models):
        ratios = sorted(a / b for a, b in zip(seconds[0], seconds[number], strict=True))
        others = sum(a != b for a, b in zip(best[0], best[number], strict=True))
        print(
            f"{name}: {1000 * statistics.median(seconds[number]):.1f} ms of CPU a list, "
            f"{statistics.median(ratios):.2f} times as fast ({ratios[0]:.2f} to {ratios[-1]:.2f}); "
            f"another best tree in {others} of {len(lists)}"
        )


def spread(path: str, count: int) -> list[NBest]:
    lists = list(read_nbest(path))
    step = max(1, len(lists) // count)
    return lists[::step][:count]


if __name__ == "__main__":
    main()
