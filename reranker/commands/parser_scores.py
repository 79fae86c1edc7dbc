"""Warnings of parsers' scores that do not mix with language models (``--lm-weight``)."""

from __future__ import annotations

from collections.abc import Iterator

from reranker.commands.answers import Source
from reranker.commands.progress import message
from reranker.nbest import NBest
from reranker.nbest.candidates import score_warnings


def checked(source: Source, lm_weight: float) -> Iterator[NBest]:
    """Yield the lists of a source; warn at once of scores of several parsers, then once of those of
    samples, and once a file of those that are no log-probabilities."""
    flag = f"(--lm-weight {lm_weight:g})"
    if len(source.parsers) > 1:
        message(
            f"rerank: scores of {' and '.join(source.parsers)} are mixed in {flag}; that makes "
            "sense only if all of them are log-probabilities of sentence and tree"
        )
    return _checked(source, flag)


def _checked(source: Source, flag: str) -> Iterator[NBest]:
    is_warned = False
    warned: set[str] = set()
    for nbest in source:
        for warning in score_warnings(nbest, warned):
            message(f"rerank: {warning} {flag}")
        if nbest.order == "score" and not is_warned:
            is_warned = True
            message(
                f"rerank: scores of samples are mixed in {flag}; if they were drawn with --alpha, "
                "these are not the parser's log-probabilities"
            )
        yield nbest
