"""The start of new models, by the papers' own accounts."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from reranker.models import LanguageModel
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.language_models.start import lstms, start

CONFIGS = Path(__file__).parents[5] / "models" / "configs"
COUNTS = torch.arange(200)


def started(name: str, **sizes: object) -> LanguageModel:
    """Return a model of a shipped configuration, smaller, as it starts."""
    config = TrainingConfig.from_file(CONFIGS / name)
    config.model.update(sizes)
    torch.manual_seed(1)
    model = config.new_model(len(COUNTS))
    start(model, config.start, COUNTS)
    return model


def assert_uniform(weight: Tensor, most: float) -> None:
    """Assert that numbers fill the range evenly: a uniform number's deviation is range /
    sqrt(3)."""
    weight = weight.detach()
    assert weight.abs().max() <= most
    assert weight.abs().max() > 0.9 * most
    assert float(weight.std()) == pytest.approx(most / 3**0.5, rel=0.1)


def test_doc_starts_as_the_authors_code_does() -> None:
    model = started("ptb.toml", embedding_size=28, hidden_sizes=[96, 90, 62])
    assert_uniform(model.embedding, 0.1)
    assert not model.decoder_bias.any()
    for layer, size in zip(lstms(model), (96, 90, 62), strict=True):
        assert_uniform(layer.input_weight, size**-0.5)
        assert_uniform(layer.recurrent_weight, size**-0.5)
        # The sum of two uniform numbers: within twice the range, and sqrt(2) times as far spread.
        assert 1.2 * size**-0.5 < layer.bias.abs().max() <= 2 * size**-0.5
        assert float(layer.bias.detach().std()) == pytest.approx((2 / 3 / size) ** 0.5, rel=0.2)
    for projection, size in zip(model.projections.values(), (90, 62), strict=True):
        assert isinstance(projection, nn.Linear)
        assert_uniform(projection.weight, size**-0.5)
        assert not projection.bias.any()
    assert model.mixture_weights is not None
    assert_uniform(model.mixture_weights.weight, 62**-0.5)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("thesis-*.toml")), ids=lambda path: path.stem)
def test_the_thesis_models_start_uniform(path: Path) -> None:
    model = started(path.name)
    layers = [*lstms(model)]
    for layer in layers:
        size = len(layer.bias) // 4
        assert bool((layer.bias[size : 2 * size] == 1).all())
        assert_uniform(torch.cat([layer.bias[:size], layer.bias[2 * size :]]), 0.1)
    biases = {id(layer.bias) for layer in layers}
    for parameter in model.parameters():
        if id(parameter) not in biases:
            assert parameter.abs().max() <= 0.1
    assert_uniform(model.embedding, 0.1)
    assert_uniform(model.output_weight, 0.1)


def test_choe_and_charniak_start_uniform_but_for_biases() -> None:
    model = started("choe-charniak.toml", embedding_size=30, hidden_sizes=[30, 30, 30])
    for layer in lstms(model):
        assert_uniform(layer.recurrent_weight, 0.05)
        expected = [0.0] * 30 + [1.0] * 30 + [0.0] * 60
        assert layer.bias.tolist() == expected
    assert_uniform(model.decoder_bias, 0.05)


def test_the_fast_start_knows_how_frequent_symbols_are() -> None:
    model = started("small.toml")
    likely = torch.softmax(model.decoder_bias, 0)
    assert torch.allclose(likely, (COUNTS + 0.5) / (COUNTS + 0.5).sum(), atol=1e-6)


@pytest.mark.parametrize(
    "path",
    sorted(
        set(CONFIGS.glob("*.toml")) - set(CONFIGS.glob("spans*")) - set(CONFIGS.glob("parser*"))
    ),
    ids=lambda path: path.stem,
)
def test_recipes_of_papers_start_as_their_authors_do(path: Path) -> None:
    expected = {"ptb": "doc", "wikitext": "doc", "thesis": "thesis", "choe": "choe-charniak"}
    config = TrainingConfig.from_file(path)
    assert config.start == expected.get(path.stem.split("-")[0], "fast")
    if path.stem in ("ptb", "wikitext-2"):
        assert config.mixture_balance_form == "authors"
