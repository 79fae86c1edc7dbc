"""Matrix products without gradients, for scoring.

Torch hands float32 products on a CPU to MKL, which uses half of the vector units of an AMD
processor; oneDNN, which torch brings along, uses all of them: 2.3 times as fast there, and more on
a few rows, if the weight is packed (docs/research/performance.md). Either way a product is of
float32 numbers and summed in float32.

Weights whose file holds 8 bits are multiplied up to twice as fast as integers, on processors that
multiply four pairs at a time (``EightBits`` of the words, ``EightBitWeight`` of a layer).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
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

# Whether oneDNN is used where it works; False is for comparisons of products that are not rounded.
use_one_dnn = True

# Per module: its weights, their versions, and what was packed. The weights are kept so that no
# others can take their addresses.
_Kept = tuple[list[Tensor], list[int], list[Tensor]]
_packed: WeakKeyDictionary[nn.Module, _Kept] = WeakKeyDictionary()
_packed_lstms: WeakKeyDictionary[nn.Module, _Kept] = WeakKeyDictionary()
_PACKED_FOR = 960  # rows; the layout is the same for fewer

LOG2_E = math.log2(math.e)
_LSTM = 2  # among the kinds of recurrent layers

# An input is (256 a + b) / 32512, for integers a and b of 8 bits.
_COARSE = 256  # steps of b in one of a
_STEPS = 127 * _COARSE  # of k from 0 to 1: a has absolute values up to 127
_ZERO = 128  # the processor multiplies unsigned by signed integers
_NO_DIGITS = float(1 << 23)
_FREQUENT_SYMBOLS = 4_096
_BLOCK = 2_048  # symbols whose logits stay in the second-level cache
_TINIEST = 1e-30  # taken for the largest number of a row of zeros; steps per number are finite
_SMALLEST_WEIGHT = 300_000  # numbers; products with smaller ones are as fast in float32

# The largest integers of a row in 8 bits, and in 6 (reranker.checkpoints.six_bits).
_LARGEST = 127, 31
_SAMPLE = 32  # rows


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
    if not _can_be_packed(weight):
        return weight
    (result,) = _kept(_packed, owner, [weight], _reordered)
    return result


def packed_lstm(owner: nn.Module, weights: Sequence[Tensor]) -> Sequence[Tensor] | None:
    """Return the input weight [4 H, D] and the recurrent weight [4 H, H] of an LSTM as ``lstm``
    takes them, cached as by ``packed``; None where torch's own LSTM must compute."""
    if not all(map(_can_be_packed, weights)) or not one_dnn_lstm_works():
        return None
    return _kept(_packed_lstms, owner, weights, _reordered_lstm)


