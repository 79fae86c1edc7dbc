"""Running text equals what it is made of: any segments, and each article alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from reranker.models import LanguageModel
from reranker.models.batch import PADDING
from reranker.models.running import Segment, read_on, read_through
from tests.models.settings import ONE_OF_EACH, SETTINGS, WORDS, build

EOS, OPENING = 0, 1
TOLERANCE = 1e-5  # nats


def log_probabilities(model: LanguageModel, segments: list[Segment]) -> Tensor:
    """Return log P of every predicted token, [N]."""
    values = []
    for features, targets in segments:
        table = model.log_probabilities(features)
        found = table.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        values.append(found[targets != PADDING])
    return torch.cat(values)


def text(length: int) -> list[int]:
    """Return the text without the token that opens articles."""
    return torch.randint(2, WORDS, (length,)).tolist()


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("segment", [1, 7, 12])
def test_segments_of_any_length_equal_the_whole_text(setting: str, segment: int) -> None:
    model, ids = build(setting), text(30)
    inputs = torch.tensor([[EOS], *([number] for number in ids[:-1])])
    features, _ = model(inputs, model.initial_state(1))
    targets = torch.tensor(ids).unsqueeze(1)
    whole = log_probabilities(model, [Segment(features, targets)])
    found = log_probabilities(model, list(read_through(model, ids, EOS, segment=segment)))
    assert found.std() > 0.1
    assert torch.allclose(found, whole, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("setting", SETTINGS)
def test_articles_one_after_the_other_equal_each_alone(setting: str) -> None:
    model = build(setting)
    articles = [[OPENING, *text(length)] for length in (9, 1, 14)]
    alone = []
    for article in articles:  # read from the start state, its opening given
        inputs = torch.tensor(article[:-1]).unsqueeze(1)
        features, _ = model(inputs, model.initial_state(1))
        targets = torch.tensor(article[1:]).unsqueeze(1)
        alone.append(log_probabilities(model, [Segment(features, targets)]))
    together = [number for article in articles for number in article]
    for segment in (4, 100):
        found = log_probabilities(model, list(read_through(model, together, EOS, OPENING, segment)))
        assert len(found) == 24, "every token but the three that open an article"
        assert torch.allclose(found, torch.cat(alone), rtol=0, atol=TOLERANCE)
    # The reset makes a difference: without it, the state of the first article is carried on.
    carried = log_probabilities(model, list(read_through(model, together, EOS)))
    assert not torch.allclose(carried[-14:], torch.cat(alone)[-14:], rtol=0, atol=1e-3)


@pytest.mark.parametrize("setting", ONE_OF_EACH)
def test_a_row_that_opens_an_article_leaves_the_others_alone(setting: str) -> None:
    model = build(setting)
    tokens = torch.tensor([text(8), text(8), text(8)]).T.contiguous()
    tokens[3, 1] = tokens[0, 2] = OPENING
    _, before = model(torch.tensor([text(3)] * 3).T.contiguous(), model.initial_state(3))
    features, state = read_on(model, tokens, before, OPENING)
    found = model.log_probabilities(features)
    expected, _ = model(tokens[:, :1], tuple(tuple(p[:1] for p in part) for part in before))
    assert torch.allclose(found[:, :1], model.log_probabilities(expected), atol=TOLERANCE)
    for column, begin in ((1, 3), (2, 0)):
        fresh, last = model(tokens[begin:, column : column + 1], model.initial_state(1))
        alone = model.log_probabilities(fresh)
        assert torch.allclose(found[begin:, column : column + 1], alone, atol=TOLERANCE)
        for layer, same in zip(state, last, strict=True):
            for part, other in zip(layer, same, strict=True):
                assert torch.allclose(
                    part[column : column + 1].float(), other.float(), atol=TOLERANCE
                )


@pytest.mark.parametrize("setting", ONE_OF_EACH)
def test_no_gradient_reaches_over_the_beginning_of_an_article(setting: str) -> None:
    model = build(setting)
    tokens = torch.tensor([[2], [OPENING], [4]])
    embedded = model.get_parameter("embedding")
    features, _ = read_on(model, tokens, model.initial_state(1), OPENING)
    after = model.log_probabilities(features)[2, 0, 5]
    (gradient,) = torch.autograd.grad(after, embedded)
    is_read = gradient.abs().sum(1) > 0
    if model.decoder is not None:  # an embedding that is also the output has gradients everywhere
        assert is_read.tolist() == [number in (OPENING, 4) for number in range(WORDS)]
    else:
        alone, _ = model(tokens[1:], model.initial_state(1))
        (expected,) = torch.autograd.grad(model.log_probabilities(alone)[1, 0, 5], embedded)
        assert torch.allclose(gradient, expected, atol=TOLERANCE)
