import pytest
import torch

from reranker.models.dropout import locked_dropout, row_dropout, shared_dropout

RATE = 0.25
KEPT = pytest.approx(1 / (1 - RATE))


def test_locked_dropout_has_one_mask_for_each_sequence() -> None:
    dropped = locked_dropout(torch.ones(5, 40, 50), RATE, training=True)  # [T, B, D]
    assert (dropped == dropped[0]).all()
    assert not (dropped[0] == dropped[0, 0]).all(), "sequences of a batch have their own masks"
    zeros, kept = sorted(set(dropped.flatten().tolist()))
    assert (zeros, kept) == (0.0, KEPT)
    # 2,000 draws: the standard deviation of the share is 0.01.
    assert (dropped[0] == 0).float().mean().item() == pytest.approx(RATE, abs=0.04)


def test_shared_dropout_has_one_mask_for_all_steps_and_softmaxes() -> None:
    dropped = shared_dropout(torch.ones(5, 40, 3, 50), RATE, training=True)  # [T, B, J, D]
    assert (dropped == dropped[:1, :, :1]).all()
    assert not (dropped == dropped[:, :1]).all()
    zeros, kept = sorted(set(dropped.flatten().tolist()))
    assert (zeros, kept) == (0.0, KEPT)
    assert (dropped[0, :, 0] == 0).float().mean().item() == pytest.approx(RATE, abs=0.04)


def test_row_dropout_drops_whole_words() -> None:
    dropped = row_dropout(torch.ones(2_000, 3), RATE, training=True)  # [V, D]
    assert (dropped == dropped[:, :1]).all()
    zeros, kept = sorted(set(dropped.flatten().tolist()))
    assert (zeros, kept) == (0.0, KEPT)
    assert (dropped[:, 0] == 0).float().mean().item() == pytest.approx(RATE, abs=0.04)


@pytest.mark.parametrize("dropout", [locked_dropout, shared_dropout, row_dropout])
def test_nothing_is_dropped_in_evaluation_or_at_rate_zero(dropout) -> None:  # type: ignore[no-untyped-def]
    values = torch.ones(2, 2, 2, 2)
    assert dropout(values, RATE, training=False) is values
    assert dropout(values, 0.0, training=True) is values
