"""Rejected candidates, told to people."""

from __future__ import annotations

import sys

from reranker.nbest import NBest
from reranker.ranking import Ranking


def report(found: NBest | Ranking) -> None:
    """Print a line to standard error for each candidate that cannot be used."""
    for one in found.rejected:
        print(
            f"rerank: {one.file}:{one.line}: candidate {one.index + 1} of list {found.id} "
            f"rejected, {one.code}: {one.message}",
            file=sys.stderr,
        )
