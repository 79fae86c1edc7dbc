"""The choice of sentences to annotate: by entropy a word, without near-duplicates."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

POOL = 20_000
"""At most so many different sentences are compared, those of the greatest entropy a word; twice as
many are in memory, however long the text is."""
NEAR = 0.5
"""Near-duplicates share this part of the pairs of neighbouring words of both, or more."""
MOST_LOOKED_AT = 10_000_000
"""So many sentences of the pool are looked at for near-duplicates, each as often as it might be
one: half a minute. Only of text whose sentences share their rarest words are there more."""
_DIGIT = re.compile(r"\d")

Pairs = frozenset[int]


class Uncertain(NamedTuple):
    """A sentence and the entropy of the distribution over its trees."""

    file: str
    line: int
    entropy: float
    """Entropy of the distribution over its trees, in nats."""
    words: str
    """Words, with spaces between them."""
    text: str
    tree: str
    """The parser's most probable, to be corrected."""

    @property
    def length(self) -> int:
        """Return the number of words."""
        return self.words.count(" ") + 1

    @property
    def value(self) -> float:
        """Return the entropy a word: words are what an annotator reads, and long sentences have
        more entropy because they have more trees."""
        return self.entropy / self.length


class Budget(NamedTuple):
    """The most that there will be to annotate; None for no limit."""

    sentences: int | None
    words: int | None


class Chosen(NamedTuple):
    """The sentences to annotate, in the order of choice."""

    sentences: list[Uncertain]
    words: int
    same: int
    """Number of sentences left out because another has the same words, but for digits and case."""
    near_annotated: int
    """Number of sentences left out as near-duplicates of annotated ones."""
    near_chosen: int
    """Number of sentences left out as near-duplicates of chosen ones."""
    is_pool_used_up: bool
    """True if all ``POOL`` sentences were tried before the budget was spent."""
    is_search_cut: bool
    """True if near-duplicates may be left, since ``MOST_LOOKED_AT`` sentences were looked at."""


def choose(sentences: Iterable[Uncertain], budget: Budget, annotated: Iterable[str] = ()) -> Chosen:
    """Choose sentences by ``value``, the greatest first, as long as the budget allows. Leave out
    near-duplicates of ``annotated`` sentences and of those chosen before. Ties go to the first."""
    pool, same = _pool(sentences)
    overlap = Overlap([each.words for each in pool])
    left_out = set[int]()
    for tree_words in annotated:
        left_out |= overlap.near(tree_words, left_out)
    near_annotated, near_chosen, words = len(left_out), 0, 0
    taken: list[Uncertain] = []
    is_spent = False
    for number, each in enumerate(pool):
        if number in left_out:
            continue
        if words + each.length > (budget.words or math.inf):
            is_spent = True  # but for a shorter one
            continue
        taken.append(each)
        words += each.length
        near = overlap.near(each.words, left_out | {number})
        near_chosen += len(near)
        left_out |= near
        if len(taken) == budget.sentences or words == budget.words:
            is_spent = True
            break
    is_used_up = len(pool) == POOL and not is_spent
    counts = same, near_annotated, near_chosen
    return Chosen(taken, words, *counts, is_used_up, overlap.is_cut)


def _pool(sentences: Iterable[Uncertain]) -> tuple[list[Uncertain], int]:
    """Return the ``POOL`` sentences of the greatest value, in order, and how many others have the
    same words: the first of the greatest value is taken."""
    best: dict[int, tuple[float, int, Uncertain]] = {}
    same = 0

    def most() -> list[tuple[int, tuple[float, int, Uncertain]]]:
        return heapq.nlargest(POOL, best.items(), key=lambda item: item[1][:2])

    for number, each in enumerate(sentences):
        key, row = hash(tuple(_plain(each.words))), (each.value, -number, each)
        same += key in best
        if key not in best or best[key][:2] < row[:2]:
            best[key] = row
        if len(best) >= 2 * POOL:
            best = dict(most())
    return [each for _, (*_, each) in most()], same


class Overlap:
    """Finds the near-duplicates of a sentence in a pool: exactly, but without comparing all. Of two
    sets that share a half, the rarer halves share an element (Chaudhuri, Ganti and Kaushik 2006,
    *A Primitive Operator for Similarity Joins in Data Cleaning*)."""

    def __init__(self, pool: Sequence[str]) -> None:
        """Take the sentences of the pool as words with spaces between them."""
        self.is_cut = False
        self._left = MOST_LOOKED_AT
        self._pairs = [*map(_pairs, pool)]
        self._counts = Counter(pair for pairs in self._pairs for pair in pairs)
        self._having: defaultdict[int, list[int]] = defaultdict(list)
        for number, pairs in enumerate(self._pairs):
            for pair in self._rarest(pairs):
                self._having[pair].append(number)

    def near(self, words: str, known: set[int]) -> set[int]:
        """Return the numbers of the near-duplicates in the pool that are not ``known``; none once
        the search is cut."""
        pairs = _pairs(words)
        lists = [self._having[pair] for pair in self._rarest(pairs) if pair in self._having]
        self._left -= sum(map(len, lists))
        self.is_cut = self.is_cut or self._left < 0
        if self.is_cut:
            return set()
        found = set().union(*lists)
        return {number for number in found - known if _share(pairs, self._pairs[number]) >= NEAR}

    def _rarest(self, pairs: Pairs) -> list[int]:
        ordered = sorted(pairs, key=lambda pair: (self._counts[pair], pair))
        return ordered[: len(ordered) - math.ceil(NEAR * len(ordered)) + 1]


def _share(one: Pairs, other: Pairs) -> float:
    if not NEAR <= len(one) / len(other) <= 1 / NEAR:
        return 0.0  # which sizes alone say
    return len(one & other) / len(one | other)


def _pairs(words: str) -> Pairs:
    """Return the neighbouring words, those before the first and behind the last included."""
    return frozenset(map(hash, pairwise(("", *_plain(words), ""))))


def _plain(words: str) -> list[str]:
    """Return the words in lower case, and with every digit alike."""
    return _DIGIT.sub("0", words.lower()).split(" ")
