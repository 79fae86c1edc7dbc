"""Pieces of words by a unigram model, in several scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from reranker.checkpoints.unigram_pieces import UnigramPieces
from reranker.errors import InputError
from reranker.plugins.training.spans.pretrained import PretrainedEncoder
from tests.models.bert import SPECIAL, write_encoder

SCORED = {
    "<s>": 0, "<pad>": 0, "</s>": 0, "<unk>": 0, ",": -2, "▁": -3, "▁kata": -4, "nya": -5, "a": -6,
    "k": -6, "病": -6, "病人": -7, "人": -6, "医": -8, "▁The": -7, "▁(": -7, "▁ب": -8, "ي": -8,
}  # fmt: skip


def pieces() -> UnigramPieces:
    return UnigramPieces([*SCORED], [float(score) for score in SCORED.values()], 4)


def read(word: str) -> list[str]:
    known = pieces()
    return [known.pieces[row] for row in known.rows(word) if row >= 0]


def test_the_most_probable_pieces_and_where_a_word_begins() -> None:
    assert read("katanya") == ["▁kata", "nya"]
    assert read("病人") == ["病人"], "Chinese has no spaces"
    assert read("人医") == ["人", "医"]
    assert read("بي") == ["▁ب", "ي"]
    assert read(",") == [","], "no space stands before a comma"
    assert read("-LRB-") == ["▁("]


def test_forms_of_one_word_are_one() -> None:
    assert read("\uff0c") == [","], "full width"
    assert read("ka\u200bta") == read("kata"), "an invisible space"
    assert read("病\ufe0f人") == ["病", "<unk>", "人"], "a mark that no piece has"


def test_no_more_pieces_than_a_word_may_have_and_never_none() -> None:
    assert len(read("kakakakaka")) == 4
    assert read("\u200b") == ["▁"]
    assert pieces().is_whole("The") and not pieces().is_whole("katanya")
    assert pieces().special("</s>") == [2, -1, -1, -1]


def test_a_smaller_list_keeps_the_words_and_letters_of_their_scripts() -> None:
    known = pieces()
    kept = known.kept(sorted(known.first_kept({"病人"}, known.needed({"病人"}))[:8]))
    assert kept.pieces == ("<s>", "</s>", "<unk>", ",", "病", "病人", "人", "医")
    assert kept.scores[-1] == -8.0


def test_pieces_that_are_none() -> None:
    with pytest.raises(ValueError, match="a piece occurs twice"):
        UnigramPieces(["<s>", "<s>"], [0, 0], 4)
    with pytest.raises(ValueError, match="</s>"):
        UnigramPieces(["a"], [0], 4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write an encoder as XLM-R's kind is published: its positions begin at 2."""
    folder = tmp_path / "xlm-r"
    write_encoder(folder, ["x"] * (len(SCORED) - len(SPECIAL)))
    (folder / "vocab.txt").unlink()
    model = {"type": "Unigram", "unk_id": 3, "vocab": [*SCORED.items()]}
    (folder / "tokenizer.json").write_text(json.dumps({"model": model}))
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "xlm-roberta", "layer_norm_eps": 1e-5}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_an_encoder_of_xlm_rs_kind(folder: Path) -> None:
    encoder = PretrainedEncoder.read(folder)
    weights = load_file(folder / "model.safetensors")
    positions = weights["embeddings.position_embeddings.weight"]
    first = positions[2] + weights["embeddings.token_type_embeddings.weight"][0]
    assert torch.equal(encoder.weights["positions"][0], first)
    assert encoder.config.positions == len(positions) - 2
    assert encoder.config.norm_epsilon == 1e-5
    assert encoder.pieces.pieces == tuple(SCORED)
    save_file({f"roberta.{name}": each for name, each in weights.items()},
              folder / "model.safetensors")  # fmt: skip
    assert torch.equal(PretrainedEncoder.read(folder).weights["embedding"],
                       encoder.weights["embedding"])  # fmt: skip


def test_another_kind_of_pieces_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").write_text('{"model": {"type": "BPE"}}')
    with pytest.raises(InputError, match=r"tokenizer\.json: .*BPE"):
        PretrainedEncoder.read(folder)
