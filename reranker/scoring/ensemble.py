"""The log-probability of each token of each candidate under each member of an ensemble."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.members import LoadedMember
from reranker.checkpoints.span_file import SpanCheckpoint
from reranker.checkpoints.span_vocabulary import SpanVocabulary
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import InputError, RerankError
from reranker.models import LanguageModel
from reranker.process.cancellation import Cancellation
from reranker.ranking.ranker import Combination
from reranker.scoring.lanes import Lanes
from reranker.scoring.spans import SpanSequences, span_log_probabilities
from reranker.scoring.trie import Trie
from reranker.scoring.walk import edge_log_probabilities

if TYPE_CHECKING:
    from reranker.scoring.tags import Tagger

T = TypeVar("T")
Values = NDArray[np.float64]
Layout = Trie | SpanSequences
"""A member's layout of sequences: the values that it computes, and the places of each sequence's
values."""


class Ensemble:
    """Language models and span models that score together.

    ``sum`` adds the members' log-probabilities, each with its own vocabulary and direction;
    ``average`` averages their probabilities token by token. Raises RerankError for members whose
    probabilities cannot be averaged, and for one that reads tags without a span model that gives
    them.
    """

    def __init__(
        self, members: Sequence[LoadedMember], combination: Combination, lanes: Lanes
    ) -> None:
        if not members:
            raise RerankError("an ensemble needs at least one checkpoint")
        for member in members:
            if not isinstance(member, Checkpoint | SpanCheckpoint):
                raise InputError(
                    f"expected a Checkpoint as a member, got {member!r:.60}; use load() for files"
                )
        if combination not in get_args(Combination):
            raise InputError(f"combination must be 'sum' or 'average', got {combination!r}")
        # Equal vocabularies become one, since comparing them takes longer than scoring a sentence.
        distinct: dict[Vocabulary, Vocabulary] = {}
        self.members: tuple[LoadedMember, ...] = tuple(
            replace(member, vocabulary=distinct.setdefault(member.vocabulary, member.vocabulary))
            if isinstance(member, Checkpoint)
            else member
            for member in members
        )
        spans = (each for each in self.members if isinstance(each, SpanCheckpoint))
        self._vocabularies: tuple[Vocabulary | SpanVocabulary, ...] = (
            *distinct,
            *dict.fromkeys(member.vocabulary for member in spans),
        )
        if combination == "average":
            first, *others = self.members
            for member in self.members:
                if others and isinstance(member, SpanCheckpoint):
                    raise RerankError(
                        f"{member.name} is a span model, so its probabilities cannot be averaged "
                        "with those of others; combine them by sum"
                    )
            for member in (each for each in others if each.vocabulary is not first.vocabulary):
                differ = "have different vocabularies"
                if member.vocabulary.backward != first.vocabulary.backward:
                    differ = "read in different directions"
                raise RerankError(
                    f"{member.name} and {first.name} {differ}, so their probabilities cannot be "
                    "averaged; combine them by sum"
                )
        self._tagger: Tagger | None = None
        models = (member for member in self.members if isinstance(member, Checkpoint))
        if readers := [member for member in models if member.vocabulary.reads_tags]:
            from reranker.scoring.tags import tagger_of

            self._tagger = tagger_of(self.members, readers)
        self.combination = combination
        self.lanes = lanes
        costs = [
            sum(products_of(member.model)) if isinstance(member, Checkpoint) else 0
            for member in self.members
        ]
        self._longest_first = sorted(range(len(costs)), key=lambda number: -costs[number])

    def on(self, lanes: Lanes) -> Ensemble:
        """Return this ensemble on other lanes."""
        other = copy(self)
        other.lanes = lanes
        return other

    def of(self, members: Sequence[int]) -> Ensemble:
        """Return an ensemble of some members, by number, on the same lanes."""
        return Ensemble([self.members[member] for member in members], self.combination, self.lanes)

    def log_probabilities(
        self, sequences: Sequence[Sequence[str]], cancellation: Cancellation
    ) -> list[Values]:
        """Return, for each sequence of tokens [M, T], the log-probability of each token, ``<eos>``
        included, under each member, in nats and in the tree's order even for backward members; M is
        1 for an average."""
        layouts = self.layouts(sequences, cancellation)
        edges = self.each(
            self._edge_values(member, layout, cancellation)
            for member, layout in zip(self.members, layouts, strict=True)
        )
        return self.by_sequence(edges, layouts, range(len(sequences)))

    def _edge_values(
        self, member: LoadedMember, layout: Layout, cancellation: Cancellation
    ) -> Callable[[], Values]:
        """Return the job that computes all values a member needs."""
        if isinstance(layout, SpanSequences):
            assert isinstance(member, SpanCheckpoint)
            model, vocabulary = member.model, member.vocabulary
            return partial(span_log_probabilities, model, vocabulary, layout, cancellation)
        assert isinstance(member, Checkpoint)
        return partial(edge_log_probabilities, member.model, layout, cancellation, self.lanes)

    def each(self, jobs: Iterable[Callable[[], T]]) -> list[T]:
        """Return the results of one job per member. The longest jobs start first, so that the lanes
        finish at about the same time."""
        by_member = list(jobs)
        results = self.lanes.compute([by_member[number] for number in self._longest_first])
        return [results[self._longest_first.index(number)] for number in range(len(by_member))]

    def unknown(self, words: Sequence[str]) -> int:
        """Return the number of words unknown to at least one member."""
        return sum(
            any(vocabulary.is_unknown(word) for vocabulary in self._vocabularies) for word in words
        )

    def layouts(
        self, sequences: Sequence[Sequence[str]], cancellation: Cancellation
    ) -> list[Layout]:
        """Return a layout for each member; language models with the same vocabulary share one, and
        so do all span models. Call it only from within ``Lanes.direct``. Raises Stopped if
        cancelled."""
        layouts: dict[int, Layout] = {}
        spans = None
        tagged: Sequence[Sequence[str]] = []
        if self._tagger:
            (tagged,) = self.lanes.compute([partial(self._tagger.tagged, sequences, cancellation)])
        for vocabulary in self._vocabularies:
            if isinstance(vocabulary, SpanVocabulary):
                spans = layouts[id(vocabulary)] = spans or SpanSequences(sequences)
            else:
                read = tagged if vocabulary.reads_tags else sequences
                ids = [vocabulary.encode(tokens) for tokens in read]
                layouts[id(vocabulary)] = Trie(ids, vocabulary.eos)
        return [layouts[id(member.vocabulary)] for member in self.members]

    def by_sequence(
        self, edges: Sequence[Values], layouts: Sequence[Layout], numbers: Iterable[int]
    ) -> list[Values]:
        """Return the values [M, T] of some sequences, from each member's values for the edges of
        its layout."""
        sequences = []
        for number in numbers:
            values = np.stack([e[t.paths[number]] for e, t in zip(edges, layouts, strict=True)])
            for row, member in zip(values, self.members, strict=True):
                if member.vocabulary.backward:
                    row[:-1] = row[:-1][::-1]
            if self.combination == "average":
                values = np.logaddexp.reduce(values, axis=0, keepdims=True) - np.log(len(edges))
            sequences.append(values)
        return sequences


def products_of(model: LanguageModel) -> tuple[int, int]:
    """Return the number of multiplications for a prefix in the layers and in the output."""
    layers = sum(weight.numel() for weight in model.layers.parameters())
    return layers, model.output_weight.numel() * max(1, sum(model.config.components))
