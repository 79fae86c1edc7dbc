import math
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from reranker.models import mixture
from reranker.models.mixture_loss import negative_log_likelihood


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
    assert -negative_log_likelihood(*arguments).item() == expected


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
        -negative_log_likelihood(*given), expected.sum(), rtol=0, atol=7 * tolerance
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


def test_no_rows_cost_nothing() -> None:
    given = problem(rows=0)
    assert mixture.target_log_probability(*given).shape == (0,)
    assert negative_log_likelihood(*given).item() == 0.0
