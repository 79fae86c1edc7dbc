"""Real n-best lists, their token ids, and what sharing beginnings leaves of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from reranker.checkpoints.vocabulary import Vocabulary
from reranker.nbest import NBest, read_nbest

# Of each raw candidate as the parser listed it, duplicates included; each ends in <eos>.
Ids = list[list[int]]


class Sentence(NamedTuple):
    nbest: NBest
    ids: Ids


def read(path: str, candidates: int) -> list[NBest]:
    """Every list's first ``candidates``; raises RerankError if the file cannot be read."""
    return first([nbest for nbest in read_nbest(path) if nbest.candidates], candidates)


def first(lists: Sequence[NBest], candidates: int) -> list[NBest]:
    """The same lists, cut."""
    return [replace(nbest, candidates=nbest.candidates[:candidates]) for nbest in lists]


def sample(lists: Sequence[NBest], count: int) -> list[NBest]:
    """``count`` lists that stand for all: the middle one of each of so many equal parts, by the
    length of the parser's first tree."""
    by_size = sorted(lists, key=lambda nbest: len(nbest.candidates[0].tokens))
    count = min(count, len(by_size))
    return [by_size[(2 * part + 1) * len(by_size) // (2 * count)] for part in range(count)]


def encoded(lists: Sequence[NBest], vocabulary: Vocabulary) -> list[Sentence]:
    """With the ids of their tokens."""
    return [
        Sentence(nbest, [vocabulary.encode(candidate.tokens) for candidate in nbest.candidates])
        for nbest in lists
    ]


def raw_tokens(ids: Ids) -> int:
    """What is scored if nothing is shared."""
    return sum(map(len, ids))


def nodes(ids: Ids) -> int:
    """Distinct beginnings that something follows: what is left to compute if all is shared.

    In sorted order a sequence shares the most with its neighbour, and every sequence adds a node
    for each token after that; its last token, <eos>, is read by no one, but the empty beginning is.
    """
    distinct = sorted(set(map(tuple, ids)))
    found = 1
    for before, mine in zip([(), *distinct], distinct, strict=False):
        pairs = zip(before, mine, strict=False)
        found += len(mine) - 1 - sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return found
