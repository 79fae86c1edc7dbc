"""The models of Daniluk (2016) against their equations, worked out one position at a time in numpy.

Names of weights are the equations'; outputs h[0], h[1], ... are those after each token.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from reranker.models import LanguageModel
from reranker.models.layer import LstmLayer
from tests.models.settings import SETTINGS, build

Vector = NDArray[np.float64]
TOKENS = [3, 1, 4, 1, 5, 2]
ATTENTIVE = ["attention: softmax", "key-value: softmax", "key-value-predict: softmax"]


def weights_of(model: LanguageModel) -> dict[str, Vector]:
    return {name: weight.detach().numpy() for name, weight in model.named_parameters()}


def sigmoid(values: Vector) -> Vector:
    return 1 / (1 + np.exp(-values))


def softmax(values: list[float] | Vector) -> Vector:
    powers = np.exp(np.asarray(values))
    return np.asarray(powers / powers.sum())


def lstm_step(
    weights: dict[str, Vector], layer: int, x: Vector, h: Vector, c: Vector
) -> tuple[Vector, Vector]:
    """Compute equations 2.8 to 2.12."""
    w_x, w_h, b = (
        weights[f"layers.{layer}.{n}"] for n in ("input_weight", "recurrent_weight", "bias")
    )
    i, f, new, o = np.split(w_x @ x + w_h @ h + b, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
    return sigmoid(o) * np.tanh(c), c


def lstm(weights: dict[str, Vector], inputs: list[Vector], layers: int = 1) -> list[Vector]:
    """Compute the last layer's outputs."""
    for layer in range(layers):
        size = weights[f"layers.{layer}.recurrent_weight"].shape[1]
        h, c, outputs = np.zeros(size), np.zeros(size), []
        for x in inputs:
            h, c = lstm_step(weights, layer, x, h, c)
            outputs.append(h)
        inputs = outputs
    return inputs


def check(model: LanguageModel, expected_h: list[Vector]) -> None:
    """Compare h* at each position, and log P of every word from it (equation 3.1)."""
    features, _ = model(torch.tensor(TOKENS).unsqueeze(1), model.initial_state(1))
    assert np.allclose(features.output[:, 0].detach().numpy(), np.stack(expected_h), atol=1e-12)
    weights = weights_of(model)
    decoder = weights.get("decoder", weights["embedding"])
    table = model.log_probabilities(features)[:, 0].detach().numpy()
    for row, h in zip(table, expected_h, strict=True):
        assert np.allclose(row, np.log(softmax(decoder @ h + weights["decoder_bias"])), atol=1e-12)


def test_rnn_n() -> None:
    model = build("rnn-n: softmax").double()  # N = 2, layers of 5 and 6: three parts of 2
    weights = weights_of(model)
    h = lstm(weights, [weights["embedding"][token] for token in TOKENS], layers=2)
    before = np.zeros(6)  # h_0 and all earlier ones
    expected = []
    for t in range(6):
        one_back = h[t - 1] if t >= 1 else before
        two_back = h[t - 2] if t >= 2 else before
        c = np.concatenate([h[t][0:2], one_back[2:4], two_back[4:6]])
        expected.append(np.tanh(weights["reader.weight"] @ c))  # 3.3
    check(model, expected)


@pytest.mark.parametrize("setting", ATTENTIVE)
@pytest.mark.parametrize("window", [1, 3, 50])
def test_attention(setting: str, window: int) -> None:
    config: Any = replace(SETTINGS[setting], window=window)  # type: ignore[call-arg]
    model = build(setting, config).double()
    weights = weights_of(model)
    outputs = lstm(
        weights,
        [weights["embedding"][token] for token in TOKENS],
        layers=len(config.hidden_sizes),
    )
    w_y, w_h, w, w_p, w_x = (
        weights[f"reader.{name}_weight"]
        for name in ("key", "query", "score", "context", "prediction")
    )
    expected, paid = [], []
    for t, h in enumerate(outputs):
        match setting.partition(":")[0]:  # the parts of output h: key, value, prediction
            case "attention":
                parts = [(one, one) for one in outputs]
                key, prediction = h, h
            case "key-value":
                parts = [(one[0:3], one[3:6]) for one in outputs]
                key, prediction = h[0:3], h[3:6]
            case _:
                parts = [(one[0:2], one[2:4]) for one in outputs]
                key, prediction = h[0:2], h[4:6]
        past = parts[max(0, t - window) : t]
        scores = [(w @ np.tanh(w_y @ k + w_h @ key)).item() for k, _ in past]  # 3.4, 3.5
        alpha = softmax(scores) if past else np.zeros(0)
        r = sum((a * v for a, (_, v) in zip(alpha, past, strict=True)), np.zeros(len(key)))  # 3.6
        expected.append(np.tanh(w_p @ r + w_x @ prediction))  # 3.7
        paid.append(np.concatenate([np.zeros(window - len(past)), alpha]))
    check(model, expected)
    features, _ = model(torch.tensor(TOKENS).unsqueeze(1), model.initial_state(1))
    assert features.attention is not None
    assert np.allclose(features.attention[:, 0].detach().numpy(), np.stack(paid), atol=1e-12)


