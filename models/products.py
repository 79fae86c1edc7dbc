"""Matrix products without gradients, for scoring.

Torch hands float32 products on a CPU to MKL, which uses half of the vector units of an AMD
processor; oneDNN, which torch brings along, uses all of them: 2.3 times as fast there, and more on
a few rows, if the weight is packed (docs/research/performance.md). Either way a product is of
float32 numbers and summed in float32.
"""

from __future__ import annotations

import logging
from functools import cache
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional

_log = logging.getLogger(__name__)

# Rows are computed in multiples of this. Matrix products of a few rows add up in another order than
# larger ones, and the numbers that do not fill a vector unit go through other code; without either,
# a row's result is the same to the last bit whatever is beside it. (Seen on x86 with one thread and
# sizes that are multiples of 4.)
ROW_MULTIPLE = 32

use_one_dnn = True  # whether oneDNN is used where it works; False is for comparisons

# Per module: its weight, the weight's version, and the packed weight. The weight is kept so that
# no other can take its address.
_packed: WeakKeyDictionary[nn.Module, tuple[Tensor, int, Tensor]] = WeakKeyDictionary()
_PACKED_FOR = 960  # rows; the layout is the same for fewer


def linear(
    inputs: Tensor, weight: Tensor, bias: Tensor | None = None, gelu: bool = False
) -> Tensor:
    """Multiply ``weight`` [M, D] with each of ``inputs`` [N, D], plus ``bias`` [M]: [N, M]; then
    GELU, if wanted."""
    if not _is_for_one_dnn(inputs):
        product = functional.linear(inputs, weight, bias)
        return functional.gelu(product) if gelu else product
    # The last two are of other activations than these.
    activation: tuple[str, list[float], str] = ("gelu", [], "none") if gelu else ("none", [], "")
    result: Tensor = torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, *activation)
    return result


def packed(owner: nn.Module, weight: Tensor) -> Tensor:
    """Return a module's weight in the layout with which ``linear`` is fastest, cached for the next
    call. A change in place is noticed, one through ``weight.data`` is not. A weight that requires
    gradients is returned unpacked: torch's fused optimizers change it without a trace."""
    if not _is_for_one_dnn(weight) or weight.requires_grad or weight.is_inference():
        return weight  # one made for inference has no version
    held, version = weight.detach(), weight._version
    known = _packed.get(owner)
    if known and (known[0].data_ptr(), known[1]) == (held.data_ptr(), version):
        return known[2]
    result: Tensor = torch.ops.mkldnn._reorder_linear_weight(held, _PACKED_FOR)
    _packed[owner] = held, version, result
    return result


def bulk_rows(count: int) -> int:
    """Return the number of rows to which a product of ``count`` rows is padded: one of a few
    values, since oneDNN keeps half a megabyte for each number of rows it has met with each
    weight."""
    return _raised(count, ROW_MULTIPLE if count <= 128 else 64 if count <= 384 else 192)


def step_rows(count: int, multiple: int) -> int:
    """Return the padding for the rows of one level, a multiple of ``multiple``: finer steps, since
    there are many levels."""
    for limit, coarse in ((32, 1), (64, 8), (256, 32), (512, 64)):
        if count <= limit:
            return _raised(count, max(multiple, coarse))
    return bulk_rows(count)


def _raised(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def _is_for_one_dnn(tensor: Tensor) -> bool:
    return (
        tensor.dtype == torch.float32
        and tensor.device.type == "cpu"
        and not torch.is_grad_enabled()
        and use_one_dnn
        and one_dnn_works()
    )


@cache
def one_dnn_works() -> bool:
    """Return whether this torch has oneDNN's product, which is not in torch's documentation, and
    whether the product equals torch's own."""
    inputs, weight = torch.linspace(-1, 1, 96).view(4, 24), torch.linspace(-1, 1, 768).view(32, 24)
    bias = torch.linspace(-1, 1, 32)
    with torch.autocast("cpu", enabled=False):  # the first to ask may be training in bfloat16
        expected = functional.linear(inputs, weight, bias)
        expected = torch.cat([expected, functional.gelu(expected)])
    try:
        packed_weight = torch.ops.mkldnn._reorder_linear_weight(weight, _PACKED_FOR)
        results = [
            torch.cat(
                [
                    torch.ops.mkldnn._linear_pointwise(inputs, some, bias, "none", [], ""),
                    torch.ops.mkldnn._linear_pointwise(inputs, some, bias, "gelu", [], "none"),
                ]
            )
            for some in (weight, packed_weight)
        ]
    except (AttributeError, RuntimeError, TypeError) as error:
        _log.debug("oneDNN's product cannot be used: %s", error)
        return False
    return all(torch.allclose(result, expected, atol=1e-4) for result in results)
