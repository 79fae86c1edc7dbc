"""Reading encoders as they are published; what they compute: tests/models/test_piece_encoder.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from reranker.errors import InputError
from reranker.plugins.training.spans.pretrained import PretrainedEncoder
from tests.models.bert import SPECIAL, write_encoder

WORDS = ["the", "dog", "##s", "x", "##y", "cat", "z", "walk"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_encoder(tmp_path / "bert", WORDS)
    return tmp_path / "bert"


def test_pieces_that_are_needed_and_single_letters_stay(folder: Path) -> None:
    read = PretrainedEncoder.read(folder)
    assert read.config.piece_count == len(SPECIAL) + 8
    kept = read.with_pieces_of(["dogs", "walk"], 11)
    assert kept.pieces.pieces == (*SPECIAL, "dog", "##s", "x", "##y", "z", "walk")
    assert kept.config.piece_count == 11 == len(kept.weights["embedding"])
    rows = [read.pieces.pieces.index(piece) for piece in kept.pieces.pieces]
    assert torch.equal(kept.weights["embedding"], read.weights["embedding"][rows])
    assert read.with_pieces_of(["dogs"], 12).pieces.pieces[5] == "the"  # the most frequent other
    assert read.with_pieces_of([], 100).pieces.pieces == read.pieces.pieces


def test_weights_of_a_larger_model_may_have_its_name(folder: Path) -> None:
    weights = PretrainedEncoder.read(folder).weights
    theirs = load_file(folder / "model.safetensors")
    more = {f"bert.{name}": weight for name, weight in theirs.items()}
    save_file({**more, "cls.predictions.bias": torch.zeros(3)}, folder / "model.safetensors")
    for name, weight in PretrainedEncoder.read(folder).weights.items():
        assert torch.equal(weight, weights[name])


def _changed(**settings: Any) -> Any:
    def change(folder: Path) -> None:
        path = folder / "config.json"
        read = {**json.loads(path.read_text()), **settings}
        path.write_text(json.dumps({key: value for key, value in read.items() if value != ""}))

    return change


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (lambda folder: (folder / "config.json").unlink(), "config.json: No such file"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json: not JSON"),
        (lambda folder: (folder / "config.json").write_text("[]"), "not an encoder of BERT's kind"),
        (_changed(model_type="t5"), "model_type 't5'"),
        (_changed(hidden_act="relu"), "not an encoder of BERT's kind"),
        (_changed(hidden_size=""), "config.json: hidden_size is missing"),
        (_changed(hidden_size="wide"), "config.json: size must be .*, got wide"),
        (_changed(vocab_size=3), "vocab.txt: 13 pieces, but config.json says 3"),
        (_changed(num_hidden_layers=3), "the weights .* are missing"),
        (_changed(intermediate_size=7), "do not fit"),
        (lambda folder: (folder / "vocab.txt").unlink(), "vocab.txt: No such file"),
        (lambda folder: (folder / "vocab.txt").write_text("a\n" * 13), "not a list of word pieces"),
        (lambda folder: (folder / "vocab.txt").write_bytes(b"\xff"), "not a list of word pieces"),
        (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors: "),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"no"), "cannot be read"),
    ],
)  # fmt: skip
def test_folders_that_hold_no_encoder(folder: Path, harm: Any, reason: str) -> None:
    harm(folder)
    with pytest.raises(InputError, match=reason) as error:
        PretrainedEncoder.read(folder)
    assert str(folder) in str(error.value)
