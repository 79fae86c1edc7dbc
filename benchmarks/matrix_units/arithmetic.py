"""Rounded weights and split activations, with torch alone: bfloat16 numbers held in float32, whose
products are exact there, and sums in float32, so that it runs on any processor."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.models import LanguageModel

Rounding = Literal["none", "output", "all"]


def rounded(values: Tensor) -> Tensor:
    """The nearest bfloat16 numbers, in the precision of ``values``."""
    return values.to(torch.bfloat16).to(values.dtype)


def split(values: Tensor, parts: int = 2) -> list[Tensor]:
    """bfloat16 numbers, the greatest part first, that add up to ``values`` but for 2^-9 of them (one
    part) or 2^-17 (two); in the precision of ``values``."""
    result, rest = [], values
    for _ in range(parts):
        result.append(rounded(rest))
        rest = rest - result[-1]
    return result


def log_sums(rows: Tensor, weight: Tensor, bias: Tensor, parts: int) -> Tensor:
    """logsumexp of the logits [R] for rows [R, D] in this many parts and a rounded weight [V, D]:
    what the kernels compute, the obvious way."""
    scale = torch.tensor(2.0, dtype=torch.float64).log().reciprocal().to(rows.dtype)
    logits = bias * scale + sum(part @ weight.T for part in split(rows * scale, parts))
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


class SplitProducts(TorchDispatchMode):
    """While entered, products by the given weights take their left operand in ``parts`` parts."""

    def __init__(self, weights: Sequence[Tensor], parts: int) -> None:
        super().__init__()
        self._storages = {weight.untyped_storage().data_ptr() for weight in weights}
        self._parts = parts
        self.products = 0

    def __torch_dispatch__(
        self,
        operation: Any,
        types: Any,
        arguments: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
    ) -> Any:
        place = {torch.ops.aten.mm: 0, torch.ops.aten.addmm: 1, torch.ops.aten.linear: 0}.get(
            operation.overloadpacket
        )
        named = named or {}
        if place is None or not self._is_ours(arguments[place + 1]):
            return operation(*arguments, **named)
        self.products += 1
        before, (left, right), after = (
            arguments[:place],
            arguments[place : place + 2],
            arguments[place + 2 :],
        )
        result = None
        for part in split(left, self._parts):
            if result is None:
                result = operation(*before, part, right, *after, **named)
            else:  # out= aliases an earlier result: linear and mm have no place to add to
                further = right.T if operation.overloadpacket is torch.ops.aten.linear else right
                result += part @ further
        return result

    def _is_ours(self, weight: Tensor) -> bool:
        return weight.untyped_storage().data_ptr() in self._storages
