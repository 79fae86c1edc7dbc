"""EncDec: an encoder-decoder with attention, whose decoder may have Direct Output Connection
(Takase et al. 2018, section 6.2).

EncDec, EncDec+DOC(i_3 = 2) and EncDec+DOC(i_2 = i_3 = 2) are settings of it: no ``components``;
(0, 0, 0, 2); (0, 0, 2, 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from reranker.models.config import Config
from reranker.models.dropout import row_dropout
from reranker.models.encoder import Encoded, Encoder
from reranker.models.layer import LayerState, LstmLayer, lstm_cell, matrix, product
from reranker.models.output import Features, Output
from reranker.models.past import attention


@dataclass(frozen=True, slots=True)
class EncoderDecoderConfig(Config):
    """Sizes and dropout rates; the defaults are those of the paper for translation, dropout that of
    the implementation it starts from (mlpnlp/mlpnlp-nmt), an element at a time.

    ``vocabulary_size`` is the target's. ``hidden_sizes`` are those of the decoder's LSTMs and of
    the encoder's, whose last states the decoder starts from. ``components`` counts softmaxes of the
    embedding, of each LSTM, and of the attentional layer.
    """

    source_vocabulary_size: int = field(kw_only=True)
    embedding_size: int = 500
    hidden_sizes: tuple[int, ...] = (500, 500)
    attentional_size: int = 500  # of the layer after attention; if tied, of EncDec's embedding
    components: tuple[int, ...] = (0, 0, 2, 2)
    word_dropout: float = 0.0
    embedding_dropout: float = 0.0
    hidden_dropout: float = 0.3
    output_dropout: float = 0.3
    component_dropout: float = 0.0
    recurrent_weight_dropout: float = 0.0

    def __post_init__(self) -> None:
        if min(self.source_vocabulary_size, self.attentional_size) < 1:
            raise ValueError("source_vocabulary_size and attentional_size must be positive")
        Config.__post_init__(self)

    @property
    def reader_size(self) -> int:
        return self.attentional_size


class AttendedSource(NamedTuple):
    """The encoding that the decoder attends to, for B sentences of at most S positions."""

    keys: Tensor  # W_a s, [B, S, H]
    values: Tensor  # s, [B, S, H]
    is_position: Tensor  # [B, S]

    def rows(self, which: Tensor) -> AttendedSource:
        """Return the memory of some sentences."""
        return AttendedSource(*(part[which] for part in self))


# h and c of each LSTM, then the attentional layer's output alone; all tensors are [R, ...].
DecoderState = tuple[LayerState, ...]


class EncoderDecoder(Output):
    """P(target | source), token by token. Scores are natural logarithms.

    With s the encoder's outputs, h^1 and h^2 the decoder's LSTMs, y_t the token read at step t:

        h^1_t = LSTM([E y_t; h^3_(t-1)]),  h^2_t = LSTM(h^1_t)      input feeding
        a_t   = softmax_i(h^2_t^T W_a s_i)                          Luong et al. 2015, general
        h^3_t = tanh(W_c [sum_i a_ti s_i; h^2_t])                   the 3rd layer
        P     = sum_j pi_j softmax(W k_j + b)                       equation 7 of Takase et al. 2018

    h^3_0 is zero; h and c of each LSTM start as the sums of both directions' last ones in the
    encoder's layer of the same number. Dropout is between layers and before the output, an element
    at a time; what is fed back and attended to is not dropped.
    """

    architecture = "encoder-decoder"
    config: EncoderDecoderConfig

    def __init__(self, config: EncoderDecoderConfig) -> None:
        super().__init__(config)
        rate = config.recurrent_weight_dropout
        self.encoder = Encoder(
            config.source_vocabulary_size,
            config.embedding_size,
            config.hidden_sizes,
            rate,
            config.embedding_range,
        )
        self.layers = nn.ModuleList()
        before = config.embedding_size + config.attentional_size
        for size in config.hidden_sizes:
            self.layers.append(LstmLayer(before, size, rate))
            before = size
        self.match_weight = matrix(before, before)  # W_a
        self.context_weight = matrix(config.attentional_size, 2 * before)  # W_c
        self.add_output()

    def encode(self, source: Tensor) -> tuple[AttendedSource, DecoderState]:
        """Read B sentences, ``source`` [S, B, F] (``Encoder.forward``): what is attended to, and
        the decoder's state before the first token."""
        config = self.config
        encoded: Encoded = self.encoder(source, config.embedding_dropout, config.hidden_dropout)
        keys = product(encoded.outputs, self.match_weight)
        fed = keys.new_zeros(len(keys), config.attentional_size)
        memory = AttendedSource(keys, encoded.outputs, encoded.is_position)
        return memory, (*encoded.last, (fed,))

    def forward(
        self, tokens: Tensor, memory: AttendedSource, state: DecoderState
    ) -> tuple[Features, DecoderState]:
        """Return features after reading each of ``tokens`` [T, R] from ``state``, and the last
        state.

        R is a multiple of the sentences in ``memory``: that many consecutive rows attend to each,
        as in a beam.
        """
        config = self.config
        weight = row_dropout(self.embedding, config.word_dropout, self.training)
        embedded = functional.embedding(tokens, weight)
        embedded = functional.dropout(embedded, config.embedding_dropout, self.training)
        steps = self._steps(embedded, memory, state)
        raw = [torch.stack(outputs) for outputs in steps.outputs]
        *middle, last = raw
        dropped = [
            functional.dropout(each, config.hidden_dropout, self.training) for each in middle
        ]
        output = functional.dropout(last, config.output_dropout, self.training)
        outputs = [embedded, *dropped, output]
        components, log_weights = self.mixed([outputs[layer] for layer in self.decoded_layers])
        components = functional.dropout(components, config.component_dropout, self.training)
        alpha = torch.stack(steps.attention)
        return Features(components, log_weights, last, output, alpha), steps.state

    def _steps(self, embedded: Tensor, memory: AttendedSource, state: DecoderState) -> _Steps:
        """Run the recurrence over [T, R, E]: each step needs the attention of the previous one."""
        first, *others = self.layers
        assert isinstance(first, LstmLayer)
        size = self.config.embedding_size
        # Contiguous, or oneDNN takes minutes instead of milliseconds.
        word_weight = first.input_weight[:, :size].contiguous()
        from_words = product(embedded, word_weight) + first.bias
        # A layer's product with its inputs and the one with its past are one.
        weights = [torch.cat([first.input_weight[:, size:], first.dropped_weight()], dim=1)]
        for layer in others:
            assert isinstance(layer, LstmLayer)
            weights.append(torch.cat([layer.input_weight, layer.dropped_weight()], dim=1))
        *layers, (fed,) = state
        steps = _Steps([[] for _ in range(len(layers) + 1)], [], state)
        for gates in from_words:
            below = fed
            for number, weight in enumerate(weights):
                hidden, cell = layers[number]
                if number:
                    gates = self.layers[number].bias
                    below = functional.dropout(below, self.config.hidden_dropout, self.training)
                sums = product(torch.cat([below, hidden], dim=1), weight) + gates
                below, cell = lstm_cell(sums, cell)
                layers[number] = below, cell
                steps.outputs[number].append(below)
            fed, alpha = self._attended(below, memory)
            steps.outputs[-1].append(fed)
            steps.attention.append(alpha)
        return steps._replace(state=(*layers, (fed,)))

    def _attended(self, hidden: Tensor, memory: AttendedSource) -> tuple[Tensor, Tensor]:
        """Return h^3 [R, A] and a [R, S] for h^2 [R, H]."""
        sentences, positions, size = memory.keys.shape
        queries = hidden.view(sentences, -1, size)
        scores = queries @ memory.keys.transpose(1, 2)  # [B, R / B, S]
        alpha = attention(scores, memory.is_position.unsqueeze(1))
        context = (alpha @ memory.values).view(-1, size)
        joined = torch.cat([context, hidden], dim=1)
        return torch.tanh(product(joined, self.context_weight)), alpha.view(-1, positions)


class _Steps(NamedTuple):
    outputs: list[list[Tensor]]  # of each layer, [R, H] for each step
    attention: list[Tensor]  # [R, S] for each step
    state: DecoderState
