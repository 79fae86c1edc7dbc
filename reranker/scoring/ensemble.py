"""What an ensemble's members say of each token of each candidate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import RerankError
from reranker.models import LanguageModel
from reranker.models.coarse import Coarse, coarse_output
from reranker.scoring.lanes import Call, Lanes
from reranker.scoring.trie import Trie
from reranker.scoring.walk import Walk, edge_log_probabilities

Combination = Literal["sum", "average"]
Values = NDArray[np.float64]

# Bounds that cost more than this share of the scores are not worth it: words are predicted exactly
# for a fifth of all prefixes after all (docs/performance.md).
_CHEAP = 0.75

# Of the hidden states that a survey keeps if no two candidates begin alike.
_KEPT_BYTES = 300_000_000


class Ensemble:
    """Language models that judge together.

    ``sum`` adds the members' log-probabilities, each with its own vocabulary and direction;
    ``average`` averages their probabilities token by token. Raises RerankError if that is
    impossible.
    """

    def __init__(
        self, members: Sequence[Checkpoint], combination: Combination, lanes: Lanes
    ) -> None:
        if not members:
            raise RerankError("an ensemble needs at least one checkpoint")
        # Equal vocabularies become one, since comparing them takes longer than scoring a sentence.
        distinct: dict[Vocabulary, Vocabulary] = {}
        self.members = tuple(
            replace(one, vocabulary=distinct.setdefault(one.vocabulary, one.vocabulary))
            for one in members
        )
        self._vocabularies = tuple(distinct)
        if combination == "average":
            first, *others = self.members
            for member in others:
                if member.vocabulary is first.vocabulary:
                    continue
                differ = "have different vocabularies"
                if member.vocabulary.backward != first.vocabulary.backward:
                    differ = "read in different directions"
                raise RerankError(
                    f"{member.name} and {first.name} {differ}, so their probabilities cannot be "
                    "averaged; combine them by sum"
                )
        self.combination = combination
        self._lanes = lanes

    def log_probabilities(self, sequences: Sequence[Sequence[str]], call: Call) -> list[Values]:
        """For each sequence of tokens [M, T]: the log-probability of each token, ``<eos>``
        included, under each member, in nats and in the tree's order whatever the member's; M is 1
        if they are averaged."""
        tries = self._tries(sequences)
        edges = self._lanes.compute(
            partial(edge_log_probabilities, member.model, trie, call)
            for member, trie in zip(self.members, tries, strict=True)
        )
        return self._by_sequence(edges, tries, range(len(sequences)))

    def survey(self, sequences: Sequence[Sequence[str]], call: Call) -> Survey:
        """The same in two steps: bounds of all first, then exact values of some."""
        return Survey(self, sequences, call)

    @cached_property
    def has_cheap_bounds(self) -> bool:
        """Whether upper bounds cost so much less than scores that it pays to have them first."""
        full = coarse = 0.0
        for member, stand_in in zip(self.members, self.coarse, strict=True):
            config = member.model.config
            decoder = member.model.output_weight.numel() * max(1, sum(config.components))
            layers = sum(one.numel() for one in member.model.layers.parameters())
            full += layers + decoder
            coarse += layers + decoder * (1 if stand_in is None else stand_in.share)
        return coarse < _CHEAP * full

    @cached_property
    def coarse(self) -> list[Coarse | None]:
        """Stand-ins for the members' outputs; None where the vocabulary is too small for one."""
        return [coarse_output(m.model.output_weight, m.model.decoder_bias) for m in self.members]

    @property
    def survey_tokens(self) -> int:
        """How many tokens one survey may be of, for the sake of memory."""
        sizes = (
            member.model.config.layer_sizes[layer]
            for member in self.members
            for layer in member.model.decoded_layers
        )
        return _KEPT_BYTES // (4 * sum(sizes))

    def unknown(self, words: Sequence[str]) -> int:
        """How many of the words at least one member does not know."""
        return sum(
            any(vocabulary.is_unknown(word) for vocabulary in self._vocabularies) for word in words
        )

    def _tries(self, sequences: Sequence[Sequence[str]]) -> list[Trie]:
        """One for each member; members with one vocabulary share it."""
        tries: dict[int, Trie] = {}
        for vocabulary in self._vocabularies:
            ids = [vocabulary.encode(tokens) for tokens in sequences]
            tries[id(vocabulary)] = Trie(ids, vocabulary.eos)
        return [tries[id(member.vocabulary)] for member in self.members]

    def _by_sequence(
        self, edges: Sequence[Values], tries: Sequence[Trie], which: Iterable[int]
    ) -> list[Values]:
        found = []
        for number in which:
            values = np.stack([e[t.paths[number]] for e, t in zip(edges, tries, strict=True)])
            for row, member in zip(values, self.members, strict=True):
                if member.vocabulary.backward:
                    row[:-1] = row[:-1][::-1]
            if self.combination == "average":
                values = np.logaddexp.reduce(values, axis=0, keepdims=True) - np.log(len(edges))
            found.append(values)
        return found


class Survey:
    """Sequences of which the hidden states are computed and kept, but not yet all that follows."""

    def __init__(self, ensemble: Ensemble, sequences: Sequence[Sequence[str]], call: Call) -> None:
        self._ensemble = ensemble
        self._tries = ensemble._tries(sequences)
        self._count = len(sequences)
        self._walks = ensemble._lanes.compute(
            partial(Walk, member.model, trie, call)
            for member, trie in zip(ensemble.members, self._tries, strict=True)
        )
        # Per member and edge; NaN is not known yet.
        self._exact = [np.full(trie.edges, np.nan) for trie in self._tries]

    def upper_bounds(self) -> list[Values]:
        """No less than ``exact`` but for float32's rounding, for every sequence."""
        edges = self._ensemble._lanes.compute(
            partial(_bounds, walk, member.model, coarse)
            for walk, member, coarse in zip(
                self._walks, self._ensemble.members, self._ensemble.coarse, strict=True
            )
        )
        return self._ensemble._by_sequence(edges, self._tries, range(self._count))

    def exact(self, which: Sequence[int]) -> list[Values]:
        """What ``Ensemble.log_probabilities`` says of some of the sequences."""
        missing = []
        for trie, known in zip(self._tries, self._exact, strict=True):
            wanted = np.zeros(trie.edges, dtype=np.bool_)
            for number in which:
                wanted[trie.paths[number]] = True
            missing.append(np.flatnonzero(wanted & np.isnan(known)))
        found = self._ensemble._lanes.compute(
            partial(walk.exact, edges) for walk, edges in zip(self._walks, missing, strict=True)
        )
        for known, edges, values in zip(self._exact, missing, found, strict=True):
            known[edges] = values
        return self._ensemble._by_sequence(self._exact, self._tries, which)


def _bounds(walk: Walk, model: LanguageModel, coarse: Coarse | None) -> Values:
    return walk.upper_bounds(coarse or Coarse(model.output_weight, model.decoder_bias))
