from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import nn

from reranker.checkpoints.archive import read_archive
from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.checkpoints.members import load_member
from reranker.checkpoints.model_file import stored_weights, with_weights
from reranker.checkpoints.span_file import save_span_model
from reranker.errors import CheckpointError
from reranker.pipeline import Reranker
from tests.reranker.checkpoints.sealing import write_sealed
from tests.reranker.ensembles import CANDIDATES, untrained
from tests.reranker.span_models import untrained_spans


def test_eight_bits_and_a_scale_a_row() -> None:
    model = nn.Linear(3, 3)
    model.weight.data = torch.tensor([[1.27, -0.5, 0.004], [0.0, 0.0, 0.0], [-2e-5, 1e-5, 0.0]])
    stored = stored_weights(model, torch.int8)
    assert stored["weight"].tolist() == [[127, -50, 0], [0, 0, 0], [-127, 64, 0]]
    assert stored["weight/scale"].tolist() == pytest.approx([0.01, 0, 2e-5 / 127])
    assert stored["bias"].dtype == torch.float16 and "bias/scale" not in stored
    found = with_weights(lambda: nn.Linear(3, 3), stored, 1_000, "cpu").weight
    assert found.dtype == torch.float32
    most = stored["weight/scale"].unsqueeze(1) * 0.5001
    assert bool(((found - model.weight).abs() <= most).all())


@pytest.mark.parametrize("columns", [1, 4, 7])
def test_six_bits_take_three_quarters_of_a_byte(columns: int) -> None:
    model = nn.Linear(columns, 40, bias=False)
    model.weight.data[0] = 0.0
    stored = stored_weights(model, torch.uint8)
    assert stored["weight"].shape == (40, 3 * math.ceil(columns / 4))
    found = with_weights(lambda: nn.Linear(columns, 40, bias=False), stored, 10_000, "cpu").weight
    assert not found[0].any()
    steps = (found / stored["weight/scale"].clamp(min=1e-9).unsqueeze(1)).abs()
    assert (steps - steps.round()).abs().max() < 1e-4 and steps.max() <= 31.0001
    # The largest of a row may be less than it was; the others are off by half a step at most.
    off = (found - model.weight).abs() / stored["weight/scale"].clamp(min=1e-9).unsqueeze(1)
    assert off.where(steps.round() < 31, 0.0).max() <= 0.5001
    plain = model.weight.detach()
    scale = plain.abs().amax(1, keepdim=True).clamp(min=1e-9) / 31
    without = ((plain / scale).round() * scale - plain).square().sum(1)
    assert ((found - plain).square().sum(1) <= without + 1e-9).all()
    stored["weight"] = stored["weight"][:, :-1]
    with pytest.raises(ValueError, match="6 bits"):
        with_weights(lambda: nn.Linear(columns, 40, bias=False), stored, 10_000, "cpu")


def test_a_checkpoint_in_eight_bits_is_smaller_and_scores_alike(tmp_path: Path) -> None:
    language, spans = untrained(1), untrained_spans(1)
    for name, dtype in (("half", torch.float16), ("byte", torch.int8), ("six", torch.uint8)):
        (tmp_path / name).mkdir()
        save_checkpoint(tmp_path / name / "lm.pt", language.model, language.vocabulary, {}, dtype)
        save_span_model(tmp_path / name / "s.pt", spans.model, spans.vocabulary, {}, dtype)
    one, other, six = (
        {c.index: c.nll for c in Reranker.load(tmp_path / name).rerank(CANDIDATES).ranking}
        for name in ("half", "byte", "six")
    )
    assert one != other != six
    assert other == pytest.approx(one, rel=0.02)
    assert six == pytest.approx(one, rel=0.05)
    half, byte = (
        read_archive(tmp_path / name / "lm.pt").content["weights"] for name in ("half", "byte")
    )
    sizes = [sum(weight.nbytes for weight in weights.values()) for weights in (half, byte)]
    assert sizes[1] < 0.8 * sizes[0]  # the rows of so small a model are short


def test_scales_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    spans = untrained_spans(1)
    path = tmp_path / "s.pt"
    save_span_model(path, spans.model, spans.vocabulary, {}, torch.int8)
    content = read_archive(path).content
    for scales in (torch.ones(2), torch.full((len(content["weights"]["output"]),), torch.inf)):
        weights = {**content["weights"], "output/scale": scales}
        write_sealed(path, {**content, "weights": weights})
        with pytest.raises(CheckpointError, match=r"scales of output|not a finite number"):
            load_member(path)
    weights = {k: v for k, v in content["weights"].items() if k != "output/scale"}
    write_sealed(path, {**content, "weights": weights})
    with pytest.raises(CheckpointError, match="broken"):
        load_member(path)


def test_integers_that_are_no_weights_are_refused() -> None:
    for dtype in (torch.int64, torch.int32, torch.uint8, torch.bool):
        stored = {"weight": torch.ones(3, 3), "bias": torch.ones(3, dtype=dtype)}
        with pytest.raises(TypeError, match=f"bias .*{dtype}"):
            with_weights(lambda: nn.Linear(3, 3), stored, 1_000, "cpu")
    stored = {
        "weight": torch.ones(3, 3, dtype=torch.int8),
        "weight/scale": torch.ones(3, dtype=torch.int32),
        "bias": torch.ones(3),
    }
    with pytest.raises(ValueError, match="scales of weight"):
        with_weights(lambda: nn.Linear(3, 3), stored, 1_000, "cpu")


def test_eight_bits_are_read_back_to_the_same_weights(tmp_path: Path) -> None:
    language = untrained(2)
    path = tmp_path / "m.pt"
    save_checkpoint(path, language.model, language.vocabulary, {}, torch.int8)
    first = load_checkpoint(path)
    save_checkpoint(path, first.model, first.vocabulary, {}, torch.float32)
    again = load_checkpoint(path)
    for name, weight in first.model.named_parameters():
        assert torch.equal(weight, again.model.get_parameter(name))


@pytest.mark.parametrize("odd", [torch.inf, -torch.inf, torch.nan])
def test_one_weight_that_is_not_finite_is_refused(odd: float) -> None:
    """Weights so large that their sum is infinite are weights."""
    stored = {"weight": torch.full((3, 3), 3e38), "bias": torch.zeros(3)}
    assert with_weights(lambda: nn.Linear(3, 3), stored, 1_000, "cpu").weight.max() == 3e38
    stored["bias"][1] = odd
    with pytest.raises(ValueError, match="finite"):
        with_weights(lambda: nn.Linear(3, 3), stored, 1_000, "cpu")
