import math
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from reranker.models import mixture


class Problem(NamedTuple):
    components: Tensor
    log_weights: Tensor
    embedding: Tensor
    bias: Tensor
    targets: Tensor


def problem(
    rows: int = 7, softmaxes: int = 3, dtype: torch.dtype = torch.float32, shift: float = 0.0
) -> Problem:
    """Draw random input over 13 words, dimension 5; add ``shift`` to every logit."""
    return Problem(
        torch.randn(rows, softmaxes, 5, dtype=dtype),
        torch.log_softmax(torch.randn(rows, softmaxes, dtype=dtype), dim=1),
        torch.randn(13, 5, dtype=dtype),
        torch.randn(13, dtype=dtype) + shift,
        torch.randint(13, (rows,)),
    )


def full_target_log_probability(given: Problem) -> Tensor:
    """Compute log P by the straightforward form in float64."""
    exact = [part.double() for part in given[:4]]
    return mixture.log_probabilities(*exact).gather(1, given.targets.unsqueeze(1)).squeeze(1)


def test_two_softmaxes_over_two_words_by_hand() -> None:
    components = torch.tensor([[[math.log(3.0)], [0.0]]])
    log_weights = torch.tensor([[math.log(0.25), math.log(0.75)]])
    embedding, bias = torch.tensor([[1.0], [0.0]]), torch.zeros(2)
    # The first softmax has logits log 3 and 0: 3/4 and 1/4. The second is even.
    first = 0.25 * 0.75 + 0.75 * 0.5
    result = mixture.log_probabilities(components, log_weights, embedding, bias)
    assert result.exp().tolist() == [pytest.approx([first, 1 - first], abs=1e-6)]
    target = torch.tensor([1])
    arguments = (components, log_weights, embedding, bias, target)
    expected = pytest.approx(math.log(1 - first), abs=1e-6)
    assert mixture.target_log_probability(*arguments).item() == expected
    assert -mixture.negative_log_likelihood(*arguments).item() == expected


@pytest.mark.parametrize("softmaxes", [1, 3])
def test_probabilities_sum_to_one(softmaxes: int) -> None:
    given = problem(softmaxes=softmaxes)
    sums = mixture.log_probabilities(*given[:4]).exp().sum(1)
    assert torch.allclose(sums, torch.ones(7), atol=1e-6)


# exp(100) is more than float32 holds, exp(-110) less.
SHIFTS = [0.0, 100.0, -110.0]


@pytest.mark.parametrize("rows", [1, 6, 960])
@pytest.mark.parametrize("words", [1, 7, 512])
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("softmaxes", [1, 3])
def test_target_only_scoring_equals_the_full_softmax(
    softmaxes: int, shift: float, rows: int, words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixture, "_SCORING_ROWS", (rows,))
    monkeypatch.setattr(mixture, "_SCORING_WORDS", words)
    given = problem(softmaxes=softmaxes, shift=shift)
    expected = full_target_log_probability(given).float()
    # At 100, float32 keeps 1e-5 of a logit.
    tolerance = 1e-5 if shift == 0 else 1e-4
    assert torch.allclose(mixture.target_log_probability(*given), expected, rtol=0, atol=tolerance)
    assert torch.allclose(
        -mixture.negative_log_likelihood(*given), expected.sum(), rtol=0, atol=7 * tolerance
    )


def test_one_huge_row_does_not_disturb_the_others() -> None:
    given = problem()
    alone = mixture.target_log_probability(*given)
    given.components[3] *= 1e4
    result = mixture.target_log_probability(*given)
    others = [row for row in range(7) if row != 3]
    assert torch.allclose(result[others], alone[others], atol=1e-5)
    expected = full_target_log_probability(given)
    assert torch.allclose(result[3].double(), expected[3], rtol=1e-5)


def gradients(given: Problem, *, streamed: bool) -> tuple[Tensor, ...]:
    inputs = [part.detach().clone().requires_grad_() for part in given[:4]]
    if streamed:
        loss = mixture.negative_log_likelihood(
            inputs[0], inputs[1], inputs[2], inputs[3], given.targets
        )
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
    monkeypatch.setattr(mixture, "_TRAINING_BLOCK", block)
    given = problem(softmaxes=softmaxes, shift=shift)
    for mine, theirs in zip(
        gradients(given, streamed=True), gradients(given, streamed=False), strict=True
    ):
        assert mine.abs().max() > 0.01
        assert torch.allclose(mine, theirs, rtol=0, atol=1e-5 if shift == 0 else 1e-4)


@pytest.mark.parametrize("shift", [0.0, 100.0])  # in float64, exp(100) fits but is above _HUGE
def test_gradients_equal_finite_differences(shift: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixture, "_TRAINING_BLOCK", 1)
    given = problem(rows=2, softmaxes=2, dtype=torch.float64, shift=shift)
    slopes = gradients(given, streamed=True)
    for changed in range(4):
        for _ in range(3):
            direction = torch.randn_like(given[changed])
            losses = []
            for step in (1e-5, -1e-5):
                inputs = list(given[:4])
                inputs[changed] = inputs[changed] + step * direction
                given_loss = mixture.negative_log_likelihood(
                    inputs[0], inputs[1], inputs[2], inputs[3], given.targets
                )
                losses.append(given_loss.item())
            difference = 0.3 * (losses[0] - losses[1]) / 2e-5
            slope = (slopes[changed] * direction).sum().item()
            assert slope == pytest.approx(difference, abs=1e-7)


def test_half_precision_components_give_nearly_the_same_loss_and_gradients() -> None:
    given = problem(rows=20)
    rough = given._replace(components=given.components.bfloat16())
    exact = mixture.negative_log_likelihood(*given)
    loss = mixture.negative_log_likelihood(*rough)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), rel=0.01)
    for mine, theirs in zip(
        gradients(rough, streamed=True), gradients(given, streamed=False), strict=True
    ):
        assert (mine - theirs).norm() < 0.03 * theirs.norm()


def test_no_rows_cost_nothing() -> None:
    given = problem(rows=0)
    assert mixture.target_log_probability(*given).shape == (0,)
    assert mixture.negative_log_likelihood(*given).item() == 0.0