@pytest.mark.parametrize("window", [1, 3, 50])
def test_recurrent_memory(window: int) -> None:
    config: Any = replace(SETTINGS["recurrent-memory: softmax"], window=window)  # type: ignore[call-arg]
    model = build("recurrent-memory: softmax", config).double()
    weights = weights_of(model)
    outputs = lstm(weights, [weights["embedding"][token] for token in TOKENS])
    m, c, temporal, from_context, gate, candidate = (
        weights[f"reader.{name}"]
        for name in ("key_embedding", "value_embedding", "temporal", "context_weight",
                     "gate_weight", "candidate_weight")
    )  # fmt: skip
    (w_z, w_r, w), (u_z, u_r) = np.split(from_context, 3), np.split(gate, 2)
    expected = []
    for t, h in enumerate(outputs):
        words = TOKENS[max(0, t + 1 - window) : t + 1]  # the last word read is the last here
        places = temporal[window - len(words) :]
        p = softmax([(m[x] + place) @ h for x, place in zip(words, places, strict=True)])
        s = sum((p_x * c[x] for p_x, x in zip(p, words, strict=True)), np.zeros(5))
        z, r = sigmoid(w_z @ s + u_z @ h), sigmoid(w_r @ s + u_r @ h)
        expected.append((1 - z) * h + z * np.tanh(w @ s + candidate @ (r * h)))
    check(model, expected)


@pytest.mark.parametrize("window", [1, 3, 50])
def test_lstmn(window: int) -> None:
    config: Any = replace(SETTINGS["lstmn: softmax"], window=window)  # type: ignore[call-arg]
    model = build("lstmn: softmax", config).double()
    weights = weights_of(model)
    w_h, w_x, w_s, v = (
        weights[f"layers.0.{name}_weight"] for name in ("key", "query", "summary", "score")
    )
    tape: list[tuple[Vector, Vector]] = []  # (h_i, c_i)
    summary = np.zeros(5)
    expected = []
    for token in TOKENS:
        x = weights["embedding"][token]
        past = tape[-window:]
        a = [(v @ np.tanh(w_h @ h + w_x @ x + w_s @ summary)).item() for h, _ in past]  # 4
        s = softmax(a) if past else np.zeros(0)  # 5
        summary = sum((s_i * h for s_i, (h, _) in zip(s, past, strict=True)), np.zeros(5))  # 6
        cell = sum((s_i * c for s_i, (_, c) in zip(s, past, strict=True)), np.zeros(5))
        h, c = lstm_step(weights, 0, x, summary, cell)  # 7 to 9
        tape.append((h, c))
        expected.append(h)
    check(model, expected)


@pytest.mark.parametrize("setting", [*ATTENTIVE, "recurrent-memory: softmax"])
def test_what_is_beyond_the_window_is_forgotten(setting: str) -> None:
    """With an LSTM that forgets at once, two pasts differ as far as the window reaches."""
    model = build(setting).double()  # windows of 3
    for layer in model.layers:
        assert isinstance(layer, LstmLayer)
        layer.recurrent_weight.data.zero_()
        size = len(layer.bias) // 4
        layer.bias.data[size : 2 * size] = -1e9  # the forget gate is shut
    past, other = torch.tensor(TOKENS), torch.tensor([2, *TOKENS[1:]])
    outputs = []
    for tokens in (past, other):
        features, _ = model(tokens.unsqueeze(1), model.initial_state(1))
        outputs.append(features.output[:, 0])
    changed = (outputs[0] - outputs[1]).abs().amax(1) > 1e-9
    # The memory block counts the word just read among the three, attention looks at three more.
    reach = 3 if setting.startswith("recurrent") else 4
    assert changed.tolist() == [True] * reach + [False] * (6 - reach)
