"""A model of constituents given the words: P(label of every span | words), each span for itself.

A bidirectional LSTM reads the sentence; a span is what it has read up to each of its two ends
(Stern et al. 2017, section 3), and a softmax over labels, one of which is "no constituent", follows
(the local models of Teng & Zhang 2018). All candidates of a sentence share one reading of it.
With ``encoder``, the LSTM reads what a Transformer that learned from plain text makes of each word
(as the parsers of Kitaev et al. 2019 do).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from reranker.models.batch import PADDING
from reranker.models.dropout import locked_dropout
from reranker.models.layer import LstmLayer, matrix, start_normal
from reranker.models.piece_encoder import PieceConfig, PieceEncoder
from reranker.models.products import FloatWeight, one_dnn_works

_NUMBERS_AT_ONCE = 32_768 * 256
_MOST, _MOST_LAYERS = 4_096, 16
_STEPS = 2  # that an LSTM reads of several sentences before those that have ended are left out


@dataclass(frozen=True, slots=True)
class SpanConfig:
    """Sizes and dropout rates. A word's input is its embedding, its word vector, which is not
    trained, the mean of the embeddings of its letter n-grams, and the encoder's output."""

    word_count: int
    vector_count: int
    label_count: int
    embedding_size: int = 100
    vector_size: int = 100
    spelling_rows: int = 8_192
    spelling_size: int = 64
    hidden_sizes: tuple[int, ...] = (256, 256)
    span_size: int = 256
    input_dropout: float = 0.3
    hidden_dropout: float = 0.3
    span_dropout: float = 0.1
    recurrent_weight_dropout: float = 0.1
    encoder: PieceConfig | None = None
    tag_count: int = 0  # part-of-speech tags; 0: the model knows none

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name.endswith("_dropout"):
                if not 0 <= value < 1:
                    raise ValueError(f"{each.name} must be in [0, 1), got {value}")
            elif each.name not in ("hidden_sizes", "encoder"):
                least = 0 if each.name == "tag_count" else 1
                if type(value) is not int or value < least:
                    raise ValueError(
                        f"{each.name} must be an integer of at least {least}, got {value}"
                    )
        if not self.hidden_sizes or min(self.hidden_sizes) < 1:
            raise ValueError("hidden_sizes must have a size for each layer, at least one")
        # Activations have these sizes, whatever a file has: the sizes bound a sentence's memory.
        for name in (
            "embedding_size",
            "vector_size",
            "spelling_size",
            "span_size",
            "label_count",
            "tag_count",
        ):
            if getattr(self, name) > _MOST:
                raise ValueError(f"{name} is {getattr(self, name)}, more than {_MOST}")
        if max(self.hidden_sizes) > _MOST or len(self.hidden_sizes) > _MOST_LAYERS:
            raise ValueError(f"hidden_sizes has more than {_MOST_LAYERS} layers or {_MOST} units")