def lstm(
    inputs: Tensor, state: tuple[Tensor, Tensor], weights: Sequence[Tensor], bias: Tensor
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Compute torch's LSTM, to the last bit where that was tried (x86 with AVX2 or AVX-512): the
    outputs [T, B, H] for inputs [T, B, D] and the last state, [B, H] each. Torch's own packs its
    weights in each call, which takes as long as a step of sixteen rows."""
    size = len(bias) // 4
    inputs, *known = (each.contiguous() for each in (inputs, *state))
    outputs, hidden, cell, _ = torch.ops.aten.mkldnn_rnn_layer(
        inputs, *weights, bias, torch.zeros_like(bias), *known,
        False, [], _LSTM, size, 1, True, False, False, False,
    )  # fmt: skip
    return outputs, (hidden.view(-1, size), cell.view(-1, size))


def _can_be_packed(weight: Tensor) -> bool:
    # One made for inference has no version.
    return _is_for_one_dnn(weight) and not weight.requires_grad and not weight.is_inference()


def _kept(
    known: WeakKeyDictionary[nn.Module, _Kept],
    owner: nn.Module,
    weights: Sequence[Tensor],
    make: Callable[..., list[Tensor]],
) -> list[Tensor]:
    held, versions = [each.detach() for each in weights], [each._version for each in weights]
    before = known.get(owner)
    if before and before[1] == versions and all(map(_is_same, before[0], held)):
        return before[2]
    made = make(*held)
    known[owner] = held, versions, made
    return made


def _is_same(weight: Tensor, other: Tensor) -> bool:
    return weight.data_ptr() == other.data_ptr()


def _reordered(weight: Tensor) -> list[Tensor]:
    return [torch.ops.mkldnn._reorder_linear_weight(weight, _PACKED_FOR)]


def _reordered_lstm(input_weight: Tensor, recurrent_weight: Tensor) -> list[Tensor]:
    size, shape = recurrent_weight.shape[1], [1, 1, input_weight.shape[1]]
    given = input_weight, recurrent_weight, size, False, True, False, shape
    result: list[Tensor] = torch.ops.mkldnn._reorder_mkldnn_rnn_layer_weight(*given)
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


@cache
def one_dnn_lstm_works() -> bool:
    """Return whether this torch has oneDNN's LSTM, which is not in torch's documentation, and
    whether the result equals that of torch's own."""
    weights = torch.linspace(-1, 1, 400).view(40, 10), torch.linspace(1, -1, 400).view(40, 10)
    inputs, bias = torch.linspace(-2, 2, 60).view(2, 3, 10), torch.linspace(0, 1, 40)
    state = torch.linspace(-1, 1, 30).view(3, 10), torch.linspace(1, -1, 30).view(3, 10)
    with torch.autocast("cpu", enabled=False), torch.inference_mode():
        expected = torch.lstm(
            inputs,
            [each.unsqueeze(0) for each in state],
            [*weights, bias, torch.zeros_like(bias)],
            *(True, 1, 0.0, False, False, False),
        )
        try:
            outputs, after = lstm(inputs, state, _reordered_lstm(*weights), bias)
        except (AttributeError, RuntimeError, TypeError, ValueError) as error:
            _log.debug("oneDNN's LSTM cannot be used: %s", error)
            return False
    found = outputs, *(each.unsqueeze(0) for each in after)
    return all(map(torch.equal, found, expected))


class _Packed:
    """Base of weights that are packed for this process: a copy is None, as if there were none, so
    that a copied or pickled model computes in float32."""

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


class EightBits(_Packed):
    """An output weight W [V, D], its rows integers times a scale, and bias b [V], symbols most
    frequent first.

    With k = (256 a + b) / 32512, W k is the sum of two products of integers, which no order of
    summation changes. The second is left out for rare words, whose small probabilities need fewer
    digits: a tree's log-probability moves by some 0.001 nats, by 0.014 at most in what was measured
    (docs/research/performance.md).
    """

    def __init__(self, integers: Tensor, scales: Tensor, bias: Tensor) -> None:
        self._blocks = []
        for start in range(0, len(integers), _BLOCK):
            some = slice(start, start + _BLOCK)
            packed = torch.ops.onednn.qlinear_prepack(integers[some].clone(), None)
            factors = (scales[some] * LOG2_E, bias[some] * LOG2_E)
            self._blocks.append((packed, *factors, start < _FREQUENT_SYMBOLS))

    def scaled_logits(self, rows: Tensor) -> Iterator[Tensor]:
        """Yield (W k + b) log2 e of the rows k [R, D], numbers from -1 to 1, for one block of the
        symbols after another, [R, n]."""
        first, second = _in_parts(rows, _STEPS)
        for weight, scales, bias, is_frequent in self._blocks:
            logits = _integer_product(first, _COARSE / _STEPS, weight, scales, bias)
            if is_frequent:
                logits = _integer_product_added(logits, second, 1 / _STEPS, weight, scales)
            yield logits


class EightBitWeight(_Packed):
    """A layer's weight W [M, D], its rows integers times a scale, for products in two parts."""

    def __init__(self, integers: Tensor, scales: Tensor) -> None:
        self._packed = torch.ops.onednn.qlinear_prepack(integers.clone(), None)
        self._scales = scales / _STEPS

    def product(self, rows: Tensor) -> Tensor:
        """Multiply W with each of the rows k [N, D], numbers from -1 to 1: [N, M]."""
        return self._product(rows, _STEPS)

    def _product(self, rows: Tensor, steps: Tensor | float) -> Tensor:
        parts = _in_parts(rows, steps).flatten(0, 1)  # one product, which reads the weight once
        coarse, fine = _integer_product(parts, 1.0, self._packed, self._scales).chunk(2)
        return fine.add_(coarse, alpha=_COARSE)

    def linear(self, rows: Tensor, bias: Tensor, gelu: bool = False) -> Tensor:
        """Compute ``linear`` for rows [N, D] of numbers of any size, each divided by its largest
        number first: [N, M]."""
        widest = rows.abs().amax(1, keepdim=True).clamp_(min=_TINIEST)
        result = torch.addcmul(bias, self._product(rows, _STEPS / widest), widest)
        return functional.gelu(result) if gelu else result


class FloatWeight(_Packed):
    """A weight W [M, D] of float32 numbers, packed as ``linear`` is fastest."""

    def __init__(self, weight: Tensor) -> None:
        (self._packed,) = _reordered(weight.detach())

    def linear(self, inputs: Tensor, bias: Tensor | None = None) -> Tensor:
        """Multiply W with each of the inputs [..., D], plus ``bias`` [M]: [..., M]."""
        rows = inputs.flatten(0, -2)
        more = step_rows(len(rows), 4) - len(rows)  # each new number of rows takes time and memory
        padded = functional.pad(rows, (0, 0, 0, more)) if more else rows
        result: Tensor = torch.ops.mkldnn._linear_pointwise(
            padded, self._packed, bias, "none", [], ""
        )
        return result[: len(rows)].view(*inputs.shape[:-1], -1)


def eight_bits(weight: Tensor, bias: Tensor) -> EightBits | None:
    """Return a way to compute with an output weight [V, D] and bias [V]; None where the weight is
    not of 8 bits, or the processor would not be faster."""
    found = _all_integers(weight)
    return EightBits(*found, bias) if found else None


def eight_bit_weight(weight: Tensor) -> EightBitWeight | None:
    """Return a way to multiply with a layer's weight [M, D]; None where the weight is not of 8
    bits, or the processor would not be faster."""
    found = _all_integers(weight) if weight.numel() >= _SMALLEST_WEIGHT else None
    return EightBitWeight(*found) if found else None


def _in_parts(rows: Tensor, steps: Tensor | float) -> Tensor:
    """Return a + 128 and b + 128, [2, N, D], of rows [N, D] times ``steps``, which is 32512 for
    numbers from -1 to 1."""
    # A float32 beyond 2 ** 23 has no digits behind the point. So the sum is rounded to a whole
    # number, which is its last bits. Each operation rounds as it does alone.
    whole = (rows * steps).add_(_ZERO * _COARSE + _ZERO + _NO_DIGITS).view(torch.int32)
    parts = torch.empty(2, *rows.shape, dtype=torch.uint8)
    parts[1] = whole  # the last 8 bits alone
    parts[0] = whole.bitwise_right_shift_(8)
    return parts


def _all_integers(weight: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return ``_integers`` of a weight, if the processor multiplies integers faster."""
    if (weight.device.type, weight.dtype) != ("cpu", torch.float32) or not eight_bits_work():
        return None
    weight = weight.detach()
    for largest in _LARGEST:
        if _integers(weight[:_SAMPLE], largest) is None:  # sooner than all rows would tell
            continue
        if found := _integers(weight, largest):
            return found
    return None


def _integers(weight: Tensor, largest: int) -> tuple[Tensor, Tensor] | None:
    """Return the integers [V, D] up to ``largest`` and the scales [V] of which a weight is made, if
    it is."""
    widest = weight.abs().amax(1)
    scales = torch.where(widest > 0, widest / largest, 1.0)
    steps = weight / scales.unsqueeze(1)
    integers = steps.round()
    is_whole = bool(steps.sub_(integers).abs_().amax() < 1e-3)
    return (integers.to(torch.int8), scales) if is_whole else None


@cache
def eight_bits_work() -> bool:
    """Return whether the processor multiplies four pairs of 8-bit integers at a time (others are
    slower, and may cut off large sums), and this torch has that product, which is not in torch's
    documentation, and computes it right."""
    if not torch.cpu._is_vnni_supported():
        return False
    inputs = torch.tensor([0, 1, 127, 128, 255], dtype=torch.uint8).repeat(8, 52)[:, :256]
    weight = torch.tensor([-127, -126, 127, 1, 127, 127, -127], dtype=torch.int8).repeat(32, 37)
    weight = weight[:, :256].contiguous()
    scales = bias = torch.linspace(-1, 1, 32)
    exact = (inputs.double() - _ZERO) @ weight.double().T
    try:
        packed = torch.ops.onednn.qlinear_prepack(weight.clone(), None)
        product = _integer_product(inputs, 0.5, packed, scales, bias)
        product = _integer_product_added(product, inputs, 0.25, packed, scales)
    except (AttributeError, RuntimeError, TypeError) as error:
        _log.debug("products of 8-bit integers cannot be used: %s", error)
        return False
    return torch.allclose(product.double(), exact * scales * 0.75 + bias, rtol=1e-6)


def _integer_product(
    inputs: Tensor, scale: float, weight: Tensor, scales: Tensor, bias: Tensor | None = None
) -> Tensor:
    signed = torch.zeros(1, dtype=torch.int32)  # the weight's integers have no offset
    result: Tensor = torch.ops.onednn.qlinear_pointwise(
        inputs, scale, _ZERO, weight, scales, signed, bias, 1.0, 0, torch.float32, "none", [], ""
    )
    return result


def _integer_product_added(
    summand: Tensor, inputs: Tensor, scale: float, weight: Tensor, scales: Tensor
) -> Tensor:
    signed = torch.zeros(1, dtype=torch.int32)
    given = inputs, scale, _ZERO, weight, scales, signed, summand, None, 1.0, 0, torch.float32
    result: Tensor = torch.ops.onednn.qlinear_pointwise.binary(
        *given, 1.0, 0, "sum", 1.0, "none", [], ""
    )
    return result
