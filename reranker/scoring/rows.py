"""The number of rows to which a model's step is padded.

Matrix products and vectorised functions process full blocks of rows in one way and the remainder in
another, and the last bit of a number can depend on the way. Padding to ``ROW_MULTIPLE`` rows makes
the bits independent of the batch, but most levels of a short list have only a few rows. So a trial
finds out whether fewer rows suffice on this processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from reranker.models import LanguageModel
from reranker.models.layer import Layer, LayerState
from reranker.models.products import ROW_MULTIPLE, step_rows
from reranker.scoring.windows import Step, layer_step, reader_step

# Levels with more rows are padded to a multiple of ROW_MULTIPLE, which costs little there.
FEW_ROWS = 64
_MULTIPLES = (4, 8, 16)

# Torch's functions process two vectors at a time where they can, and the rest in another way.
_VECTORS = 32 if torch.backends.cpu.get_cpu_capability() == "AVX512" else 16

_measured: WeakKeyDictionary[LanguageModel, int] = WeakKeyDictionary()
_lock = Lock()


def rows_for(model: LanguageModel, count: int) -> int:
    """Return the number of rows with which a step of ``count`` rows is computed."""
    if count > FEW_ROWS or model.embedding.device.type != "cpu":
        return step_rows(count, ROW_MULTIPLE)
    return step_rows(count, row_multiple(model))


def row_multiple(model: LanguageModel) -> int:
    """Return the multiple to which up to ``FEW_ROWS`` rows are padded; measure it once for each
    model, with the caller's number of threads."""
    with _lock:
        if model not in _measured:
            _measured[model] = _smallest_multiple(model)
        return _measured[model]


def _smallest_multiple(model: LanguageModel) -> int:
    """Return the smallest multiple that fills vectors and whose rows, in any number up to
    ``FEW_ROWS``, have the same bits as among ``FEW_ROWS``."""
    with torch.inference_mode():
        some = list(stages(model, FEW_ROWS))
        sizes = [step(slice(FEW_ROWS), state)[0].shape[1] for step, state in some]
        for multiple in _MULTIPLES:
            fills = all(multiple * size % _VECTORS == 0 for size in sizes)
            if fills and all(_keeps_bits(*stage, multiple) for stage in some):
                return multiple
    return ROW_MULTIPLE


def stages(model: LanguageModel, rows: int) -> Iterator[tuple[Step, LayerState]]:
    """Yield the computations of a level, the steps of each layer and of the reader, on made-up
    inputs and a state of this many rows."""
    generator = torch.Generator().manual_seed(1)

    def some(like: Tensor) -> Tensor:
        if not like.is_floating_point():
            return like
        return (2 * torch.rand(like.shape, generator=generator) - 1).to(like)

    states = [tuple(map(some, layer)) for layer in model.initial_state(rows)]
    tokens = torch.arange(rows) % len(model.embedding)
    hidden = model.embedding[tokens]
    for layer, state in zip(model.layers, states, strict=False):
        assert isinstance(layer, Layer)
        step = layer_step(layer, layer.project(hidden))
        yield step, state
        hidden, _ = step(slice(rows), state)
    if model.reader is not None:
        yield reader_step(model.reader, hidden, tokens), states[-1]


def _keeps_bits(step: Step, state: LayerState, multiple: int) -> bool:
    expected = step(slice(FEW_ROWS), state)
    for rows in range(multiple, FEW_ROWS, multiple):
        output, after = step(slice(rows), tuple(part[:rows] for part in state))
        whole = zip((output, *after), (expected[0], *expected[1]), strict=True)
        if not all(torch.equal(part, all_rows[:rows]) for part, all_rows in whole):
            return False
    return True