class SpanModel(nn.Module):
    """A model that reads words and returns the log-probability of every label of every span."""

    architecture = "spans"
    packed_ends: FloatWeight | None = None
    """A copy of both ends' weights, for scores whose last bits may differ from exact ones."""
    packed_output: FloatWeight | None = None
    """A copy of the labels' weight, likewise."""

    def __init__(self, config: SpanConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Parameter(torch.empty(config.word_count, config.embedding_size))
        self.vectors = nn.Parameter(
            torch.zeros(config.vector_count, config.vector_size), requires_grad=False
        )
        self.spelling = nn.Parameter(torch.empty(config.spelling_rows, config.spelling_size))
        for weight in (self.embedding, self.spelling):
            start_normal(weight, std=0.1)
        self.forwards, self.backwards = nn.ModuleList(), nn.ModuleList()
        before = config.embedding_size + config.vector_size + config.spelling_size
        self.encoder = None
        self.remembered: Callable[[Tensor, torch.dtype], Tensor] | None = None
        """Reads pieces in place of an encoder that is not trained."""
        if config.encoder:
            self.encoder = PieceEncoder(config.encoder)
            before += config.encoder.size
        for size in config.hidden_sizes:
            self.forwards.append(LstmLayer(before, size, config.recurrent_weight_dropout))
            self.backwards.append(LstmLayer(before, size, config.recurrent_weight_dropout))
            before = 2 * size
        self.left, self.right = matrix(config.span_size, before), matrix(config.span_size, before)
        self.span_bias = nn.Parameter(torch.zeros(config.span_size))
        self.output = matrix(config.label_count, config.span_size)
        self.output_bias = nn.Parameter(torch.zeros(config.label_count))
        if config.tag_count:
            self.tag_output = matrix(config.tag_count, before)
            self.tag_bias = nn.Parameter(torch.zeros(config.tag_count))

    def round_products(self) -> None:
        """Compute the encoder with products of 8-bit integers from now on, if there is one
        (``PieceEncoder.round_products``), and then the spans, too, in the quickest way. Call it
        again after a change of weights."""
        self.packed_ends = self.packed_output = None
        if self.encoder:
            self.encoder.round_products()
        if self.is_rounded and one_dnn_works():
            self.packed_ends = FloatWeight(torch.cat([self.left, self.right]))
            self.packed_output = FloatWeight(self.output)

    @property
    def is_rounded(self) -> bool:
        """Return whether any score is computed with products of 8-bit integers."""
        return self.encoder is not None and any(map(any, self.encoder.rounded))

    def read(
        self,
        words: Tensor,
        features: Tensor,
        dtype: torch.dtype = torch.float32,
        lengths: Tensor | None = None,
    ) -> Tensor:
        """Return both directions' outputs at the sentence's start, its words and its end, [n + 2,
        B, 2 H].

        ``words`` [n + 2, B] and ``features`` [n + 2, B, F] have a row for the sentence's start and
        one for its end; of the features, the first is the word vector's row, the next are its
        ``encoder.per_word`` pieces if there is an encoder, the others are rows of letter n-grams;
        PADDING stands for none. ``dtype`` is that of matrix products.
        """
        config = self.config
        read_words = self._inputs(words, features, dtype)
        inputs = locked_dropout(read_words, config.input_dropout, self.training)
        data = inputs.to(dtype)
        for number, (forward, back) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            assert isinstance(forward, LstmLayer) and isinstance(back, LstmLayer)
            if number:
                data = locked_dropout(data, config.hidden_dropout, self.training)
            data = _both_directions(data, forward, back, lengths)
        return data

    def boundaries(self, data: Tensor) -> tuple[Tensor, Tensor]:
        """Return, from the result of ``read``, the reading up to each of the n + 1 boundaries
        between words, as the left and as the right end of a span, [n + 1, B, span_size] each."""
        # After the word before the boundary, and back from the word behind it.
        ahead_read, back_read = data.chunk(2, dim=2)
        read = torch.cat([ahead_read[:-1], back_read[1:]], dim=2)
        read = locked_dropout(read, self.config.hidden_dropout, self.training)
        if self.packed_ends is not None and not torch.is_grad_enabled():
            left, right = self.packed_ends.linear(read).chunk(2, dim=2)
        else:
            weights = self.left.to(data.dtype), self.right.to(data.dtype)
            left, right = (functional.linear(read, weight) for weight in weights)
        return left, right + self.span_bias.to(data.dtype)

    def tag_logits(self, data: Tensor) -> Tensor:
        """Return, from the result of ``read``, the logits of every part-of-speech tag of each word,
        [n, B, tag_count]."""
        read = locked_dropout(data[1:-1], self.config.hidden_dropout, self.training)
        weight, bias = self.tag_output.to(data.dtype), self.tag_bias.to(data.dtype)
        return functional.linear(read, weight, bias)

    def logits(self, spans: Tensor) -> Tensor:
        """Return the logit of each label, [..., L], from the sum of a span's left and right end
        [..., span_size]."""
        hidden = locked_dropout(spans.relu(), self.config.span_dropout, self.training)
        if self.packed_output is not None and not torch.is_grad_enabled():
            return self.packed_output.linear(hidden, self.output_bias)
        weight, bias = self.output.to(hidden.dtype), self.output_bias.to(hidden.dtype)
        return functional.linear(hidden, weight, bias)

    def span_logits(self, data: Tensor) -> Tensor:
        """Return, from the result of ``read``, the logits of the labels of all S spans of each
        sentence, in the order of ``span_ends``, [S, B, L]."""
        left, right = self.boundaries(data)
        starts, ends = (ends.to(left.device) for ends in span_ends(len(data) - 2))
        return self.logits(left.index_select(0, starts) + right.index_select(0, ends))

    def loss(
        self,
        words: Tensor,
        features: Tensor,
        targets: Tensor,
        dtype: torch.dtype = torch.float32,
        taught: tuple[Tensor | None, Tensor | None] = (None, None),
        share: float = 0.0,
    ) -> Tensor:
        """Compute the summed negative log-likelihood, in nats, of ``targets`` [S, B]: the labels of
        all spans, in the order of ``span_ends``, then, if the model knows tags, the tag of each
        word, PADDING for an unknown one. All B sentences have the same number of words. ``share``
        of the loss is the cross-entropy of the probabilities in ``taught``, of labels [S, B, L] and
        of tags [n, B, tags]; the rest of these probabilities up to 1 is left to ``targets``. Where
        the target is PADDING, nothing else can be learned, and the share is 1."""
        data = self.read(words, features, dtype)
        logits = self.span_logits(data)
        labels, tags = taught
        loss = _cross_entropy(logits, targets[: len(logits)], labels, share)
        if self.config.tag_count:
            hard = targets[len(logits) :]
            loss = loss + _cross_entropy(self.tag_logits(data), hard, tags, share)
        return loss

    def read_one(self, words: Tensor, features: Tensor) -> Tensor:
        """Run ``read`` of one sentence, ``words`` [n + 2], for scoring: [n + 2, 1, 2 H]."""
        dtype = torch.promote_types(self.embedding.dtype, torch.float32)
        return self.read(words.unsqueeze(1), features.unsqueeze(1), dtype)

    def read_several(self, sentences: Sequence[tuple[Tensor, Tensor]]) -> list[Tensor]:
        """Run ``read_one`` for several sentences, words [n + 2] and features [n + 2, F]: the same
        to the last bit. On the CPU in float32 both the encoder and the LSTMs read the rows of
        several sentences at once, since a weight is read from memory for each product."""
        is_plain = self.embedding.device.type == "cpu" and self.embedding.dtype == torch.float32
        if not is_plain or not sentences:
            return [self.read_one(words, features) for words, features in sentences]
        columns = [(words[:, None], features[:, None]) for words, features in sentences]
        encoded: Sequence[Tensor | None] = [None] * len(columns)
        if self.encoder:
            pieces = slice(1, 1 + self.encoder.config.per_word)
            encoded = self.encoder.each([features[..., pieces] for _, features in columns])
        data = [
            self._inputs(words, features, torch.float32, known)
            for (words, features), known in zip(columns, encoded, strict=True)
        ]
        for forward, back in zip(self.forwards, self.backwards, strict=True):
            assert isinstance(forward, LstmLayer) and isinstance(back, LstmLayer)
            both = zip(
                _outputs_of_each(forward, data),
                _outputs_of_each(back, [rows.flip(0) for rows in data]),
                strict=True,
            )
            data = [torch.cat([forwards, backwards.flip(0)], 2) for forwards, backwards in both]
        return data

    def read_together(self, words: Tensor, features: Tensor, lengths: Tensor) -> Tensor:
        """Run ``read`` of B sentences of any ``lengths``, for scoring. The result equals that of
        ``read_one`` except for the last bits, which depend on the other sentences."""
        dtype = torch.promote_types(self.embedding.dtype, torch.float32)
        return self.read(words, features, dtype, lengths)

    def tag_log_probabilities(self, data: Tensor) -> Tensor:
        """Return, from the result of ``read_one``, log P of each tag of each word, [n,
        tag_count]."""
        if not self.config.tag_count:
            return data.new_zeros(len(data) - 2, 0)
        return self.tag_logits(data)[:, 0].log_softmax(1)

    def label_log_probabilities(self, data: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Yield, from the result of ``read_one``, log P of the labels of all spans, in the order of
        ``span_ends``, for some spans at a time: the number of the first of them and [S, L]. In
        pieces because a long sentence has many spans."""
        left, right = (boundary[:, 0] for boundary in self.boundaries(data))
        starts, ends = (places.to(data.device) for places in span_ends(len(data) - 2))
        step = max(1, _NUMBERS_AT_ONCE // max(self.config.span_size, self.config.label_count))
        for first in range(0, len(starts), step):
            some = slice(first, first + step)
            spans = left.index_select(0, starts[some]).add_(right.index_select(0, ends[some]))
            if (
                len(spans) == 3
            ):  # MKL would add up their numbers in another order than those of four
                yield first, self.logits(functional.pad(spans, (0, 0, 0, 1)))[:3].log_softmax(1)
            else:
                yield first, self.logits(spans).log_softmax(1)

    def _inputs(
        self,
        words: Tensor,
        features: Tensor,
        dtype: torch.dtype,
        encoded: Tensor | None = None,
    ) -> Tensor:
        """Return [n + 2, B, E]. ``encoded`` is the encoder's output, where known."""
        vector_rows, rows = features[..., 0], features[..., 1:]
        if self.encoder:
            per_word = self.encoder.config.per_word
            if encoded is None:
                encoded = (self.remembered or self.encoder)(rows[..., :per_word], dtype)
            rows = rows[..., per_word:]
        is_row = rows != PADDING
        counts = is_row.sum(2)
        bags = functional.embedding_bag(
            rows[is_row],
            self.spelling,
            (counts.flatten().cumsum(0) - counts.flatten()),
            mode="mean",
        )
        mean = bags.view(*words.shape, -1)
        parts = functional.embedding(words, self.embedding), self.vectors[vector_rows], mean
        return torch.cat([*parts, *(() if encoded is None else (encoded,))], dim=2)


def span_ends(words: int) -> tuple[Tensor, Tensor]:
    """Return the left and right boundaries of all spans of a sentence, by the left one, then the
    right.

    >>> [pair.tolist() for pair in span_ends(2)]
    [[0, 0, 1], [1, 2, 2]]
    """
    starts, ends = torch.triu_indices(words + 1, words + 1, 1)
    return starts, ends


def span_numbers(
    starts: NDArray[np.int64], lasts: NDArray[np.int64], words: int
) -> NDArray[np.int64]:
    """Return the numbers of spans in the order of ``span_ends``, from their first and last words.

    >>> span_numbers(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [0, 1, 2]
    """
    return starts * words - starts * (starts + 1) // 2 + lasts


def _cross_entropy(logits: Tensor, targets: Tensor, taught: Tensor | None, share: float) -> Tensor:
    log_probabilities = logits.float().flatten(0, 1).log_softmax(1)
    loss = functional.nll_loss(
        log_probabilities, targets.flatten(), ignore_index=PADDING, reduction="none"
    )
    if taught is None:
        return loss.sum()
    shares = torch.where(targets.flatten() == PADDING, 1.0, share)
    soft = shares.unsqueeze(1) * taught.flatten(0, 1)
    return ((1 - soft.sum(1)) * loss).sum() - (soft * log_probabilities).sum()


def _outputs_of_each(layer: LstmLayer, sentences: Sequence[Tensor]) -> list[Tensor]:
    """Return a layer's outputs for each of several sentences [T, 1, D], read side by side: [T, 1,
    H]."""
    longest_first = sorted(range(len(sentences)), key=lambda number: -len(sentences[number]))
    lengths = [len(sentences[number]) for number in longest_first]
    rows = pad_sequence([sentences[number][:, 0] for number in longest_first])  # [T, B, D]
    state = layer.initial_state(len(lengths))
    parts = []
    for start in range(0, lengths[0], _STEPS):
        going_on = sum(length > start for length in lengths)
        some = rows[start : start + _STEPS, :going_on]
        outputs, state = layer.read(some, (state[0][:going_on], state[1][:going_on]))
        parts.append(functional.pad(outputs, (0, 0, 0, len(lengths) - going_on)))
    outputs = torch.cat(parts)
    found = {
        number: outputs[:length, place : place + 1]
        for place, (number, length) in enumerate(zip(longest_first, lengths, strict=True))
    }
    return [found[number] for number in range(len(sentences))]


def _both_directions(
    data: Tensor, forward: LstmLayer, back: LstmLayer, lengths: Tensor | None
) -> Tensor:
    """Return the outputs of both, one behind the other, [T, B, 2 H]."""
    weights = [*forward.kernel_weights(data.dtype), *back.kernel_weights(data.dtype)]
    zeros = data.new_zeros(2, data.shape[1], forward.recurrent_weight.shape[1])
    # Without cuDNN's usual rounding to ten bits, which training may have and scores must not.
    with torch.backends.cudnn.flags(allow_tf32=forward.training):
        if lengths is None:
            outputs, _, _ = torch.lstm(
                data, (zeros, zeros), weights, True, 1, 0.0, forward.training, True, False
            )
            return outputs
        # Backwards, a shorter sentence begins at its own end.
        packed = pack_padded_sequence(data, lengths, enforce_sorted=False)
        outputs, _, _ = torch.lstm(
            packed.data,
            packed.batch_sizes,
            (zeros, zeros),
            weights,
            True,
            1,
            0.0,
            forward.training,
            True,
        )
        return pad_packed_sequence(packed._replace(data=outputs), total_length=len(data))[0]
