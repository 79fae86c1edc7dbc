"""The authors' code (github.com/nttcslab-nlp/doc_lm), driven from a checkout that the user names.

Its licence does not let us ship a line of it. It was written for PyTorch 0.2; to run it under
today's we hand the model one thing that is gone, at run time:

- ``embedding._backend.Embedding.apply``, a function of torch's old internals that their word
  dropout calls, is ``torch.nn.functional.embedding``.

Two more choices are in its favour. Its recurrent-weight dropout, which wraps every LSTM in a
copying of weights, is left out (``wdrop=0``), and its deprecation warnings are silenced.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from benchmarks.scoring.conversion import components_by_layer, to_authors
from benchmarks.scoring.lists import Ids
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.errors import RerankError
from reranker.models import LanguageModel
from reranker.models.batch import whole_trees

GIGABYTE = 1 << 30
# Their forward holds logits, softmaxes and weighted softmaxes at once, all [T, B, J, V] in float32.
BYTES_OF_A_LOGIT = 3 * 4


class AuthorsScorer:
    """One model of ours as an ``RNNModel`` of theirs, in evaluation mode."""

    def __init__(self, checkout: Path, checkpoint: Checkpoint, memory_limit: float = 8.0) -> None:
        """``memory_limit`` in gigabytes: a batch that would need more is scored in halves."""
        model = checkpoint.model
        logits = sum(model.config.components) * model.config.vocabulary_size
        self.most_positions = int(memory_limit * GIGABYTE / (logits * BYTES_OF_A_LOGIT))
        self.eos = checkpoint.vocabulary.eos
        self.model = _build(_their_class(checkout), model)

    def scores(self, ids: Ids) -> NDArray[np.float64]:
        """Each candidate's log-probability, in nats: all of them one padded batch."""
        return np.array([values.sum() for values in self.token_scores(ids)])

    def token_scores(self, ids: Ids) -> list[NDArray[np.float64]]:
        """log(P + 1e-8) of each token of each candidate."""
        parts = halved(ids, self.most_positions)
        return [values for part in parts for values in self._forward(part)]

    def _forward(self, ids: Ids) -> list[NDArray[np.float64]]:
        batch = whole_trees(ids, self.eos)
        device = self.model.encoder.weight.device
        inputs, targets = batch.inputs.to(device), batch.targets.to(device)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table, _ = self.model(inputs, self.model.init_hidden(len(ids)))
        picked = table.gather(2, targets.clamp(min=0).unsqueeze(2)).squeeze(2).T.double().cpu()
        return [row[: len(one)].numpy() for row, one in zip(picked, ids, strict=True)]


def halved(ids: Ids, most_positions: int) -> list[Ids]:
    """The candidates in batches, padding counted of at most so many positions: the list itself, or
    its halves, or theirs. A single candidate stays, however long it is."""
    if len(ids) == 1 or len(ids) * max(map(len, ids)) <= most_positions:
        return [ids]
    middle = len(ids) // 2
    return halved(ids[:middle], most_positions) + halved(ids[middle:], most_positions)


def _their_class(checkout: Path) -> Any:
    """``RNNModel``; raises RerankError if the folder is no checkout of doc_lm."""
    if not (checkout / "model.py").is_file() or not (checkout / "embed_regularize.py").is_file():
        raise RerankError(
            f"{checkout}: no checkout of the authors' code; "
            "git clone https://github.com/nttcslab-nlp/doc_lm and name its folder"
        )
    sys.path.insert(0, str(checkout.resolve()))
    try:
        return importlib.import_module("model").RNNModel
    finally:
        sys.path.pop(0)


def _build(their_class: Any, model: LanguageModel) -> Any:
    config = model.config
    first, second, third, fourth = components_by_layer(config)
    with contextlib.redirect_stdout(io.StringIO()):  # it prints its number of parameters
        theirs = their_class(
            "LSTM",
            config.vocabulary_size,
            config.embedding_size,
            config.hidden_sizes[0],
            config.hidden_sizes[-1],
            len(config.hidden_sizes),
            wdrop=0,
            tie_weights=True,
            n_experts=fourth,
            num4embed=first,
            num4first=second,
            num4second=third,
        )
    theirs.load_state_dict(to_authors(model))
    theirs.encoder._backend = SimpleNamespace(Embedding=SimpleNamespace(apply=_embed))
    return theirs.to(model.embedding.device).eval()


def _embed(words: Tensor, weight: Tensor, *_: object) -> Tensor:
    return functional.embedding(words, weight)


def largest_difference(scorer: AuthorsScorer, model: LanguageModel, ids: Ids) -> float:
    """Between their log(P + 1e-8) and ours, P from the straightforward form, over all tokens."""
    largest = 0.0
    for sequence, theirs in zip(ids, scorer.token_scores(ids), strict=True):
        ours = np.log(np.exp(_token_log_probabilities(model, sequence, scorer.eos)) + 1e-8)
        largest = max(largest, float(np.abs(ours - theirs).max()))
    return largest


def _token_log_probabilities(
    model: LanguageModel, sequence: Sequence[int], eos: int
) -> NDArray[np.float64]:
    device = model.embedding.device
    inputs = torch.tensor([eos, *sequence[:-1]], device=device).unsqueeze(1)
    with torch.inference_mode():
        features, _ = model(inputs, model.initial_state(1))
        table = model.log_probabilities(features)[:, 0]
        picked = table.gather(1, torch.tensor(sequence, device=device).unsqueeze(1))
    return picked.squeeze(1).double().cpu().numpy()
