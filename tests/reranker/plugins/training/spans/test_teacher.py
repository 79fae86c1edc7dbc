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
from reranker.errors import ConfigError
from reranker.models.batch import PADDING
from reranker.models.span_model import span_ends
from reranker.plugins.training.loop import shards
from reranker.plugins.training.spans.pretrained import PretrainedEncoder
from reranker.plugins.training.spans.run import SpanRun
from reranker.plugins.training.spans.sentences import (
    Lexicon,
    labelled,
    span_batch,
    unlabelled,
)
from reranker.plugins.training.spans.teacher import Teacher
from reranker.scoring.span_table import read_sentence
from reranker.trees.linearize import TaggedTree
from tests.models.bert import write_encoder
from tests.reranker.ensembles import LANGUAGE_MODEL
from tests.reranker.plugins.training.killed import check_resumed
from tests.reranker.plugins.training.runs import train
from tests.reranker.plugins.training.spans.test_run import CONFIG, DEV, TAGGED
from tests.reranker.span_models import SPANS

TAGS = replace(CONFIG, minimum_tags=1)
WORDS = TAGGED[0].words
NO_DROPOUT = {f"{part}_dropout": 0.0 for part in ("input", "hidden", "span", "recurrent_weight")}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    train(replace(TAGS, epochs=10), TAGGED, TAGGED[:4], folder / "t.pt", folder / "log")
    return folder / "t.pt"


@pytest.mark.parametrize("has_encoder", [False, True])
def test_its_probabilities_come_under_the_numbers_of_the_smaller_model(
    path: Path, tmp_path: Path, has_encoder: bool
) -> None:
    if has_encoder:
        path = tmp_path / "e.pt"
        write_encoder(tmp_path / "bert", ["the", "dog", "##s", "s", "##e", "child"])
        encoder = PretrainedEncoder.read(tmp_path / "bert")
        train(TAGS, TAGGED, TAGGED[:4], path, tmp_path / "log", encoder=encoder)
    known = load_span_model(path)
    theirs = known.vocabulary
    tags = [*theirs.tags[1:], "NEW"]
    student = SpanVocabulary(theirs.words, (), [*theirs.labels[::-1], "NEW"], 16, None, tags)
    lexicon = Lexicon()
    words = lexicon.places(WORDS)
    teacher = Teacher(path, student, lexicon, "en", torch.float32, "cpu")
    starts, ends = span_ends(len(WORDS))
    targets = torch.zeros(len(starts) + len(WORDS), 2, dtype=torch.long)
    found, found_tags = teacher([words, words], targets)
    table = read_sentence(known.model, theirs, WORDS)
    expected = torch.from_numpy(table.labels).exp()[starts, ends - 1]
    for label in theirs.labels:
        for sentence in found[..., student.label(label)].T:
            assert torch.allclose(sentence, expected[:, theirs.label(label)], atol=1e-5)
    assert torch.allclose(found[:, 0, :2], expected[:, :2], atol=1e-5)
    assert found[..., student.label("NEW")].abs().max() == 0
    assert found_tags is not None and found_tags.shape == (len(WORDS), 2, len(tags))
    expected_tags = torch.from_numpy(table.tags).exp()
    assert torch.allclose(found_tags[:, 1, :-1], expected_tags[:, 1:], atol=1e-5)
    assert found_tags[..., -1].abs().max() == 0  # a tag that only the smaller one knows
    without = SpanVocabulary(theirs.words, (), theirs.labels, 16)
    untagged = Teacher(path, without, lexicon, "en", torch.float32, "cpu")
    assert untagged([words], targets[:, :1])[1] is None
    # Facts that the teacher cannot know are learned from the trees alone.
    targets[0, 0], targets[-1, 1] = student.label("NEW"), student.tag("NEW")
    targets[-1, 0] = PADDING  # where no tag is right, the teacher's are learned
    less, less_tags = teacher([words, words], targets)
    assert less_tags is not None
    assert less[0, 0].abs().max() == 0 and less_tags[-1, 1].abs().max() == 0
    assert torch.equal(less[1:], found[1:]) and torch.equal(less[:, 1], found[:, 1])
    assert torch.equal(less_tags[:, 0], found_tags[:, 0])


