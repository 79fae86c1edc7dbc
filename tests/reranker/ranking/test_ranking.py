from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import nltk
import pytest

from reranker.errors import RerankError
from reranker.nbest import Candidate, NBest, Rejected
from reranker.ranking import Scored, Weighing, rank
from reranker.trees.linearize import linearize_text


def candidate(index: int, score: float | None) -> Candidate:
    text = f"(S (NP (A a)) (X{index} (B b)))"
    return Candidate(index, text, linearize_text(text), score, 10 + index)


def scored(nll: float, tokens: int = 8, duplicate_of: int | None = None) -> Scored:
    return Scored(nll, 1.0, tokens, 0, duplicate_of)


def nbest(*scores: float | None, rejected: tuple[Rejected, ...] = ()) -> NBest:
    return NBest("s", tuple(candidate(i, score) for i, score in enumerate(scores)), rejected, 1)


def order(parser: list[float | None], nlls: list[Scored], weighing: Weighing) -> list[int]:
    return [one.index for one in rank(nbest(*parser), nlls, weighing).ranking]


def test_lowest_nll_first_and_ties_keep_the_parsers_order() -> None:
    nlls = [scored(12.0), scored(10.0), scored(10.00001), scored(11.0)]
    assert order([None] * 4, nlls, Weighing()) == [1, 2, 3, 0]


def test_scores_that_differ_by_less_than_they_are_exact_to_are_a_tie() -> None:
    """A difference beyond 4 decimals is a tie, which the parser's first wins; else the better one
    wins."""
    tie = rank(nbest(None, None), [scored(10.00004), scored(10.0)], Weighing())
    assert [(one.index, one.score, one.nll) for one in tie] == [(0, -10.0, 10.0), (1, -10.0, 10.0)]
    assert order([None, None], [scored(10.00006), scored(10.0)], Weighing()) == [1, 0]
    # 0.5 * 10.00006 + 0.5 * 20 = 15.00003
    assert order([-20.0, -20.0], [scored(10.00006), scored(10.0)], Weighing(0.5)) == [0, 1]


def test_figures_are_rounded() -> None:
    several = replace(by_members(6.00004, 4.3), perplexity=1.2345678)
    ranking = rank(nbest(None, None), [several, by_members(8.0, 2.0)], Weighing())
    first, second = ranking
    assert (first.index, ranking.margin) == (1, 0.3)  # 10.3 - 10.0 is 0.3000000000000007
    assert (second.nll, second.member_nll, second.perplexity) == (10.3, (6.0, 4.3), 1.23457)


def test_the_best_few_with_what_repeats_them() -> None:
    """The best two of three different candidates, each with a duplicate."""
    nlls = [scored(10.0), scored(12.0), scored(11.0)]
    nlls += [replace(nlls[index], duplicate_of=index) for index in (2, 1, 0)]
    ranking = rank(nbest(*[None] * 6), nlls, Weighing()).cut(2)
    assert [one.index for one in ranking] == [0, 5, 2, 3]
    assert ranking.beaten == 2
    assert len(rank(nbest(*[None] * 6), nlls, Weighing()).cut(3)) == 6


def test_mixing_with_the_parser() -> None:
    # w=0.5: 0.5*-10 + 0.5*-30 = -20 and 0.5*-12 + 0.5*-20 = -16
    ranking = rank(nbest(-30.0, -20.0), [scored(10.0), scored(12.0)], Weighing(0.5))
    assert [(one.index, one.score) for one in ranking.ranking] == [(1, -16.0), (0, -20.0)]
    assert ranking.margin == 4.0
    assert order([-30.0, -20.0], [scored(10.0), scored(12.0)], Weighing(0.0)) == [1, 0]
    assert order([-30.0, -20.0], [scored(10.0), scored(12.0)], Weighing(1.0)) == [0, 1]


def test_per_token_criterion_can_disagree_with_the_total() -> None:
    nlls = [scored(10.0, tokens=5), scored(12.0, tokens=8)]  # 2.0 and 1.5 nats a token
    assert order([None, None], nlls, Weighing()) == [0, 1]
    assert order([None, None], nlls, Weighing(1.0, "token-perplexity")) == [1, 0]


def test_a_duplicate_takes_the_score_of_its_first_and_stands_after_it() -> None:
    # Candidate 2 repeats 0 and has a better parser score, which must not lift it above 0.
    nlls = [scored(10.0), scored(10.5), scored(10.0, duplicate_of=0)]
    ranking = rank(nbest(-5.0, -9.0, -1.0), nlls, Weighing(0.5))
    assert [(one.index, one.score) for one in ranking.ranking] == [(0, -7.5), (2, -7.5), (1, -9.75)]
    assert ranking.ranking[1].duplicate_of == 0
    assert ranking.margin == 2.25  # to the first different tree, not to the duplicate


