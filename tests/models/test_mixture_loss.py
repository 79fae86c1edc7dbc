"""The loss's gradients against those of the equation as written."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from reranker.models import mixture, mixture_loss
from reranker.models.mixture_loss import negative_log_likelihood
from tests.models.test_mixture import SHIFTS, Problem, problem


def gradients(given: Problem, *, streamed: bool) -> tuple[Tensor, ...]:
    inputs = [part.detach().clone().requires_grad_() for part in given[:4]]
    if streamed:
        loss = negative_log_likelihood(inputs[0], inputs[1], inputs[2], inputs[3], given.targets)
    else:
        table = mixture.log_probabilities(*inputs)
        loss = -table.gather(1, given.targets.unsqueeze(1)).sum()
    return torch.autograd.grad(0.3 * loss, inputs)


@pytest.mark.parametrize("block", [1, 100, 1 << 22])
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("softmaxes", [1, 3])
def test_gradients_equal_those_of_the_full_softmax(
    softmaxes: int, shift: float, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixture_loss, "_BLOCK", block)
    given = problem(softmaxes=softmaxes, shift=shift)
    for mine, theirs in zip(
        gradients(given, streamed=True), gradients(given, streamed=False), strict=True
    ):
        assert mine.abs().max() > 0.01
        assert torch.allclose(mine, theirs, rtol=0, atol=1e-5 if shift == 0 else 1e-4)


@pytest.mark.parametrize("shift", [0.0, 100.0])  # in float64, exp(100) fits but is above HUGE
def test_gradients_equal_finite_differences(shift: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixture_loss, "_BLOCK", 1)
    given = problem(rows=2, softmaxes=2, dtype=torch.float64, shift=shift)
    slopes = gradients(given, streamed=True)
    for changed in range(4):
        for _ in range(3):
            direction = torch.randn_like(given[changed])
            losses = []
            for step in (1e-5, -1e-5):
                inputs = list(given[:4])
                inputs[changed] = inputs[changed] + step * direction
                given_loss = negative_log_likelihood(
                    inputs[0], inputs[1], inputs[2], inputs[3], given.targets
                )
                losses.append(given_loss.item())
            difference = 0.3 * (losses[0] - losses[1]) / 2e-5
            slope = (slopes[changed] * direction).sum().item()
            assert slope == pytest.approx(difference, abs=1e-7)


def test_half_precision_components_give_nearly_the_same_loss_and_gradients() -> None:
    given = problem(rows=20)
    rough = given._replace(components=given.components.bfloat16())
    exact = negative_log_likelihood(*given)
    loss = negative_log_likelihood(*rough)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), rel=0.01)
    for mine, theirs in zip(
        gradients(rough, streamed=True), gradients(given, streamed=False), strict=True
    ):
        assert (mine - theirs).norm() < 0.03 * theirs.norm()
