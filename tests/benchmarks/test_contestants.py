"""Contestants of the benchmark: equal scores, and tables that say what was measured."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from benchmarks.scoring import measure
from benchmarks.scoring.__main__ import agreement, compare, comparison
from benchmarks.scoring.authors import halved
from benchmarks.scoring.contestants import OURS, Contestant, Scorer
from benchmarks.scoring.lists import Setting, TimedSentence, encoded, untrained
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.models import Config
from reranker.nbest import Candidate, NBest
from tests.reranker.scoring.one_by_one import score_one_by_one

VOCABULARY = Vocabulary(["<eos>", "<unk>", "(<unk>", ")<unk>", "a", "b", "c"])
EOS, A, B, C = 0, 4, 5, 6


def sentence_of(*candidates: str) -> TimedSentence:
    made = tuple(Candidate(i, one, tuple(one.split()), None, 1) for i, one in enumerate(candidates))
    return encoded([NBest("0", made, (), 1)], VOCABULARY)[0]


@pytest.fixture(autouse=True)
def _small_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure the machine in no time."""
    monkeypatch.setattr(measure, "MATRIX", 64)


# The third candidate repeats the first.
SENTENCES = [sentence_of("a b", "a c c", "a b"), sentence_of("b", "")]


def small_model(seed: int = 0) -> Checkpoint:
    checkpoint = untrained(Config(7, 3, (5, 5, 4), (0, 0, 1, 2)), VOCABULARY, seed)
    torch.nn.init.normal_(checkpoint.model.embedding)
    return checkpoint


def expected_scores(checkpoints: list[Checkpoint]) -> list[NDArray[np.float64]]:
    by_model = [
        [score_one_by_one(checkpoint.model, sentence.ids, EOS) for sentence in SENTENCES]
        for checkpoint in checkpoints
    ]
    return [np.sum(one, axis=0) for one in zip(*by_model, strict=True)]


@pytest.mark.parametrize("contestant", OURS, ids=lambda contestant: contestant.name)
def test_everybody_scores_alike(contestant: Contestant) -> None:
    checkpoints = [small_model(1), small_model(2)]
    found = contestant.prepare(checkpoints, 1)(SENTENCES)
    for scores, expected in zip(found, expected_scores(checkpoints), strict=True):
        best = int(expected.argmax())
        if contestant.winner_only:
            assert int(scores.argmax()) == best
            assert np.isinf(np.delete(scores, best)).all()
            scores, expected = scores[[best]], expected[[best]]
        assert scores == pytest.approx(expected, abs=1e-4)


def test_rounds_go_through_everybody_and_warm_up_first() -> None:
    calls: list[str] = []

    def called(name: str) -> Contestant:
        def prepare(checkpoints: object, threads: int) -> Scorer:
            def score(sentences: object) -> list[NDArray[np.float64]]:
                calls.append(name)
                return [np.zeros(len(each.ids)) for each in SENTENCES]

            return score

        return Contestant(name, prepare)

    setting = Setting("", [small_model()], SENTENCES)
    compare([called("other"), called("straightforward")], setting, rounds=2, threads=1)
    assert calls == ["other", "straightforward"] * 3


def test_batches_too_large_are_halved() -> None:
    a, b, c, d = [1] * 2, [1] * 3, [1] * 6, [1]
    # 4 x 6 positions are too many; 2 x 3 fit, 2 x 6 do not, and 6 is too long whatever one does.
    assert halved([a, b, c, d], 24) == [[a, b, c, d]]
    assert halved([a, b, c, d], 5) == [[a], [b], [c], [d]]
    assert halved([a, b, c, d], 6) == [[a, b], [c], [d]]


def test_the_same_tree_wins_whichever_duplicate_is_named() -> None:
    setting = Setting("", [], SENTENCES)
    reference = [np.array([-1.0, -2.0, -1.0]), np.array([-3.0, -1.0])]
    # The first sentence's duplicate, half a nat less for the other; the second's loser.
    found = [np.array([-1.0, -2.5, -0.9]), np.array([-1.0, -1.5])]
    assert agreement(setting, reference, found) == (2.0, 1)
    only_winners = [np.array([-1.0, -np.inf, -np.inf]), np.array([-np.inf, -1.0])]
    assert agreement(setting, reference, only_winners) == (None, 2)


def test_the_tables_figures() -> None:
    def pretending(name: str, factor: float) -> Contestant:
        def prepare(checkpoints: object, threads: int) -> Scorer:
            return lambda sentences: [
                factor * np.arange(len(one.ids), dtype=float) for one in sentences
            ]

        return Contestant(name, prepare)

    setting = Setting("", [small_model()], SENTENCES)
    contestants = [pretending("others", 2.0), pretending("straightforward", 1.0)]
    results, peak = compare(contestants, setting, 1, 1)
    assert [(result.difference, result.same_winner) for result in results] == [(2.0, 2), (0.0, 2)]
    assert peak > 1e8
    results = [
        result._replace(seconds=seconds)
        for result, seconds in zip(results, (0.5, 0.25), strict=True)
    ]
    memory = {"others": (10.0, 20.0), "straightforward": (11.0, 2_000.0)}
    rows, notes = comparison(results, setting, peak, memory)
    # 3 + 4 + 3 + 2 + 1 tokens; beginnings "", a, a b, a c, a c c and "", b.
    assert notes[0] == "2 sentences, 5 candidates, 13 raw tokens, 7 trie nodes (1.86 times fewer)."
    assert rows[0][4] == "x others"
    assert rows[1][:5] == ["others", "0.50", "26", "14", "1.00"]
    assert rows[2][:5] == ["straightforward", "0.25", "52", "28", "2.00"]
    assert [row[6:] for row in rows[1:]] == [
        ["20", "10", "2.0e+00", "2/2"],
        ["2,000", "11", "0.0e+00", "2/2"],
    ]
