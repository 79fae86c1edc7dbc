"""Exact F1 along a line of weights, and the best weights by line search.

Along a line of weights every candidate's score is linear, so a list's best candidate changes at a
few points only, and corpus F1 is a step function that can be computed exactly (Och 2003, *Minimum
Error Rate Training in Statistical Machine Translation*, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reranker.evaluation.brackets import f1_by_row
from reranker.plugins.tuning.scored_lists import Array, ScoredLists
from reranker.ranking import Weighing

# The best point of a line, of this many tried, is the middle of the window (this share of the line
# on either side) with the best mean F1: a narrow peak between two worse places is chance.
STEPS = 1000
WINDOW = 0.1
# The ends of the lines. Member weights are normalised to a mean of 1; none is 0, since a member
# that does not count would still cost its time.
BONUS_RANGE = -1.0, 1.0
MEMBER_RANGE = 0.05, 3.0
_ROUNDS = 10
_RESTARTS = 3
_TIE = 1e-9
_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class StepFunction:
    """The corpus F1 in percent along a line: ``f1[i]`` between ``edges[i]`` and ``edges[i +
    1]``."""

    edges: Array  # [n + 1]
    f1: Array  # [n]

    def smoothed(self, points: Array) -> Array:
        """Return the mean F1 within ``WINDOW`` of the line around each point, less where the line
        ends."""
        low, high = self.edges[0], self.edges[-1]
        areas = np.concatenate([[0.0], np.cumsum(self.f1 * np.diff(self.edges))])
        reach = WINDOW * (high - low)
        left, right = np.maximum(points - reach, low), np.minimum(points + reach, high)
        area = np.interp(right, self.edges, areas) - np.interp(left, self.edges, areas)
        means: Array = area / (right - left)
        return means

    def best(self) -> tuple[float, float]:
        """Return the point with the best smoothed F1 (the middle of the longest run of equals), and
        that F1."""
        points = np.linspace(self.edges[0], self.edges[-1], STEPS + 1)
        values = self.smoothed(points)
        top = np.flatnonzero(values >= values.max() - _TIE)
        runs = np.split(top, np.flatnonzero(np.diff(top) > 1) + 1)
        longest = max(runs, key=len)
        middle = longest[len(longest) // 2]
        return float(points[middle]), float(values[middle])


def f1_along(
    lists: ScoredLists, base: Array, slope: Array, low: float, high: float
) -> StepFunction:
    """Return corpus F1 where candidates score ``base + x * slope`` ([S, C] each), for x in
    low..high."""
    rows = np.arange(len(lists))
    base = np.where(lists.is_candidate, base, -np.inf)
    slope = np.where(lists.is_candidate, slope, 0.0)
    best = (base + low * slope).argmax(1)
    positions = [np.array([low])]
    changes = [lists.counts[rows, best].sum(0, keepdims=True)]
    while len(rows):
        # Where steeper candidates overtake the best so far; the first to do so is the next best.
        lead = np.take_along_axis(base[rows], best[:, None], 1) - base[rows]
        gain = slope[rows] - np.take_along_axis(slope[rows], best[:, None], 1)
        overtakes = np.divide(lead, gain, out=np.full(lead.shape, np.inf), where=gain > 0)
        following = overtakes.argmin(1)
        position = overtakes[np.arange(len(rows)), following]
        is_on_line = position < high
        rows, best, following = rows[is_on_line], best[is_on_line], following[is_on_line]
        positions.append(position[is_on_line].clip(low))
        changes.append(lists.counts[rows, following] - lists.counts[rows, best])
        best = following
    places, deltas = np.concatenate(positions), np.concatenate(changes)
    order = places.argsort(kind="stable")
    return StepFunction(np.append(places[order], high), f1_by_row(deltas[order].cumsum(0)))


def f1_by_lm_weight(lists: ScoredLists, weighing: Weighing) -> StepFunction:
    """Return F1 for ``lm_weight`` from 0 to 1, the other weights being those of ``weighing``."""
    return _Lines(lists).along(np.array(_numbers(weighing, lists)), 0)


def tune(lists: ScoredLists, with_bonus: bool, with_members: bool) -> Weighing:
    """Return the weights with the best corpus F1: ``lm_weight`` if there are parser scores, and on
    request the token bonus and the members' weights.

    Coordinate ascent: the best value of one number after the other, until none helps, from the
    default and from a few random starts.
    """
    lines = _Lines(lists)
    free = [0] if lists.has_parser_scores else []
    free += [1] if with_bonus else []
    free += range(2, 2 + lists.number_of_members) if with_members else []
    random = np.random.default_rng(1)
    start = np.array(_numbers(Weighing(0.5 if lists.has_parser_scores else 1.0), lists))
    best, best_f1 = start, -1.0
    for restart in range(_RESTARTS + 1 if len(free) > 1 else 1):
        numbers = start.copy()
        if restart:
            for number in free:
                numbers[number] = random.uniform(*lines.ranges[number])
        numbers, f1 = lines.ascend(numbers, free)
        if f1 > best_f1 + _TIE:
            best, best_f1 = numbers, f1
    return _weighing(best)


class _Lines:
    """The lines through a point of [lm_weight, token_bonus, member weights...]."""

    def __init__(self, lists: ScoredLists) -> None:
        self.lists = lists
        self.ranges = [(0.0, 1.0), BONUS_RANGE, *[MEMBER_RANGE] * lists.number_of_members]

    def along(self, numbers: Array, place: int) -> StepFunction:
        """Return F1 as a function of ``numbers[place]``, in which the scores are linear."""
        at_zero, at_one = numbers.copy(), numbers.copy()
        at_zero[place], at_one[place] = 0.0, 1.0
        base = self._scores(at_zero)
        slope = self._scores(at_one) - base
        return f1_along(self.lists, base, slope, *self.ranges[place])

    def ascend(self, numbers: Array, free: Sequence[int]) -> tuple[Array, float]:
        """Return the best point reached by steps along single lines, and its F1 smoothed along
        all."""
        for _ in range(_ROUNDS):
            before = numbers.copy()
            for place in free:
                numbers[place], _ = self.along(numbers, place).best()
                numbers = self._normalised(numbers)
            if np.allclose(before, numbers, atol=10**-_DECIMALS):
                break
        numbers = numbers.round(_DECIMALS)
        smoothed = [self.along(numbers, place).smoothed(numbers[[place]])[0] for place in free]
        return numbers, float(np.mean(smoothed)) if smoothed else 0.0

    def _scores(self, numbers: Array) -> Array:
        lm_weight, bonus, *members = numbers
        return self.lists.mixed(lm_weight, bonus, members)

    def _normalised(self, numbers: Array) -> Array:
        """Return weights with the same order of candidates and member weights of mean 1."""
        lm_weight, bonus, members = numbers[0], numbers[1], numbers[2:]
        mean = members.mean()
        total = lm_weight * mean + 1 - lm_weight
        return np.array([lm_weight * mean / total, bonus / mean, *members / mean]).clip(
            [low for low, _ in self.ranges], [high for _, high in self.ranges]
        )


def _numbers(weighing: Weighing, lists: ScoredLists) -> list[float]:
    weights = weighing.member_weights or (1.0,) * lists.number_of_members
    return [weighing.lm_weight, weighing.token_bonus, *weights]


def _weighing(numbers: Array) -> Weighing:
    lm_weight, bonus, *members = numbers.tolist()
    weights = () if all(weight == 1 for weight in members) else tuple(members)
    return Weighing(lm_weight, member_weights=weights, token_bonus=bonus)
