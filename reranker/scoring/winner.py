"""The search for the best few candidates only: exact scores for those that can still be among them,
and proof that the others cannot. Nothing outside this file depends on the method.

Where span models and language models score together, the former, which read a sentence once for all
of its candidates, choose those that the latter judge, by the rule of ``ranking.span_limit``.

Words are first predicted with a small stand-in for the output layer (``Coarse``), whose normaliser
is never above the real one, so that every score is optimistic, at a tenth of the cost. The most
promising candidates are scored exactly, then those that might still beat them. The features are
kept, so the layers are computed once.

The pipeline uses ``WinnerSearch``; below it, ``Pruner`` decides for a sentence, ``TwoPassScorer``
computes for a batch, and ``coarse_output`` makes the stand-in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from threading import Lock
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.members import LoadedMember
from reranker.checkpoints.span_file import SpanCheckpoint
from reranker.models import LanguageModel
from reranker.process.cancellation import Cancellation
from reranker.process.machine import return_freed_memory
from reranker.ranking import SCORE_DECIMALS, Scored, Weighing, mixed_score, repeating, span_limit
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.ensemble import Ensemble, Layout, Values, products_of
from reranker.scoring.scorer import Scorer
from reranker.scoring.spans import SpanSequences, span_log_probabilities
from reranker.scoring.trie import Numbers, Trie
from reranker.scoring.walk import Predictors, decoded, walked
from reranker.scoring.windows import window_rows

# Lists with fewer different candidates are scored as a whole: bounds would not pay.
FEWEST = 8

# Making the stand-ins costs some tenths of a second, as searching this many tokens saves.
_PATIENCE_TOKENS = 5_000

# Bounds that cost more than this share of the scores do not pay: in the end, words are predicted
# exactly for a fifth of all prefixes (docs/research/performance.md).
_MAX_COST_SHARE = 0.75

# Bytes of the predictors kept for a batch, and for a longer list, if no two candidates begin alike.
_BATCH_BYTES, _LIST_BYTES = 100_000_000, 200_000_000

# The nats by which bounds and scores may be wrong, and ten times more: sums of float32, and of
# 8-bit integers (docs/research/performance.md).
_ROUNDING = 0.05

# Some of a sentence's different candidates, by their places in DistinctCandidates.sequences.
Places = Mapping[DistinctCandidates, Iterable[int]]


class WinnerSearch:
    """The search for the best few under one ensemble."""

    def __init__(self, ensemble: Ensemble, patience_tokens: float = _PATIENCE_TOKENS) -> None:
        """Score the first ``patience_tokens`` that could be searched in the simple way: a small job
        ends before the search would pay off."""
        self._ensemble = ensemble
        self._patience = patience_tokens
        self._lock = Lock()
        members = enumerate(ensemble.members)
        spans = [number for number, member in members if isinstance(member, SpanCheckpoint)]
        is_mixed = 0 < len(spans) < len(ensemble.members)
        self._span_models = ensemble.of(spans) if is_mixed else None

    def pays_off(self, weighing: Weighing) -> bool:
        """Return whether the best few are found sooner than all scores."""
        return self._bounds_pay_off or self._has_shortlist(weighing)

    def _has_shortlist(self, weighing: Weighing) -> bool:
        return self._span_models is not None and span_limit([0.0], weighing) < math.inf

    @cached_property
    def _bounds_pay_off(self) -> bool:
        """Return whether upper bounds are enough cheaper than scores to compute them first."""
        full = coarse = 0.0
        for member in self._language_models:
            layers, decoder = products_of(member.model)
            full += layers + decoder
            coarse += layers + decoder * _share(len(member.model.output_weight))
        return coarse < _MAX_COST_SHARE * full

    @property
    def batch_tokens(self) -> int:
        """Return the number of tokens searched at a time, to limit memory."""
        return _BATCH_BYTES // self._token_bytes

    @cached_property
    def _token_bytes(self) -> int:
        sizes = (
            member.model.output_weight.shape[1] * max(1, sum(member.model.config.components))
            for member in self._language_models
        )
        return 4 * sum(sizes)

    @property
    def _language_models(self) -> list[Checkpoint]:
        """Return the members whose scores take long, which are not span models."""
        members = self._ensemble.members
        return [member for member in members if isinstance(member, Checkpoint)]

    def score(
        self,
        batch: Sequence[DistinctCandidates],
        cancellation: Cancellation,
        scorer: Scorer,
        weighing: Weighing,
        top: int,
    ) -> list[list[Scored | None]]:
        """Return the scores, as ``Scorer.score`` does, of at least the ``top`` best distinct
        candidates of each sentence, of the second best, and of the parser's first. None for others.
        Raises Stopped if cancelled."""
        if self._span_models is None or not self._has_shortlist(weighing):
            return self._searched(batch, cancellation, scorer, weighing, max(top, 2))
        kept = _kept(batch, self._span_models, cancellation, weighing, top)
        short = [sentence.only(places) for sentence, (places, _) in zip(batch, kept, strict=True)]
        # Mixed scores do not know who is on the shortlist: others might take their places.
        others = max((len(places) - is_on for places, is_on in kept), default=0)
        scores = self._searched(short, cancellation, scorer, weighing, max(top, 2) + others)
        results = []
        for sentence, some, scored in zip(batch, short, scores, strict=True):
            indices = (candidate.index for candidate in some.nbest.candidates)
            by_index = dict(zip(indices, scored, strict=True))
            results.append([by_index.get(each.index) for each in sentence.nbest.candidates])
        return results

    def _searched(
        self,
        batch: Sequence[DistinctCandidates],
        cancellation: Cancellation,
        scorer: Scorer,
        weighing: Weighing,
        top: int,
    ) -> list[list[Scored | None]]:
        """Return ``score`` without a shortlist."""
        fewest = max(FEWEST, 2 * top)
        searched = [
            sentence
            for sentence in batch
            if self._bounds_pay_off
            and len(sentence.sequences) >= fewest
            and sentence.size <= _LIST_BYTES // self._token_bytes
        ]
        with self._lock:  # batches are scored side by side
            self._patience -= sum(sentence.size for sentence in searched)
            is_early = self._patience > 0
        if is_early or not searched:
            return [list(scores) for scores in scorer.score(batch, cancellation)]
        best = self._best(searched, cancellation, scorer, weighing, top)
        exact = dict(zip(searched, best, strict=True))
        whole = [sentence for sentence in batch if sentence not in exact]
        scores = dict(zip(whole, scorer.score(whole, cancellation), strict=True))
        return [
            [
                repeating(exact[sentence][place], original) if place in exact[sentence] else None
                for place, original in sentence.candidates
            ]
            if sentence in exact
            else list(scores[sentence])
            for sentence in batch
        ]

    def _best(
        self,
        batch: Sequence[DistinctCandidates],
        cancellation: Cancellation,
        scorer: Scorer,
        weighing: Weighing,
        top: int,
    ) -> list[dict[int, Scored]]:
        """Return, for each sentence, the exact scores of the places that can be among the best."""
        everything = {sentence: range(len(sentence.sequences)) for sentence in batch}
        numbers = {key: number for number, key in enumerate(_keys(everything))}
        sequences = [tokens for sentence in batch for tokens in sentence.sequences]
        with self._lock:  # made once
            stand_ins = self._stand_ins
        two_pass = TwoPassScorer(self._ensemble, stand_ins, sequences, cancellation)

        def exact(wanted: Places) -> list[dict[int, Scored]]:
            values = iter(two_pass.exact([numbers[key] for key in _keys(wanted)]))
            return [scorer.scored(sentence, wanted[sentence], values) for sentence in batch]

        bounds = iter(two_pass.upper_bounds())
        pruners = {
            sentence: Pruner(
                sentence, scorer.scored(sentence, everything[sentence], bounds), weighing, top
            )
            for sentence in batch
        }
        favourites = exact({sentence: pruners[sentence].favourites for sentence in batch})
        rivals = {
            sentence: pruners[sentence].rivals(scored)
            for sentence, scored in zip(batch, favourites, strict=True)
        }
        return [scored | more for scored, more in zip(favourites, exact(rivals), strict=True)]

    @cached_property
    def _stand_ins(self) -> list[Coarse | None]:
        """Return a stand-in for each member: the output itself if the vocabulary is small, None for
        a span model."""
        stand_ins: list[Coarse | None] = []
        for member in self._ensemble.members:
            if isinstance(member, Checkpoint):
                output = member.model.output_weight, member.model.decoder_bias
                stand_ins.append(coarse_output(*output) or Coarse(*output))
            else:
                stand_ins.append(None)
        return_freed_memory()  # clustering takes much
        return stand_ins


def _kept(
    batch: Sequence[DistinctCandidates],
    span_models: Ensemble,
    cancellation: Cancellation,
    weighing: Weighing,
    top: int,
) -> list[tuple[set[int], int]]:
    """Return, for each sentence, the places of the candidates to score, and how many of them are on
    the shortlist: the others are the parser's first and, if the list is too short, all."""
    sequences = [tokens for sentence in batch for tokens in sentence.sequences]
    values = iter(span_models.log_probabilities(sequences, cancellation))
    kept = []
    for sentence in batch:
        places = range(len(sentence.sequences))
        nlls = [round(float(-next(values).sum(1).sum()), SCORE_DECIMALS) for _ in places]
        limit = span_limit(nlls, weighing)
        is_on = [place for place in places if nlls[place] <= limit]
        others = [sentence.first] if sentence.first is not None else []
        if len(is_on) < top:
            others = [*places]
        kept.append(({*is_on, *others}, len(is_on)))
    return kept


