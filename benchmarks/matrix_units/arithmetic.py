"""Rounded weights and split activations, with torch alone: bfloat16 numbers held in float32, whose
products are exact there, and sums in float32, so that it runs on any processor."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.models import LanguageModel, products

LOG2_E = math.log2(math.e)
Rounding = Literal["none", "output", "all"]

# By function: where the left operand is among the arguments; the right one follows.
_LEFT = {torch.addmm: 1, Tensor.matmul: 0, Tensor.__matmul__: 0, functional.linear: 0}


def rounded(values: Tensor) -> Tensor:
    """The nearest bfloat16 numbers, in the precision of ``values``."""
    return values.to(torch.bfloat16).to(values.dtype)


def split(values: Tensor, parts: int = 2) -> list[Tensor]:
    """bfloat16 numbers, the greatest first, that add up to ``values`` but for 2^-8 (one part) or
    2^-16 (two) of each; in the precision of ``values``."""
    result, rest = [], values
    for _ in range(parts):
        result.append(rounded(rest))
        rest = rest - result[-1]
    return result


def log_sums(rows: Tensor, weight: Tensor, bias: Tensor, parts: int) -> Tensor:
    """logsumexp of the logits [R] for rows [R, D] in this many parts and a rounded weight [V, D]:
    what the kernels compute, the obvious way."""
    logits = bias * LOG2_E + sum(part @ weight.T for part in split(rows * LOG2_E, parts))
    return logits.exp2().sum(1).log()


def matrices(model: LanguageModel, rounding: Rounding) -> list[nn.Parameter]:
    """The weights that units would multiply by: the output's alone, or every matrix."""
    if rounding == "none":
        return []
    if rounding == "output":
        return [parameter for parameter in model.parameters() if parameter is model.output_weight]
    return [parameter for parameter in model.parameters() if parameter.ndim == 2]


def with_rounded_weights(checkpoint: Checkpoint, rounding: Rounding) -> Checkpoint:
    """A copy; the embedding is rounded with the output where they are tied."""
    model = copy.deepcopy(checkpoint.model)
    with torch.no_grad():
        for parameter in matrices(model, rounding):
            parameter.copy_(rounded(parameter))
    return replace(checkpoint, model=model)


@contextmanager
def split_products(weights: Sequence[Tensor], parts: int) -> Iterator[SplitProducts]:
    """Split the left operands of products by ``weights``; with torch's own products, which unlike
    oneDNN's can be replaced."""
    products.use_one_dnn = False
    try:
        with SplitProducts(weights, parts) as mode:
            yield mode
    finally:
        products.use_one_dnn = True


class SplitProducts(TorchFunctionMode):
    """While entered, products by the given weights take their left operand in ``parts`` parts."""

    def __init__(self, weights: Sequence[Tensor], parts: int) -> None:
        super().__init__()
        self._storages = {weight.untyped_storage().data_ptr() for weight in weights}
        self._parts = parts
        self.products = 0

    def __torch_function__(
        self,
        function: Any,
        types: Any,
        arguments: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
    ) -> Any:
        named = named or {}
        place = _LEFT.get(function)
        if place is None or not self._is_ours(arguments[place + 1]):
            return function(*arguments, **named)
        self.products += 1
        left, right, *rest = arguments[place:]
        first, *others = split(left, self._parts)
        result = function(*arguments[:place], first, right, *rest, **named)
        for part in others:
            result += part @ (right.T if function is functional.linear else right)
        return result

    def _is_ours(self, weight: Tensor) -> bool:
        return weight.untyped_storage().data_ptr() in self._storages
