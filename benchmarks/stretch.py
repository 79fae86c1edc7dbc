"""Longer lists than a parser has printed, for measuring time where there is no parser at hand."""

from __future__ import annotations

import random
from dataclasses import replace

from reranker.nbest import NBest

# Of 500 real candidates (BLLIP, 12 sentences of GUM dev), this share repeats an earlier one.
REPEATED = 0.41


def stretched(nbest: NBest, count: int, seed: int = 0) -> NBest:
    """A list of ``count`` candidates: the given ones first, then earlier ones again, most of them
    with the label of one opening bracket exchanged for another of the list's.

    Words and lengths stay, brackets need not match, and only ``tokens`` change. On real lists of 50
    this leaves about as many trie nodes as real lists of 500 have.
    """
    draw = random.Random(seed)
    found = list(nbest.candidates[:count])
    labels = sorted({token for each in found for token in each.tokens if token[0] == "("})
    while len(found) < count:
        again = draw.choice(found)
        tokens = list(again.tokens)
        openings = [place for place, token in enumerate(tokens) if token[0] == "("]
        if openings and draw.random() >= REPEATED:
            tokens[draw.choice(openings)] = draw.choice(labels)
        found.append(replace(again, index=len(found), tokens=tuple(tokens)))
    return replace(nbest, candidates=tuple(found))
