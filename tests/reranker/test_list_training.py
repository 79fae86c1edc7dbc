"""Minimum risk training: its gradient against differences of the risk itself, what it learns, and
what it takes for a list."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from models import AwdLstmDoc, Config
from reranker import list_training
from reranker.checkpoint import load_checkpoint
from reranker.errors import InputError
from reranker.linearize import linearize_text
from reranker.list_training import CandidateList, RiskTrainer, read_lists, risk_gradient
from reranker.scoring import score_one_by_one
from reranker.training import train
from reranker.vocab import Vocabulary
from tests.reranker.test_training import FAST
from tests.reranker.toy_trees import DEV

GOLD = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks))))"
FLAT = "(TOP (S (DT the) (NN dog) (VP (VBZ barks))))"
WRONG = "(TOP (S (NP (DT the)) (VP (NN dog) (VBZ barks))))"
FLATTEST = "(TOP (S (DT the) (NN dog) (VBZ barks)))"
NO_DROPOUT: dict[str, Any] = {
    f"{part}_dropout": 0.0
    for part in ("word", "embedding", "hidden", "output", "component", "recurrent_weight")
}


def candidate(index: int, tree: str, nll: float, parser: float | None) -> dict[str, Any]:
    return {
        "index": index,
        "nll": nll,
        "parser_score": parser,
        "duplicate_of": None,
        "tree": tree,
    }


def ranked(*candidates: dict[str, Any]) -> str:
    return json.dumps({"ranking": candidates})


def toy_list() -> CandidateList:
    trees = (FLAT, GOLD, WRONG)
    return CandidateList(
        tuple(tuple(linearize_text(tree)) for tree in trees),
        np.array([-10.0, -11.0, -10.5]),
        np.array([0.5, 0.0, 2.0]),
    )


def test_risk_and_its_gradient_by_hand() -> None:
    # q = (1/4, 3/4), R = 1/4 * 4 = 1, so the pulls are 1/4 * (4 - 1) and 3/4 * (0 - 1).
    pull, risk = risk_gradient(np.log([1.0, 3.0]), np.array([4.0, 0.0]))
    assert risk == pytest.approx(1)
    assert pull == pytest.approx([0.75, -0.75])


def test_the_gradient_is_that_of_the_mean_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moving the weights a little in any direction changes the risk as the gradient says."""
    monkeypatch.setattr(list_training, "_LEAST_WEIGHT", 0.0)
    torch.manual_seed(1)
    lists = [toy_list(), replace(toy_list(), errors=np.array([1.0, 3.0, 0.0]))]
    vocabulary = Vocabulary.build([one for each in lists for one in each.candidates], 1)
    config = Config(len(vocabulary), 6, (7, 5), (0, 1, 2), embedding_range=0.5, **NO_DROPOUT)
    model = AwdLstmDoc(config).double()
    trainer = RiskTrainer(model, vocabulary, lists, 2, parser_weight=0.7, seed=1)

    def mean_risk() -> float:
        risks = []
        for one in lists:
            ids = [vocabulary.encode(tokens) for tokens in one.candidates]
            log_p = score_one_by_one(model.eval(), ids, vocabulary.eos)
            q = np.exp(log_p + 0.7 * one.parser)
            risks.append(float(q @ one.errors / q.sum()))
        return float(np.mean(risks))

    found = trainer.backward(0, 3.0, torch.float64, "cpu")
    assert found == pytest.approx(mean_risk(), abs=1e-9)
    for _ in range(5):
        moves = [torch.randn_like(weight) for weight in model.parameters()]
        pairs = list(zip(model.parameters(), moves, strict=True))
        slope = 0.0
        for weight, move in pairs:
            assert weight.grad is not None
            slope += float((weight.grad * move).sum())
        risks = []
        for step in (1e-5, -2e-5, 1e-5):  # there, to the other side, and back
            with torch.no_grad():
                for weight, move in pairs:
                    weight.add_(move, alpha=step)
            risks.append(mean_risk())
        assert slope == pytest.approx(3.0 * (risks[0] - risks[1]) / 2e-5, rel=1e-4, abs=1e-6)