def _keys(places: Places) -> list[tuple[DistinctCandidates, int]]:
    return [(sentence, place) for sentence, some in places.items() for place in some]


class Pruner:
    """The distinct candidates of one sentence, for a search for its ``top`` best."""

    def __init__(
        self,
        sentence: DistinctCandidates,
        bounds: Mapping[int, Scored],
        weighing: Weighing,
        top: int,
    ) -> None:
        """Choose the favourites; ``bounds`` are optimistic scores for every place of
        ``sentence.sequences``."""
        self._sentence, self._weighing, self._top = sentence, weighing, top
        self._optimistic = place_scores(sentence, bounds.get, weighing)
        best_first = sorted(self._optimistic, key=lambda place: -self._optimistic[place])
        self.favourites: list[int] = best_first[:top]
        """The places to score first, including the parser's first candidate."""
        if sentence.first is not None and sentence.first not in self.favourites:
            self.favourites.append(sentence.first)

    def rivals(self, exact: Mapping[int, Scored]) -> list[int]:
        """Return the other places that may still be among the best, given the favourites'
        scores."""
        scores = place_scores(self._sentence, exact.get, self._weighing)
        reached = sorted(scores.values(), reverse=True)
        if len(reached) < self._top:
            return []
        bar = reached[self._top - 1] - _ROUNDING
        return [
            place
            for place, score in self._optimistic.items()
            if score >= bar and place not in exact
        ]


