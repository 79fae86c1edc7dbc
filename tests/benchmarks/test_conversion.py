"""Weights in the authors' layout. Their code is not here: what their model computes is written out
below, from its description, over a state dict with its names."""

import pytest
import torch
from torch import Tensor, nn

from benchmarks.scoring.authors import to_authors
from reranker.errors import RerankError
from reranker.models import AwdLstmDoc, Config

WORDS, SIZE, HIDDEN, LAST = 7, 3, 5, 4
COMPONENTS = (1, 0, 2, 3)


def their_shapes() -> dict[str, tuple[int, ...]]:
    """Return names and shapes of an ``RNNModel`` of three layers."""
    shapes: dict[str, tuple[int, ...]] = {
        "encoder.weight": (WORDS, SIZE),
        "decoder.weight": (WORDS, SIZE),
        "decoder.bias": (WORDS,),
        "prior.weight": (6, LAST),
    }
    for layer, (before, after) in enumerate([(SIZE, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, LAST)]):
        shapes[f"rnns.{layer}.weight_ih_l0"] = (4 * after, before)
        shapes[f"rnns.{layer}.weight_hh_l0"] = (4 * after, after)
        shapes[f"rnns.{layer}.bias_ih_l0"] = shapes[f"rnns.{layer}.bias_hh_l0"] = (4 * after,)
    for name, count, source in (
        ("weight4embed", 1, SIZE),
        ("weight4second", 2, HIDDEN),
        ("latent", 3, LAST),
    ):
        shapes[f"{name}.weight"] = (count * SIZE, source)
        shapes[f"{name}.bias"] = (count * SIZE,)
    return shapes


def their_probabilities(state: dict[str, Tensor], words: Tensor) -> Tensor:
    """Return P of every next word, [T, V], after each of ``words`` [T]."""
    hidden = state["encoder.weight"][words].unsqueeze(1)
    layers = [hidden]
    for layer in range(3):
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        weights = {name: state[f"rnns.{layer}.{name}"] for name in names}
        lstm = nn.LSTM(weights["weight_ih_l0"].shape[1], weights["weight_hh_l0"].shape[1])
        lstm.load_state_dict(weights)
        hidden = lstm(hidden)[0]
        layers.append(hidden)
    vectors = []
    for name, source in (("weight4embed", 0), ("weight4second", 2), ("latent", 3)):
        made = torch.tanh(layers[source] @ state[f"{name}.weight"].T + state[f"{name}.bias"])
        vectors.append(made.view(len(words), -1, SIZE))
    logits = torch.cat(vectors, 1) @ state["decoder.weight"].T + state["decoder.bias"]
    prior = torch.softmax(layers[3][:, 0] @ state["prior.weight"].T, 1)
    return torch.einsum("tj,tjv->tv", prior, torch.softmax(logits, 2))


def test_their_model_with_our_weights_computes_what_ours_does() -> None:
    torch.manual_seed(1)
    config = Config(WORDS, SIZE, (HIDDEN, HIDDEN, LAST), COMPONENTS)
    model = AwdLstmDoc(config).requires_grad_(False).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    state = to_authors(model)
    assert {name: tuple(weight.shape) for name, weight in state.items()} == their_shapes()
    words = torch.tensor([3, 0, 6, 6, 1])
    features, _ = model(words.unsqueeze(1), model.initial_state(1))
    own = model.log_probabilities(features)[:, 0].exp()
    assert torch.allclose(own, their_probabilities(state, words), atol=1e-6)


def test_a_single_softmax_has_a_weight_of_no_effect() -> None:
    model = AwdLstmDoc(Config(WORDS, SIZE, (HIDDEN, HIDDEN, LAST), (0, 0, 0, 1)))
    assert to_authors(model)["prior.weight"].tolist() == [[0.0] * LAST]


def test_models_theirs_cannot_be() -> None:
    two_layers = Config(WORDS, SIZE, (HIDDEN, LAST), (0, 0, 1))
    unlike = Config(WORDS, SIZE, (HIDDEN, 2 * HIDDEN, LAST), COMPONENTS)
    for config in (two_layers, unlike):
        with pytest.raises(RerankError, match="three layers"):
            to_authors(AwdLstmDoc(config))
