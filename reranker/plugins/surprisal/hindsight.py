"""Surprisal's measures from a parser's list of whole trees. The list was made knowing the whole
sentence, so its measures of a word are hindsight and no reader's surprisal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reranker.nbest import NBest
from reranker.plugins.surprisal.beam import MOST_WORDS, Beam, Width
from reranker.plugins.surprisal.forward import ForwardModels, Numbers, Values
from reranker.plugins.surprisal.history import WORD
from reranker.plugins.surprisal.sentence import SentenceMeasures, measured
from reranker.plugins.surprisal.spelling import Spelling
from reranker.process.cancellation import Cancellation
from reranker.trees.linearize import is_word


def read_list(
    models: ForwardModels,
    spelling: Spelling,
    nbest: NBest,
    cancellation: Cancellation | None = None,
) -> SentenceMeasures | str:
    """Return the measures of the words of a list, or the reason why there are none. Trees that
    differ in tags alone are one; trees with a label that the model does not know are left out, and
    so are all after the 2,000th."""
    known = {sign + label for label in models.labels for sign in "()"}
    trees = [
        tokens
        for tokens in dict.fromkeys(candidate.tokens for candidate in nbest.candidates)
        if all(is_word(token) or token in known for token in tokens)
    ][:MOST_WORDS]
    if not trees:
        return "no tree whose labels the model knows" if nbest.candidates else "no usable tree"
    words = nbest.words
    beam = _ListBeam(models, trees, cancellation)
    steps = [beam.read(token) for token in models.vocabulary.encode(words)[:-1]]
    return measured(models, spelling, words, beam.history, [*steps, beam.end()])


_Places = list[tuple[int, int]]
"""Trees that begin with a hypothesis, each with the number of its next action."""


class _ListBeam(Beam):
    """A beam of all the beginnings of some trees, and of no others."""

    def __init__(
        self,
        models: ForwardModels,
        trees: Sequence[Sequence[str]],
        cancellation: Cancellation | None,
    ) -> None:
        unbounded = 10**9
        width = Width(len(trees), unbounded, unbounded, unbounded)
        super().__init__(models, width, cancellation)
        action = {"(" + label: number for number, label in enumerate(models.labels)}
        action |= {")" + label: len(action) + n for n, label in enumerate(models.labels)}
        self._actions = [[action.get(token, WORD) for token in tree] for tree in trees]
        # By parent and action of a hypothesis; the empty one has none.
        self._coming: dict[tuple[int, int], _Places] = {}
        self._places: dict[int, _Places] = {0: [(tree, 0) for tree in range(len(trees))]}

    def _may_go_on(self, rows: Numbers, is_end: bool) -> NDArray[np.bool_]:
        after = [self._after(row) for row in rows.tolist()]
        return np.array([(None if is_end else WORD) in each for each in after])

    def _continuations(
        self, rows: Numbers, brackets: Values, is_end: bool
    ) -> tuple[Numbers, Numbers, Values]:
        pairs = [
            (place, action)
            for place, row in enumerate(rows.tolist())
            for action in self._after(row)
            if action is not None and action != WORD
        ]
        places, actions = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        scores = self.history.score[rows][places] + brackets[places, actions]
        return rows[places], actions, scores

    def _after(self, row: int) -> dict[int | None, _Places]:
        """Return the trees that begin with a hypothesis, by their next element: an action, ``WORD``
        or None, the end."""
        history = self.history
        if row not in self._places:
            key = int(history.parent[row]), int(history.action[row])
            self._places[row] = self._coming[key]
        after: defaultdict[int | None, _Places] = defaultdict(list)
        for tree, number in self._places[row]:
            actions = self._actions[tree]
            action = actions[number] if number < len(actions) else None
            after[action].append((tree, number + 1))
            if action is not None:
                self._coming[row, action] = after[action]
        return after
