"""Detects parsers that cannot parse anything at all."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from reranker.errors import InputError
from reranker.nbest import NBest

_HOPELESS = 20
"""If this many sentences fail from the start, something else is wrong."""


class Failures:
    """Counts the sentences that a parser cannot parse, until it has parsed one. Threads may share
    it."""

    def __init__(self, name: str) -> None:
        """``name`` is for the error message."""
        self._name = name
        self._lock = threading.Lock()
        self._failed = 0
        self._has_parsed = False

    def count(self, answers: Sequence[NBest | str]) -> None:
        """Count a batch's answers. Raises InputError after many failures without a single list."""
        reasons = [each for each in answers if isinstance(each, str)]
        with self._lock:
            self._has_parsed = self._has_parsed or len(reasons) < len(answers)
            self._failed += len(reasons)
            if reasons and not self._has_parsed and self._failed >= _HOPELESS:
                raise InputError(
                    f"{self._name}: {self._failed} sentences in a row could not be parsed: "
                    f"{reasons[-1]}"
                )
