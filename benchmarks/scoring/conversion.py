"""Weights between our models and the authors' ``RNNModel``, both ways.

Only names and two details differ: they keep two biases for each LSTM layer, which add up, and
name the mixture's parts by the layer they come from.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from reranker.errors import RerankError
from reranker.models import AwdLstmDoc, Config, LanguageModel

LAYERS = 3
# Their name of the components' projection from the embedding, the first two layers and the last.
PROJECTIONS = ("weight4embed", "weight4first", "weight4second", "latent")


def components_by_layer(config: Config) -> tuple[int, int, int, int]:
    """i_0 to i_3; raises RerankError for a model that theirs cannot be."""
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
    first, second, third, fourth = config.components
    return first, second, third, fourth


def to_authors(model: LanguageModel) -> dict[str, Tensor]:
    """The state dict of their model that computes the same."""
    counts = components_by_layer(model.config)
    ours = model.state_dict()
    theirs = {
        "encoder.weight": ours["embedding"],
        "decoder.weight": ours["embedding"],
        "decoder.bias": ours["decoder_bias"],
    }
    for layer in range(LAYERS):
        bias = ours[f"layers.{layer}.bias"]
        theirs[f"rnns.{layer}.weight_ih_l0"] = ours[f"layers.{layer}.input_weight"]
        theirs[f"rnns.{layer}.weight_hh_l0"] = ours[f"layers.{layer}.recurrent_weight"]
        theirs[f"rnns.{layer}.bias_ih_l0"] = bias
        theirs[f"rnns.{layer}.bias_hh_l0"] = torch.zeros_like(bias)
    for layer, (name, count) in enumerate(zip(PROJECTIONS, counts, strict=True)):
        if count:
            for part in ("weight", "bias"):
                theirs[f"{name}.{part}"] = ours[f"projections.{layer}.{part}"]
    # A single softmax has weight 1, whatever its logit.
    nothing = ours["embedding"].new_zeros(1, model.config.hidden_sizes[-1])
    theirs["prior.weight"] = ours.get("mixture_weights.weight", nothing)
    return theirs


def from_authors(state: Mapping[str, Tensor]) -> AwdLstmDoc:
    """Our model from their state dict, sizes read off its shapes, in evaluation mode."""
    # WeightDrop wraps a layer as `module` and renames the weights it drops.
    theirs = {
        name.replace(".module.", ".").removesuffix("_raw"): weight for name, weight in state.items()
    }
    vocabulary_size, size = theirs["encoder.weight"].shape
    counts = [
        len(theirs[f"{name}.bias"]) // size if f"{name}.bias" in theirs else 0
        for name in PROJECTIONS
    ]
    hidden = [theirs[f"rnns.{layer}.weight_hh_l0"].shape[1] for layer in range(LAYERS)]
    is_tied = torch.equal(theirs["encoder.weight"], theirs["decoder.weight"])
    config = Config(vocabulary_size, size, tuple(hidden), tuple(counts), tied=is_tied)
    ours = {"embedding": theirs["encoder.weight"], "decoder_bias": theirs["decoder.bias"]}
    if not is_tied:
        ours["decoder"] = theirs["decoder.weight"]
    for layer in range(LAYERS):
        ours[f"layers.{layer}.input_weight"] = theirs[f"rnns.{layer}.weight_ih_l0"]
        ours[f"layers.{layer}.recurrent_weight"] = theirs[f"rnns.{layer}.weight_hh_l0"]
        ours[f"layers.{layer}.bias"] = (
            theirs[f"rnns.{layer}.bias_ih_l0"] + theirs[f"rnns.{layer}.bias_hh_l0"]
        )
    for layer, (name, count) in enumerate(zip(PROJECTIONS, counts, strict=True)):
        if count:
            for part in ("weight", "bias"):
                ours[f"projections.{layer}.{part}"] = theirs[f"{name}.{part}"]
    if sum(counts) > 1:
        ours["mixture_weights.weight"] = theirs["prior.weight"]
    model = AwdLstmDoc(config)
    model.load_state_dict(ours)
    return model.requires_grad_(False).eval()
