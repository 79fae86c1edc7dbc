"""Training a span model: it learns, resumes exactly, and its batches are what they claim."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import reranker.training.loop as training
from reranker.checkpoints.span_file import load_span_model
from reranker.checkpoints.span_vocabulary import UNKNOWN
from reranker.commands.main import main
from reranker.errors import ConfigError
from reranker.models.span_model import span_ends
from reranker.pipeline import Reranker
from reranker.training.loop import train_spans
from reranker.training.run import Progress
from reranker.training.span_config import SpanTrainingConfig
from reranker.training.span_run import SpanRun
from reranker.training.spans import SpanBatches, labelled
from reranker.training.word_vectors import WordVectors
from tests.reranker.toy_trees import DEV, TREES

ROOT = Path(__file__).parents[3]
SIZES: dict[str, Any] = {
    "embedding_size": 8, "spelling_rows": 64, "spelling_size": 8, "hidden_sizes": [12],
    "span_size": 16, "input_dropout": 0.1, "hidden_dropout": 0.1,
}  # fmt: skip
CONFIG = SpanTrainingConfig(
    epochs=3, learning_rate=0.02, warmup_batches=2, batch_tokens=20, minimum_count=1, model=SIZES,
    validate_every=0, stored_precision="float32",
)  # fmt: skip
VECTORS = WordVectors(("the", "dog", "unseen", "child"), torch.arange(12.0).view(4, 3))


@pytest.fixture(autouse=True)
def _without_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take longer than the training."""
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)


def test_it_learns_where_constituents_are(tmp_path: Path) -> None:
    config = replace(CONFIG, epochs=40)
    perplexity = train_spans(config, TREES, DEV, tmp_path / "m.pt", tmp_path / "log")
    assert perplexity < 1.5, "guessing is 80 labels' worth"
    information = load_span_model(tmp_path / "m.pt").information
    assert information["dev_perplexity"] == perplexity and information["train_trees"] == 20
    right, wrong = (
        f"(S1 (S {subject} (VP (X sees) {rest}) (. .)))"
        for subject, rest in (
            ("(NP (X The) (X dog))", "(X it)"),
            ("(X The)", "(NP (X dog)) (X it)"),
        )
    )
    words = "(S1 (S (NP (X The) (X dog)) (VP (X sees) (X it)) (. .)))"
    wrong = "(S1 (S (NP (X The)) (VP (X dog) (X sees) (X it)) (. .)))"
    ranking = Reranker.load(tmp_path / "m.pt").rerank([wrong, words])
    assert ranking.tree == words and right == words