def test_what_is_not_taught_is_left_to_the_trees(path: Path) -> None:
    run = SpanRun(TAGS, TAGGED, DEV, start_from=path)
    run.model.eval()
    batch, vocabulary = run.recipe.batches.next(), run.vocabulary
    assert batch.source is not None
    words, sentences = len(batch.inputs) - 2, batch.inputs.shape[1]
    nothing = (
        torch.zeros(len(batch.targets) - words, sentences, vocabulary.label_count),
        torch.zeros(words, sentences, vocabulary.tag_count),
    )
    loss = partial(run.model.loss, batch.inputs, batch.source, batch.targets, torch.float32)
    assert torch.allclose(loss(nothing, 0.5), loss())


def test_a_teacher_that_cannot_teach_is_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"English.* Indonesian"):
        SpanRun(replace(TAGS, language="id"), TAGGED, DEV, teacher=path)
    other = [TaggedTree(("(OTHER", "a", "b", ")OTHER"), ("X", "X"))] * 4
    with pytest.raises(ConfigError, match=r"t\.pt: "):
        SpanRun(TAGS, other, other, teacher=path)
    run = partial(train, replace(TAGS, epochs=0.5), TAGGED, DEV, tmp_path / "m.pt", tmp_path / "l")
    run()
    with pytest.raises(ConfigError, match=r"teacher is none, not [0-9a-f]{8}"):
        run(teacher=path)


def test_the_smaller_model_learns_them_whatever_the_trees_say(path: Path, tmp_path: Path) -> None:
    flat = [tree._replace(tokens=("(S", *tree.words, ")S")) for tree in TAGGED]
    config = replace(TAGS, epochs=25, learning_rate=0.06, batch_tokens=60, seed=3)
    config = replace(config, taught_share=1.0, model={**TAGS.model, "span_size": 12})
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
        student, theirs = (
            table[..., each.vocabulary.label(label)]
            for table, each in zip(tables, (learned, teacher), strict=True)
        )
        assert (
            abs(student - theirs)[torch.triu(torch.ones(student.shape)).bool().numpy()].mean() < 2
        )
    assert tables[0][..., 0].mean() == pytest.approx(tables[1][..., 0].mean(), abs=0.2)


def test_a_killed_run_resumes_to_the_same_bits(path: Path, tmp_path: Path) -> None:
    check_resumed(partial(train, replace(TAGS, shards=2), TAGGED, DEV, teacher=path), tmp_path)


def test_shards_of_a_batch_have_the_gradients_of_the_whole(path: Path) -> None:
    gradients = []
    for count in (0, 2):
        config = replace(TAGS, shards=count, batch_tokens=60, model={**TAGS.model, **NO_DROPOUT})
        run = SpanRun(replace(config, unknown_share=0.0), TAGGED, DEV, teacher=path)
        torch.manual_seed(1)
        for weight in run.model.parameters():
            torch.nn.init.normal_(weight)
        batch = run.recipe.batches.next()
        while batch.inputs.shape[1] < 3:
            batch = run.recipe.batches.next()
        shards.backward(run, batch) if count else run.backward(batch)
        gradients.append([weight.grad for weight in run.model.parameters()])
    for whole, parts in zip(*gradients, strict=True):
        assert (whole is None) == (parts is None)
        if whole is not None and parts is not None:
            assert torch.allclose(whole, parts, rtol=1e-3, atol=1e-4)


