"""A tiny configuration of every architecture, with each kind of output somewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from reranker.models import ARCHITECTURES, Config, LanguageModel
from reranker.models.attention import AttentionConfig, KeyValueConfig, KeyValuePredictConfig
from reranker.models.lstmn import LstmnConfig
from reranker.models.recurrent_memory import RecurrentMemoryConfig
from reranker.models.rnn_n import RnnNConfig

WORDS = 7
_SIZES: dict[str, Any] = {"vocabulary_size": WORDS, "embedding_size": 4, "embedding_range": 1.0}
_NO_DROPOUT: dict[str, Any] = {
    f"{name}_dropout": 0.0
    for name in ("word", "embedding", "hidden", "output", "component", "recurrent_weight")
}

# "architecture: output" -> its settings. Sequences in the tests are longer than every window.
SETTINGS: dict[str, Config] = {
    "awd-lstm-doc: softmax": Config(
        **_SIZES, **_NO_DROPOUT, hidden_sizes=(5, 4), components=(), tied=True
    ),
    "awd-lstm-doc: DOC": Config(
        **_SIZES, **_NO_DROPOUT, hidden_sizes=(5, 6), components=(0, 1, 2), tied=True
    ),
    "rnn-n: softmax": RnnNConfig(**_SIZES, hidden_sizes=(5, 6), order=2),
    "rnn-n: DOC": RnnNConfig(**_SIZES, hidden_sizes=(6,), order=1, components=(1, 0, 2), tied=True),
    "attention: softmax": AttentionConfig(**_SIZES, hidden_sizes=(5, 4), window=3, tied=True),
    "attention: MoS": AttentionConfig(**_SIZES, hidden_sizes=(5,), window=2, components=(0, 0, 3)),
    "key-value: softmax": KeyValueConfig(**_SIZES, hidden_sizes=(6,), window=3),
    "key-value: DOC": KeyValueConfig(
        **_SIZES, hidden_sizes=(5, 6), window=2, components=(0, 1, 0, 2), tied=True
    ),
    "key-value-predict: softmax": KeyValuePredictConfig(**_SIZES, hidden_sizes=(6,), window=3),
    "key-value-predict: DOC": KeyValuePredictConfig(
        **_SIZES, hidden_sizes=(5, 6), window=2, components=(0, 1, 1, 1), tied=True
    ),
    "recurrent-memory: softmax": RecurrentMemoryConfig(**_SIZES, hidden_sizes=(5,), window=3),
    "recurrent-memory: MoS": RecurrentMemoryConfig(
        **_SIZES, hidden_sizes=(5,), window=2, components=(0, 0, 2), tied=True
    ),
    "lstmn: softmax": LstmnConfig(**_SIZES, hidden_sizes=(5,), window=3),
    "lstmn: DOC": LstmnConfig(
        **_SIZES, hidden_sizes=(5, 4), window=2, components=(0, 2, 1), tied=True
    ),
}


ONE_OF_EACH = [name for name in SETTINGS if name.endswith("softmax")]


def architecture(setting: str) -> str:
    """Return the part of a setting's name before the colon."""
    return setting.partition(":")[0]


def larger(setting: str) -> Config:
    """Return the configuration with more words, and with sizes that are multiples of 4."""
    config = SETTINGS[setting]
    return replace(
        config,
        vocabulary_size=40,
        embedding_size=24,
        hidden_sizes=tuple(48 for _ in config.hidden_sizes),
        tied=bool(config.components),
    )


def build(setting: str, config: Config | None = None) -> LanguageModel:
    """Build a model in evaluation mode, with weights and biases large enough to matter, none
    saturated."""
    _, make = ARCHITECTURES[architecture(setting)]
    model = make(config or SETTINGS[setting]).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)
    return model


def some_tokens(length: int = 6, batch: int = 3) -> Tensor:
    return torch.randint(WORDS, (length, batch))
