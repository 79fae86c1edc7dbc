"""The word-synchronous beam: partial trees of a sentence, all of which have read the same words.

Stern, Fried & Klein (2017), "Effective Inference for Generative Neural Parsing", compare hypotheses
only once they have generated the next word. Between two words, brackets are expanded here best
first, a batch at a time, by log P and an estimate for the next word (``lookahead``), until none
that is left is expected to enter the beam of words or ``Width.actions`` were read. Each hypothesis
that is read offers the next word at once; the fast track of Stern et al. lets a few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from reranker.errors import InputError
from reranker.plugins.surprisal.forward import ForwardModels, Numbers, Values
from reranker.plugins.surprisal.history import NOTHING, WORD, History
from reranker.plugins.surprisal.lookahead import lookahead
from reranker.process.cancellation import Cancellation

MOST_WORDS = 2_000
"""Hypotheses of a beam: their states take 130 MB with a model of 500 units."""
_BATCH = 64  # hypotheses read together; with more, fewer would be chosen knowing of the last ones


@dataclass(frozen=True, slots=True)
class Width:
    """The number of a sentence's trees that the beam keeps; no setting makes a probability too
    large."""

    words: int = 100
    """K: hypotheses that are kept at each word."""
    actions: int = 0
    """Hypotheses that are read between two words at most; 0 for 10 K."""
    openings: int = 10
    """Constituents that may open before one word: bounds unary chains. Treebanks have up to 9."""
    depth: int = 60
    """Constituents that may be open at once. Treebanks have up to 32."""

    def __post_init__(self) -> None:
        if type(self.words) is not int or not 1 <= self.words <= MOST_WORDS:
            raise InputError(f"beam must be an integer from 1 to {MOST_WORDS:,}, got {self.words}")

    @property
    def most_actions(self) -> int:
        return self.actions or 10 * self.words


class Step(NamedTuple):
    """The beam after a word, best first; a hypothesis is a row of the history, [k] each."""

    rows: Numbers
    scores: Values
    """log P of each, the word included, in nats."""
    before: Values
    """log P of each without the word, but with the decision that a word comes next."""
    opened: Numbers
    """Brackets opened between the word before and this one."""
    closed: Numbers
    """Brackets closed between the word before and this one."""

    @property
    def total(self) -> float:
        """Return the log of the beam's summed probability: at most log P of the words up to
        here."""
        return float(np.logaddexp.reduce(self.scores))


class Beam:
    """The hypotheses of one sentence, word by word. The result depends on the sentence alone."""

    def __init__(
        self,
        models: ForwardModels,
        width: Width = Width(),
        cancellation: Cancellation | None = None,
    ) -> None:
        torch.set_num_threads(1)  # of this thread's products: their bits depend on it
        self._models, self._width = models, width
        self._cancellation = cancellation or Cancellation()
        self._lookahead = lookahead(models)
        self.history = History(models.labels)
        self._memory = models.memory()
        self._token = models.vocabulary.eos  # the next token that the beam reads: the last word
        self._beam: Numbers = np.zeros(1, np.int64)

    def read(self, word: int) -> Step:
        """Read the next word of the sentence, a token of the vocabulary; return the beam after
        it."""
        step = self._next(word, is_end=False)
        self._token = word
        return step

    def end(self) -> Step:
        """Close the open constituents, and end the sentence: the beam's whole trees. Nothing can be
        read afterwards."""
        return self._next(self._models.vocabulary.eos, is_end=True)

    def _next(self, word: int, *, is_end: bool) -> Step:
        history, width = self.history, self._width
        rows, tokens = self._beam, np.full(len(self._beam), self._token)
        # The memory holds the states before the beam's last word, then those of all rows after it.
        places, offset = np.arange(len(rows)), len(rows) - int(rows[0])
        pending = _Pending()
        ready: list[tuple[Numbers, Values, Values]] = []  # the rows that have read the word
        # An end needs no limit: each hypothesis has one way to it.
        left = 2**31 if is_end else width.most_actions
        for _ in self._cancellation.until_cancelled(iter(int, 1)):
            reading = self._models.read(self._memory, places, tokens, word)
            scores = history.score[rows]
            can = self._may_go_on(rows, is_end)
            before = reading.word if is_end else reading.any_word
            ready.append((rows[can], (scores + reading.word)[can], (scores + before)[can]))
            parents, actions, scores = self._continuations(rows, reading.brackets, is_end)
            pending.add(parents, actions, scores, scores + self._lookahead[actions, word])
            least = _nth_best(np.concatenate([after for _, after, _ in ready]), width.words)
            parents, actions, scores = pending.take(least, min(left, _BATCH), left)
            if not len(parents):
                break
            left -= len(parents)
            places = parents + offset
            rows = history.add(parents, actions, scores)
            tokens = self._models.brackets[actions]
        columns = zip(*ready, strict=True)
        parents, after, before = map(np.concatenate, columns)
        return self._kept(parents, after, before, offset, is_end)

    def _may_go_on(self, rows: Numbers, is_end: bool) -> NDArray[np.bool_]:
        """Return those of ``rows`` that the next word, or the end of the sentence, can follow."""
        return self.history.depth[rows] == 0 if is_end else np.ones(len(rows), bool)

    def _continuations(
        self, rows: Numbers, brackets: Values, is_end: bool
    ) -> tuple[Numbers, Numbers, Values]:
        """Return all well-formed brackets after each of ``rows``: row, action and score of each."""
        history, width = self.history, self._width
        labels = brackets.shape[1] // 2
        joint = history.score[rows][:, None] + brackets
        may_open = (history.opened[rows] < width.openings) & (history.depth[rows] < width.depth)
        opening = np.flatnonzero(may_open & (not is_end))
        closings = history.closing(rows)
        closing = np.flatnonzero(closings != NOTHING)
        places = np.concatenate([np.repeat(opening, labels), closing])
        actions = np.concatenate([np.tile(np.arange(labels), len(opening)), closings[closing]])
        return rows[places], actions, joint[places, actions]

    def _kept(
        self, parents: Numbers, after: Values, before: Values, offset: int, is_end: bool
    ) -> Step:
        """Make the best hypotheses that have read the word the beam."""
        history = self.history
        best = np.argsort(-after, kind="stable")[: self._width.words]
        parents, after, before = parents[best], after[best], before[best]
        opened, closed = (
            part[parents].astype(np.int64) for part in (history.opened, history.closed)
        )
        if not is_end:
            self._memory.keep(parents + offset)
            self._beam = history.add(parents, np.full(len(parents), WORD), after)
        return Step(parents if is_end else self._beam, after, before, opened, closed)


class _Pending:
    """The continuations that were not read yet."""

    def __init__(self) -> None:
        self._parents = self._actions = np.zeros(0, np.int64)
        self._scores = self._hopes = np.zeros(0)

    def add(self, parents: Numbers, actions: Numbers, scores: Values, hopes: Values) -> None:
        self._parents = np.concatenate([self._parents, parents])
        self._actions = np.concatenate([self._actions, actions])
        self._scores = np.concatenate([self._scores, scores])
        self._hopes = np.concatenate([self._hopes, hopes])

    def take(self, least: float, count: int, left: int) -> tuple[Numbers, Numbers, Values]:
        """Take out the ``count`` with the best hopes, and forget those that are not expected to be
        better than ``least``, the Kth best that has read the word. ``left`` can still be taken: no
        more are kept."""
        self._keep(np.flatnonzero(self._hopes > least))
        self._keep(_best(self._hopes, left))
        chosen = _best(self._hopes, count)
        taken = self._parents[chosen], self._actions[chosen], self._scores[chosen]
        is_left = np.ones(len(self._scores), bool)
        is_left[chosen] = False
        self._keep(np.flatnonzero(is_left))
        return taken

    def _keep(self, places: Numbers) -> None:
        self._parents, self._actions = self._parents[places], self._actions[places]
        self._scores, self._hopes = self._scores[places], self._hopes[places]


def _best(scores: Values, count: int) -> Numbers:
    """Return the places of the ``count`` highest scores, in no order."""
    if len(scores) <= count:
        return np.arange(len(scores))
    return np.argpartition(-scores, count - 1)[:count] if count else np.zeros(0, np.int64)


def _nth_best(scores: Values, count: int) -> float:
    """Return the ``count``th highest; -inf if there are fewer."""
    if len(scores) < count:
        return -np.inf
    return float(np.partition(scores, len(scores) - count)[len(scores) - count])
