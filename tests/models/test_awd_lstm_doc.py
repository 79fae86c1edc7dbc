from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from reranker.models import AwdLstmDoc, Config, Features
from reranker.models.layer import LstmLayer
from reranker.models.mixture_loss import negative_log_likelihood

WORDS = 11
RATES = [each.name for each in fields(Config) if each.name.endswith("dropout")]
NO_DROPOUT: dict[str, Any] = dict.fromkeys(RATES, 0.0)
PLAIN = Config(
    vocabulary_size=WORDS,
    embedding_size=6,
    hidden_sizes=(7, 5, 8),
    components=(0, 0, 1, 2),
    embedding_range=1.0,
    **NO_DROPOUT,
)
AWD_RATES: dict[str, Any] = {name: getattr(Config(vocabulary_size=1), name) for name in RATES}
SETTINGS = {
    "LSTM": replace(PLAIN, hidden_sizes=(7, 6), components=()),
    "LSTM, one layer, untied": replace(PLAIN, hidden_sizes=(7,), components=(), tied=False),
    "AWD-LSTM": replace(PLAIN, hidden_sizes=(7, 5, 6), components=(), **AWD_RATES),
    "AWD-LSTM-MoS": replace(PLAIN, components=(0, 0, 0, 4), **AWD_RATES),
    "AWD-LSTM-DOC": replace(PLAIN, **AWD_RATES),
    "DOC from everywhere": replace(PLAIN, components=(1, 2, 1, 1)),
    "DOC from the embedding alone": replace(PLAIN, components=(1, 0, 0, 0)),
    "DOC without tanh, untied": replace(PLAIN, component_activation="none", tied=False),
}
every_setting = pytest.mark.parametrize("config", SETTINGS.values(), ids=SETTINGS.keys())


def build(config: Config) -> AwdLstmDoc:
    """Build a model in evaluation mode, with biases that are not all alike."""
    model = AwdLstmDoc(config).eval()
    nn.init.normal_(model.decoder_bias)
    return model


def read(model: AwdLstmDoc, tokens: Tensor) -> Features:
    features, _ = model(tokens, model.initial_state(tokens.shape[1]))
    assert isinstance(features, Features)
    return features


def tokens(length: int = 6, batch: int = 3) -> Tensor:
    return torch.randint(WORDS, (length, batch))


@every_setting
def test_mixture_weights_and_probabilities_sum_to_one(config: Config) -> None:
    model = build(config)
    features = read(model, tokens())
    assert features.components.shape == (6, 3, max(1, sum(config.components)), 6 if
        config.components or config.tied else config.hidden_sizes[-1])  # fmt: skip
    assert torch.allclose(features.log_weights.exp().sum(-1), torch.ones(6, 3), atol=1e-6)
    sums = model.log_probabilities(features).exp().sum(-1)
    assert torch.allclose(sums, torch.ones(6, 3), atol=1e-5)


@every_setting
def test_streamed_gradients_equal_autograd_for_every_parameter(config: Config) -> None:
    model = build(replace(config, **NO_DROPOUT)).train()
    inputs, targets = tokens(), tokens()
    features = read(model, inputs)
    table = model.log_probabilities(features)
    (-table.gather(-1, targets.unsqueeze(-1)).sum()).backward()
    expected = {name: weight.grad for name, weight in model.named_parameters()}
    model.zero_grad()
    features = read(model, inputs)
    negative_log_likelihood(
        features.components.flatten(0, 1),
        features.log_weights.flatten(0, 1),
        model.output_weight,
        model.decoder_bias,
        targets.flatten(),
    ).backward()
    for name, weight in model.named_parameters():
        wanted = expected[name]
        if wanted is None:  # layers above the last one that the softmaxes use
            assert weight.grad is None
            continue
        assert weight.grad is not None and weight.grad.abs().max() > 1e-4, name
        assert torch.allclose(weight.grad, wanted, rtol=1e-4, atol=1e-5), name


def test_a_layer_equals_torch_s_own_lstm() -> None:
    layer, reference = LstmLayer(6, 5, 0.0), nn.LSTM(6, 5)
    nn.init.normal_(layer.bias)
    torchs = (layer.input_weight, layer.recurrent_weight, layer.bias, torch.zeros(20))
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    reference.load_state_dict(dict(zip(names, torchs, strict=True)))
    inputs, state = torch.randn(4, 2, 6), (torch.randn(2, 5), torch.randn(2, 5))
    outputs, (hidden, cell) = layer(inputs, state)
    expected, last = reference(inputs, (state[0].unsqueeze(0), state[1].unsqueeze(0)))
    assert torch.allclose(outputs, expected, atol=1e-6)
    assert torch.allclose(hidden, last[0][0], atol=1e-6)
    assert torch.allclose(cell, last[1][0], atol=1e-6)


