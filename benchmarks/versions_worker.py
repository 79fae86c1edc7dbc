"""The process of one version in ``benchmarks.versions``: any version's Python runs this text, so it
imports only what all of them have."""

import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from reranker.nbest import read_nbest
from reranker.pipeline import Reranker

FOLDER = Path(sys.argv[1])
words = json.loads((FOLDER / "words.json").read_text("utf-8"))
lists = list(read_nbest(FOLDER / "lists"))
loaded: dict[str, Reranker] = {}


def reranker(name: str) -> Reranker:
    """Return the ensemble of this name, loaded once."""
    if name not in loaded:
        loaded[name] = Reranker.load(name, device="cpu", threads=1)
    return loaded[name]


def parsed(name: str, candidates: int, first: int, end: int) -> Iterable[Any]:
    """Return the rankings of the sentences' best trees."""
    return reranker(name).parse(words[first:end], candidates=candidates, top=1)


MEASURES: dict[str, Callable[[int, int], Iterable[Any]]] = {
    "first tree": lambda *some: parsed("fast", 1, *some),
    "best of 20": lambda *some: parsed("best", 20, *some),
    "lists of 50": lambda first, end: reranker("best").rerank_lists(lists[first:end], top=1),
    "lists of 50, doc": lambda first, end: reranker("doc").rerank_lists(lists[first:end], top=1),
}

for line in sys.stdin:
    measure, first, end = json.loads(line)
    reranker({"first tree": "fast", "lists of 50, doc": "doc"}.get(measure, "best"))
    began = time.process_time()
    trees = [str(each.ranking[0].tree) for each in MEASURES[measure](first, end)]
    print(json.dumps([time.process_time() - began, trees]), flush=True)
