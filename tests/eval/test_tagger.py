"""eval/encoders/tagger.py: the tagger alone is trained; nothing else of the model changes."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from reranker.checkpoints.archive import read_archive
from reranker.checkpoints.span_file import load_span_model, save_span_model
from reranker.checkpoints.span_vocabulary import SpanVocabulary
from reranker.models.span_model import SpanModel
from tests.eval.scripts import run
from tests.reranker.span_models import untrained_spans

TREES = "(S (NP (PRP We)) (VP (VBD saw) (PP (IN to) (NP (NNS men)))))\n" * 40
TAGS = ["PRP", "VBD", "TO", "SU", "NNS", "IN"]


def trained(folder: Path, *flags: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    train = ["--train", "train.mrg", "train.mrg", "--dev", "train.mrg", "--epochs", "1000"]
    given = ["before.pt", *train, *flags]
    return run("encoders/tagger.py", *given, folder=folder, status=status)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a model whose tags are random, and trees with other ones."""
    spans = untrained_spans(1)
    old = spans.vocabulary
    vocabulary = SpanVocabulary(
        old.words, old.vector_words, old.labels, old.spelling_rows, None, TAGS
    )
    model = SpanModel(replace(spans.model.config, tag_count=len(TAGS)))
    torch.manual_seed(1)
    for name, weight in model.named_parameters():
        torch.nn.init.normal_(weight, std=0.05 if name.startswith("tag_") else 0.7)
    save_span_model(tmp_path / "before.pt", model, vocabulary, {"language": "en"}, torch.int8)
    (tmp_path / "train.mrg").write_text(TREES)
    return tmp_path


def test_the_tagger_learns_and_all_else_stays(folder: Path) -> None:
    done = trained(folder, "--never", "TO", "--out", "after.pt")
    assert done.stdout.splitlines()[1].split()[-1] == "100.00"
    before, after = (read_archive(folder / f"{name}.pt") for name in ("before", "after"))
    changed = {"weights", "information", "sha256"}
    assert {name: each for name, each in after.content.items() if name not in changed} == {
        name: each for name, each in before.content.items() if name not in changed
    }
    weights = after.content["weights"]
    assert [*weights] == [*before.content["weights"]]
    for name, weight in before.content["weights"].items():
        assert torch.equal(weights[name], weight) != name.startswith("tag_"), name
    known = {"from": before.sha256, "never": ["TO"], "words": 160}
    assert after.content["information"] == {"language": "en", "tagger": known}
    model = load_span_model(folder / "after.pt").model  # its hash is right
    unseen = [TAGS.index("TO"), TAGS.index("SU")]
    assert not model.tag_output[unseen].any() and (model.tag_bias[unseen] == -100).all()


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--never", "XY", "--out", "after.pt"], "--never XY: before.pt has no such tag"),
        (["--out", "before.pt"], "before.pt"),
        (["--never", *TAGS, "--out", "after.pt"], "train.mrg: it has no tag that before.pt knows"),
    ],
)
def test_what_cannot_be_used_is_refused(folder: Path, flags: list[str], message: str) -> None:
    before = (folder / "before.pt").read_bytes()
    messages = trained(folder, *flags, status=2).stderr
    assert messages.startswith("tagger: ") and message in messages
    assert (folder / "before.pt").read_bytes() == before
    assert not (folder / "after.pt").exists()
