"""Language models judge the span models' shortlist: the same trees come out as from all scores."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from reranker.nbest import NBest, read_nbest
from reranker.pipeline import Reranker
from reranker.ranking import Ranking, Scored, Weighing
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.scorer import Scorer

ROOT = Path(__file__).parents[3]


@functools.cache
def lists() -> list[NBest]:
    return list(read_nbest(ROOT / "examples/parses.txt"))[2::8]


@functools.cache
def loaded() -> Reranker:
    return Reranker.load(ROOT / "ckpt", threads=1)


@functools.cache
def whole_rankings(nats: float) -> list[Ranking]:
    return list(loaded().rerank_lists(lists(), Weighing(shortlist=nats)))


@pytest.mark.parametrize(
    ("top", "nats", "patience"),
    [(1, 0.0, 0), (3, 0.0, 1_000_000), (1, 3.0, 1_000_000), (3, 3.0, 0), (1, 20.0, 0)],
)
def test_the_best_are_those_of_the_whole_ranking(
    top: int, nats: float, patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker, weighing = loaded(), Weighing(shortlist=nats)
    monkeypatch.setattr(reranker._winner_search, "_patience", patience)
    for some, every in zip(
        reranker.rerank_lists(lists(), weighing, top=top),
        whole_rankings(nats),
        strict=True,
    ):
        # Those left out never had a score, so nothing else tells them apart.
        assert some.ranking == every.cut(top).ranking
        assert some.margin == every.margin
        assert some.better_than_first == every.better_than_first


def test_language_models_judge_the_shortlist_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[int] = []
    score = Scorer.score

    def counted(self: Scorer, batch: list[DistinctCandidates], *rest: object) -> list[list[Scored]]:
        judged.extend(len(sentence.sequences) for sentence in batch)
        return score(self, batch, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Scorer, "score", counted)
    monkeypatch.setattr(loaded()._winner_search, "_patience", 1_000_000)
    (best,) = loaded().rerank_lists(lists()[:1], Weighing(shortlist=0.0), top=1)
    assert judged == [len({0, best[0].index})]


def test_the_default_ensemble_has_one() -> None:
    assert loaded().weighing == Weighing(member_weights=(0.4, 1.0), shortlist=1.0)
