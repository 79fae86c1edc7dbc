"""Every architecture through the reranker: checkpoint, trie, both ways to train."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from reranker.checkpoints.archive import read_archive
from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import CheckpointError
from reranker.models import LanguageModel
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.language_models.loss import dev_perplexity
from reranker.plugins.training.language_models.run import LanguageModelRun
from reranker.plugins.training.loop.train import train
from reranker.scoring.trie import Trie
from reranker.scoring.walk import edge_log_probabilities
from tests.models.settings import ONE_OF_EACH, SETTINGS, WORDS, architecture, build, larger
from tests.reranker.checkpoints.sealing import write_sealed
from tests.reranker.plots import no_plots
from tests.reranker.scoring.one_by_one import score_one_by_one
from tests.reranker.toy_trees import DEV, TREES

every_setting = pytest.mark.parametrize("setting", SETTINGS)
VOCABULARY = Vocabulary(["<eos>", "<unk>", "(<unk>", ")<unk>", "(S", ")S", "it"])


def sequences(words: int = WORDS) -> list[list[int]]:
    """Return many sequences with common beginnings, ending in <eos>, 0; longer and shorter than any
    window."""
    generator = random.Random(2)
    stems = [[generator.randrange(1, words) for _ in range(12)] for _ in range(3)]
    return [
        [*stem[: generator.randrange(13)], *(generator.randrange(1, words) for _ in range(3)), 0]
        for stem in stems
        for _ in range(20)
    ]


def trie_totals(model: LanguageModel, ids: list[list[int]]) -> list[float]:
    trie = Trie(ids, 0)
    return [float(total) for total in trie.totals(edge_log_probabilities(model, trie))]


@every_setting
def test_the_trie_equals_the_straight_way(setting: str) -> None:
    model = build(setting).requires_grad_(False)
    ids = sequences()
    assert Trie(ids, 0).edges < 0.7 * sum(map(len, ids)), "there is something to share"
    expected = score_one_by_one(model, ids, 0)
    assert expected.std() > 1
    assert trie_totals(model, ids) == pytest.approx(expected.tolist(), abs=1e-4)


@every_setting
def test_scores_are_the_same_to_the_last_bit_whatever_is_beside_them(setting: str) -> None:
    model = build(setting, larger(setting)).requires_grad_(False)
    ids = sequences(40) * 2
    together = trie_totals(model, ids)
    assert [trie_totals(model, [one])[0] for one in ids[:60:7]] == together[:60:7]
    assert trie_totals(model, ids[7:25]) == together[7:25]
    assert trie_totals(model, ids[::-1]) == together[::-1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.pt"


def save(path: Path, setting: str) -> LanguageModel:
    assert len(VOCABULARY) == WORDS
    model = build(setting)
    save_checkpoint(path, model, VOCABULARY, {}, torch.float32)
    return model


@every_setting
def test_a_checkpoint_brings_back_the_model(setting: str, path: Path) -> None:
    model = save(path, setting)
    back = load_checkpoint(path).model
    assert type(back) is type(model)
    assert back.config == model.config
    assert read_archive(path).content["architecture"] == architecture(setting)
    expected = score_one_by_one(model, sequences()[:3], 0)
    assert score_one_by_one(back, sequences()[:3], 0).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("setting", "change"),
    [
        ("attention: softmax", {"architecture": "key-value"}),
        ("attention: softmax", {"architecture": "awd-lstm-doc"}),
        ("key-value: softmax", {"window": 10**9}),
        ("lstmn: softmax", {"window": 10**9}),
        ("recurrent-memory: softmax", {"window": 4}),  # its temporal matrix has 3 rows
        ("rnn-n: softmax", {"order": 1}),
        ("key-value-predict: softmax", {"window": "3"}),
    ],
)
def test_a_checkpoint_that_is_not_what_it_says_is_refused(
    setting: str, change: dict[str, Any], path: Path
) -> None:
    save(path, setting)
    content = read_archive(path).content
    content["architecture"] = change.pop("architecture", content["architecture"])
    content["config"].update(change)
    write_sealed(path, content)
    with pytest.raises(CheckpointError, match=r"model\.pt"):
        load_checkpoint(path)


def test_a_shipped_checkpoint_scores_as_when_it_was_made() -> None:
    model = load_checkpoint(Path(__file__).parents[3] / "ckpt/doc/doc-1.pt").model
    ids = [[5, 6, 7, 0], [5, 8, 9, 10, 0], [100, 200, 300, 400, 500, 0]]
    # Other processors add up in another order.
    expected = [-32.34865713, -31.93829823, -58.10627985]
    assert score_one_by_one(model, ids, 0) == pytest.approx(expected, rel=1e-6)


QUICK: dict[str, Any] = {"minimum_count": 1, "validate_every": 0}
FAST = TrainingConfig(
    **QUICK, epochs=4, learning_rate=0.05, batch_tokens=80, warmup_batches=3
)  # fmt: skip
PAPER = TrainingConfig(
    **QUICK,
    recipe="paper",
    epochs=2,  # of each phase
    learning_rate=2.0,
    weight_decay=0.0,
    batch_size=2,
    sequence_length=12,
    activation_regularization=0.1,
    temporal_regularization=0.1,
)
VARIED = [
    setting for setting in ONE_OF_EACH if architecture(setting) in ("awd-lstm-doc", "attention")
]
# The gradients of each architecture's other outputs: tests/models/test_every_model.py.
RUNS = {
    **{f"{setting}, fast": (setting, FAST) for setting in ONE_OF_EACH},
    **{
        f"{setting}, bfloat16": (setting, replace(FAST, precision="bfloat16")) for setting in VARIED
    },
    **{f"{setting}, paper": (setting, PAPER) for setting in VARIED},
}


@pytest.mark.parametrize("run", RUNS)
def test_training_learns(run: str, tmp_path: Path) -> None:
    setting, config = RUNS[run]
    model = asdict(larger(setting))
    del model["vocabulary_size"]
    model.update(architecture=architecture(setting), embedding_range=0.3)
    config = replace(config, model=model)
    config.check()
    out = tmp_path / "model.pt"
    with no_plots():
        perplexity = train(LanguageModelRun(config, TREES, DEV), out, tmp_path / "log")
    assert perplexity < 5, "that of the symbols' frequencies is 16"
    checkpoint = load_checkpoint(out)
    dev = [checkpoint.vocabulary.encode(tokens) for tokens in DEV]
    again = dev_perplexity(checkpoint.model, dev, checkpoint.vocabulary.eos)
    assert again == pytest.approx(perplexity, rel=0.02)