def place_scores(
    sentence: DistinctCandidates, scored: Callable[[int], Scored | None], weighing: Weighing
) -> dict[int, float]:
    """Return the mixed score at each place of ``sentence.sequences``, as in ``rank``, without
    places that have none."""
    scores: dict[int, float] = {}
    settled: set[int | None] = set()
    for candidate, (place, original) in zip(
        sentence.nbest.candidates, sentence.candidates, strict=True
    ):
        known = scored(place)
        score = None if known is None else mixed_score(candidate, known, weighing)
        if score is None or original in settled:
            continue
        if original is None:  # its repetitions take its score
            settled.add(candidate.index)
        scores[place] = max(score, scores.get(place, score))
    return scores


class TwoPassScorer:
    """A scorer that walks sequences once, for bounds of all first and then exact values of some.
    Raises Stopped if cancelled."""

    def __init__(
        self,
        ensemble: Ensemble,
        stand_ins: Sequence[Coarse | None],
        sequences: Sequence[Sequence[str]],
        cancellation: Cancellation,
    ) -> None:
        self._ensemble, self._stand_ins, self._count = ensemble, stand_ins, len(sequences)
        self._layouts = ensemble.layouts(sequences, cancellation)
        self._walks: list[CachedWalk | KnownValues] = ensemble.each(
            partial(_walk, member, layout, cancellation)
            for member, layout in zip(ensemble.members, self._layouts, strict=True)
        )
        # Values by member and edge; NaN if not computed yet.
        self._known = [np.full(layout.edges, np.nan) for layout in self._layouts]

    def upper_bounds(self) -> list[Values]:
        """Return values no less than ``exact``, except for rounding, for every sequence [M, T]."""
        edges = self._ensemble.each(
            partial(walk.upper_bounds, stand_in)
            for walk, stand_in in zip(self._walks, self._stand_ins, strict=True)
        )
        return self._ensemble.by_sequence(edges, self._layouts, range(self._count))

    def exact(self, numbers: Sequence[int]) -> list[Values]:
        """Return ``Ensemble.log_probabilities`` of some of the sequences [M, T]."""
        missing = []
        for layout, known in zip(self._layouts, self._known, strict=True):
            wanted = np.zeros(layout.edges, dtype=np.bool_)
            for number in numbers:
                wanted[layout.paths[number]] = True
            missing.append(np.flatnonzero(wanted & np.isnan(known)))
        computed = self._ensemble.each(
            partial(walk.exact, edges) for walk, edges in zip(self._walks, missing, strict=True)
        )
        for known, edges, values in zip(self._known, missing, computed, strict=True):
            known[edges] = values
        return self._ensemble.by_sequence(self._known, self._layouts, numbers)


