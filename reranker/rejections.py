"""Rejected candidates, told to people."""

from __future__ import annotations

import sys

from reranker.nbest import NBest


def report(nbest: NBest) -> None:
    """Print a line to standard error for each candidate that cannot be used."""
    for one in nbest.rejected:
        print(
            f"rerank: {one.file}:{one.line}: candidate {one.index + 1} of list {nbest.id} "
            f"rejected, {one.code}: {one.message}",
            file=sys.stderr,
        )
