"""Training an encoder-decoder: it learns, resumes exactly, and steps as its recipe says."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from reranker.errors import ConfigError
from reranker.models.batch import PADDING
from reranker.plugins.generation.encoder_decoder_file import load_generator
from reranker.plugins.generation.pair_config import PairConfig
from reranker.plugins.generation.pair_run import PairRun
from reranker.plugins.generation.pair_vocabulary import Pair
from reranker.plugins.training.corpus.batches import EncodedPair, PairBatches, pair_batch
from tests.reranker.plugins.generation import generators
from tests.reranker.plugins.training.killed import check_resumed
from tests.reranker.plugins.training.runs import train

SIZES: dict[str, Any] = {**generators.SIZES, "hidden_dropout": 0.1, "output_dropout": 0.1}
CONFIG = PairConfig(
    epochs=2, learning_rate=0.01, warmup_batches=5, batch_tokens=40, merges=0, model=SIZES,
    validate_every=0, stored_precision="float32",
)  # fmt: skip
WORDS = ["one", "two", "three", "four", "five"]
# The target is the source backwards, in other words.
PAIRS = [
    Pair((a, b, c), (c.upper(), b.upper(), a.upper())) for a in WORDS for b in WORDS for c in WORDS
]
TRAIN, DEV = [pair for n, pair in enumerate(PAIRS) if n % 5 > 2], PAIRS[::10]


@pytest.mark.parametrize("recipe", ["fast", "sgd"])
def test_it_learns_to_turn_words_round(tmp_path: Path, recipe: Any) -> None:
    config = replace(CONFIG, epochs=12, learning_rate=0.03, batch_tokens=20)
    if recipe == "sgd":
        config = replace(config, recipe="sgd", learning_rate=0.5, steady_epochs=9, clip=5.0)
    # Without looking at the source, a word is one of five: 5 ** (2 / 3) = 2.9, <eos> counted.
    short = [Pair(pair.source[:2], pair.target[1:]) for pair in PAIRS[::5]]
    perplexity = train(config, short, short[::2], tmp_path / "m.pt", tmp_path / "log")
    assert perplexity < 1.5
    information = load_generator(tmp_path / "m.pt").information
    assert information["dev_perplexity"] == perplexity
    assert information["pairs"] == 25 and information["dev_pairs"] == 13


def test_a_killed_run_resumes_to_the_same_bits(tmp_path: Path) -> None:
    config = replace(CONFIG, recipe="sgd", steady_epochs=1)
    check_resumed(partial(train, config, TRAIN, DEV), tmp_path)


def test_the_state_of_another_run_is_refused(tmp_path: Path) -> None:
    short = replace(CONFIG, epochs=0.5)
    train(short, TRAIN, DEV, tmp_path / "m.pt", tmp_path / "log")
    for config, pairs in ((replace(short, seed=2), TRAIN), (short, TRAIN[:45])):
        with pytest.raises(ConfigError, match="different settings"):
            train(config, pairs, DEV, tmp_path / "m.pt", tmp_path / "log")
    # More time is the same run.
    train(replace(CONFIG, epochs=1), TRAIN, DEV, tmp_path / "m.pt", tmp_path / "log")


def test_the_objective_of_sgd_is_the_loss_of_a_sentence() -> None:
    gradients = {}
    for recipe in ("fast", "sgd"):
        torch.manual_seed(1)
        run = PairRun(replace(CONFIG, recipe=recipe), TRAIN, DEV)
        batch = run.recipe.batches.next()
        run.model.config = replace(run.model.config, hidden_dropout=0.0, output_dropout=0.0)
        loss, tokens = run.backward(batch)
        grad = run.model.context_weight.grad
        assert grad is not None
        gradients[recipe] = loss, tokens, grad
    (loss, tokens, per_token), (same_loss, _, per_sentence) = gradients.values()
    sentences = batch.targets.shape[1]
    assert loss == same_loss and tokens == int((batch.targets != PADDING).sum()) == 4 * sentences
    assert torch.allclose(per_sentence, per_token * 4, atol=1e-7)


def test_the_rate_of_sgd_decays_after_its_steady_epochs() -> None:
    config = replace(
        CONFIG, recipe="sgd", learning_rate=0.8, decay=0.5, steady_epochs=2, batch_tokens=10_000
    )
    torch.manual_seed(1)
    run = PairRun(config, TRAIN, DEV)
    rates = []
    for _ in range(4):  # one batch an epoch
        batch = run.recipe.batches.next()
        before = run.model.decoder_bias.detach().clone()
        run.model.decoder_bias.grad = torch.ones_like(before)
        rates.append(run.recipe.step(batch, 0.0))
        assert torch.allclose(before - run.model.decoder_bias, torch.tensor(rates[-1]))
    assert rates == [0.8, 0.8, 0.4, 0.2]


def test_a_uniform_start() -> None:
    torch.manual_seed(1)
    run = PairRun(replace(CONFIG, start="uniform"), TRAIN, DEV)
    for name, weight in run.model.named_parameters():
        most = weight.detach().abs().max()
        assert most <= 0.3, name
        assert weight.numel() < 100 or most > 0.29, name


def test_batches_hold_every_pair_once_and_few_tokens() -> None:
    pairs = [EncodedPair([(n,)] * (1 + n % 7), [n] * (1 + n % 5)) for n in range(40)]
    batches = PairBatches(pairs, eos=0, batch_tokens=14, seed=3)
    seen: list[int] = []
    while batches.epoch == 0 and batches.progress < 1:
        batch = batches.next()
        assert batch.source is not None and not batch.continues
        positions, columns, _ = batch.source.shape
        assert max(positions, len(batch.targets)) * columns <= 14
        for column in range(columns):
            number = int(batch.source[0, column, 0])
            target = batch.targets[:, column]
            assert target[target != PADDING].tolist() == pairs[number].target
            seen.append(number)
    assert sorted(seen) == list(range(40)) != seen


def test_a_batch_is_padded_on_both_sides() -> None:
    pairs = [EncodedPair([(5,), (6, 7)], [3, 0]), EncodedPair([(8,)], [4, 2, 0])]
    batch = pair_batch(pairs, eos=0)
    assert batch.source is not None
    assert batch.source[:, 0].tolist() == [[5, PADDING], [6, 7]]
    assert batch.source[:, 1].tolist() == [[8, PADDING], [PADDING, PADDING]]
    assert batch.inputs.T.tolist() == [[0, 3, 0], [0, 4, 2]]
    assert batch.targets.T.tolist() == [[3, 0, PADDING], [4, 2, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epochs = 1\ndecay = 1.5", r"decay must be in \(0, 1\], got 1.5"),
        ("epochs = 1\ndecay = 0.0", r"decay must be in \(0, 1\], got 0.0"),
        ('recipe = "paper"', "must be fast or sgd"),
        ('task = "song"', "must be parsing or text"),
        ('recipe = "sgd"', "needs budget_minutes or epochs"),
        ("direction = 1", "unknown setting 'direction'"),
        ('epochs = 1\n[model]\nwindow = 3\narchitecture = "encoder-decoder"', "'window'"),
        ("epochs = 1\n[model]\nsource_vocabulary_size = 3", "'source_vocabulary_size'"),
        ("epochs = 1\n[model]\ncomponents = [1]", "components needs a count"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(f"[training]\n{text}\n")
    with pytest.raises(ConfigError, match=message) as raised:
        PairConfig.from_file(path)
    assert str(path) in str(raised.value)


def test_every_shipped_configuration_loads() -> None:
    folder = Path(__file__).parents[4] / "models" / "configs" / "encoder-decoder"
    paths = sorted(folder.glob("*.toml"))
    assert paths
    for path in paths:
        config = PairConfig.from_file(path)
        assert config.model["architecture"] == "encoder-decoder"
