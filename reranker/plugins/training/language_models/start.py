"""The initial weights of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import torch
from torch import Tensor, nn

from reranker.models import LanguageModel
from reranker.models.layer import LstmLayer
from reranker.models.lstmn import LstmnLayer

Initialisation = Literal["fast", "doc", "thesis", "choe-charniak"]


def start(model: LanguageModel, how: Initialisation, counts: Tensor) -> None:
    """Set the weights of a new model; ``counts`` [V] are those of its symbols in training.

    ``fast`` learns fastest (docs/research/training.md): the model's own initialisation, with an
    output bias from the counts. The others initialise as the papers' authors do.
    ``embedding_range`` of the model's configuration is how far uniform weights are from zero at
    most.
    """
    if how == "fast":
        model.start_from_frequencies(counts)
    else:
        with torch.no_grad():
            _STARTS[how](model)


def _doc(model: LanguageModel) -> None:
    """Initialise as nttcslab-nlp/doc_lm does: torch's own initialisation for LSTMs and linear maps,
    whose biases are 0; embedding and output uniform. The authors' LSTMs add two biases; here there
    is one, their sum."""
    for layer in lstms(model):
        most = layer.recurrent_weight.shape[1] ** -0.5
        for weight in (layer.input_weight, layer.recurrent_weight):
            nn.init.uniform_(weight, -most, most)
        first, second = (torch.empty_like(layer.bias).uniform_(-most, most) for _ in range(2))
        layer.bias.copy_(first + second)
    for linear in (*model.projections.values(), model.mixture_weights):
        if isinstance(linear, nn.Linear):
            most = linear.in_features**-0.5
            nn.init.uniform_(linear.weight, -most, most)


def _thesis(model: LanguageModel) -> None:
    """Initialise as Daniluk (2016), section 4.2: all uniform, but for the bias of LSTMs' forget
    gates, 1."""
    most = model.config.embedding_range
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -most, most)
    for layer in lstms(model):
        _forget_nothing(layer.bias)


def _choe_charniak(model: LanguageModel) -> None:
    """Initialise as cdg720/emnlp2016 does: LSTMs' biases 0, but for the forget gates', 1; all else
    uniform."""
    _thesis(model)
    for layer in lstms(model):
        nn.init.zeros_(layer.bias)
        _forget_nothing(layer.bias)


def lstms(model: LanguageModel) -> Iterator[LstmLayer | LstmnLayer]:
    """Yield the layers with LSTM gates."""
    for layer in model.layers:
        assert isinstance(layer, LstmLayer | LstmnLayer)
        yield layer


def _forget_nothing(bias: Tensor) -> None:
    size = len(bias) // 4  # gates: input, forget, cell, output
    bias[size : 2 * size] = 1.0


_STARTS: dict[Initialisation, Callable[[LanguageModel], None]] = {
    "doc": _doc,
    "thesis": _thesis,
    "choe-charniak": _choe_charniak,
}
