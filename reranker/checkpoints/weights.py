"""A model's weights as a checkpoint stores them: halved, or in 8 bits, and back again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn

Model = TypeVar("Model", bound=nn.Module)
_SCALE = "/scale"  # no parameter has a name with a slash


def stored_weights(model: nn.Module, dtype: torch.dtype) -> dict[str, Tensor]:
    """The parameters as ``dtype``. With int8, each row of a matrix is stored as integers from -127
    to 127 with a float32 scale (the largest absolute value in the row / 127); parameters that are
    not matrices are stored as float16."""
    stored: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        weight = parameter.detach().to("cpu")
        if dtype == torch.int8 and weight.dim() == 2:
            scale = weight.float().abs().amax(1) / 127
            rows = weight.float() / torch.where(scale > 0, scale, 1.0).unsqueeze(1)
            stored[name], stored[name + _SCALE] = rows.round().to(torch.int8), scale
        else:
            stored[name] = weight.to(torch.float16 if dtype == torch.int8 else dtype)
    return stored


def with_weights(
    make: Callable[[], Model], stored: Mapping[str, Tensor], most_bytes: int, device: str
) -> Model:
    """A model with these weights, in evaluation mode. Raises one of several errors for whatever is
    wrong with them."""
    # On the meta device any size costs nothing: the weights decide what is allocated.
    with torch.device("meta"):
        model = make()
    if sum(weight.nbytes for weight in stored.values()) > most_bytes:
        raise ValueError("its weights claim to be larger than the file")
    weights = {
        name: _restored(name, weight, stored).to(device)
        for name, weight in stored.items()
        if not name.endswith(_SCALE)
    }
    model.load_state_dict(weights, assign=True)
    if not all(bool(torch.isfinite(weight).all()) for weight in weights.values()):
        raise ValueError("a weight is not a finite number")
    return model.requires_grad_(False).eval()


def _restored(name: str, weight: Tensor, stored: Mapping[str, Tensor]) -> Tensor:
    if weight.is_floating_point():
        return weight.float()
    if weight.dtype != torch.int8:
        raise TypeError(f"{name} holds {weight.dtype}, not floating-point numbers or int8")
    scale = stored[name + _SCALE]
    if weight.dim() != 2 or scale.shape != weight.shape[:1] or not scale.is_floating_point():
        raise ValueError(f"the scales of {name} do not fit its rows")
    return weight.float() * scale.float().unsqueeze(1)
