"""Language models over token ids. They see tensors only; trees and files are the reranker's."""

from models.awd_lstm_doc import AwdLstmDoc, Config, Features, State

ARCHITECTURES = {"awd-lstm-doc": (Config, AwdLstmDoc)}

__all__ = ["ARCHITECTURES", "AwdLstmDoc", "Config", "Features", "State"]