def test_no_parser_score_is_rejected_only_when_it_is_needed() -> None:
    ranking = rank(nbest(-5.0, None), [scored(10.0), scored(9.0)], Weighing(0.5))
    assert [one.index for one in ranking.ranking] == [0]
    assert [(one.index, one.line, one.code) for one in ranking.rejected] == [(1, 11, "no-score")]
    assert rank(nbest(-5.0, None), [scored(10.0), scored(9.0)], Weighing()).rejected == ()


def test_what_is_rejected_stands_in_the_parsers_order() -> None:
    """Candidates 0, 2 and 5 are rejected when they are read, 1 for want of a score."""
    read = tuple(Rejected(index, 20 + index, "empty", "no words", "()") for index in (0, 2, 5))
    ranking = rank(nbest(-5.0, None, rejected=read), [scored(10.0), scored(9.0)], Weighing(0.5))
    assert [(one.index, one.code) for one in ranking.rejected] == [
        (0, "empty"), (1, "no-score"), (2, "empty"), (5, "empty"),
    ]  # fmt: skip


def test_nothing_usable() -> None:
    broken = Rejected(0, 3, "unbalanced", "1 bracket(s) left open at the end", "(S")
    ranking = rank(nbest(rejected=(broken,)), [], Weighing())
    assert (ranking.status, ranking.tree, ranking.best, ranking.margin) == (
        "failed", "(TOP )", None, None,
    )  # fmt: skip
    assert json.loads(json.dumps(ranking.to_dict(), allow_nan=False)) == {
        "version": 2,
        "id": "s",
        "status": "failed",
        "best_index": None,
        "margin": None,
        "confidence": None,
        "better_than_first": None,
        "fallback": "(TOP )",
        "ranking": [],
        "rejected": [
            {
                "index": 0,
                "file": "",
                "line": 3,
                "code": "unbalanced",
                "message": "1 bracket(s) left open at the end",
            }
        ],
    }


def by_members(*nlls: float, tokens: int = 8) -> Scored:
    return Scored(sum(nlls), 1.0, tokens, 0, None, member_nll=nlls)


def test_member_weights() -> None:
    scores = [by_members(10.0, 4.0), by_members(6.0, 9.0)]
    assert order([None, None], scores, Weighing()) == [0, 1]  # 14 against 15
    # 1.5 * 10 + 0.5 * 4 = 17 and 1.5 * 6 + 0.5 * 9 = 13.5
    ranking = rank(nbest(None, None), scores, Weighing(member_weights=(1.5, 0.5)))
    assert [(one.index, one.score) for one in ranking.ranking] == [(1, -13.5), (0, -17.0)]
    assert [one.nll for one in ranking.ranking] == [15.0, 14.0]  # as ever
    # Mixed: 0.5 * -17 + 0.5 * -20 and 0.5 * -13.5 + 0.5 * -30
    mixed = rank(nbest(-20.0, -30.0), scores, Weighing(0.5, member_weights=(1.5, 0.5)))
    assert [(one.index, one.score) for one in mixed.ranking] == [(0, -18.5), (1, -21.75)]


def test_weights_of_one_change_nothing() -> None:
    scores = [by_members(10.1, 4.2, 0.3), by_members(6.4, 9.5, 0.6)]
    assert rank(nbest(-1.0, -2.0), scores, Weighing(0.3)) == rank(
        nbest(-1.0, -2.0), scores, Weighing(0.3, member_weights=(1.0, 1.0, 1.0))
    )


def test_a_token_bonus_belongs_to_the_models() -> None:
    scores = [scored(10.0, tokens=8), scored(11.0, tokens=12)]
    # -10 + 0.5 * 8 = -6 and -11 + 0.5 * 12 = -5
    ranking = rank(nbest(None, None), scores, Weighing(token_bonus=0.5))
    assert [(one.index, one.score) for one in ranking.ranking] == [(1, -5.0), (0, -6.0)]
    # Half of them, and half of -30 and -31
    ranking = rank(nbest(-30.0, -31.0), scores, Weighing(0.5, token_bonus=0.5))
    assert [(one.index, one.score) for one in ranking.ranking] == [(0, -18.0), (1, -18.0)]
    # Without the models there is none.
    assert order([-30.0, -31.0], scores, Weighing(0.0, token_bonus=0.5)) == [0, 1]


def test_member_weights_must_fit_the_members() -> None:
    three = Weighing(member_weights=(1.0, 1.0, 1.0))
    with pytest.raises(RerankError, match=r"3 member weights.* 2 "):
        rank(nbest(None), [by_members(10.0, 4.0)], three)
    with pytest.raises(RerankError, match=r"3 member weights.* 1 "):
        rank(nbest(None), [scored(10.0)], three)
    (one,) = rank(nbest(None), [scored(10.0)], Weighing(member_weights=(0.5,))).ranking
    assert one.score == -5.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"lm_weight": -0.1},
        {"lm_weight": math.nan},
        {"criterion": "beauty"},
        {"member_weights": (1.0, -1.0)},
        {"member_weights": (math.inf,)},
        {"member_weights": (0.0, 0.0)},
        {"token_bonus": math.inf},
        {"token_bonus": math.nan},
    ],
)
def test_weighings_that_cannot_be_meant(wrong: dict[str, Any]) -> None:
    with pytest.raises(RerankError, match=next(iter(wrong))):
        Weighing(**wrong)


