"""Language models over token ids, which see tensors only; trees and files belong to reranker."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from reranker.models.awd_lstm_doc import AwdLstmDoc
from reranker.models.config import Config
from reranker.models.language_model import LanguageModel, State
from reranker.models.output import Features

Architecture = tuple[type[Config], Callable[[Any], LanguageModel]]


_FILES = {
    "awd-lstm-doc": ("awd_lstm_doc", "Config", "AwdLstmDoc"),
    "rnn-n": ("rnn_n", "RnnNConfig", "RnnN"),
    "attention": ("attention", "AttentionConfig", "Attention"),
    "key-value": ("attention", "KeyValueConfig", "KeyValue"),
    "key-value-predict": ("attention", "KeyValuePredictConfig", "KeyValuePredict"),
    "recurrent-memory": ("recurrent_memory", "RecurrentMemoryConfig", "RecurrentMemory"),
    "lstmn": ("lstmn", "LstmnConfig", "Lstmn"),
}


class _Architectures(Mapping[str, Architecture]):
    """The configuration class and the model's, by the name in configurations and checkpoints; a
    file is imported when its architecture is asked for."""

    def __getitem__(self, name: str) -> Architecture:
        file, config, model = _FILES[name]
        module = import_module(f"{__name__}.{file}")
        return getattr(module, config), getattr(module, model)

    def __iter__(self) -> Iterator[str]:
        return iter(_FILES)

    def __len__(self) -> int:
        return len(_FILES)


ARCHITECTURES = _Architectures()

__all__ = ["ARCHITECTURES", "AwdLstmDoc", "Config", "Features", "LanguageModel", "State"]
