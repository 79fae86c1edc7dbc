"""Language models over token ids, which see tensors only; trees and files belong to reranker.

Packages add architectures by name, each a pair of the classes of its configuration and its model::

    [project.entry-points."reranker.models"]
    mine = "my_package.model:ARCHITECTURE"  # (Config, Model), as in awd_lstm_doc.py
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
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
        if name not in _FILES:
            architecture: Architecture = _others()[name].load()
            return architecture
        file, config, model = _FILES[name]
        module = import_module(f"{__name__}.{file}")
        return getattr(module, config), getattr(module, model)

    def __iter__(self) -> Iterator[str]:
        return iter({**_FILES, **_others()})

    def __len__(self) -> int:
        return len({**_FILES, **_others()})


@functools.cache
def _others() -> dict[str, EntryPoint]:
    """Return the architectures of other packages."""
    return {point.name: point for point in entry_points(group="reranker.models")}


ARCHITECTURES = _Architectures()

__all__ = ["ARCHITECTURES", "AwdLstmDoc", "Config", "Features", "LanguageModel", "State"]
