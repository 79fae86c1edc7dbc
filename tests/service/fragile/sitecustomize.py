"""A scoring child that misbehaves on command, to see how the service bears it; Python imports this
at its start where ``PYTHONPATH`` has its folder.

In a list, the word ``huge`` lacks memory, ``crash`` raises, ``die`` raises SystemExit, ``end`` ends
the process, ``hang`` never comes back, and ``wait:FILE`` waits until there is such a file, or the
list is cancelled.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def _make_fragile() -> None:
    from reranker.nbest import NBest
    from reranker.ranking import Scored
    from reranker.service.children import halving

    real = halving.score_together

    def score_together(
        ensemble: Any,
        lists: Sequence[NBest],
        token_scores: bool,
        cancellation: Any,
        *given: Any,
    ) -> list[Sequence[Scored | None]]:
        words = [word for nbest in lists for each in nbest.candidates for word in each.words]
        if "huge" in words:
            raise MemoryError
        if "crash" in words:
            raise RuntimeError("the word was crash")
        if "die" in words:
            raise SystemExit
        if "end" in words:
            os._exit(7)
        while "hang" in words:
            time.sleep(1)
        gates = [Path(word.removeprefix("wait:")) for word in words if word.startswith("wait:")]
        while not all(gate.exists() for gate in gates):
            if cancellation.is_cancelled:
                break
            time.sleep(0.005)
        return real(ensemble, lists, token_scores, cancellation, *given)

    halving.score_together = score_together  # type: ignore[assignment]


if "reranker.service.children.scoring_main" in sys.orig_argv:
    _make_fragile()
