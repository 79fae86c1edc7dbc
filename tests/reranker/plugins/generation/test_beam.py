from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from reranker.models.encoder_decoder import EncoderDecoder
from reranker.plugins.generation.beam_search import BeamSettings, Hypothesis, beam_search
from tests.models.encoder_decoders import CONFIGS, SENTENCES, build, padded

EOS, UNKNOWN, WORDS = 0, 3, 4
LONGEST = 4
CONFIG = replace(CONFIGS["EncDec+DOC(i2=i3=2)"], vocabulary_size=WORDS)


@torch.no_grad()
def probabilities(model: EncoderDecoder, source: Tensor, outputs: list[tuple[int, ...]]) -> Tensor:
    """Return P of each token and of ``<eos>`` after them, [T + 1, N], for N outputs of T tokens."""
    memory, state = model.encode(source)
    rows = tuple(tuple(part.expand(len(outputs), -1) for part in layer) for layer in state)
    read = torch.tensor([(EOS, *tokens) for tokens in outputs]).T
    features, _ = model(read, memory, rows)
    targets = torch.tensor([(*tokens, EOS) for tokens in outputs]).T
    return model.log_probabilities(features).exp().gather(-1, targets.unsqueeze(-1))[..., 0]


def log_probabilities(
    models: list[EncoderDecoder], source: Tensor, outputs: list[tuple[int, ...]]
) -> list[float]:
    """Compute log P of each output, by the average of the models' probabilities of each token."""
    averaged = sum(probabilities(model, source, outputs) for model in models) / len(models)
    assert isinstance(averaged, Tensor)
    found: list[float] = averaged.log().sum(0).tolist()
    return found


def exhaustive(
    models: list[EncoderDecoder], source: Tensor, longest: int, beam: BeamSettings
) -> list[Hypothesis[int]]:
    """Return every possible output, best first."""
    words = [word for word in range(WORDS) if word != EOS and word not in beam.banned]
    found = []
    for length in range(longest + 1):
        outputs = list(itertools.product(words, repeat=length))
        for tokens, total in zip(outputs, log_probabilities(models, source, outputs), strict=True):
            found.append(Hypothesis(tokens, total, total / (length + 1) ** beam.length_power))
    return sorted(found, key=lambda each: -each.score)


def models(count: int) -> list[EncoderDecoder]:
    torch.manual_seed(5)
    return [build(CONFIG).double() for _ in range(count)]


def same(found: list[Hypothesis[int]], expected: list[Hypothesis[int]]) -> bool:
    return [each.tokens for each in found] == [each.tokens for each in expected] and all(
        math.isclose(one.log_probability, other.log_probability, abs_tol=1e-9)
        and math.isclose(one.score, other.score, abs_tol=1e-9)
        for one, other in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("power", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("banned", [(), (UNKNOWN,)])
def test_a_beam_as_wide_as_the_language_finds_everything(
    count: int, power: float, banned: tuple[int, ...]
) -> None:
    """With room for all prefixes nothing is pruned: the order is that of all outputs."""
    ensemble, source = models(count), padded(SENTENCES[:1])
    beam = BeamSettings(WORDS ** (LONGEST + 1), power, banned)
    (found,) = beam_search(ensemble, source, [LONGEST], EOS, beam)
    expected = exhaustive(ensemble, source, LONGEST, beam)
    assert len(found) == len(expected) == sum((3 - len(banned)) ** n for n in range(LONGEST + 1))
    assert same(found, expected)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_a_batch_equals_its_sentences_one_by_one(size: int, power: float) -> None:
    ensemble, beam = models(2), BeamSettings(size, power)
    longest = [3, 0, 6, 5]
    together = beam_search(ensemble, padded(SENTENCES), longest, EOS, beam)
    for sentence, limit, found in zip(SENTENCES, longest, together, strict=True):
        (alone,) = beam_search(ensemble, padded([sentence]), [limit], EOS, beam)
        assert same(found, alone)
        assert 1 <= len(found) <= size
        assert len({each.tokens for each in found}) == len(found)
        assert all(len(each.tokens) <= limit for each in found)


def test_a_beam_of_one_is_greedy() -> None:
    (model,) = models(1)
    for sentence in SENTENCES:
        source = padded([sentence])
        tokens: list[int] = []
        memory, state = model.encode(source)
        read = EOS
        while len(tokens) < LONGEST:
            features, state = model(torch.tensor([[read]]), memory, state)
            read = int(model.log_probabilities(features).argmax())
            if read == EOS:
                break
            tokens.append(read)
        ((found,),) = beam_search([model], source, [LONGEST], EOS, BeamSettings(1))
        assert found.tokens == tuple(tokens)


def test_a_hypothesis_has_the_probability_of_its_tokens() -> None:
    ensemble, source = models(2), padded(SENTENCES[2:3])
    (found,) = beam_search(ensemble, source, [6], EOS, BeamSettings(3, 1.0))
    for each in found:
        (expected,) = log_probabilities(ensemble, source, [tuple(each.tokens)])
        assert math.isclose(each.log_probability, expected, abs_tol=1e-9)
        assert math.isclose(each.score, expected / (len(each.tokens) + 1), abs_tol=1e-9)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_a_wider_beam_finds_nothing_less_likely() -> None:
    ensemble = models(1)
    best = []
    for size in (1, 2, 8, 64):
        found = beam_search(ensemble, padded(SENTENCES), [5] * 4, EOS, BeamSettings(size))
        best.append([each[0].log_probability for each in found])
    expected = [exhaustive(ensemble, padded([one]), 5, BeamSettings())[0] for one in SENTENCES]
    assert best[-1] == pytest.approx([each.log_probability for each in expected])
    assert any(one < other for one, other in zip(best[0], best[-1], strict=True))
    assert all(one <= other + 1e-9 for one, other in zip(best[0], best[-1], strict=True))
