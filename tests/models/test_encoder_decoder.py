from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from reranker.models.batch import PADDING
from reranker.models.encoder_decoder import AttendedSource, EncoderDecoder, EncoderDecoderConfig
from reranker.models.mixture_loss import negative_log_likelihood
from reranker.models.output import Features
from tests.models.encoder_decoders import (
    CONFIGS,
    DROPOUTS,
    ENC_DEC,
    SENTENCES,
    WORDS,
    build,
    padded,
    restated,
)

every_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
BOTH = CONFIGS["EncDec+DOC(i2=i3=2)"]


def some_tokens(length: int = 5, batch: int = len(SENTENCES)) -> Tensor:
    return torch.randint(WORDS, (length, batch))


def features_of(model: EncoderDecoder, source: Tensor, tokens: Tensor) -> Features:
    memory, state = model.encode(source)
    features, _ = model(tokens, memory, state)
    assert isinstance(features, Features)
    return features


def loss(model: EncoderDecoder, source: Tensor, tokens: Tensor, targets: Tensor) -> Tensor:
    features = features_of(model, source, tokens)
    return negative_log_likelihood(
        features.components.flatten(0, 1),
        features.log_weights.flatten(0, 1),
        model.output_weight,
        model.decoder_bias,
        targets.flatten(),
    )


@every_config
def test_probabilities_and_attention_are_those_of_the_equations(
    config: EncoderDecoderConfig,
) -> None:
    model, tokens = build(config).double(), some_tokens()
    features = features_of(model, padded(SENTENCES), tokens)
    found = model.log_probabilities(features).exp()
    assert features.attention is not None
    assert torch.allclose(found.sum(-1), torch.ones(5, 4, dtype=torch.double), atol=1e-12)
    for column, sentence in enumerate(SENTENCES):
        expected, alpha = restated(model, sentence, tokens[:, column].tolist())
        assert expected.std() > 0.02
        assert torch.allclose(found[:, column], expected, rtol=0, atol=1e-12)
        weights = features.attention[:, column]
        assert torch.allclose(weights[:, : len(sentence)], alpha, rtol=0, atol=1e-12)
        assert not weights[:, len(sentence) :].any()


@every_config
def test_a_training_step_is_that_of_the_equations(config: EncoderDecoderConfig) -> None:
    """The gradient of the loss, made while the mixture is computed in blocks, against autograd
    through the equations; then a step of SGD."""
    model, tokens, targets = build(config).double().train(), some_tokens(), some_tokens()
    loss(model, padded(SENTENCES), tokens, targets).backward()
    found = {name: weight.grad for name, weight in model.named_parameters()}
    model.zero_grad()
    total = torch.zeros((), dtype=torch.double)
    for column, sentence in enumerate(SENTENCES):
        probabilities, _ = restated(model, sentence, tokens[:, column].tolist())
        total = total - probabilities[range(5), targets[:, column]].log().sum()
    total.backward()
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    torch.optim.SGD(model.parameters(), lr=0.5).step()
    for name, weight in model.named_parameters():
        gradient = found[name]
        assert gradient is not None and gradient.abs().max() > 1e-6, name
        assert torch.allclose(weight, before[name] - 0.5 * gradient, rtol=0, atol=1e-10), name


def test_the_gradient_of_attention_equals_finite_differences() -> None:
    model = build(BOTH).double()
    source, tokens, targets = padded(SENTENCES), some_tokens(3), some_tokens(3)
    keys = torch.randn(2, 3, 6, dtype=torch.double, requires_grad=True)
    values = torch.randn(2, 3, 6, dtype=torch.double, requires_grad=True)
    hidden = torch.randn(4, 6, dtype=torch.double, requires_grad=True)
    filled = torch.tensor([[True, True, True], [True, False, False]])
    assert torch.autograd.gradcheck(
        lambda k, v, h: model._attended(h, AttendedSource(k, v, filled)), (keys, values, hidden)
    )
    # gradcheck nudges the parameters in place; the factor makes small gradients large beside 1e-5.
    assert torch.autograd.gradcheck(
        lambda *_: 1_000 * loss(model, source, tokens, targets),
        tuple(model.parameters()),
        fast_mode=True,
    )