def test_every_list_has_its_turn_in_every_epoch() -> None:
    lists = [replace(toy_list(), errors=np.array([0.0, 1.0, number])) for number in range(7)]
    vocabulary = Vocabulary.build(toy_list().candidates, 1)
    model = AwdLstmDoc(Config(len(vocabulary), 4, (4,), (0, 1), embedding_range=0.1))
    trainer = RiskTrainer(model, vocabulary, lists, 3, parser_weight=0.5, seed=1)
    first = [trainer._chosen(batch) for batch in range(3)]
    second = [trainer._chosen(batch) for batch in range(3, 6)]
    assert [len(chosen) for chosen in first] == [3, 3, 1]
    assert sorted(chain(*first)) == sorted(chain(*second)) == list(range(7))
    assert first != second
    assert trainer._chosen(1) == first[1]  # as a resumed run asks
    assert trainer.progress(6) == 2.0


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_training_on_lists_learns_to_prefer_their_best(
    direction: Literal["forward", "backward"], tmp_path: Path
) -> None:
    """The model first likes flat trees as it has seen more of these, and then learns better."""
    seen = [list(linearize_text(FLAT))] * 24 + [list(linearize_text(GOLD))] * 12
    start = tmp_path / "start.pt"
    model = {**FAST.model, **NO_DROPOUT}
    config = replace(FAST, direction=direction, epochs=8, model=model)
    train(config, seen, DEV, start, tmp_path / "start")
    lists = [replace(toy_list(), parser=np.array([-14.0, -11.0, -14.0]))]

    def probabilities(path: Path) -> Sequence[float]:
        checkpoint = load_checkpoint(path)
        ids = [checkpoint.vocabulary.encode(tokens) for tokens in toy_list().candidates]
        return list(score_one_by_one(checkpoint.model, ids, checkpoint.vocabulary.eos))

    before = probabilities(start)
    assert before[0] - 14 > before[1] - 11
    tuned = tmp_path / "tuned.pt"
    settings = replace(config, epochs=60, learning_rate=0.01, parser_weight=1.0, risk_weight=5.0)
    train(settings, seen, DEV, tuned, tmp_path / "tuned", start_from=start, lists=lists)
    after = probabilities(tuned)
    assert after[1] - 11 > after[0] - 14  # gold first once the parser's scores are added
    assert load_checkpoint(tuned).information["lists"] == 1


def test_lists_are_cut_to_what_is_liked_and_the_best() -> None:
    line = ranked(
        candidate(3, GOLD, 90.0, -9.0),  # liked least, but right
        candidate(0, FLAT, 20.0, -5.0),
        candidate(2, WRONG, 10.0, -30.0),
        candidate(1, FLATTEST, 12.0, -7.0),
    )
    (one,) = read_lists([line], [GOLD], gold_tags=False, most=2)
    # Liked: 12 + 7 and 20 + 5, in the parser's order. Errors are (gold + test) / 2 - matched, gold
    # having S, NP and VP: FLAT lacks NP, FLATTEST NP and VP.
    assert one.candidates == tuple(tuple(linearize_text(tree)) for tree in (FLAT, FLATTEST, GOLD))
    assert one.parser.tolist() == [-5.0, -7.0, -9.0]
    assert one.errors.tolist() == [0.5, 1.0, 0.0]


def test_lists_without_a_choice_are_left_out() -> None:
    alike = ranked(candidate(0, GOLD, 1.0, -1.0), candidate(1, GOLD, 2.0, -1.0))
    nothing = ranked()
    repeated = ranked(
        candidate(0, FLAT, 1.0, -1.0), {**candidate(1, GOLD, 1.0, -1.0), "duplicate_of": 0}
    )
    assert read_lists([alike, nothing, repeated], [GOLD] * 3, gold_tags=False, most=5) == []


@pytest.mark.parametrize(
    ("line", "gold", "reason"),
    [
        ("no json", [GOLD], "line 1 is not a sentence of `rerank --output ranked`"),
        (ranked(candidate(0, FLAT, 1.0, None)), [GOLD], "with the parser's scores"),
        (ranked(), [], "more ranked sentences than the 0 gold trees"),
        (ranked(), [GOLD, GOLD], "more gold trees than the 1 ranked sentences"),
    ],
)
def test_what_is_no_list_is_refused(line: str, gold: list[str], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_lists([line], gold, gold_tags=False, most=5)
