"""How many rows a step of a model is padded to.

Matrix products and vectorised functions take one way through a full block of rows and another
through what is left over, and the last bit of a number can depend on the way. Padding to
``mixture.ROW_MULTIPLE`` rows keeps it the same whatever is computed together, but most levels of a
short list have only a few rows. So it is tried out whether, on this processor, fewer will do.
"""

from __future__ import annotations

from threading import Lock
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from reranker.models import LanguageModel, mixture

# Levels with more rows are padded to mixture.ROW_MULTIPLE: there it costs little.
FEW_ROWS = 64
_MULTIPLES = (4, 8, 16)

_measured: WeakKeyDictionary[LanguageModel, int] = WeakKeyDictionary()
_lock = Lock()


def row_multiple(model: LanguageModel, count: int) -> int:
    """``count`` rows are padded to a multiple of this; measured once for each model, with the
    number of threads that the caller computes with."""
    if count > FEW_ROWS or model.embedding.device.type != "cpu":
        return mixture.ROW_MULTIPLE
    with _lock:
        if model not in _measured:
            _measured[model] = _smallest_multiple(model)
        return _measured[model]


def _smallest_multiple(model: LanguageModel) -> int:
    """The smallest multiple whose rows have, in every number up to ``FEW_ROWS``, the bits that they
    have among ``FEW_ROWS``."""
    with torch.inference_mode():
        expected = _step(model, FEW_ROWS)
        for multiple in _MULTIPLES:
            if all(
                all(
                    torch.equal(part, whole[:rows])
                    for part, whole in zip(_step(model, rows), expected, strict=True)
                )
                for rows in range(multiple, FEW_ROWS, multiple)
            ):
                return multiple
    return mixture.ROW_MULTIPLE


def _step(model: LanguageModel, rows: int) -> list[Tensor]:
    """What a step makes of this many rows: outputs and state. Row i is the same in any number."""
    generator = torch.Generator().manual_seed(1)
    state = tuple(
        tuple(
            (2 * torch.rand(FEW_ROWS, *part.shape[1:], generator=generator) - 1)[:rows].to(part)
            if part.is_floating_point()
            else part
            for part in layer
        )
        for layer in model.initial_state(rows)
    )
    tokens = torch.arange(rows) % len(model.embedding)
    outputs, after = model.advance(tokens, state)
    return [*outputs, *(part for layer in after for part in layer)]
