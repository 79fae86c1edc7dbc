from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from reranker.checkpoints.archive import read_archive, write_atomically
from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import CheckpointError
from reranker.models import AwdLstmDoc, Config
from reranker.models.encoder_decoder import EncoderDecoder
from reranker.plugins.generation.encoder_decoder_file import (
    load_generator,
    load_generators,
    save_generator,
)
from reranker.plugins.generation.pair_vocabulary import Pair, PairVocabulary
from tests.models.encoder_decoders import CONFIGS, build
from tests.reranker.checkpoints.sealing import write_sealed

VOCABULARY = PairVocabulary.build(
    "text", [Pair(("ein", "hund"), ("a", "dog")), Pair(("hunde",), ("dogs",))], 3, 1
)


def model() -> EncoderDecoder:
    config = replace(
        CONFIGS["EncDec+DOC(i2=i3=2)"],
        vocabulary_size=len(VOCABULARY.target),
        source_vocabulary_size=VOCABULARY.source_size,
    )
    return build(config)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_generator(tmp_path / "m.pt", model(), VOCABULARY, {"tokens": 3}, torch.float32)
    return tmp_path / "m.pt"


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    original, path = model(), tmp_path / "m.pt"
    save_generator(path, original, VOCABULARY, {"tokens": 3}, torch.float32)
    found = load_generator(path)
    assert found.model.config == original.config
    assert found.vocabulary.digest == VOCABULARY.digest
    assert found.information == {"tokens": 3}
    assert not found.model.training
    for name, weight in original.named_parameters():
        assert torch.equal(weight, found.model.get_parameter(name))
    assert found.sha256 == read_archive(path).sha256


def test_each_kind_of_checkpoint_refuses_the_other(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="for `rerank generate`"):
        load_checkpoint(saved)
    vocabulary = Vocabulary.build([("(S", "x", ")S")], 1)
    language_model = AwdLstmDoc(Config(len(vocabulary), 4, (5,), (0, 1)))
    save_checkpoint(tmp_path / "lm.pt", language_model, vocabulary, {})
    with pytest.raises(CheckpointError, match="not an encoder-decoder"):
        load_generator(tmp_path / "lm.pt")


def _without(content: dict[str, Any]) -> None:
    del content["merges"]


def _longer(content: dict[str, Any]) -> None:
    content["target"].append("more")


def _infinite(content: dict[str, Any]) -> None:
    content["weights"]["decoder_bias"][0] = float("inf")


def _flipped(content: dict[str, Any]) -> None:
    content["information"]["tokens"] = 4


def _spaced(content: dict[str, Any]) -> None:
    content["target"][2] = "two words"


def _no_label(content: dict[str, Any]) -> None:
    content["task"], content["target"][2:4] = "parsing", ["(NP\x1b", ")NP\x1b"]


def _newer(content: dict[str, Any]) -> None:
    content["version"] = 3


@pytest.mark.parametrize(
    ("change", "write", "reason"),
    [
        (_without, write_sealed, "'merges'"),
        (_longer, write_sealed, "do not fit its embeddings"),
        (_infinite, write_sealed, "not a finite number"),
        (_flipped, write_atomically, "SHA-256"),
        (_spaced, write_sealed, "'two words' is not one word"),
        (_no_label, write_sealed, "is no label or tag of a tree"),
        (_newer, write_sealed, "version 3, this program reads 2"),
        (lambda content: content.pop("sha256"), write_atomically, "the hash of its content is"),
    ],
)
def test_what_was_changed_is_refused(saved: Path, change: Any, write: Any, reason: str) -> None:
    content = read_archive(saved).content
    change(content)
    write(saved, content)
    with pytest.raises(CheckpointError, match=reason) as raised:
        load_generator(saved)
    assert str(saved) in str(raised.value)


def test_an_ensemble_has_one_vocabulary(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.pt"
    save_generator(other, model(), VOCABULARY, {}, torch.float32)
    assert len(load_generators([saved, other])) == 2
    turned = PairVocabulary(
        "text",
        VOCABULARY.source_words,
        VOCABULARY.source_pieces[::-1],
        VOCABULARY.target,
        VOCABULARY.pieces.merges,
    )
    save_generator(other, model(), turned, {}, torch.float32)
    with pytest.raises(CheckpointError, match=r"other\.pt: its vocabulary"):
        load_generators([saved, other])
