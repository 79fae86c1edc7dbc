"""AWD-LSTM with Direct Output Connection (Takase, Suzuki and Nagata 2018).

LSTM, AWD-LSTM and AWD-LSTM-MoS are settings of it: no dropout; no ``components`` (one softmax over
h^N); all components from the last layer.
"""

from __future__ import annotations

from reranker.models.config import Config
from reranker.models.language_model import LanguageModel
from reranker.models.layer import lstm_layers


class AwdLstmDoc(LanguageModel):
    """A stack of LSTM layers (equations 3 and 4), softmaxes from any of them (equation 7)."""

    architecture = "awd-lstm-doc"

    def __init__(self, config: Config) -> None:
        super().__init__(config, lstm_layers(config))
