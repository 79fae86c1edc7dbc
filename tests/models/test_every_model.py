"""Requirements on every language model, whatever its architecture and output."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from reranker.models import ARCHITECTURES, LanguageModel
from reranker.models.mixture_loss import negative_log_likelihood
from tests.models.settings import ONE_OF_EACH, SETTINGS, architecture, build, larger, some_tokens

every_setting = pytest.mark.parametrize("setting", SETTINGS)
every_architecture = pytest.mark.parametrize("setting", ONE_OF_EACH)

SOME_DIRECTION = [(setting, True) for setting in SETTINGS]
EVERY_NUMBER = [pytest.param(each, False, marks=pytest.mark.slow) for each in ONE_OF_EACH]


def table(model: LanguageModel, tokens: Tensor) -> Tensor:
    """Return log P of every word after each token, [T, B, V]."""
    features, _ = model(tokens, model.initial_state(tokens.shape[1]))
    return model.log_probabilities(features)


def loss(model: LanguageModel, inputs: list[Tensor], targets: list[Tensor]) -> Tensor:
    """Compute the loss over segments, with the state and its gradients carried from each to the
    next."""
    state = model.initial_state(inputs[0].shape[1])
    total = torch.zeros((), dtype=model.embedding.dtype)
    for tokens, goal in zip(inputs, targets, strict=True):
        features, state = model(tokens, state)
        total = total + negative_log_likelihood(
            features.components.flatten(0, 1),
            features.log_weights.flatten(0, 1),
            model.output_weight,
            model.decoder_bias,
            goal.flatten(),
        )
    return total


def test_every_architecture_is_here() -> None:
    assert {architecture(setting) for setting in SETTINGS} == ARCHITECTURES.keys()
    for name, (_, make) in ARCHITECTURES.items():
        assert getattr(make, "architecture") == name  # noqa: B009


@pytest.mark.parametrize("setting, is_fast", [*SOME_DIRECTION, *EVERY_NUMBER])
def test_gradients_equal_finite_differences(setting: str, is_fast: bool) -> None:
    model = build(setting).double()
    inputs = [some_tokens(3, 1), some_tokens(2, 1)]
    targets = [some_tokens(3, 1), some_tokens(2, 1)]
    parameters = tuple(model.parameters())
    # gradcheck nudges the parameters in place, so the function need not take them. In its fast
    # mode it checks a random direction, in the other every single number; the factor makes small
    # gradients large beside its tolerance of 1e-5.
    assert torch.autograd.gradcheck(
        lambda *_: 1_000 * loss(model, inputs, targets),
        parameters,
        fast_mode=is_fast,
    )
    loss(model, inputs, targets).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 1e-7, name


@every_setting
def test_probabilities_sum_to_one(setting: str) -> None:
    log_probabilities = table(build(setting), some_tokens())
    assert log_probabilities.shape == (6, 3, 7)
    assert torch.allclose(log_probabilities.exp().sum(-1), torch.ones(6, 3), atol=1e-5)


@every_setting
def test_target_only_scoring_equals_the_full_softmax(setting: str) -> None:
    model, tokens, targets = build(setting), some_tokens(), some_tokens()
    features, _ = model(tokens, model.initial_state(3))
    expected = table(model, tokens).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    assert expected.std() > 0.1
    found = model.target_log_probability(features, targets)
    assert torch.allclose(found, expected, rtol=0, atol=1e-5)


@every_setting
def test_a_batch_equals_its_sequences_one_by_one(setting: str) -> None:
    model, tokens = build(setting), some_tokens()
    together = table(model, tokens)
    for column in range(3):
        alone = table(model, tokens[:, column : column + 1])
        assert torch.allclose(together[:, column : column + 1], alone, atol=1e-5)


@every_setting
def test_step_equals_forward_token_by_token(setting: str) -> None:
    model, tokens = build(setting), some_tokens()
    whole, last = model(tokens, model.initial_state(3))
    state = model.initial_state(3)
    for position, column in enumerate(tokens):
        features, state = model.step(column, state)
        for one, all_steps in zip(features, whole, strict=True):
            assert (one is None) == (all_steps is None)
            assert one is None or torch.allclose(one, all_steps[position], atol=1e-5)
    for mine, theirs in zip(state, last, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            assert one.dtype == other.dtype
            assert torch.allclose(one.double(), other.double(), atol=1e-5)


@every_setting
@pytest.mark.parametrize("cuts", [(2,), (1, 2, 5)])
def test_segments_with_the_state_carried_equal_the_whole(
    setting: str, cuts: tuple[int, ...]
) -> None:
    model, tokens = build(setting), some_tokens()
    expected = table(model, tokens)
    state, parts = model.initial_state(3), []
    for segment in torch.tensor_split(tokens, cuts):
        features, state = model(segment, state)
        parts.append(model.log_probabilities(features))
    assert torch.allclose(torch.cat(parts), expected, atol=1e-5)
    forgotten = table(model, tokens[cuts[0] :])
    assert not torch.allclose(forgotten, expected[cuts[0] :], atol=1e-2)


@every_setting
def test_rows_of_the_state_may_be_copied_and_moved(setting: str) -> None:
    model, tokens = build(setting), some_tokens()
    _, state = model(tokens[:4], model.initial_state(3))
    parents = torch.tensor([2, 0, 2, 1])
    for layer in state:
        assert {len(part) for part in layer} == {3}, (
            "each layer's state needs tensors whose first dimension is the row of the batch: a "
            "model without such a state cannot go on with some of the rows"
        )
    moved = tuple(tuple(part[parents] for part in layer) for layer in state)
    features, _ = model.step(torch.tensor([1, 2, 3, 4]), moved)
    for row, (parent, token) in enumerate(zip(parents, (1, 2, 3, 4), strict=True)):
        column = torch.cat([tokens[:4, parent], torch.tensor([token])]).unsqueeze(1)
        expected = table(model, column)[-1, 0]
        assert torch.allclose(model.log_probabilities(features)[row], expected, atol=1e-5)


@every_setting
def test_a_row_is_the_same_to_the_last_bit_whatever_is_beside_it(setting: str) -> None:
    # In multiples of 32 rows, as scoring has them (products.ROW_MULTIPLE).
    model = build(setting, larger(setting))
    tokens = some_tokens(6, 1_024)

    def last(columns: Tensor) -> Tensor:
        state = model.initial_state(columns.shape[1])
        for column in columns:
            features, state = model.step(column, state)
        return features.components

    together = last(tokens)
    assert torch.equal(last(tokens[:, :32]), together[:32])
    assert torch.equal(last(tokens[:, 96:480]), together[96:480])
    assert torch.equal(last(tokens.flip(1)).flip(0), together)


@every_setting
def test_bfloat16_is_close_and_leaves_parameters_in_float32(setting: str) -> None:
    model, tokens = build(setting), some_tokens()
    exact, _ = model(tokens, model.initial_state(3))
    state, rough = model.initial_state(3), []
    for segment in (tokens[:2], tokens[2:]):  # the carried state is rough, too
        features, state = model(segment, state, torch.bfloat16)
        assert features.components.dtype == torch.bfloat16
        assert features.log_weights.dtype == torch.float32
        rough.append(features.components.float())
    assert torch.allclose(torch.cat(rough), exact.components, atol=0.06)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


@every_architecture
@pytest.mark.parametrize(
    "name",
    ["word_dropout", "embedding_dropout", "hidden_dropout", "output_dropout", "component_dropout",
     "recurrent_weight_dropout"],
)  # fmt: skip
def test_each_dropout_works_in_training_and_never_in_evaluation(setting: str, name: str) -> None:
    # Two layers, so that there is a dropout between layers everywhere.
    size = SETTINGS[setting].hidden_sizes[-1]
    plain = replace(SETTINGS[setting], hidden_sizes=(5, size))
    change: dict[str, Any] = {name: 0.5}
    model = build(setting, replace(plain, **change))
    undropped = build(setting, plain)
    undropped.load_state_dict(model.state_dict())
    tokens = some_tokens()
    expected = table(undropped, tokens)
    assert torch.equal(table(model, tokens), expected)
    model.train()
    draws = [table(model, tokens) for _ in range(5)]
    assert not all(torch.allclose(draw, expected, atol=1e-3) for draw in draws)
    assert not all(torch.allclose(draw, draws[0], atol=1e-3) for draw in draws)


@every_setting
def test_what_regularisation_looks_at_is_what_words_are_predicted_from(setting: str) -> None:
    model, tokens = build(setting), some_tokens()
    features, _ = model(tokens, model.initial_state(3))
    size = model.config.layer_sizes[-1]
    assert features.output.shape == features.raw_output.shape == (6, 3, size)
    assert torch.equal(features.output, features.raw_output)  # no dropout now
    if not model.config.components:
        assert torch.equal(features.components.squeeze(2), features.output)


@pytest.mark.parametrize(
    ("setting", "change", "message"),
    [
        ("attention: softmax", {"window": 0}, "window must be .*, got 0"),
        ("attention: softmax", {"window": 10**9}, "window must be .*, got 1000000000"),
        ("lstmn: softmax", {"window": 2.5}, "window must be .*, got 2.5"),
        ("recurrent-memory: softmax", {"window": -1}, "window must be .*, got -1"),
        ("rnn-n: softmax", {"order": 0}, "order must be .*, got 0"),
        ("rnn-n: softmax", {"order": 3}, "hidden_sizes is 6, which is not a multiple of 4"),
        ("key-value: softmax", {"hidden_sizes": (7,)}, "7, which is not a multiple of 2"),
        ("key-value-predict: softmax", {"hidden_sizes": (5, 4)}, "4, which is not a multiple of 3"),
        ("key-value: softmax", {"tied": True}, "embedding_size of 3"),
        ("key-value: softmax", {"components": (1, 2)}, r"each layer and one for h\*: 3 in all"),
        ("lstmn: softmax", {"components": (1, 2, 3)}, "each layer: 2 in all"),
    ],
)
def test_wrong_settings_are_refused(setting: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SETTINGS[setting], **change)