def test_what_is_asked_for_goes_before_what_was_tuned() -> None:
    tuned = Weighing(0.4, "perplexity", (0.5, 1.5), -0.25)
    assert tuned.replaced(None, None) == tuned
    assert tuned.replaced(1.0, None) == Weighing(1.0, "perplexity", (0.5, 1.5), -0.25)
    assert tuned.replaced(0.0, "token-perplexity").lm_weight == 0
    assert tuned.replaced(None, "token-perplexity").criterion == "token-perplexity"
    assert tuned.signature() == (
        "criterion=perplexity lm-weight=0.4 member-weights=0.5,1.5 token-bonus=-0.25"
    )
    assert Weighing().signature() == "criterion=perplexity lm-weight=1"


def test_the_members_parts_are_told_where_there_are_several() -> None:
    data = rank(nbest(None), [by_members(10.00004, 4.0)], Weighing()).to_dict()
    assert data["ranking"][0]["member_nll"] == (10.0, 4.0)
    for alone in (by_members(10.0), scored(10.0)):
        assert "member_nll" not in rank(nbest(None), [alone], Weighing()).to_dict()["ranking"][0]


def test_a_ranking_is_a_sequence_of_its_candidates() -> None:
    ranking = rank(nbest(None, None, None), [scored(12.0), scored(10.0), scored(11.0)], Weighing())
    assert len(ranking) == 3
    assert [entry.index for entry in ranking] == [1, 2, 0]
    assert ranking[0] is ranking.best
    assert [entry.index for entry in ranking[1:]] == [2, 0]
    empty = rank(nbest(), [], Weighing())
    assert (len(empty), list(empty), bool(empty)) == (0, [], True)


def test_the_best_tree_as_an_nltk_tree() -> None:
    best = rank(nbest(None), [scored(1.0)], Weighing()).best
    assert best is not None
    assert best.nltk_tree() == nltk.Tree.fromstring("(S (NP (A a)) (X0 (B b)))")


def by_spans(nll: float, span_nll: float) -> Scored:
    return Scored(nll, 1.0, 8, 0, None, span_nll=span_nll)


def test_the_shortlist_by_hand() -> None:
    """The limit is 5 + 3: the third candidate, though best in all, comes 1 nat below the worst on
    the list; the fourth is worse as it is."""
    scores = [by_spans(21.0, 5.0), by_spans(20.0, 8.0), by_spans(11.0, 9.0), by_spans(30.0, 10.5)]
    lists = nbest(-1.0, -2.0, -3.0, -4.0)
    ranking = rank(lists, scores, Weighing(shortlist=3.0))
    assert [(one.index, one.score, one.mixed_score) for one in ranking] == [
        (1, -20.0, None),
        (0, -21.0, None),
        (2, -22.0, -11.0),
        (3, -30.0, None),
    ]
    assert ranking.margin == 1.0
    assert "mixed_score" not in ranking[0].to_dict()
    assert ranking[2].to_dict()["mixed_score"] == -11.0
    # With the first alone on the list there is nobody to be ahead of.
    assert rank(lists, scores, Weighing(shortlist=0.0)).margin is None


def test_without_a_shortlist_all_are_judged() -> None:
    scores = [by_spans(21.0, 5.0), by_spans(20.0, 8.0), by_spans(11.0, 9.0)]
    for weighing in (
        Weighing(),
        Weighing(0.9, shortlist=3.0),  # the parser's scores count, too
        Weighing(criterion="token-perplexity", shortlist=3.0),
    ):
        ranking = rank(nbest(-2.0, -2.0, -2.0), scores, weighing)
        assert [one.index for one in ranking] == [2, 1, 0]
        assert ranking[0].mixed_score is None
    assert order([None] * 2, [scored(2.0), scored(1.0)], Weighing(shortlist=0.0)) == [1, 0]


def test_repetitions_leave_the_shortlist_together() -> None:
    scores = [by_spans(3.0, 1.0), by_spans(1.0, 9.0), replace(by_spans(1.0, 9.0), duplicate_of=1)]
    ranking = rank(nbest(None, None, None), scores, Weighing(shortlist=2.0))
    assert [(one.index, one.score) for one in ranking] == [(0, -3.0), (1, -9.0), (2, -9.0)]


@pytest.mark.parametrize("nats", [-1.0, math.nan, True, "3"])
def test_shortlists_of_no_length(nats: Any) -> None:
    with pytest.raises(RerankError):
        Weighing(shortlist=nats)