@every_config
def test_a_batch_equals_its_sentences_one_by_one(config: EncoderDecoderConfig) -> None:
    model, tokens = build(config), some_tokens()
    together = model.log_probabilities(features_of(model, padded(SENTENCES), tokens))
    for column, sentence in enumerate(SENTENCES):
        one = slice(column, column + 1)
        alone = features_of(model, padded([sentence]), tokens[:, one])
        assert torch.allclose(together[:, one], model.log_probabilities(alone), rtol=0, atol=1e-5)


def test_padding_changes_nothing() -> None:
    """Padding of positions and of features, anywhere among a position's features."""
    model, tokens = build(BOTH), some_tokens()
    source = padded(SENTENCES)
    wider = padded(SENTENCES, positions=9, width=6)
    moved = wider.flip(2)
    assert (moved[..., 0] == PADDING).all()
    expected = features_of(model, source, tokens).components
    for other in (wider, moved):
        found = features_of(model, other, tokens).components
        assert torch.allclose(found, expected, rtol=0, atol=1e-6)


def test_reading_on_from_a_state_and_in_beams_equals_reading_at_once() -> None:
    model, tokens = build(BOTH), some_tokens()
    memory, state = model.encode(padded(SENTENCES))
    whole, _ = model(tokens, memory, state)
    twice = tuple(tuple(part.repeat_interleave(2, dim=0) for part in layer) for layer in state)
    steps = []
    for row in tokens.repeat_interleave(2, dim=1):  # two rows for each sentence
        features, twice = model(row.unsqueeze(0), memory, twice)
        steps.append(features.components)
    found = torch.cat(steps)
    for place in (0, 1):
        assert torch.allclose(found[:, place::2], whole.components, rtol=0, atol=1e-6)


def test_some_rows_of_a_memory_are_those_sentences() -> None:
    memory, _ = build(BOTH).encode(padded(SENTENCES))
    part = memory.rows(torch.tensor([2, 0]))
    assert all(torch.equal(some, all_[[2, 0]]) for some, all_ in zip(part, memory, strict=True))


@pytest.mark.parametrize("name", DROPOUTS)
def test_each_dropout_acts_in_training_and_never_in_evaluation(name: str) -> None:
    model = build(replace(BOTH, **{name: DROPOUTS[name]}))
    source, tokens = padded(SENTENCES), some_tokens()
    plain = model.log_probabilities(features_of(model, source, tokens))
    again = model.log_probabilities(features_of(model, source, tokens))
    assert torch.equal(plain, again)
    model.train()
    drawn = [model.log_probabilities(features_of(model, source, tokens)) for _ in range(2)]
    assert (drawn[0] - plain).abs().max() > 1e-3
    assert (drawn[0] - drawn[1]).abs().max() > 1e-3


def test_hidden_dropout_acts_in_encoder_recurrence_and_mixture() -> None:
    config = replace(BOTH, hidden_dropout=0.4)
    model, source, tokens = build(config).train(), padded(SENTENCES), some_tokens()
    memories = [model.encode(source)[0] for _ in range(2)]
    assert not torch.equal(memories[0].values, memories[1].values)
    memory, state = model.eval().encode(source)
    model.train()
    outputs = [model(tokens, memory, state)[0] for _ in range(2)]
    assert not torch.equal(outputs[0].raw_output, outputs[1].raw_output)


def test_the_output_starts_from_frequencies() -> None:
    model = EncoderDecoder(ENC_DEC)
    counts = torch.tensor([40, 1, 2, 3, 4, 5, 6])
    model.start_from_frequencies(counts)
    with torch.no_grad():
        model.context_weight.zero_()
    features = features_of(model.eval(), padded(SENTENCES), some_tokens())
    expected = ((counts + 0.5) / (counts + 0.5).sum()).log()
    assert torch.allclose(model.log_probabilities(features)[0, 0], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source_vocabulary_size": 0}, "source_vocabulary_size"),
        ({"attentional_size": 0}, "attentional_size"),
        ({"attentional_size": 5}, "a tied softmax needs an embedding_size of 5"),
        ({"components": (0, 2)}, "components needs a count"),
    ],
)
def test_invalid_settings_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(ENC_DEC, **changes)  # type: ignore[arg-type]
