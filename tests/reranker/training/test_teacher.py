"""Learning from a larger span model's probabilities."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from reranker.checkpoints.span_file import load_span_model
from reranker.checkpoints.span_vocabulary import SpanVocabulary
from reranker.commands.main import main
from reranker.models.span_model import span_ends
from reranker.scoring.span_table import read_sentence
from reranker.training.span_run import SpanRun
from reranker.training.teacher import Teacher
from tests.reranker.training.killed import check_resumed
from tests.reranker.training.runs import train
from tests.reranker.training.test_span_run import CONFIG, DEV, TAGGED

TAGS = replace(CONFIG, minimum_tags=1)
WORDS = tuple(token for token in TAGGED[0].tokens if token[0] not in "()")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    train(replace(TAGS, epochs=10), TAGGED, TAGGED[:4], folder / "t.pt", folder / "log")
    return folder / "t.pt"


def test_its_probabilities_come_under_the_numbers_of_the_smaller_model(path: Path) -> None:
    known = load_span_model(path)
    theirs = known.vocabulary
    tags = ["NEW", *theirs.tags[1:]]
    ours = SpanVocabulary(theirs.words, (), [*theirs.labels[::-1], "NEW"], 16, None, tags)
    found, found_tags = Teacher(path, ours, torch.float32, "cpu")([WORDS, WORDS])
    table = read_sentence(known.model, theirs, WORDS)
    starts, ends = span_ends(len(WORDS))
    expected = torch.from_numpy(table.labels).exp()[starts, ends - 1]
    for label in theirs.labels:
        for sentence in found[..., ours.label(label)].T:
            assert torch.allclose(sentence, expected[:, theirs.label(label)], atol=1e-5)
    assert torch.allclose(found[:, 0, :2], expected[:, :2], atol=1e-5)
    assert found[..., ours.label("NEW")].abs().max() == 0
    assert found_tags is not None and found_tags.shape == (len(WORDS), 2, len(tags))
    expected_tags = torch.from_numpy(table.tags).exp()
    assert torch.allclose(found_tags[:, 1, 1:], expected_tags[:, 1:], atol=1e-5)
    assert found_tags[..., 0].abs().max() == 0  # a tag that only the smaller one knows
    without = SpanVocabulary(theirs.words, (), theirs.labels, 16)
    assert Teacher(path, without, torch.float32, "cpu")([WORDS])[1] is None


def test_the_smaller_model_learns_them_whatever_the_trees_say(path: Path, tmp_path: Path) -> None:
    flat = [
        tree._replace(tokens=("(S", *(t for t in tree.tokens if t[0] not in "()"), ")S"))
        for tree in TAGGED
    ]
    config = replace(
        TAGS, epochs=40, taught_share=1.0, seed=3, model={**TAGS.model, "span_size": 12}
    )
    run = partial(train, config, [*flat, *TAGGED[:1]], TAGGED, teacher=path)
    run(tmp_path / "m.pt", tmp_path / "log")
    learned, teacher = load_span_model(tmp_path / "m.pt"), load_span_model(path)
    assert learned.information["teacher"] == teacher.sha256
    shared = [label for label in teacher.vocabulary.labels if label in learned.vocabulary.labels]
    assert len(shared) > 1
    tables = [
        read_sentence(each.model, each.vocabulary, WORDS).labels for each in (learned, teacher)
    ]
    for label in shared:
        ours, theirs = (
            table[..., each.vocabulary.label(label)]
            for table, each in zip(tables, (learned, teacher), strict=True)
        )
        assert abs(ours - theirs)[torch.triu(torch.ones(ours.shape)).bool().numpy()].mean() < 2
    assert tables[0][..., 0].mean() == pytest.approx(tables[1][..., 0].mean(), abs=0.2)


def test_a_killed_run_resumes_to_the_same_bits(path: Path, tmp_path: Path) -> None:
    check_resumed(partial(train, TAGS, TAGGED, DEV, teacher=path), tmp_path)


def test_with_its_own_probabilities_alone_a_model_stays_as_it_is(path: Path) -> None:
    parts = ("input", "hidden", "span", "recurrent_weight")
    sizes = {f"{part}_dropout": 0.0 for part in parts}
    config = replace(TAGS, taught_share=1.0, model={**TAGS.model, **sizes}, unknown_share=0.0)
    run = SpanRun(config, TAGGED, TAGGED, start_from=path, teacher=path)
    run.backward(run.recipe.batches.next())
    for name, weight in run.model.named_parameters():
        if weight.grad is not None:
            assert weight.grad.abs().max() < 1e-5, name


def test_the_flag_is_for_span_models(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trees, config = tmp_path / "t.mrg", tmp_path / "c.toml"
    trees.write_text("(S (X a))\n")
    config.write_text(
        "[training]\nepochs = 1\n[model]\nembedding_size = 8\nhidden_sizes = [8]\ncomponents = []\n"
    )
    run = ["train", "--config", str(config), "--train", str(trees), "--dev", str(trees)]
    files = ["--out", str(tmp_path / "x.pt"), "--log-folder", str(tmp_path / "log")]
    assert main([*run, *files, "--teacher", str(path)]) == 2
    assert "--encoder and --teacher are for span models" in capsys.readouterr().err
