"""The k best trees of a chart, found lazily (Huang & Chiang 2005, algorithm 3).

Every item of the chart has a list of its best derivations so far and a heap of candidates for the
next one, which is found only when an item above asks for it.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from reranker.chart.best import Chart, Derivation, Span


class _Back(NamedTuple):
    """A derivation of an item: its alternative, and the ranks of the derivations below. Heaps order
    derivations by score, then by alternative."""

    cost: float  # minus the score in nats
    alternative: int
    first: int
    second: int


class _Item:
    """The derivations of one item of the chart, best first."""

    def __init__(self, heap: list[_Back]) -> None:
        heapq.heapify(heap)
        self.heap = heap
        self.seen = {back[1:] for back in heap}
        self.found: list[_Back] = []

    def offer(self, cost: float, alternative: int, first: int, second: int) -> None:
        ranks = alternative, first, second
        if ranks not in self.seen:
            self.seen.add(ranks)
            heapq.heappush(self.heap, _Back(cost, *ranks))

    def more(self, rank: int) -> Iterator[_Back]:
        """Find the next derivations up to ``rank``; the caller must offer the successors of
        each."""
        while len(self.found) <= rank and self.heap:
            self.found.append(heapq.heappop(self.heap))
            yield self.found[-1]


def k_best(chart: Chart, most: int) -> list[Derivation]:
    """Return the ``most`` best trees, best first; fewer if there are no more. Ties are ordered as
    in ``Chart.best``, so the first tree is always the same."""
    # A tree's items ask one another, three for each word at most. Frames are on the heap.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 1_000 + 4 * chart.words))
    search = _Search(chart)
    trees = []
    for rank in range(most):
        if not search.has_open(0, chart.words, rank):
            break
        cost = search.open[0, chart.words].found[rank].cost
        trees.append(Derivation(-cost, tuple(search.spans(rank))))
    return trees


class _Search:
    """Items by span. In ``open``, alternative 0 is the sequence, 1 the constituent. ``closed`` has
    the ranks of a label and of the sequence inside. In ``sequence``, the alternative is the start
    of the last part; the ranks are those of the part before it, and of the last part."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.open: dict[tuple[int, int], _Item] = {}
        self.closed: dict[tuple[int, int], _Item] = {}
        self.sequence: dict[tuple[int, int], _Item] = {}
        self._labels: dict[tuple[int, int], tuple[list[int], list[float]]] = {}

    def has_open(self, start: int, end: int, rank: int) -> bool:
        """Return whether there are more than ``rank`` derivations; find those up to ``rank``."""
        item = self.open.get((start, end))
        if item is None:
            chart = self.chart
            place = start, end - start
            inside, closed = float(chart.sequence[place]), float(chart.closed[place])
            item = _Item([_Back(-inside, 0, 0, 0), _Back(-closed, 1, 0, 0)])
            self.open[start, end] = item
        for back in item.more(rank):
            items, has = self.sequence, self.has_sequence
            if back.alternative:
                items, has = self.closed, self.has_closed
            if has(start, end, back.first + 1):
                cost = items[start, end].found[back.first + 1].cost
                item.offer(cost, back.alternative, back.first + 1, 0)
        return len(item.found) > rank

    def has_closed(self, start: int, end: int, rank: int) -> bool:
        item = self.closed.get((start, end))
        if item is None:
            item = _Item([_Back(-float(self.chart.closed[start, end - start]), 0, 0, 0)])
            self.closed[start, end] = item
        for back in item.more(rank):
            _, gains = self.labels(start, end)
            for label, inside in ((back.first + 1, back.second), (back.first, back.second + 1)):
                if label < len(gains) and self.has_sequence(start, end, inside):
                    item_inside = self.sequence.get((start, end))  # None for a word
                    cost = item_inside.found[inside].cost if item_inside else 0.0
                    item.offer(cost - gains[label], 0, label, inside)
        return len(item.found) > rank

    def has_sequence(self, start: int, end: int, rank: int) -> bool:
        if end - start == 1:
            return rank == 0  # the word
        item = self.sequence.get((start, end))
        if item is None:
            costs = (-self.chart.splits_of(start, end)).tolist()
            item = _Item(
                [_Back(cost, middle, 0, 0) for middle, cost in enumerate(costs, start + 1)]
            )
            self.sequence[start, end] = item
        for back in item.more(rank):
            middle = back.alternative
            for first, second in ((back.first + 1, back.second), (back.first, back.second + 1)):
                if self.has_open(start, middle, first) and self.has_part(middle, end, second):
                    cost = (
                        self.open[start, middle].found[first].cost
                        + self.part(middle, end).found[second].cost
                    )
                    item.offer(cost, middle, first, second)
        return len(item.found) > rank

    def has_part(self, start: int, end: int, rank: int) -> bool:
        has = self.has_open if end - start == 1 else self.has_closed
        return has(start, end, rank)

    def part(self, start: int, end: int) -> _Item:
        return (self.open if end - start == 1 else self.closed)[start, end]

    def labels(self, start: int, end: int) -> tuple[list[int], list[float]]:
        """Return the labels of a span and their gains, best first."""
        known = self._labels.get((start, end))
        if known is None:
            gains = self.chart.gains.of(start, end - 1)
            order = np.argsort(-gains, kind="stable")
            known = self._labels[start, end] = order.tolist(), gains[order].tolist()
        return known

    def spans(self, rank: int) -> Iterator[Span]:
        """Yield the constituents of the tree of this rank, parents before children."""
        stack = [("open", 0, self.chart.words, rank)]
        while stack:
            kind, start, end, rank = stack.pop()
            if kind == "part":
                kind = "open" if end - start == 1 else "closed"
            if kind == "open":
                back = self.open[start, end].found[rank]
                stack.append(("closed" if back.alternative else "sequence", start, end, back.first))
            elif kind == "closed":
                back = self.closed[start, end].found[rank]
                yield Span(start, end, self.labels(start, end)[0][back.first])
                stack.append(("sequence", start, end, back.second))
            elif end - start > 1:
                back = self.sequence[start, end].found[rank]
                middle = back.alternative
                stack.append(("part", middle, end, back.second))
                stack.append(("open", start, middle, back.first))
