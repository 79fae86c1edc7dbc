"""The k best trees of a chart, found lazily (Huang & Chiang 2005, algorithm 3).

Every item of the chart has a list of its best derivations so far and a heap of candidates for the
next one, which is found only when an item above asks for it.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

from reranker.chart.best import Chart, Derivation, Span

_Back = tuple[float, int, int, int]
"""A derivation of an item: minus its score in nats, its alternative, and the ranks of the
derivations below. The order of a list is the order of these tuples."""
_Node = tuple[()] | tuple[Span | None, Any, Any]
"""The constituents of a derivation, shared by all trees that have it: one around the others, if
there is one, and the nodes of the part before the last and of the last part."""


class _Item:
    """The derivations of one item of the chart, best first."""

    def __init__(self, search: _Search, start: int, end: int, heap: list[_Back]) -> None:
        self.search, self.start, self.end = search, start, end
        heapq.heapify(heap)
        self.heap = heap
        self.found: list[_Back] = []
        self.nodes: dict[int, _Node] = {}

    def cost(self, rank: int) -> float:
        """Return minus the score of the derivation of this rank, infinity if there is none."""
        found, heap = self.found, self.heap
        while len(found) <= rank:
            if found:  # not before: successors ask the items below for their next derivations
                for back in self.successors(*found[-1]):
                    if back[0] < inf:
                        heapq.heappush(heap, back)
            if not heap:
                return inf
            found.append(heapq.heappop(heap))
        return found[rank][0]

    def successors(self, cost: float, alternative: int, first: int, second: int) -> list[_Back]:
        """Return the derivations that follow one: each derivation but those that ``heap`` starts
        with follows one other, which comes before it in the order."""
        return []

    def node(self, rank: int) -> _Node:
        """Return the constituents of a derivation."""
        node = self.nodes.get(rank)
        if node is None:
            self.cost(rank)  # a derivation's own first ones may not have been asked for yet
            node = self.nodes[rank] = self.made(*self.found[rank])
        return node

    def made(self, cost: float, alternative: int, first: int, second: int) -> _Node:
        return ()


class _Open(_Item):
    """Alternative 0 is the sequence, 1 the constituent, of rank ``first``."""

    def __init__(self, search: _Search, start: int, end: int) -> None:
        chart, width = search.chart, end - start
        inside, closed = float(chart.sequence[start, width]), float(chart.closed[start, width])
        super().__init__(search, start, end, [(-inside, 0, 0, 0), (-closed, 1, 0, 0)])

    def successors(self, cost: float, alternative: int, first: int, second: int) -> list[_Back]:
        items = self.search.closed if alternative else self.search.sequence
        return [(items[self.start, self.end].cost(first + 1), alternative, first + 1, 0)]

    def made(self, cost: float, alternative: int, first: int, second: int) -> _Node:
        items = self.search.closed if alternative else self.search.sequence
        return items[self.start, self.end].node(first)


class _Closed(_Item):
    """``first`` is the rank of the label, ``second`` that of the sequence inside."""

    def __init__(self, search: _Search, start: int, end: int) -> None:
        cost = -float(search.chart.closed[start, end - start])
        super().__init__(search, start, end, [(cost, 0, 0, 0)])
        self.inside = search.sequence[start, end]
        gains = search.chart.gains.of(start, end - 1)
        order = np.argsort(-gains, kind="stable")
        self.labels: list[int] = order.tolist()
        self.gains: list[float] = gains[order].tolist()

    def successors(self, cost: float, alternative: int, first: int, second: int) -> list[_Back]:
        following = []
        if first + 1 < len(self.gains):
            cost = self.inside.cost(second) - self.gains[first + 1]
            following.append((cost, 0, first + 1, second))
        if first == 0:
            cost = self.inside.cost(second + 1) - self.gains[0]
            following.append((cost, 0, 0, second + 1))
        return following

    def made(self, cost: float, alternative: int, first: int, second: int) -> _Node:
        _, *inside = self.inside.node(second) or (None, (), ())
        return Span(self.start, self.end, self.labels[first]), *inside


class _Sequence(_Item):
    """The alternative is the start of the last part; the ranks are those of the part before it, and
    of the last part. A word is a sequence with one derivation, whose alternative is 0."""

    def __init__(self, search: _Search, start: int, end: int) -> None:
        heap: list[_Back] = [(0.0, 0, 0, 0)]
        if end - start > 1:
            costs = (-search.chart.splits_of(start, end)).tolist()
            heap = [(cost, middle, 0, 0) for middle, cost in enumerate(costs, start + 1)]
        super().__init__(search, start, end, heap)

    def successors(self, cost: float, alternative: int, first: int, second: int) -> list[_Back]:
        if not alternative:
            return []
        before, last = self.parts(alternative)
        cost = before.cost(first) + last.cost(second + 1)
        following = [(cost, alternative, first, second + 1)]
        if second == 0:
            cost = before.cost(first + 1) + last.cost(0)
            following.append((cost, alternative, first + 1, 0))
        return following

    def made(self, cost: float, alternative: int, first: int, second: int) -> _Node:
        if not alternative:
            return ()
        before, last = self.parts(alternative)
        return None, before.node(first), last.node(second)

    def parts(self, middle: int) -> tuple[_Item, _Item]:
        """Return the part before a ``middle``, and the last part."""
        search, end = self.search, self.end
        items = search.open if end - middle == 1 else search.closed
        return search.open[self.start, middle], items[middle, end]


class _Items(dict[tuple[int, int], _Item]):
    """The items of one kind by span, made when asked for."""

    def __init__(self, kind: type[_Open] | type[_Closed] | type[_Sequence], search: _Search):
        self.kind, self.search = kind, search

    def __missing__(self, span: tuple[int, int]) -> _Item:
        item = self[span] = self.kind(self.search, *span)
        return item


class _Search:
    """All items that were asked for."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.open = _Items(_Open, self)
        self.closed = _Items(_Closed, self)
        self.sequence = _Items(_Sequence, self)

    def spans(self, rank: int) -> Iterator[Span]:
        """Yield the constituents of the tree of this rank, parents before children."""
        stack = [self.open[0, self.chart.words].node(rank)]
        while stack:
            if node := stack.pop():
                span, before, last = node
                if span:
                    yield span
                stack += last, before


def k_best(chart: Chart, most: int) -> list[Derivation]:
    """Return the ``most`` best trees, best first; fewer if there are no more. Ties are ordered as
    in ``Chart.best``, so the first tree is always the same."""
    # A tree's items ask one another, three for each word at most. Frames are on the heap.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 1_000 + 10 * chart.words))
    search = _Search(chart)
    whole = search.open[0, chart.words]
    trees = []
    for rank in range(most):
        cost = whole.cost(rank)
        if cost == inf:
            break
        trees.append(Derivation(-cost, tuple(search.spans(rank))))
    vars(search).clear()  # items hold the search and so the chart, whose table is large
    return trees
