"""Weights to and from the authors' layout. Their code is not here: what their model computes is
written out below, from its description, over a state dict with its names."""

import pytest
import torch
from torch import Tensor, nn

from benchmarks.scoring.conversion import from_authors, to_authors
from reranker.errors import RerankError
from reranker.models import AwdLstmDoc, Config

WORDS, SIZE, HIDDEN, LAST = 7, 3, 5, 4
COMPONENTS = (1, 0, 2, 3)


def their_state() -> dict[str, Tensor]:
    """Random weights with the names and shapes of an ``RNNModel`` of three layers."""
    embedding = torch.randn(WORDS, SIZE)
    state = {"encoder.weight": embedding, "decoder.weight": embedding}
    state["decoder.bias"] = torch.randn(WORDS)
    for layer, (before, after) in enumerate([(SIZE, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, LAST)]):
        state[f"rnns.{layer}.weight_ih_l0"] = torch.randn(4 * after, before)
        state[f"rnns.{layer}.weight_hh_l0"] = torch.randn(4 * after, after)
        state[f"rnns.{layer}.bias_ih_l0"] = torch.randn(4 * after)
        state[f"rnns.{layer}.bias_hh_l0"] = torch.randn(4 * after)
    for name, count, source in (
        ("weight4embed", 1, SIZE),
        ("weight4second", 2, HIDDEN),
        ("latent", 3, LAST),
    ):
        state[f"{name}.weight"] = torch.randn(count * SIZE, source)
        state[f"{name}.bias"] = torch.randn(count * SIZE)
    state["prior.weight"] = torch.randn(6, LAST)
    return state


def their_probabilities(state: dict[str, Tensor], words: Tensor) -> Tensor:
    """P of every next word, [T, V], after each of ``words`` [T]."""
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


def test_a_model_made_of_their_weights_computes_what_theirs_does() -> None:
    state = their_state()
    model = from_authors(state)
    assert model.config.hidden_sizes == (HIDDEN, HIDDEN, LAST)
    assert model.config.components == COMPONENTS
    words = torch.tensor([3, 0, 6, 6, 1])
    features, _ = model(words.unsqueeze(1), model.initial_state(1))
    found = model.log_probabilities(features)[:, 0].exp()
    assert torch.allclose(found, their_probabilities(state, words), atol=1e-6)


def test_names_that_weight_dropping_changes() -> None:
    plain = their_state()
    wrapped = {
        name.replace(".weight_hh_l0", ".module.weight_hh_l0_raw").replace(".bias", ".module.bias")
        if name.startswith("rnns")
        else name: weight
        for name, weight in plain.items()
    }
    assert "rnns.1.module.weight_hh_l0_raw" in wrapped
    expected, found = from_authors(plain).state_dict(), from_authors(wrapped).state_dict()
    assert all(torch.equal(found[name], weight) for name, weight in expected.items())


def test_there_and_back_again() -> None:
    model = AwdLstmDoc(Config(WORDS, SIZE, (HIDDEN, HIDDEN, LAST), COMPONENTS))
    nn.init.normal_(model.decoder_bias)
    theirs = to_authors(model)
    assert theirs.keys() == their_state().keys()
    again = from_authors(theirs).state_dict()
    assert again.keys() == model.state_dict().keys()
    assert all(torch.equal(again[name], weight) for name, weight in model.state_dict().items())


def test_a_single_softmax_there_and_back() -> None:
    model = AwdLstmDoc(Config(WORDS, SIZE, (HIDDEN, HIDDEN, LAST), (0, 0, 0, 1)))
    theirs = to_authors(model)
    assert theirs["prior.weight"].shape == (1, LAST)
    assert from_authors(theirs).config.components == (0, 0, 0, 1)


def test_models_theirs_cannot_be() -> None:
    two_layers = Config(WORDS, SIZE, (HIDDEN, LAST), (0, 0, 1))
    unlike = Config(WORDS, SIZE, (HIDDEN, 2 * HIDDEN, LAST), COMPONENTS)
    for config in (two_layers, unlike):
        with pytest.raises(RerankError, match="three layers, the first two of one size"):
            to_authors(AwdLstmDoc(config))
