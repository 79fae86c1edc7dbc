"""Partial linearised trees that share their beginnings, each a row of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reranker.plugins.surprisal.forward import Numbers, Values

WORD = -1
NOTHING = -1


class History:
    """Every hypothesis of a sentence that was read: row 0 is the empty one, and each of the others
    adds an action, an opening or closing bracket or the next word, to an earlier row.

    The columns are numbered as rows are: ``action`` (``WORD`` or a bracket's, as
    ``ForwardModels.labels`` numbers them), ``parent``, ``top`` (the row that opened the innermost
    open constituent, or ``NOTHING``), ``depth`` (how many are open), ``opened`` and ``closed``
    (brackets since the last word) and ``score`` (log P of the whole prefix, in nats).
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = labels
        self.count = 1
        self._hold(np.zeros((6, 1024), dtype=np.int32), np.zeros(1024))
        self._table[:3, 0] = WORD, NOTHING, NOTHING

    def add(self, parents: Numbers, actions: Numbers, scores: Values) -> Numbers:
        """Add rows that continue ``parents``; their numbers. Actions must be possible."""
        rows = np.arange(self.count, self.count + len(parents))
        self._make_room(len(parents))
        labels = len(self._labels)
        is_word, is_opening = actions == WORD, (actions >= 0) & (actions < labels)
        is_closing = actions >= labels
        top, depth = self.top[parents], self.depth[parents]
        outer = self.top[self.parent[top]]  # the innermost constituent before that one was opened
        self._table[:, rows] = (
            actions,
            parents,
            np.where(is_opening, rows, np.where(is_closing, outer, top)),
            depth + is_opening - is_closing,
            np.where(is_word, 0, self.opened[parents] + is_opening),
            np.where(is_word, 0, self.closed[parents] + is_closing),
        )
        self.score[rows] = scores
        self.count += len(parents)
        return rows

    def closing(self, rows: Numbers) -> Numbers:
        """Return the action that closes the innermost constituent of each row; ``NOTHING`` where
        none is open, or where it has no word yet."""
        top, labels = self.top[rows], len(self._labels)
        is_empty = (self.action[rows] >= 0) & (self.action[rows] < labels)
        return np.where((top == NOTHING) | is_empty, NOTHING, self.action[top] + labels)

    def tokens(self, row: int, words: Sequence[str]) -> list[str]:
        """Return the linearised prefix with the sentence's own words."""
        actions = []
        while row:
            actions.append(int(self.action[row]))
            row = int(self.parent[row])
        coming, labels = iter(words), self._labels
        return [
            next(coming)
            if action == WORD
            else f"({labels[action]}"
            if action < len(labels)
            else f"){labels[action - len(labels)]}"
            for action in reversed(actions)
        ]

    def _make_room(self, number: int) -> None:
        while self.count + number > len(self.score):
            table = np.concatenate([self._table, np.zeros_like(self._table)], axis=1)
            self._hold(table, np.concatenate([self.score, np.zeros_like(self.score)]))

    def _hold(self, table: NDArray[np.int32], score: Values) -> None:
        self._table, self.score = table, score
        self.action, self.parent, self.top, self.depth, self.opened, self.closed = table  # views