def test_with_its_own_probabilities_alone_a_model_stays_as_it_is(path: Path) -> None:
    sizes = {**TAGS.model, **NO_DROPOUT}
    config = replace(TAGS, taught_share=1.0, model=sizes, unknown_share=0.0)
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
    config.write_text(LANGUAGE_MODEL)
    run = ["train", "--config", str(config), "--train", str(trees), "--dev", str(trees)]
    files = ["--out", str(tmp_path / "x.pt"), "--log-folder", str(tmp_path / "log")]
    assert main([*run, *files, "--teacher", str(path)]) == 2
    assert "--encoder and --teacher are for span models" in capsys.readouterr().err


def test_plain_text_is_learned_from_the_teacher_alone(path: Path, tmp_path: Path) -> None:
    run = SpanRun(TAGS, TAGGED, DEV, teacher=path, taught_text=[WORDS] * 30)
    assert (run.train_trees, run.taught_sentences) == (len(TAGGED), 30)
    run.model.eval()
    run.unknown_rates[:] = 0.0
    sentence = unlabelled(run.vocabulary, run.lexicon, WORDS)
    batch = span_batch([sentence], run.table)
    assert (batch.targets == PADDING).all() and run.teacher
    taught = run.teacher([sentence.words], batch.targets)
    loss, words = run._loss(batch, batch.inputs, *taught)
    table = read_sentence(run.model, run.vocabulary, WORDS)
    starts, ends = span_ends(len(WORDS))
    spans = torch.from_numpy(table.labels)[starts, ends - 1]
    assert taught[1] is not None
    expected = (taught[0][:, 0] * spans).sum() + (taught[1][:, 0] * torch.tensor(table.tags)).sum()
    assert words == len(WORDS)
    assert float(loss.detach()) == pytest.approx(-float(expected), rel=1e-4)


def test_with_a_share_of_0_only_text_without_trees_is_taught(path: Path) -> None:
    config = replace(TAGS, taught_share=0.0)
    run = SpanRun(config, TAGGED, DEV, teacher=path, taught_text=[WORDS])
    tree = next(number for number, each in enumerate(TAGGED) if len(each.words) == len(WORDS))
    sentences = [
        labelled(run.vocabulary, run.lexicon, TAGGED[tree]),
        unlabelled(run.vocabulary, run.lexicon, WORDS),
    ]
    batch = span_batch(sentences, run.table)._replace(sentences=(tree, len(TAGGED)))
    assert run.teacher
    alone = run.teacher([sentences[1].words], batch.targets[:, 1:])
    for part, taught in zip(run._taught(batch), alone, strict=True):
        assert part is not None and taught is not None
        assert not part[:, 0].any()
        assert torch.equal(part[:, 1:], taught)
    trees_alone = span_batch(sentences[:1], run.table)._replace(sentences=(tree,))
    assert run._taught(trees_alone) == (None, None)


def test_the_command_takes_plain_text_with_a_teacher(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "trees.mrg").write_text("(S1 (S (NP (X It)) (VP (X runs)) (. .)))\n" * 4)
    (tmp_path / "text.txt").write_text("the dog runs .\n\n" + "a " * 10_001 + "\nIt runs .\n")
    (tmp_path / "c.toml").write_text(SPANS)
    run = ["train", "--config", str(tmp_path / "c.toml"), "--log-folder", str(tmp_path / "log")]
    run += ["--train", str(tmp_path / "trees.mrg"), "--dev", str(tmp_path / "trees.mrg")]
    run += ["--out", str(tmp_path / "m.pt"), "--taught-text", str(tmp_path / "text.txt")]
    assert main(run) == 2
    assert "--taught-text needs a --teacher: its sentences have no" in capsys.readouterr().err
    assert main([*run, "--teacher", str(path)]) == 0
    messages = capsys.readouterr().err
    assert "1 sentence of --taught-text left out, such as" in messages
    assert "text.txt:3: 10001 words, more than 10000" in messages
    assert load_span_model(tmp_path / "m.pt").information["taught_sentences"] == 2