def _walk(
    member: LoadedMember, layout: Layout, cancellation: Cancellation
) -> CachedWalk | KnownValues:
    if isinstance(layout, SpanSequences):
        assert isinstance(member, SpanCheckpoint)
        return KnownValues(
            span_log_probabilities(member.model, member.vocabulary, layout, cancellation)
        )
    assert isinstance(member, Checkpoint)
    return CachedWalk(member.model, layout, cancellation)


class KnownValues:
    """The exact values of a span model, which cost less than bounds of a language model's
    values."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self._values = values

    def upper_bounds(self, stand_in: Coarse | None) -> NDArray[np.float64]:
        """Return log P of every edge."""
        return self._values

    def exact(self, edges: Numbers) -> NDArray[np.float64]:
        """Return log P of some edges."""
        return self._values[edges]


class CachedWalk:
    """A trie walked once by one model, whose features are kept."""

    def __init__(
        self, model: LanguageModel, trie: Trie, cancellation: Cancellation | None = None
    ) -> None:
        self._model, self._trie = model, trie
        self._predictors: list[Predictors] = list(walked(model, trie, cancellation))
        self._starts = np.cumsum([0, *(len(part.components) for part in self._predictors)])

    def upper_bounds(self, stand_in: Coarse | None) -> NDArray[np.float64]:
        """Return values no less than log P of every edge, except for rounding, in nats."""
        assert stand_in is not None
        return self._values(np.arange(self._trie.edges), (stand_in.weight, stand_in.bias))

    def exact(self, edges: Numbers) -> NDArray[np.float64]:
        """Return log P of some edges, in ascending order; the same as
        ``edge_log_probabilities``."""
        return self._values(edges, None)

    def _values(
        self, edges: Numbers, stand_in: tuple[Tensor, Tensor] | None
    ) -> NDArray[np.float64]:
        values = np.empty(len(edges))
        rows, row_of = np.unique(self._trie.edge_rows[edges], return_inverse=True)
        targets = self._trie.edge_targets[edges]
        most = window_rows(self._model.embedding.device)
        for start in range(0, len(rows), most):
            some = slice(*np.searchsorted(row_of, (start, start + most)))
            predictors = self._chosen(rows[start : start + most])
            values[some] = decoded(
                self._model, predictors, row_of[some] - start, targets[some], stand_in
            )
        return values

    def _chosen(self, rows: Numbers) -> Predictors:
        """Return the predictors of some rows, in ascending order."""
        parts = []
        for start, window in zip(self._starts, self._predictors, strict=False):
            first, last = np.searchsorted(rows, (start, start + len(window.components)))
            chosen = torch.from_numpy(rows[first:last] - start).to(window.components.device)
            parts.append([part[chosen] for part in window])
        return Predictors(*map(torch.cat, zip(*parts, strict=True)))


_FREQUENT_SYMBOLS, _CLUSTERS = 640, 192
_ROUNDS = 2  # with eight the bounds are hardly nearer


class Coarse(NamedTuple):
    """A stand-in for the output weight [V, D] and bias [V]."""

    weight: Tensor  # [V', D]
    bias: Tensor  # [V']


def coarse_output(
    weight: Tensor, bias: Tensor, frequent: int = _FREQUENT_SYMBOLS, clusters: int = _CLUSTERS
) -> Coarse | None:
    """Return a stand-in for ``weight`` [V, D] and ``bias`` [V], symbols most frequent first, whose
    normaliser is never above theirs. None if it would save less than half of the vocabulary.

    The most frequent symbols stay; the others are put into clusters, and a cluster becomes one
    symbol worth no more than its members: with c = sum_v exp(b_v), Jensen's inequality gives

        sum_v exp(b_v + W_v k)  >=  c exp(sum_v (exp(b_v) / c) W_v k)   for every k.
    """
    if _share(len(weight), frequent, clusters) == 1:
        return None
    rare, rare_bias = weight[frequent:].double(), bias[frequent:].double()
    cluster = _clusters(weight[frequent:].float(), clusters)
    shares = rare_bias.exp()
    sums = torch.zeros_like(rare[:clusters, 0]).index_add_(0, cluster, shares)
    centers = torch.zeros_like(rare[:clusters]).index_add_(0, cluster, rare * shares.unsqueeze(1))
    used = sums > 0
    means, worth = centers[used] / sums[used].unsqueeze(1), sums[used].log()
    all_weight = torch.cat([weight[:frequent], means.to(weight)])
    all_bias = torch.cat([bias[:frequent], worth.to(bias)])
    return Coarse(all_weight, all_bias)


def _share(size: int, frequent: int = _FREQUENT_SYMBOLS, clusters: int = _CLUSTERS) -> float:
    """Return the largest share of a vocabulary of this size that a stand-in has; 1 without a
    stand-in."""
    return (frequent + clusters) / size if size >= 2 * (frequent + clusters) else 1.0


def _clusters(points: Tensor, count: int) -> Tensor:
    """Return the cluster of each point: k-means from points evenly spread over the frequencies."""
    centers = points[torch.linspace(0, len(points) - 1, count).long()]
    for _ in range(_ROUNDS):
        # Of the squared distance |x|^2 - 2 (x c - |c|^2 / 2), only the bracket tells centers apart.
        half = (centers * centers).sum(1) / 2
        nearest = torch.cat(
            [
                torch.addmm(half, some, centers.T, beta=-1).argmax(1)
                for some in torch.split(points, 512)
            ]
        )
        sizes = torch.bincount(nearest, minlength=count).unsqueeze(1)
        sums = torch.zeros_like(centers).index_add_(0, nearest, points)
        centers = torch.where(sizes > 0, sums / sizes.clamp(min=1), centers)
    return nearest
