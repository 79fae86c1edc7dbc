"""Rounded weights, split activations, and the kernels that compute with them."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.matrix_units import costs, native, speed
from benchmarks.matrix_units.arithmetic import (
    log_sums,
    matrices,
    rounded,
    split,
    split_products,
    with_rounded_weights,
)
from benchmarks.matrix_units.costs import ROUNDINGS, Arithmetic
from reranker.checkpoints.checkpoint import Checkpoint, load_checkpoint
from reranker.nbest import read_nbest

ROOT = Path(__file__).resolve().parents[2]
SHORT = ROOT / "examples/short.txt"


@pytest.fixture(scope="module")
def forward() -> Checkpoint:
    return load_checkpoint(ROOT / "ckpt/rnn-forward.pt")


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    built = native.compiled()
    if isinstance(built, str):
        pytest.skip(f"this machine compiles no C: {built}")
    if not built.has_vectors():
        pytest.skip("this machine has no AVX-512")
    return built


def example(rows: int, words: int, size: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(size)
    weight = rounded(torch.randn(words, size, generator=generator))
    bias = torch.randn(words, generator=generator) - 3
    return torch.randn(rows, size, generator=generator).tanh(), weight, bias


def test_parts_are_bfloat16_numbers_that_add_up() -> None:
    values = torch.randn(20_000, generator=torch.Generator().manual_seed(0)) * 3
    high, low = split(values)
    for part in (high, low):
        assert torch.equal(part, part.bfloat16().float())
    assert ((values - high).abs() <= 2**-8 * values.abs()).all()
    assert ((values - (high.double() + low)).abs() <= 2**-16 * values.abs()).all()
    assert torch.equal(split(values, 1)[0], high)


@pytest.mark.parametrize("size", [128, 250])
def test_two_parts_give_the_float32_logits(size: int) -> None:
    rows, weight, bias = example(64, 500, size)
    exact = rows.double() @ weight.double().T
    high, low = split(rows)
    assert ((high @ weight.T + low @ weight.T) - exact).abs().max() < 1e-4
    assert (high @ weight.T - exact).abs().max() > 1e-3  # what the second part is for
    expected = torch.logsumexp(exact + bias.double(), 1)
    assert (log_sums(rows, weight, bias, 2) - expected).abs().max() < 1e-4


def test_rounding_leaves_the_original_and_the_biases_alone(forward: Checkpoint) -> None:
    before = [parameter.clone() for parameter in forward.model.parameters()]
    for rounding, count in zip(ROUNDINGS, (0, 1, 4), strict=True):
        model = with_rounded_weights(forward, rounding).model
        chosen = {id(parameter) for parameter in matrices(model, rounding)}
        assert len(chosen) == count
        for old, new in zip(before, model.parameters(), strict=True):
            assert torch.equal(new, rounded(old) if id(new) in chosen else old)
            assert torch.equal(new, old) == (id(new) not in chosen)
    assert all(map(torch.equal, before, forward.model.parameters()))


def test_only_products_by_the_chosen_weights_are_split() -> None:
    rows, weight, bias = example(32, 64, 96)
    other = weight.clone()
    block = torch.empty(32, 40)
    with split_products([weight], 1) as units:
        whole = rows @ weight.T
        part = torch.addmm(bias[:40], rows, weight[:40].T, out=block)
        linear = functional.linear(rows, weight)
        unsplit = rows @ other.T
    assert units.products == 3
    assert part is block
    expected = rounded(rows) @ other.T
    assert (whole - expected).abs().max() < 1e-5
    assert (part - expected[:, :40] - bias[:40]).abs().max() < 1e-5
    assert torch.equal(linear, whole)
    assert torch.equal(unsplit, rows @ other.T)


def test_a_candidates_score_is_the_same_alone_and_together(forward: Checkpoint) -> None:
    model = with_rounded_weights(forward, "all")
    lists, arithmetic = list(read_nbest(SHORT)), Arithmetic("all", "all")
    together = costs.scores(model, lists, arithmetic)
    alone = [costs.scores(model, [nbest], arithmetic)[0] for nbest in lists]
    assert np.array_equal(np.concatenate(alone), np.concatenate(together))
    in_float32 = costs.scores(model, lists, Arithmetic("all"))
    changes = np.abs(np.concatenate(together) - np.concatenate(in_float32))
    assert 0 < changes.max() < 1e-3


@pytest.mark.parametrize("kernel", [*native.KERNELS, *native.EMULATED], ids=lambda each: each.name)
def test_kernels(library: ctypes.CDLL, kernel: native.Kernel) -> None:
    if not native.has(library, kernel):
        pytest.skip("this machine's processor does not have it")
    rows, weight, bias = example(70, 101, 71)  # multiples of nothing
    of_rows = native.prepared(library, kernel, weight, bias)
    expected = log_sums(rows.double(), weight.double(), bias.double(), kernel.parts or 3)
    together = of_rows(rows)
    assert (together - expected).abs().max() < 2e-5
    alone = torch.cat([of_rows(row) for row in rows.split(1)])
    assert torch.equal(alone, together)


def test_the_tables(forward: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "WORDS", 600)
    lines = speed.table(32, 1, native.compiled())
    assert {len(line) for line in lines} == {5}
    assert float(lines[1][3]) == 1
    monkeypatch.setattr(costs, "CHOICES", costs.CHOICES[::2])
    lists = list(read_nbest(SHORT))
    (_, first, *others) = costs.winners([forward], lists, [])
    assert first[1:] == ["-", "0", "0.000", "0.0e+00"]
    assert all(float(line[-1]) > 0 for line in others)
