"""Only the best are asked for: the same ones come out as when everything is scored."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from reranker.checkpoints.checkpoint import Checkpoint, load_checkpoint
from reranker.nbest import Candidate, NBest, read_nbest
from reranker.process.cancellation import Cancellation
from reranker.ranking import Scored, Weighing, rank
from reranker.ranking.ranker import Combination
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.ensemble import Ensemble
from reranker.scoring.lanes import Lanes
from reranker.scoring.scorer import Scorer
from reranker.scoring.winner import Pruner, WinnerSearch
from reranker.trees.linearize import linearize_text
from tests.reranker.small_lists import without_every_second_score

ROOT = Path(__file__).parents[3]
LISTS = list(read_nbest(ROOT / "examples/parses.txt"))[3::12]


@functools.cache
def members() -> list[Checkpoint]:
    """Return two members with one vocabulary, which can be averaged: the second is the first,
    slightly perturbed."""
    first, second = (load_checkpoint(ROOT / "ckpt/rnn-forward.pt") for _ in range(2))
    noise = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in second.model.parameters():
            weight.add_(0.2 * weight.std() * torch.randn(weight.shape, generator=noise))
    return [first, second]


@functools.cache
def searched(combination: Combination) -> tuple[Ensemble, WinnerSearch]:
    """Return the two members together, and a search of theirs; to make one takes seconds."""
    ensemble = Ensemble(members(), combination, Lanes(1))
    return ensemble, WinnerSearch(ensemble, patience_tokens=0)


def scored(nll: float) -> Scored:
    return Scored(nll=nll, perplexity=1.0, tokens=6, unknown_words=0, duplicate_of=None)


def pruner(optimistic: Sequence[float], top: int, parser: Sequence[float] = ()) -> Pruner:
    trees = [f"(S ({label} (X a)))" for label in "ABCDEFGH"[: len(optimistic)]]
    made = tuple(
        Candidate(i, tree, linearize_text(tree), parser[i] if parser else None, i)
        for i, tree in enumerate(trees)
    )
    weighing = Weighing(0.5 if parser else 1.0)
    return Pruner(
        DistinctCandidates(NBest("x", made, (), 1)),
        dict(enumerate(map(scored, optimistic))),
        weighing,
        top,
    )


def test_pruning_by_hand() -> None:
    found = pruner([10, 8, 9, 20], top=1)
    assert found.favourites == [1, 0]  # and the parser's first
    # The favourite's sum is 9.5: only candidates with a bound of 9.5 or less can be better.
    assert found.rivals({1: scored(9.5), 0: scored(11)}) == [2]
    assert found.rivals({1: scored(8.1), 0: scored(11)}) == []
    assert found.rivals({1: scored(30), 0: scored(40)}) == [2, 3]


def test_a_bound_that_is_equal_to_the_bar_stays_in() -> None:
    """And so does one that is worse by no more than sums may be wrong."""
    assert pruner([10, 8, 10.049, 10.051], top=1).rivals({1: scored(10)}) == [0, 2]


def test_the_best_two() -> None:
    found = pruner([10, 8, 9, 20], top=2)
    assert found.favourites == [1, 2, 0]
    assert found.rivals({1: scored(9), 2: scored(12), 0: scored(21)}) == []
    assert found.rivals({1: scored(9), 2: scored(22), 0: scored(21)}) == [3]


def test_the_parser_has_its_say() -> None:
    # Halves: -(10 + 2), -(8 + 6), -(9 + 1): the third is the most promising.
    assert pruner([10, 8, 9], top=1, parser=[-2, -6, -1]).favourites == [2, 0]


@pytest.mark.parametrize(
    ("combination", "weighing", "top"),
    [
        ("sum", Weighing(), 1),
        ("sum", Weighing(0.7, token_bonus=0.3), 2),
        ("average", Weighing(0.4, "token-perplexity"), 1),
    ],
)
def test_the_best_are_those_of_the_whole_ranking(
    combination: Combination, weighing: Weighing, top: int
) -> None:
    ensemble, search = searched(combination)
    scorer = Scorer(ensemble, False)
    sentences = [DistinctCandidates(nbest) for nbest in LISTS]
    left_out = 0
    for nbest, everything, best in zip(
        LISTS,
        scorer.score(sentences, Cancellation()),
        search.score(sentences, Cancellation(), scorer, weighing, top),
        strict=True,
    ):
        expected = rank(nbest, everything, weighing).cut(top)
        assert rank(nbest, best, weighing).cut(top) == expected
        left_out += best.count(None)
    assert left_out > sum(len(nbest.candidates) for nbest in LISTS) / 2


def test_what_has_no_parser_score_is_still_rejected() -> None:
    nbest = LISTS[0]
    without = without_every_second_score(nbest)
    weighing = Weighing(0.5)
    ensemble, search = searched("sum")
    scorer = Scorer(ensemble, False)
    sentence = DistinctCandidates(without)
    (best,) = search.score([sentence], Cancellation(), scorer, weighing, 1)
    (everything,) = scorer.score([sentence], Cancellation())
    found = rank(without, best, weighing).cut(1)
    assert found == rank(without, everything, weighing).cut(1)
    assert [one.code for one in found.rejected] == ["no-score"] * (len(nbest.candidates) // 2)


def test_a_small_job_is_scored_the_simple_way() -> None:
    ensemble = Ensemble(members()[:1], "sum", Lanes(1))
    scorer, weighing = Scorer(ensemble, False), Weighing()
    sentence = DistinctCandidates(LISTS[0])
    search = WinnerSearch(ensemble, patience_tokens=sentence.size + 1)
    (first,) = search.score([sentence], Cancellation(), scorer, weighing, 1)
    assert None not in first
    (second,) = search.score([sentence], Cancellation(), scorer, weighing, 1)
    assert None in second
