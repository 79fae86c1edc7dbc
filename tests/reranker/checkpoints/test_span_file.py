from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from reranker.checkpoints.archive import read_archive, write_atomically
from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.checkpoints.members import load_member
from reranker.checkpoints.span_file import load_span_model, save_span_model
from reranker.errors import CheckpointError
from tests.reranker.checkpoints.sealing import write_sealed
from tests.reranker.ensembles import untrained
from tests.reranker.span_models import save_spans, untrained_spans

MEMBER = untrained_spans(1)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "m.pt"
    save_span_model(path, MEMBER.model, MEMBER.vocabulary, {"tokens": 3}, torch.float32)
    return path


def test_what_is_saved_is_loaded(saved: Path) -> None:
    found = load_span_model(saved)
    assert found.model.config == MEMBER.model.config and found.information == {"tokens": 3}
    for name in ("words", "vector_words", "labels", "spelling_rows"):
        assert getattr(found.vocabulary, name) == getattr(MEMBER.vocabulary, name)
    assert not found.model.training
    for name, weight in MEMBER.model.named_parameters():
        assert torch.equal(weight, found.model.get_parameter(name))
    assert found.sha256 == read_archive(saved).sha256
    assert found.parameters == MEMBER.parameters


@pytest.mark.parametrize("classes", [0, 8])  # of BERT's kind, and of MPNet's
def test_an_encoder_and_its_pieces_are_kept(tmp_path: Path, classes: int) -> None:
    member, path = untrained_spans(1, encoder=True, distance_classes=classes), tmp_path / "m.pt"
    assert member.vocabulary.pieces
    for stored, tolerance in ((torch.float32, 0.0), (torch.int8, 0.02)):
        save_span_model(path, member.model, member.vocabulary, {}, stored)
        found = load_span_model(path)
        assert found.model.config == member.model.config and found.vocabulary.pieces
        assert found.vocabulary.pieces.pieces == member.vocabulary.pieces.pieces
        assert found.vocabulary.encode(["saws", "Monday"]) == member.vocabulary.encode(
            ["saws", "Monday"]
        )
        for name, weight in member.model.named_parameters():
            assert torch.allclose(weight, found.model.get_parameter(name), atol=tolerance)
        assert found.model.config.encoder
        assert found.model.config.encoder.distance_classes == classes


def test_an_encoder_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    member, path = untrained_spans(1, encoder=True), tmp_path / "m.pt"
    save_span_model(path, member.model, member.vocabulary, {})
    content = read_archive(path).content
    encoder = content["config"]["encoder"]
    for part, value in (
        ("pieces", "a"),
        ("pieces", content["pieces"].replace("[UNK]", "unknown")),
        ("config", {**content["config"], "encoder": {**encoder, "size": 4_098}}),
        ("config", {**content["config"], "encoder": {**encoder, "piece_count": 10**12}}),
        ("config", {**content["config"], "encoder": {**encoder, "layers": 3}}),
        ("config", {**content["config"], "encoder": {"depth": 1}}),
        ("config", {**content["config"], "encoder": 3}),
        ("config", {**content["config"], "encoder": None}),
    ):
        write_sealed(path, {**content, part: value})
        with pytest.raises(CheckpointError, match="a broken checkpoint"):
            load_member(path)


def test_each_kind_is_told_from_the_other(saved: Path, tmp_path: Path) -> None:
    other = untrained(1)
    save_checkpoint(tmp_path / "lm.pt", other.model, other.vocabulary, {})
    kinds = [type(load_member(path)).__name__ for path in (saved, tmp_path / "lm.pt")]
    assert kinds == ["SpanCheckpoint", "Checkpoint"]
    with pytest.raises(CheckpointError, match="a span model"):
        load_checkpoint(saved)
    with pytest.raises(CheckpointError, match="not a span model"):
        load_span_model(tmp_path / "lm.pt")
    with pytest.raises(CheckpointError, match="path of a checkpoint"):
        load_member(3)  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match="SHA-256"):
        load_member(saved, "0" * 64)


BROKEN: list[tuple[str, Any, str]] = [
    ("version", 7, "version 7, this program reads 6"),
    ("version", 5, "version 5, this program reads 6"),
    ("words", "We", "do not fit"),
    ("labels", ["NP"], "not text"),
    ("words", "\n".join(["We"] * len(MEMBER.vocabulary.words)), "twice"),
    ("config", {"word_count": 3}, "broken"),
    ("weights", {}, "broken"),
    ("information", 3, "broken"),
]


@pytest.mark.parametrize(("part", "value", "reason"), BROKEN)
def test_parts_that_do_not_fit_are_refused(saved: Path, part: str, value: Any, reason: str) -> None:
    write_sealed(saved, {**read_archive(saved).content, part: value})
    with pytest.raises(CheckpointError, match=reason) as error:
        load_member(saved)
    assert str(saved) in str(error.value)


NO_LABELS = (
    "NP (X", "NP)", "", " ", "NP\tX", "NP\rX", "NP\x1b[2J", "NP\x00", "NP\x85", "NP\u2028X",
    "NP\u202e", "NP\udcff", "\xa0",
)  # fmt: skip


@pytest.mark.parametrize("label", NO_LABELS)
@pytest.mark.parametrize("part", ["labels", "tags"])
def test_what_is_no_label_never_reaches_a_tree(tmp_path: Path, part: str, label: str) -> None:
    saved = Path(save_spans(tmp_path / "m.pt", 1, minimum_tags=1))
    content = read_archive(saved).content
    first, *others = content[part].split("\n")
    assert first and others
    write_sealed(saved, {**content, part: "\n".join([label, *others])})
    with pytest.raises(CheckpointError, match="is no label or tag of a tree"):
        load_member(saved)


@pytest.mark.parametrize(
    "information",
    [{"language": language} for language in ("", "English", "e\x1b", "en\n", 3, None, ["en"])]
    + [{"punctuation": tags} for tags in ([""], ["PU X"], ["("], [3], 3, None)],
)
def test_what_is_no_language_is_not_shown(saved: Path, information: dict[str, Any]) -> None:
    write_sealed(saved, {**read_archive(saved).content, "information": information})
    with pytest.raises(CheckpointError, match="a broken checkpoint"):
        load_member(saved)


def test_a_changed_word_is_noticed(saved: Path) -> None:
    content = read_archive(saved).content
    write_atomically(saved, {**content, "words": content["words"].replace("saw", "was")})
    with pytest.raises(CheckpointError, match="was saved with"):
        load_member(saved)
