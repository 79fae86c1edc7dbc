"""The normaliser's kernels against torch: milliseconds, operations a second, error."""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from benchmarks.matrix_units import native
from benchmarks.matrix_units.arithmetic import LOG2_E, rounded
from benchmarks.scoring.measure import interleaved
from reranker.files.table import aligned
from reranker.models import mixture

ROWS, WORDS = 960, 5_670
BLOCK = 512  # words
SIZES = (128, 250, 280)
NOW = "torch, as it is"


def report(rounds: int) -> None:
    """Print a table for each inner size; one thread."""
    torch.set_num_threads(1)
    library = native.compiled()
    if isinstance(library, str):
        print(f"No kernels: {library}.")
    for size in SIZES:
        print(f"\n{ROWS} rows x {WORDS:,} words, D = {size}")
        with torch.inference_mode():
            print(aligned(table(size, rounds, library)), flush=True)


def table(size: int, rounds: int, library: ctypes.CDLL | str) -> list[list[str]]:
    rows, weight, bias = example(size)
    ways: dict[str, Callable[[], Tensor]] = {
        NOW: lambda: mixture.log_normalisers(rows.unsqueeze(1), weight, bias).squeeze(1),
        "torch, product alone": lambda: torch.mm(rows, weight.T, out=product),
        "torch, oneDNN's product": lambda: one_dnn(rows, weight, bias),
    }
    product, missing = torch.empty(ROWS, WORDS), []
    for kernel in native.KERNELS:
        if isinstance(library, str):
            continue
        if native.has(library, kernel):
            ways[kernel.name] = partial(native.prepared(library, kernel, weight, bias), rows)
        else:
            missing.append(kernel.name)
    exact = torch.logsumexp(rows.double() @ weight.double().T + bias.double(), 1)
    seconds = {name: statistics.median(each) for name, each in interleaved(ways, rounds).items()}
    lines = [["", "ms", "GFLOP/s", "times as fast", "largest error, nats"]]
    for name, way in ways.items():
        result = way()
        error = f"{(result - exact).abs().max():.1e}" if result.ndim == 1 else "-"
        rate = 2 * ROWS * WORDS * size / seconds[name] / 1e9
        times = seconds[NOW] / seconds[name]
        lines.append([name, f"{1e3 * seconds[name]:.2f}", f"{rate:.0f}", f"{times:.2f}", error])
    return lines + [[name, "not here", "-", "-", "-"] for name in missing]


def one_dnn(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """What torch does now, but with another of its libraries' products: MKL's, which torch uses
    otherwise, leaves half of an AMD processor's vectors idle."""
    product = torch.ops.mkldnn._linear_pointwise
    rows, bias, sums = rows * LOG2_E, bias * LOG2_E, torch.zeros(len(rows))
    for some, some_bias in zip(torch.split(weight, BLOCK), torch.split(bias, BLOCK), strict=True):
        sums += product(rows, some, some_bias, "none", [], "").exp2_().sum(1)
    return sums.log()


def example(size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, a weight of bfloat16 numbers, a bias: logits as large as a trained model's."""
    generator = torch.Generator().manual_seed(size)
    rows = torch.randn(ROWS, size, generator=generator).tanh()
    weight = torch.randn(WORDS, size, generator=generator) * (3 / size**0.5)
    return rows, rounded(weight), torch.randn(WORDS, generator=generator) - 8
