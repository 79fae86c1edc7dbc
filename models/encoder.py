"""The encoder of an encoder-decoder: from a batch of source sentences to vectors for attention."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from reranker.models.batch import PADDING
from reranker.models.layer import LayerState, LstmLayer


class Encoded(NamedTuple):
    """The encoding of B source sentences of at most S positions, for a decoder."""

    outputs: Tensor  # s, [B, S, H]; zero after a sentence's end
    is_position: Tensor  # [B, S]; False after a sentence's end
    last: tuple[LayerState, ...]  # h and c of each layer, [B, H]


class Encoder(nn.Module):
    """LSTM layers that read in both directions, whose outputs are summed (Takase et al. 2018,
    footnote 14: the "deep bidirectional" encoder).

    Layer n reads the sum of the two directions of layer n - 1. An input is the sum of the
    embeddings of a position's features: a word and its pieces in a parser (Suzuki et al. 2018), one
    piece in translation. Sentences are packed, so padding takes no part in anything.
    """

    def __init__(
        self,
        vocabulary_size: int,
        embedding_size: int,
        hidden_sizes: tuple[int, ...],
        weight_dropout: float,
        embedding_range: float,
    ) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(vocabulary_size, embedding_size))
        nn.init.uniform_(self.embedding, -embedding_range, embedding_range)
        self.forwards, self.backwards = nn.ModuleList(), nn.ModuleList()
        before = embedding_size
        for size in hidden_sizes:
            self.forwards.append(LstmLayer(before, size, weight_dropout))
            self.backwards.append(LstmLayer(before, size, weight_dropout))
            before = size

    def forward(self, source: Tensor, embedding_dropout: float, hidden_dropout: float) -> Encoded:
        """Read ``source`` [S, B, F], the features of each position, PADDING where there is none;
        every sentence has at least one position, and every position a feature."""
        is_feature = source != PADDING
        lengths = is_feature.any(2).sum(0)
        vectors = functional.embedding(source.clamp(min=0), self.embedding)
        hidden = (vectors * is_feature.unsqueeze(-1)).sum(2)  # [S, B, E]
        packed = pack_padded_sequence(hidden, lengths.cpu(), enforce_sorted=False)
        data = functional.dropout(packed.data, embedding_dropout, self.training)
        last: list[LayerState] = []
        for number, (forward, back) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            assert isinstance(forward, LstmLayer) and isinstance(back, LstmLayer)
            if number:
                data = functional.dropout(data, hidden_dropout, self.training)
            data, hidden, cell = _both_directions(data, packed, forward, back)
            order = packed.unsorted_indices
            last.append((hidden.sum(0)[order], cell.sum(0)[order]))
        outputs, _ = pad_packed_sequence(packed._replace(data=data), batch_first=True)
        positions = torch.arange(outputs.shape[1], device=lengths.device)
        return Encoded(outputs, positions < lengths.unsqueeze(1), tuple(last))


def _both_directions(
    data: Tensor, packed: PackedSequence, forward: LstmLayer, back: LstmLayer
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sum of both directions' outputs [N, H]; the last h and c of each, [2, B, H]."""
    weights = [*forward.kernel_weights(data.dtype), *back.kernel_weights(data.dtype)]
    size = forward.recurrent_weight.shape[1]
    zeros = data.new_zeros(2, int(packed.batch_sizes[0]), size)
    outputs, hidden, cell = torch.lstm(
        data, packed.batch_sizes, (zeros, zeros), weights, True, 1, 0.0, forward.training, True
    )
    return outputs[:, :size] + outputs[:, size:], hidden, cell
