"""A cascade leaves out what it should, and scores the rest as if nothing were left out."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from reranker import Reranker
from reranker.cascade import Cascade, expected
from reranker.checkpoints.checkpoint import Checkpoint, load_checkpoint
from reranker.errors import InputError
from reranker.nbest import NBest, read_nbest
from reranker.process.cancellation import Cancellation, Stopped
from reranker.ranking import Scored, Weighing, mixed_score, rank
from reranker.scoring.cascade import CascadeSearch
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.ensemble import Ensemble
from reranker.scoring.lanes import Lanes
from reranker.scoring.scorer import Scorer
from tests.reranker.small_lists import without_every_second_score

ROOT = Path(__file__).parents[3]
# Two long lists and one of too few candidates to leave any out.
LISTS = list(read_nbest(ROOT / "examples/parses.txt"))[3:22:8]
LISTS[2] = replace(LISTS[2], candidates=LISTS[2].candidates[:6])
STAGES = (1,), (2,), (0,)


@functools.cache
def members() -> list[Checkpoint]:
    names = ("doc/doc-1", "rnn-forward", "doc/doc-2")
    return [load_checkpoint(ROOT / f"ckpt/{name}.pt") for name in names]


@functools.cache
def ensemble() -> Ensemble:
    return Ensemble(members(), "sum", Lanes(1))


@functools.cache
def everything() -> list[list[Scored]]:
    scorer = Scorer(ensemble(), False)
    return scorer.score([DistinctCandidates(nbest) for nbest in LISTS], Cancellation())


def found(cascade: Cascade, weighing: Weighing, top: int = 1) -> list[list[Scored | None]]:
    scorer = Scorer(ensemble(), False)
    batch = [DistinctCandidates(nbest) for nbest in LISTS]
    search = CascadeSearch(ensemble(), cascade)
    return search.score(batch, Cancellation(), scorer, weighing, top)


def stay(nbest: NBest, scores: Sequence[Scored], cascade: Cascade, top: int) -> set[int]:
    """The indices of candidates that stay, the slow and obvious way."""
    inside = {
        candidate.index: scored
        for candidate, scored in zip(nbest.candidates, scores, strict=True)
        if scored.duplicate_of is None
    }
    for stage in range(len(cascade.margins)):
        known = [member for members in cascade.stages[: stage + 1] for member in members]
        hoped = {}
        for index, scored in inside.items():
            nll = expected({member: scored.member_nll[member] for member in known}, len(members()))
            hoped[index] = mixed_score(
                nbest.candidates[index],
                replace(scored, nll=math.fsum(nll), member_nll=nll),
                cascade.weighing,
            )
        values = [value for value in hoped.values() if value is not None]
        if len(values) >= max(8, 2 * top):
            bar = sorted(values, reverse=True)[top - 1] - cascade.margins[stage]
            inside = {index: inside[index] for index, value in hoped.items() if (value or 0) >= bar}
    return {*inside}


@pytest.mark.parametrize("top", [1, 3])
@pytest.mark.parametrize(
    "weighing", [Weighing(), Weighing(0.6, member_weights=(0.5, 1.5, 1.0), token_bonus=0.25)]
)
def test_what_stays_and_its_scores(weighing: Weighing, top: int) -> None:
    cascade = Cascade(weighing, STAGES, (12.0, 4.0))
    left_out, answers = 0, found(cascade, weighing, top)
    for nbest, whole, some in zip(LISTS, everything(), answers, strict=True):
        expected_to_stay = stay(nbest, whole, cascade, top)
        for candidate, exact, scored in zip(nbest.candidates, whole, some, strict=True):
            original = candidate.index if exact.duplicate_of is None else exact.duplicate_of
            assert (scored is not None) == (original in expected_to_stay)
            if scored is not None:
                assert scored.member_nll == pytest.approx(exact.member_nll, abs=1e-4)
                assert replace(scored, nll=0, perplexity=0, member_nll=()) == replace(
                    exact, nll=0, perplexity=0, member_nll=()
                )
        assert len(expected_to_stay) >= min(top, len(whole))
        left_out += some.count(None)
    assert 0 < left_out < sum(len(nbest.candidates) for nbest in LISTS)
    assert None not in answers[2]  # the short list


def test_margins_as_wide_as_needed_miss_nothing() -> None:
    weighing = Weighing(0.8)
    cascade = Cascade(weighing, STAGES, (1e6, 1e6))
    for nbest, whole, some in zip(LISTS, everything(), found(cascade, weighing), strict=True):
        assert rank(nbest, some, weighing).cut(1) == rank(nbest, whole, weighing).cut(1)


def test_without_parser_scores_where_they_count() -> None:
    without = without_every_second_score(LISTS[0])
    weighing = Weighing(0.5)
    search = CascadeSearch(ensemble(), Cascade(weighing, STAGES, (1e6, 1e6)))
    scorer = Scorer(ensemble(), False)
    (some,) = search.score([DistinctCandidates(without)], Cancellation(), scorer, weighing, 1)
    (whole,) = scorer.score([DistinctCandidates(without)], Cancellation())
    ranking = rank(without, some, weighing).cut(1)
    assert ranking == rank(without, whole, weighing).cut(1)
    assert {one.code for one in ranking.rejected} == {"no-score"}


def test_it_stops() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    search = CascadeSearch(ensemble(), Cascade(Weighing(), STAGES, (1.0, 1.0)))
    with pytest.raises(Stopped):
        search.score(
            [DistinctCandidates(LISTS[0])],
            cancellation,
            Scorer(ensemble(), False),
            Weighing(),
            1,
        )


def test_a_reranker_with_a_cascade() -> None:
    cascade = Cascade(Weighing(), STAGES, (0.0, 0.0))
    hasty = Reranker(members(), threads=1, cascade=cascade)
    thorough = Reranker(members(), threads=1)
    # Everything is ranked where everything is asked for, and where the cascade does not hold.
    assert list(hasty.rerank_lists(LISTS[2:])) == list(thorough.rerank_lists(LISTS[2:]))
    other = Weighing(criterion="token-perplexity")
    assert [one.best for one in hasty.rerank_lists(LISTS[2:], other, top=1)] == [
        one.best for one in thorough.rerank_lists(LISTS[2:], other, top=1)
    ]
    # With no margin at all, the first model's favourite wins.
    first = Reranker([members()[1]], threads=1)
    for quick, alone in zip(
        hasty.rerank_lists(LISTS[:2], top=1), first.rerank_lists(LISTS[:2]), strict=True
    ):
        assert quick.best and alone.best and quick.best.index == alone.best.index
        assert {one.duplicate_of for one in quick[1:]} <= {quick.best.index}
        assert quick.beaten == len(alone) - len(quick) > 40
    assert hasty.signature(Weighing(), 1).endswith(" cascade=1/2/0 margins=0,0")
    assert hasty.signature(Weighing()) == thorough.signature(Weighing(), 1)


def test_it_must_fit_the_models() -> None:
    with pytest.raises(InputError, match="not made for the sum of these models"):
        Reranker(members()[:2], threads=1, cascade=Cascade(Weighing(), STAGES, (1.0, 1.0)))
    with pytest.raises(InputError, match="not made for the sum of these models"):
        Reranker(
            [members()[1]] * 2,
            "average",
            threads=1,
            cascade=Cascade(Weighing(), ((0,), (1,)), (1.0,)),
        )
