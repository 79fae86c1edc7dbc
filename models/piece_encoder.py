"""A Transformer that reads a sentence's word pieces: BERT's encoder (Devlin et al. 2019), without
its second segment, the vectors of the first added to the positions; or MPNet's (Song et al. 2020),
whose attention depends on distances, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from reranker.models.batch import PADDING
from reranker.models.layer import start_normal
from reranker.models.products import EightBitWeight, eight_bit_weight, linear, packed, step_rows

# Ways to compute attention: the quick one for a row at a time without gradients, the one in few
# kernels for rounded products on a GPU.
_PLAIN, _QUICK = [SDPBackend.MATH], [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
_ON_GPU = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
_MOST = {
    "size": 4_096, "inner_size": 16_384, "layers": 48, "positions": 4_096, "distance_classes": 256,
}  # fmt: skip
_IN_FLOAT32 = (None,) * 4  # the products of a layer
_FARTHEST = 128  # distances from here on are one class


@dataclass(frozen=True, slots=True)
class PieceConfig:
    """Sizes, and the rate of its dropouts."""

    piece_count: int
    size: int = 384
    inner_size: int = 1_536
    layers: int = 6
    heads: int = 12
    positions: int = 256
    per_word: int = 8  # pieces of a word that are read, at most
    dropout: float = 0.1
    norm_epsilon: float = 1e-12
    distance_classes: int = 0  # of two pieces, each of which changes attention; 0: none does

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "dropout":
                if not 0 <= value < 1:
                    raise ValueError(f"dropout must be in [0, 1), got {value}")
            elif each.name == "norm_epsilon":
                if not 0 < value < 0.1:
                    raise ValueError(f"norm_epsilon must be above 0 and below 0.1, got {value}")
            elif each.name == "distance_classes":
                if type(value) is not int or value < 0 or value % 4:
                    raise ValueError(
                        f"{each.name} must be 0 or a positive multiple of 4, got {value}"
                    )
            elif type(value) is not int or value < 1:
                raise ValueError(f"{each.name} must be a positive integer, got {value}")
        # A sentence's reading has these sizes, whatever a file has: they bound its memory.
        for name, most in _MOST.items():
            if getattr(self, name) > most:
                raise ValueError(f"{name} is {getattr(self, name)}, more than {most}")
        if self.positions < self.per_word:
            raise ValueError(f"positions is {self.positions}, less than per_word, {self.per_word}")
        if self.size % self.heads:
            raise ValueError(f"heads is {self.heads}, which does not divide size {self.size}")


class PieceEncoder(nn.Module):
    """A transformer that reads pieces of words and returns a vector for every word."""

    rounded: Sequence[Sequence[EightBitWeight | None]] = ()
    """Each layer's weights for products of 8-bit integers, if scores are computed with them."""

    def __init__(self, config: PieceConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Parameter(torch.empty(config.piece_count, config.size))
        self.positions = nn.Parameter(torch.empty(config.positions, config.size))
        for weight in (self.embedding, self.positions):
            start_normal(weight, std=0.02)
        if config.distance_classes:
            self.distances = nn.Parameter(torch.zeros(config.distance_classes, config.heads))
        self.norm = nn.LayerNorm(config.size, config.norm_epsilon)
        layer = nn.TransformerEncoderLayer(
            config.size,
            config.heads,
            config.inner_size,
            config.dropout,
            "gelu",
            config.norm_epsilon,
            batch_first=True,
        )
        # Dropout there takes a quarter of the training's time: it is on each half's output only.
        layer.self_attn.dropout = layer.dropout.p = 0.0
        # For its weights, their names and what they start from; _layer_output computes.
        self.layers = nn.TransformerEncoder(layer, config.layers, enable_nested_tensor=False)

    def round_products(self) -> None:
        """Compute with products of 8-bit integers from now on, where gradients are off, weights are
        of 8 bits and the processor is faster. Call it again after a change of weights."""
        self.rounded = [
            [eight_bit_weight(weight) for _, weight, _ in _products_of(layer)]
            for layer in self._layers
        ]

    def forward(self, pieces: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the output at each word's last piece, [T, B, size]. ``pieces`` [T, B, P] are those
        of each word, at least one, followed by PADDING. A sentence that does not fit the positions
        is read in windows that overlap by half. ``dtype`` is that of matrix products."""
        is_piece = pieces != PADDING
        counts = is_piece.sum(2).T
        lengths = counts.sum(1)
        longest = int(lengths.max())
        if longest > self.config.positions:  # each by itself: its windows depend on no other
            alone = range(pieces.shape[1])
            return torch.cat([self._in_windows(pieces[:, i : i + 1], dtype) for i in alone], 1)
        by_sentence, kept = pieces.transpose(0, 1).flatten(1), is_piece.transpose(0, 1).flatten(1)
        rows = by_sentence.new_zeros(len(lengths), longest)
        is_read = torch.arange(longest, device=rows.device) < lengths.unsqueeze(1)
        rows[is_read] = by_sentence[kept]
        data = self.norm(functional.embedding(rows, self.embedding) + self.positions[:longest])
        data = functional.dropout(data, self.config.dropout, self.training)
        is_scoring = not torch.is_grad_enabled()
        if is_scoring:  # each new number of rows takes oneDNN time and memory
            data = functional.pad(data, (0, 0, 0, step_rows(longest, 4) - longest))
        is_rough = dtype != data.dtype and dtype == torch.bfloat16
        with (
            torch.autocast(data.device.type, dtype=torch.bfloat16, enabled=is_rough),
            sdpa_kernel(self._attention(is_scoring, is_rough)),
        ):
            attend = partial(self._attend, length=longest, mask=self._mask(is_read, data.shape[1]))
            data = self._through_layers(data, attend)
        last = (counts.cumsum(1) - 1).unsqueeze(2)
        read: Tensor = data.gather(1, last.expand(-1, -1, data.shape[2]))
        return read.transpose(0, 1)

    def each(self, sentences: Sequence[Tensor]) -> list[Tensor]:
        """Run ``forward`` for several sentences [T, 1, P], for scoring: a list of [T, 1, size], the
        same to the last bit. On the CPU in float32, products take the rows of all sentences at
        once, since a weight is read from memory for each product; each attends to itself."""
        is_plain = self.embedding.device.type == "cpu" and self.embedding.dtype == torch.float32
        if not is_plain or len(sentences) < 2:
            return [self(pieces) for pieces in sentences]
        words = torch.cat([pieces[:, 0] for pieces in sentences])
        is_piece = words != PADDING
        counts = is_piece.sum(1)
        word_counts = [*map(len, sentences)]
        lengths = [int(own.sum()) for own in torch.split(counts, word_counts)]
        if max(lengths) > self.config.positions:
            return [self(pieces) for pieces in sentences]
        rows = functional.embedding(words[is_piece], self.embedding)
        rows += torch.cat([self.positions[:length] for length in lengths])
        more = step_rows(len(rows), 4) - len(rows)
        data = functional.pad(self.norm(rows), (0, 0, 0, more))
        ones = torch.ones(1, max(lengths), dtype=torch.bool)
        sizes = [step_rows(length, 4) for length in lengths]  # as ``forward`` pads
        attends = [
            partial(self._attend, length=length, mask=self._mask(ones[:, :length], size))
            for length, size in zip(lengths, sizes, strict=True)
        ]

        def attend(rows: Tensor) -> Tensor:
            *parts, rest = torch.split(rows, [*lengths, more])
            read = [
                own(functional.pad(part, (0, 0, 0, size - len(part)))[None])[0, : len(part)]
                for own, part, size in zip(attends, parts, sizes, strict=True)
            ]
            return torch.cat([*read, rest[:, : self.config.size]])

        with sdpa_kernel(_QUICK):
            data = self._through_layers(data, attend)
        read = data[counts.cumsum(0) - 1]
        return [own.unsqueeze(1) for own in torch.split(read, word_counts)]

    def _attention(self, is_scoring: bool, is_rough: bool) -> list[SDPBackend]:
        if self.embedding.device.type == "cpu":
            return _QUICK if is_scoring else _PLAIN
        return _ON_GPU if is_rough else _PLAIN

    def _through_layers(self, data: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
        is_rounded = bool(self.rounded) and not torch.is_grad_enabled()
        for number, layer in enumerate(self._layers):
            rounded = self.rounded[number] if is_rounded else _IN_FLOAT32
            data = _layer_output(layer, data, attend, rounded)
        return data

    @property
    def _layers(self) -> Iterator[nn.TransformerEncoderLayer]:
        for layer in self.layers.layers:
            assert isinstance(layer, nn.TransformerEncoderLayer)
            yield layer

    def _attend(self, inputs: Tensor, length: int, mask: Tensor | None) -> Tensor:
        """Compute attention to the first ``length`` positions, with ``mask`` as torch takes it,
        from queries, keys and values [B, N, 3 size]: [B, N, size]."""
        heads = inputs.view(*inputs.shape[:2], 3, self.config.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = heads  # [B, heads, N, size / heads]
        read = functional.scaled_dot_product_attention(
            query, key[:, :, :length], value[:, :, :length], mask
        )
        return read.transpose(1, 2).flatten(2)

    def _mask(self, is_read: Tensor, rows: int) -> Tensor | None:
        """Return the summand for attention, [B or 1, heads, rows, N], or, without classes of
        distances, the limit of attention, [B, 1, 1, N], from ``is_read`` [B, N]."""
        limit = None if is_read.all() else is_read[:, None, None]
        if not self.config.distance_classes:
            return limit
        numbers = torch.arange(rows, device=is_read.device)
        classes = distance_class(
            numbers[None, : is_read.shape[1]] - numbers[:, None], self.config.distance_classes
        )
        added = functional.embedding(classes, self.distances).permute(2, 0, 1).unsqueeze(0)
        return added if limit is None else added.masked_fill(~limit, -math.inf)

    def _in_windows(self, pieces: Tensor, dtype: torch.dtype) -> Tensor:
        """Run ``forward`` for one sentence: each word's vector comes from the window whose middle
        is nearest."""
        counts = (pieces != PADDING).sum((1, 2)).tolist()
        read = []
        for start, end, first, last in windows(counts, self.config.positions):
            read.append(self(pieces[start:end], dtype)[first - start : last - start])
        return torch.cat(read)


def windows(counts: Sequence[int], positions: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the windows over words of these many pieces each: a window's first word and the one
    after its last, then the same two for the words whose vectors are taken from the window. No
    window has more than ``positions`` pieces.

    >>> list(windows([1] * 10, 6))
    [(0, 6, 0, 4), (3, 9, 4, 7), (6, 10, 7, 10)]
    """
    start = first = 0
    while start < len(counts):
        total, end = 0, start
        while end < len(counts) and total + counts[end] <= positions:
            total += counts[end]
            end += 1
        following = max(start + 1, (start + end) // 2) if end < len(counts) else end
        last = (following + end) // 2
        yield start, end, first, last
        start, first = following, last


def distance_class(distance: Tensor, classes: int) -> Tensor:
    """Return the classes of distances: half of them for pieces behind, a quarter for single
    distances, the others for ranges that grow with the logarithm (Raffel et al. 2020, section 2.1).

    >>> distance_class(torch.tensor([-200, -1, 0, 1, 7, 8, 200]), 32).tolist()
    [15, 1, 0, 17, 23, 24, 31]
    """
    single = classes // 4
    far = distance.abs()
    steps = (far.clamp(min=1) / single).log() / math.log(_FARTHEST / single) * single
    far = torch.where(far < single, far, (single + steps.long()).clamp(max=2 * single - 1))
    return far + (distance > 0) * 2 * single


def _products_of(layer: nn.TransformerEncoderLayer) -> list[tuple[nn.Module, Tensor, Tensor]]:
    """Return the modules that multiply in a layer, in order, with weight [M, D] and bias [M]."""
    attention = layer.self_attn
    others = attention.out_proj, layer.linear1, layer.linear2
    first = attention, attention.in_proj_weight, attention.in_proj_bias
    return [first, *((each, each.weight, each.bias) for each in others)]


def _layer_output(
    layer: nn.TransformerEncoderLayer,
    data: Tensor,
    attend: Callable[[Tensor], Tensor],
    rounded: Sequence[EightBitWeight | None],
) -> Tensor:
    """Compute a layer's output for ``data`` [..., size]. The computation is that of torch's own
    layer, with packed weights; ``attend`` makes [..., size] of queries, keys and values [..., 3
    size]."""
    into, outer, first, second = (
        partial(_product, *each, some)
        for each, some in zip(_products_of(layer), rounded, strict=True)
    )
    data = layer.norm1(data + layer.dropout1(outer(attend(into(data)))))
    result: Tensor = layer.norm2(data + layer.dropout2(second(first(data, gelu=True))))
    return result


def _product(
    owner: nn.Module,
    weight: Tensor,
    bias: Tensor,
    rounded: EightBitWeight | None,
    data: Tensor,
    gelu: bool = False,
) -> Tensor:
    """Apply ``linear`` with a weight [M, D] of ``owner`` to ``data`` [..., D]: [..., M]."""
    rows = data.flatten(0, -2)
    if rounded is None:
        result = linear(rows, packed(owner, weight), bias, gelu)
    else:
        result = rounded.linear(rows, bias, gelu)
    return result.view(*data.shape[:-1], -1)
