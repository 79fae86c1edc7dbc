"""The machine's peak, and the arithmetic that a model cannot avoid."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import torch

from benchmarks.costs import timed
from reranker.models import Config
from reranker.models.products import linear

MATRIX = 2_048


def work_per_token(config: Config) -> tuple[int, int, int]:
    """Count the floating-point operations to read one token and compute the next one's normaliser:
    of LSTM (four gates of every layer), projections (k_j, equation 11, and pi, 10) and decoder (J
    logits for every word, 7).

    A multiplication and an addition count two; activations and exponentials are left out.
    """
    size, hidden = config.embedding_size, config.hidden_sizes
    layers = list(zip((size, *hidden), hidden, strict=False))  # inputs and units of each
    sources = zip((size, *hidden), config.components, strict=False)
    mixture = sum(config.components)
    projections = sum(2 * source * components * size for source, components in sources)
    if mixture > 1:
        projections += 2 * hidden[-1] * mixture
    width = size if config.components else hidden[-1]
    lstm = sum(2 * 4 * units * (inputs + units) for inputs, units in layers)
    return lstm, projections, 2 * max(mixture, 1) * width * config.vocabulary_size


def sgemm(threads: int) -> float:
    """Return the operations per second of a large product in float32, oneDNN's where torch has it:
    the best of three after one that warms up."""
    left, right = torch.randn(MATRIX, MATRIX), torch.randn(MATRIX, MATRIX)
    torch.set_num_threads(threads)
    best = 0.0
    for _ in range(4):
        with torch.inference_mode():
            _, cost = timed(partial(linear, left, right))
        best = max(best, 2 * MATRIX**3 / cost.wall)
    return best


def machine(threads: int) -> str:
    """Return one line about processor, threads and torch."""
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{next(names, 'processor')}, {threads} thread(s), torch {torch.__version__}"
