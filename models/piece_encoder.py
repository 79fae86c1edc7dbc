"""A Transformer that reads a sentence's word pieces: BERT's encoder (Devlin et al. 2019), without
its second segment, the vectors of the first added to the positions."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from reranker.models.batch import PADDING
from reranker.models.layer import start_normal

_NORM_EPSILON = 1e-12
_MOST = {"size": 4_096, "inner_size": 16_384, "layers": 48, "positions": 4_096}


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

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "dropout":
                if not 0 <= value < 1:
                    raise ValueError(f"dropout is {value}, not in [0, 1)")
            elif type(value) is not int or value < 1:
                raise ValueError(f"{each.name} is {value}, not a whole number from 1 up")
        # A sentence's reading has these sizes, whatever a file has: they bound its memory.
        for name, most in _MOST.items():
            if getattr(self, name) > most:
                raise ValueError(f"{name} is {getattr(self, name)}, more than {most}")
        if self.positions < self.per_word:
            raise ValueError(f"positions is {self.positions}, less than per_word, {self.per_word}")
        if self.size % self.heads:
            raise ValueError(f"heads is {self.heads}, which does not divide size {self.size}")


class PieceEncoder(nn.Module):
    """Pieces of words in, a vector for every word out."""

    def __init__(self, config: PieceConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Parameter(torch.empty(config.piece_count, config.size))
        self.positions = nn.Parameter(torch.empty(config.positions, config.size))
        for weight in (self.embedding, self.positions):
            start_normal(weight, std=0.02)
        self.norm = nn.LayerNorm(config.size, _NORM_EPSILON)
        layer = nn.TransformerEncoderLayer(
            config.size,
            config.heads,
            config.inner_size,
            config.dropout,
            "gelu",
            _NORM_EPSILON,
            batch_first=True,
        )
        # Dropout there takes a quarter of the training's time: it is on each half's output only.
        layer.self_attn.dropout = layer.dropout.p = 0.0
        self.layers = nn.TransformerEncoder(layer, config.layers, enable_nested_tensor=False)

    def forward(self, pieces: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """What is read at each word's last piece, [T, B, size]. ``pieces`` [T, B, P] are those of
        every word, at least one, PADDING behind them. Sentences that do not fit the positions are
        read in parts. ``dtype`` is that of matrix products."""
        is_piece = pieces != PADDING
        counts = is_piece.sum(2).T
        lengths = counts.sum(1)
        longest, words = int(lengths.max()), len(pieces)
        if longest > self.config.positions:
            halves = pieces[: words // 2], pieces[words // 2 :]
            return torch.cat([self(half, dtype) for half in halves])
        by_sentence, kept = pieces.transpose(0, 1).flatten(1), is_piece.transpose(0, 1).flatten(1)
        rows = by_sentence.new_zeros(len(lengths), longest)
        is_read = torch.arange(longest, device=rows.device) < lengths.unsqueeze(1)
        rows[is_read] = by_sentence[kept]
        data = self.norm(functional.embedding(rows, self.embedding) + self.positions[:longest])
        data = functional.dropout(data, self.config.dropout, self.training)
        is_rough = dtype != data.dtype and dtype == torch.bfloat16
        with (
            torch.autocast(data.device.type, dtype=torch.bfloat16, enabled=is_rough),
            sdpa_kernel(SDPBackend.MATH),
        ):
            data = self.layers(data, src_key_padding_mask=None if is_read.all() else ~is_read)
        last = (counts.cumsum(1) - 1).unsqueeze(2)
        read: Tensor = data.gather(1, last.expand(-1, -1, data.shape[2]))
        return read.transpose(0, 1)