def test_recurrent_dropout_changes_what_is_remembered_in_training_only() -> None:
    # Ports of AWD-LSTM lose this without noticing (salesforce/awd-lstm-lm, issues 86 and 119).
    config = replace(PLAIN, recurrent_weight_dropout=0.5)
    model = build(config)
    undropped = build(PLAIN)
    undropped.load_state_dict(model.state_dict())
    inputs = tokens()
    expected = read(undropped, inputs).raw_output
    assert torch.equal(read(model, inputs).raw_output, expected)

    model.train()
    first, second = read(model, inputs).raw_output, read(model, inputs).raw_output
    # Nothing is remembered yet at the first step; from the second on, the weights matter.
    assert torch.allclose(first[0], expected[0], atol=1e-6)
    for position in range(1, 6):
        assert not torch.allclose(first[position], expected[position], atol=1e-3)
        assert not torch.allclose(first[position], second[position], atol=1e-3)

    model.eval()
    assert torch.equal(read(model, inputs).raw_output, expected)


def test_recurrent_weights_are_trained_through_their_dropout() -> None:
    model = build(replace(PLAIN, recurrent_weight_dropout=0.5)).train()
    inputs = tokens()
    read(model, inputs).raw_output.sum().backward()
    for layer in model.layers:
        assert isinstance(layer, LstmLayer)
        gradient = layer.recurrent_weight.grad
        assert gradient is not None
        # Exactly the dropped ones, about half, have no gradient.
        assert 0.2 < (gradient == 0).float().mean().item() < 0.8
        layer.recurrent_weight.data -= gradient
    model.eval()
    after = read(model, inputs).raw_output
    for layer in model.layers:
        assert isinstance(layer, LstmLayer) and layer.recurrent_weight.grad is not None
        layer.recurrent_weight.data += layer.recurrent_weight.grad
    assert not torch.allclose(after, read(model, inputs).raw_output, atol=1e-3)


def test_softmaxes_from_a_middle_layer_see_its_output_after_dropout() -> None:
    config = replace(
        PLAIN,
        hidden_sizes=(6, 5, 8),
        components=(0, 1, 0, 0),
        component_activation="none",
        hidden_dropout=0.5,
    )
    model = build(config).train()
    projection = model.projections["1"]
    assert isinstance(projection, nn.Linear)
    nn.init.eye_(projection.weight)  # k is h^1 itself
    nn.init.zeros_(projection.bias)
    dropped = read(model, tokens(batch=40)).components[:, :, 0] == 0
    assert (dropped == dropped[0]).all()
    assert dropped[0].float().mean().item() == pytest.approx(0.5, abs=0.15)


def test_features_are_ordered_embedding_first_and_weighed_by_the_last_layer() -> None:
    model = build(replace(PLAIN, components=(1, 0, 1, 2)))
    inputs = tokens()
    features = read(model, inputs)
    layers = [model.embedding[inputs]]
    for number, layer in enumerate(model.layers):
        layers.append(layer(layers[-1], model.initial_state(3)[number])[0])
    first = torch.tanh(model.projections["0"](layers[0]))
    third = torch.tanh(model.projections["3"](layers[3])).view(6, 3, 2, 6)
    assert torch.allclose(features.components[:, :, 0], first, atol=1e-6)
    assert torch.allclose(features.components[:, :, 2:], third, atol=1e-6)
    assert model.mixture_weights is not None
    weights = torch.softmax(layers[3] @ model.mixture_weights.weight.T, dim=-1)
    assert torch.allclose(features.log_weights.exp(), weights, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocabulary_size": 0}, "sizes"),
        ({"embedding_size": -1}, "sizes"),
        ({"hidden_sizes": (7, 0, 8)}, "sizes"),
        ({"hidden_sizes": ()}, "hidden_sizes"),
        ({"hidden_sizes": (), "components": ()}, "hidden_sizes"),
        ({"components": (1, 2)}, "a count for the embedding"),
        ({"components": (0, 0, 0, 0)}, "at least one"),
        ({"components": (0, 0, -1, 2)}, "none negative"),
        ({"component_activation": "relu"}, "tanh or none"),
        ({"components": ()}, "embedding_size"),
        ({"word_dropout": 1.0}, "dropout"),
        ({"hidden_dropout": -0.1}, "dropout"),
        ({"recurrent_weight_dropout": float("nan")}, "dropout"),
    ],
)
def test_wrong_settings_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(PLAIN, **change)