def test_a_killed_run_resumes_to_the_same_bits(tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def kill(progress: Progress, loss: float, done: float) -> None:
        training.STATE_INTERVAL = -1 if progress.batches == 7 else math.inf
        if progress.batches == 9:
            raise Killed

    interval = training.STATE_INTERVAL
    options: dict[str, Any] = {"vectors": VECTORS}
    try:
        with pytest.raises(Killed):
            train_spans(
                CONFIG, TREES, DEV, tmp_path / "a.pt", tmp_path / "a", report=kill, **options
            )
    finally:
        training.STATE_INTERVAL = interval
    resumed = train_spans(CONFIG, TREES, DEV, tmp_path / "a.pt", tmp_path / "a", **options)
    whole = train_spans(CONFIG, TREES, DEV, tmp_path / "b.pt", tmp_path / "b", **options)
    assert resumed == whole
    found, expected = (load_span_model(tmp_path / name).model for name in ("a.pt", "b.pt"))
    for name, weight in expected.named_parameters():
        assert torch.equal(weight, found.get_parameter(name))


def test_the_state_of_another_run_is_refused(tmp_path: Path) -> None:
    train_spans(replace(CONFIG, epochs=0.5), TREES, DEV, tmp_path / "m.pt", tmp_path / "log")
    for config, trees, vectors in (
        (replace(CONFIG, seed=2), TREES, None),
        (CONFIG, TREES[:9], None),
        (CONFIG, TREES, VECTORS),
    ):
        with pytest.raises(ConfigError, match="other settings"):
            train_spans(config, trees, DEV, tmp_path / "m.pt", tmp_path / "log", vectors=vectors)


def test_word_vectors_of_the_trees_come_first_and_stay(tmp_path: Path) -> None:
    config = replace(CONFIG, known_vectors=3)
    train_spans(config, TREES, DEV, tmp_path / "m.pt", tmp_path / "log", vectors=VECTORS)
    found = load_span_model(tmp_path / "m.pt")
    assert found.vocabulary.vector_words == ("the", "dog", "child")
    kept = VECTORS.vectors[[0, 1, 3]]
    assert torch.allclose(found.model.vectors[1:], kept / kept.std())
    assert found.model.vectors[0].tolist() == [0, 0, 0]


def test_rare_words_are_made_unknown_more_often() -> None:
    run = SpanRun(CONFIG, TREES, DEV, "cpu", None)
    words = run.vocabulary.words
    counts = [sum(tokens.count(word) for tokens in TREES) for word in words]
    rates = run.unknown_rates[3:].tolist()
    assert rates == pytest.approx([0.8375 / (0.8375 + count) for count in counts])
    assert run.unknown_rates[:3].tolist() == [0, 0, 0]
    batch = run.recipe.batches.next()
    run.unknown_rates[:] = 1.0
    run.model.embedding.grad = None
    run.backward(batch)
    assert run.model.embedding.grad is not None
    touched = run.model.embedding.grad.abs().sum(1).nonzero().flatten().tolist()
    assert touched == [UNKNOWN]


def test_batches_hold_sentences_of_one_length_and_all_labels() -> None:
    run = SpanRun(CONFIG, TREES, DEV, "cpu", None)
    sentences = [labelled(run.vocabulary, tokens) for tokens in TREES]
    batches = SpanBatches(sentences, 20, 30, seed=1)
    seen = 0
    while batches.epoch == 0 and batches.progress < 1:
        batch = batches.next()
        length, columns = len(batch.inputs) - 2, batch.inputs.shape[1]
        spans = length * (length + 1) // 2
        assert batch.targets.shape == (spans, columns)
        assert columns == 1 or (length * columns <= 20 and spans * columns <= 30)
        seen += columns
    assert seen == 20
    (tree,) = [tokens for tokens in TREES if "dog" in tokens and "runs" in tokens]
    labels = labelled(run.vocabulary, tree).labels().tolist()
    named = {
        (start, end): run.vocabulary.labels[label - 2]
        for start, end, label in zip(*(b.tolist() for b in span_ends(4)), labels, strict=True)
        if label
    }
    assert named == {(0, 4): "S", (0, 2): "NP", (2, 3): "VP"}


def test_a_tree_of_nothing_but_traces_is_left_out(tmp_path: Path) -> None:
    run = SpanRun(CONFIG, [*TREES, ()], [(), *DEV], "cpu", None)
    assert len(run.dev) == len(DEV) and run.train_trees == len(TREES)
    assert run.dev_perplexity() > 1


def test_trees_without_words_are_refused() -> None:
    with pytest.raises(ConfigError, match="the dev trees have no words"):
        SpanRun(CONFIG, TREES, [], "cpu", None)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"batch_spans": 0}, "batch_spans is 0"),
        ({"recipe": "paper"}, "recipe is 'paper'"),
        ({"model": {"vector_size": 50}}, "cannot be set"),
        ({"model": {"span_size": 0}}, "span_size is 0"),
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        replace(CONFIG, **wrong).check()


def test_the_command_trains_and_the_result_reranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trees = tmp_path / "trees.mrg"
    trees.write_text("(S1 (S (NP (X It)) (VP (X runs)) (. .)))\n" * 4)
    config = tmp_path / "c.toml"
    config.write_text(
        '[model]\narchitecture = "spans"\nhidden_sizes = [8]\nspelling_rows = 16\n'
        "[training]\nepochs = 2\nprecision = 'bfloat16'\n"
    )
    run = ["train", "--config", str(config), "--train", str(trees), "--dev", str(trees)]
    out = ["--out", str(tmp_path / "m.pt"), "--log-folder", str(tmp_path / "log")]
    assert main([*run, *out]) == 0
    assert "per word" in capsys.readouterr().err
    assert main([*run, *out, "--start-from", str(tmp_path / "m.pt")]) == 2
    assert "--start-from is for language models" in capsys.readouterr().err
    lists = str(ROOT / "examples/parses.txt")
    assert main(["--nbest", lists, "--models", str(tmp_path / "m.pt")]) == 0
