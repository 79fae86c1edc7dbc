"""Language models over token ids, which see tensors only; trees and files belong to reranker."""

from collections.abc import Callable
from typing import Any

from reranker.models.attention import (
    Attention,
    AttentionConfig,
    KeyValue,
    KeyValueConfig,
    KeyValuePredict,
    KeyValuePredictConfig,
)
from reranker.models.awd_lstm_doc import AwdLstmDoc
from reranker.models.config import Config
from reranker.models.language_model import LanguageModel, State
from reranker.models.lstmn import Lstmn, LstmnConfig
from reranker.models.output import Features
from reranker.models.recurrent_memory import RecurrentMemory, RecurrentMemoryConfig
from reranker.models.rnn_n import RnnN, RnnNConfig

# By the name in configurations and checkpoints: the configuration class and the model's.
ARCHITECTURES: dict[str, tuple[type[Config], Callable[[Any], LanguageModel]]] = {
    AwdLstmDoc.architecture: (Config, AwdLstmDoc),
    RnnN.architecture: (RnnNConfig, RnnN),
    Attention.architecture: (AttentionConfig, Attention),
    KeyValue.architecture: (KeyValueConfig, KeyValue),
    KeyValuePredict.architecture: (KeyValuePredictConfig, KeyValuePredict),
    RecurrentMemory.architecture: (RecurrentMemoryConfig, RecurrentMemory),
    Lstmn.architecture: (LstmnConfig, Lstmn),
}

__all__ = [
    "ARCHITECTURES",
    "Attention",
    "AttentionConfig",
    "AwdLstmDoc",
    "Config",
    "Features",
    "KeyValue",
    "KeyValueConfig",
    "KeyValuePredict",
    "KeyValuePredictConfig",
    "LanguageModel",
    "Lstmn",
    "LstmnConfig",
    "RecurrentMemory",
    "RecurrentMemoryConfig",
    "RnnN",
    "RnnNConfig",
    "State",
]
