"""The authors' code (github.com/nttcslab-nlp/doc_lm), driven from a checkout that the user names,
with weights of ours.

Its licence does not let us ship a line of it. It was written for PyTorch 0.2; to run it under
today's, the model gets one thing at run time that is gone: ``embedding._backend.Embedding.apply``,
a function of torch's old internals that their word dropout calls, is
``torch.nn.functional.embedding``.

Two more choices are in its favour. Its recurrent-weight dropout, which wraps every LSTM in a
copying of weights, is left out (``wdrop=0``), and its deprecation warnings are silenced.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from benchmarks.scoring.lists import Ids
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.errors import RerankError
from reranker.models import Config, LanguageModel
from reranker.models.batch import whole_trees

GIGABYTE = 1 << 30
# Their forward holds logits, softmaxes and weighted softmaxes at once, all [T, B, J, V] in float32.
BYTES_OF_A_LOGIT = 3 * 4
LAYERS = 3
# Their name of the components' projection from the embedding, the first two layers and the last.
PROJECTIONS = ("weight4embed", "weight4first", "weight4second", "latent")


class AuthorsScorer:
    """One model of ours as an ``RNNModel`` of theirs, in evaluation mode."""

    def __init__(self, checkout: Path, checkpoint: Checkpoint, memory_limit: float = 8.0) -> None:
        """Take ``memory_limit`` in gigabytes: a batch that would need more is scored in halves."""
        model = checkpoint.model
        logits = sum(model.config.components) * model.config.vocabulary_size
        self.most_positions = int(memory_limit * GIGABYTE / (logits * BYTES_OF_A_LOGIT))
        self.eos = checkpoint.vocabulary.eos
        self.model = _build(_their_class(checkout), model)

    def scores(self, ids: Ids) -> NDArray[np.float64]:
        """Return each candidate's log-probability, in nats: all of them one padded batch."""
        return np.array([values.sum() for values in self.token_scores(ids)])

    def token_scores(self, ids: Ids) -> list[NDArray[np.float64]]:
        """Return log(P + 1e-8) of each token of each candidate."""
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
        return [row[: len(each)].numpy() for row, each in zip(picked, ids, strict=True)]


def halved(ids: Ids, most_positions: int) -> list[Ids]:
    """Return the candidates in batches, padding counted of at most so many positions: the list
    itself, or its halves, or theirs. A single candidate stays, however long it is."""
    if len(ids) == 1 or len(ids) * max(map(len, ids)) <= most_positions:
        return [ids]
    middle = len(ids) // 2
    return halved(ids[:middle], most_positions) + halved(ids[middle:], most_positions)


def components_by_layer(config: Config) -> tuple[int, ...]:
    """Return i_0 to i_3. Raises RerankError for a model that the authors' code cannot represent."""
    hidden = config.hidden_sizes
    if (
        len(hidden) != LAYERS
        or len(set(hidden[:-1])) != 1
        or len(config.components) != len(PROJECTIONS)
        or config.components[-1] == 0
        or not config.tied
        or config.component_activation != "tanh"
    ):
        raise RerankError(
            "the authors' code knows models of three layers, the first two of one size, with tied "
            "embedding, tanh, and components from the last layer"
        )
    return tuple(config.components)


def to_authors(model: LanguageModel) -> dict[str, Tensor]:
    """Return the state dict of the authors' model that computes the same.

    Only names and two details differ: they keep two biases for each LSTM layer, which add up, and
    name the mixture's parts by the layer they come from.
    """
    counts = components_by_layer(model.config)
    weights = model.state_dict()
    theirs = {
        "encoder.weight": weights["embedding"],
        "decoder.weight": weights["embedding"],
        "decoder.bias": weights["decoder_bias"],
    }
    for layer in range(LAYERS):
        bias = weights[f"layers.{layer}.bias"]
        theirs[f"rnns.{layer}.weight_ih_l0"] = weights[f"layers.{layer}.input_weight"]
        theirs[f"rnns.{layer}.weight_hh_l0"] = weights[f"layers.{layer}.recurrent_weight"]
        theirs[f"rnns.{layer}.bias_ih_l0"] = bias
        theirs[f"rnns.{layer}.bias_hh_l0"] = torch.zeros_like(bias)
    for layer, (name, components) in enumerate(zip(PROJECTIONS, counts, strict=True)):
        if components:
            for part in ("weight", "bias"):
                theirs[f"{name}.{part}"] = weights[f"projections.{layer}.{part}"]
    # A single softmax has weight 1, whatever its logit.
    nothing = weights["embedding"].new_zeros(1, model.config.hidden_sizes[-1])
    theirs["prior.weight"] = weights.get("mixture_weights.weight", nothing)
    return theirs


def _their_class(checkout: Path) -> Any:
    """Return ``RNNModel``. Raises RerankError if the folder is not a checkout of doc_lm."""
    if not (checkout / "model.py").is_file() or not (checkout / "embed_regularize.py").is_file():
        raise RerankError(
            f"{checkout}: not a checkout of the authors' code; "
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
