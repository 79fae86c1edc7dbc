"""N-best lists that lack something."""

from __future__ import annotations

from dataclasses import replace

from reranker.nbest import NBest


def without_every_second_score(nbest: NBest) -> NBest:
    """Return the list without the parser's scores of its second, fourth ... candidate."""
    candidates = (
        replace(each, parser_score=None) if each.index % 2 else each for each in nbest.candidates
    )
    return replace(nbest, candidates=tuple(candidates))
