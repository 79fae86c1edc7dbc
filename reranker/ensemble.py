"""What an ensemble's members say of each token of each candidate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models.coarse import Coarse, coarse_output
from reranker.checkpoint import Checkpoint
from reranker.errors import RerankError
from reranker.lanes import Call, Lanes
from reranker.scoring import edge_log_probabilities
from reranker.trie import Trie
from reranker.vocab import Vocabulary

Combination = Literal["sum", "average"]
Values = NDArray[np.float64]

# Bounds that cost more than this share of the scores are not worth it: a fifth to a quarter of all
# prefixes is scored exactly after all, and in narrower batches (docs/performance.md).
_CHEAP = 0.6


class Ensemble:
    """Language models that judge together.

    ``sum`` adds the members' log-probabilities, each with its own vocabulary; ``average`` averages
    their probabilities token by token. Raises RerankError if that is impossible.
    """

    def __init__(
        self, members: Sequence[Checkpoint], combination: Combination, lanes: Lanes
    ) -> None:
        if not members:
            raise RerankError("an ensemble needs at least one checkpoint")
        if combination == "average":
            for member in members[1:]:
                if member.vocabulary != members[0].vocabulary:
                    raise RerankError(
                        f"{member.name} and {members[0].name} have different vocabularies, so "
                        "their probabilities cannot be averaged; combine them by sum"
                    )
        self.members = tuple(members)
        self.combination = combination
        self._lanes = lanes

    def log_probabilities(self, sequences: Sequence[Sequence[str]], call: Call) -> list[Values]:
        """For each sequence of tokens [M, T]: the log-probability of each token, ``<eos>``
        included, under each member, in nats; M is 1 if they are averaged."""
        return self._values(sequences, call, [None] * len(self.members))

    @cached_property
    def has_cheap_bounds(self) -> bool:
        """Whether upper bounds cost so much less than scores that it pays to have them first."""
        full = coarse = 0.0
        for member, stand_in in zip(self.members, self._coarse, strict=True):
            config = member.model.config
            decoder = member.model.output_weight.numel() * max(1, sum(config.components))
            layers = sum(one.numel() for one in member.model.layers.parameters())
            full += layers + decoder
            coarse += layers + decoder * (1 if stand_in is None else stand_in.share)
        return coarse < _CHEAP * full

    def upper_bounds(self, sequences: Sequence[Sequence[str]], call: Call) -> list[Values]:
        """No less than ``log_probabilities`` but for float32's rounding, and cheaper."""
        return self._values(sequences, call, self._coarse)

    def unknown(self, words: Sequence[str]) -> int:
        """How many of the words at least one member does not know."""
        return sum(
            any(vocabulary.is_unknown(word) for vocabulary in self._vocabularies) for word in words
        )

    @cached_property
    def _vocabularies(self) -> set[Vocabulary]:
        return {member.vocabulary for member in self.members}

    @cached_property
    def _coarse(self) -> list[Coarse | None]:
        return [coarse_output(m.model.output_weight, m.model.decoder_bias) for m in self.members]

    def _values(
        self, sequences: Sequence[Sequence[str]], call: Call, coarse: Sequence[Coarse | None]
    ) -> list[Values]:
        tries: dict[Vocabulary, Trie] = {}
        for vocabulary in self._vocabularies:
            ids = [vocabulary.encode(tokens) for tokens in sequences]
            tries[vocabulary] = Trie(ids, vocabulary.eos)
        edges = self._lanes.compute(
            partial(edge_log_probabilities, member.model, tries[member.vocabulary], call, stand_in)
            for member, stand_in in zip(self.members, coarse, strict=True)
        )
        if self.combination == "average":
            averaged = np.logaddexp.reduce(edges, axis=0) - np.log(len(edges))
            return [averaged[np.newaxis, path] for path in tries[self.members[0].vocabulary].paths]
        paths = zip(*(tries[member.vocabulary].paths for member in self.members), strict=True)
        return [
            np.stack([values[path] for values, path in zip(edges, mine, strict=True)])
            for mine in paths
        ]
