"""Training a span model: it learns, resumes exactly, and its batches are what they claim."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from reranker.checkpoints.span_file import load_span_model
from reranker.checkpoints.span_vocabulary import PADDING, UNKNOWN
from reranker.checkpoints.word_pieces import WordPieces
from reranker.commands.main import main
from reranker.errors import ConfigError
from reranker.models.batch import source_batch
from reranker.models.span_model import span_ends
from reranker.pipeline import Reranker
from reranker.plugins.training.corpus.word_vectors import WordVectors
from reranker.plugins.training.spans.config import SpanTrainingConfig
from reranker.plugins.training.spans.pretrained import PretrainedEncoder
from reranker.plugins.training.spans.run import SpanRun
from reranker.plugins.training.spans.sentences import Lexicon, SpanBatches, labelled
from reranker.scoring.span_table import read_sentence
from reranker.trees.linearize import TaggedTree
from tests.models.bert import write_encoder
from tests.reranker.plugins.training.killed import check_resumed
from tests.reranker.plugins.training.runs import train
from tests.reranker.toy_trees import DEV as DEV_TOKENS
from tests.reranker.toy_trees import TREES as TOKENS

ROOT = Path(__file__).parents[5]
TREES, DEV = ([TaggedTree(tokens) for tokens in some] for some in (TOKENS, DEV_TOKENS))
SIZES: dict[str, Any] = {
    "embedding_size": 8, "spelling_rows": 64, "spelling_size": 8, "hidden_sizes": [12],
    "span_size": 16, "input_dropout": 0.1, "hidden_dropout": 0.1,
}  # fmt: skip
CONFIG = SpanTrainingConfig(
    epochs=3, learning_rate=0.02, warmup_batches=2, batch_tokens=20, minimum_count=1, model=SIZES,
    validate_every=0, stored_precision="float32",
)  # fmt: skip
VECTORS = WordVectors(("the", "dog", "unseen", "child"), torch.arange(12.0).view(4, 3))


@pytest.fixture
def encoder(tmp_path: Path) -> PretrainedEncoder:
    write_encoder(tmp_path / "bert", ["the", "dog", "##s", "s", "##e", "child", "##q", "zebra"])
    return PretrainedEncoder.read(tmp_path / "bert")


def test_it_learns_where_constituents_are(tmp_path: Path) -> None:
    config = replace(CONFIG, epochs=10)
    perplexity = train(config, TREES, DEV, tmp_path / "m.pt", tmp_path / "log")
    assert perplexity < 1.5, "guessing is 80 labels' worth"
    information = load_span_model(tmp_path / "m.pt").information
    assert information["dev_perplexity"] == perplexity and information["train_trees"] == 20
    right = "(S1 (S (NP (X The) (X dog)) (VP (X sees) (X it)) (. .)))"
    wrong = "(S1 (S (NP (X The)) (VP (X dog) (X sees) (X it)) (. .)))"
    assert Reranker.load(tmp_path / "m.pt").rerank([wrong, right]).tree == right


def test_a_killed_run_resumes_to_the_same_bits(tmp_path: Path, encoder: PretrainedEncoder) -> None:
    config = replace(CONFIG, known_pieces=11)
    path = check_resumed(partial(train, config, TREES, DEV, encoder=encoder), tmp_path)
    pieces = load_span_model(path).vocabulary.pieces
    assert pieces is not None and len(pieces.pieces) == 11


def test_the_state_of_another_run_is_refused(tmp_path: Path, encoder: PretrainedEncoder) -> None:
    train(replace(CONFIG, epochs=0.5), TREES, DEV, tmp_path / "m.pt", tmp_path / "log")
    runs: list[tuple[SpanTrainingConfig, Any, dict[str, Any]]] = [
        (replace(CONFIG, seed=2), TREES, {}),
        (CONFIG, TREES[:9], {}),
        (CONFIG, TREES, {"vectors": VECTORS}),
        (CONFIG, TREES, {"encoder": encoder}),
    ]
    for config, trees, start in runs:
        with pytest.raises(ConfigError, match="different settings"):
            train(config, trees, DEV, tmp_path / "m.pt", tmp_path / "log", **start)


def test_word_vectors_of_the_trees_come_first_and_stay(tmp_path: Path) -> None:
    config = replace(CONFIG, known_vectors=3)
    train(config, TREES, DEV, tmp_path / "m.pt", tmp_path / "log", vectors=VECTORS)
    found = load_span_model(tmp_path / "m.pt")
    assert found.vocabulary.vector_words == ("the", "dog", "child")
    kept = VECTORS.vectors[[0, 1, 3]]
    assert torch.allclose(found.model.vectors[1:], kept / kept.std())
    assert found.model.vectors[0].tolist() == [0, 0, 0]


def test_an_encoder_learns_at_its_own_rate(tmp_path: Path, encoder: PretrainedEncoder) -> None:
    moved = []
    for rate in (0.0, 0.1, 1.0):
        run = SpanRun(
            replace(CONFIG, encoder_rate=rate, weight_decay=0.0), TREES, DEV, encoder=encoder
        )
        assert run.model.encoder
        before = run.model.encoder.positions.detach().clone()
        batch = run.recipe.batches.next()
        run.backward(batch)
        run.recipe.step(batch, 0.0)
        moved.append((run.model.encoder.positions - before).abs().max().item())
    assert moved[0] == 0 and moved[2] == pytest.approx(10 * moved[1], rel=1e-3)


def test_rare_words_are_made_unknown_more_often() -> None:
    run = SpanRun(CONFIG, TREES, DEV)
    words = run.vocabulary.words
    counts = [sum(tokens.count(word) for tokens in TOKENS) for word in words]
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
    run = SpanRun(CONFIG, TREES, DEV)
    sentences = [labelled(run.vocabulary, run.lexicon, tree) for tree in TREES]
    batches = SpanBatches(sentences, run.table, 20, 30, seed=1)
    seen = 0
    while batches.epoch == 0 and batches.progress < 1:
        batch = batches.next()
        length, columns = len(batch.inputs) - 2, batch.inputs.shape[1]
        spans = length * (length + 1) // 2
        assert batch.targets.shape == (spans, columns)
        assert columns == 1 or (length * columns <= 20 and spans * columns <= 30)
        seen += columns
    assert seen == 20
    (tree,) = [tree for tree in TREES if "dog" in tree.tokens and "runs" in tree.tokens]
    labels = labelled(run.vocabulary, run.lexicon, tree).targets().tolist()
    named = {
        (start, end): run.vocabulary.labels[label - 2]
        for start, end, label in zip(*(b.tolist() for b in span_ends(4)), labels, strict=True)
        if label
    }
    assert named == {(0, 4): "S", (0, 2): "NP", (2, 3): "VP"}


def test_a_tree_of_nothing_but_traces_is_left_out(tmp_path: Path) -> None:
    run = SpanRun(CONFIG, [*TREES, TaggedTree(())], [TaggedTree(()), *DEV])
    assert len(run.dev) == len(DEV) and run.train_trees == len(TREES)
    assert run.dev_perplexity() > 1


def test_trees_without_words_are_refused() -> None:
    with pytest.raises(ConfigError, match="the dev trees have no words"):
        SpanRun(CONFIG, TREES, [])


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"batch_spans": 0}, "batch_spans must be at least 1, got 0"),
        ({"recipe": "paper"}, "recipe must be fast, got 'paper'"),
        ({"model": {"vector_size": 50}}, "cannot be set"),
        ({"model": {"encoder": {}}}, "encoder comes from --encoder"),
        ({"taught_share": 1.5}, "taught_share must be a share, at most 1, got 1.5"),
        ({"known_pieces": 0}, "known_pieces must be at least 1, got 0"),
        ({"model": {"span_size": 0}}, "span_size must be an integer of at least 1, got 0"),
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
    again = ["--out", str(tmp_path / "n.pt"), "--log-folder", str(tmp_path / "log2")]
    folder = ["--encoder", str(tmp_path / "none")]
    assert main([*run, *again, *folder]) == 2
    assert "config.json: No such file" in capsys.readouterr().err
    assert main([*run, *again, "--start-from", str(tmp_path / "m.pt")]) == 0
    lists = str(ROOT / "examples/parses.txt")
    assert main(["--nbest", lists, "--models", str(tmp_path / "m.pt")]) == 0


TAGGED = [
    TaggedTree(tokens, tuple("PUNCT" if word == "." else "W" + word[:1] for word in words))
    for tokens in TOKENS
    for words in [[token for token in tokens if token[0] not in "()"]]
]


def test_tags_are_learned_beside_spans(tmp_path: Path) -> None:
    config = replace(CONFIG, epochs=15, minimum_tags=1)
    train(config, TAGGED, TAGGED[:4], tmp_path / "m.pt", tmp_path / "log")
    checkpoint = load_span_model(tmp_path / "m.pt")
    assert set(checkpoint.vocabulary.tags) == {tag for tree in TAGGED for tag in tree.tags}
    (tree, *_) = TAGGED
    words = tuple(token for token in tree.tokens if token[0] not in "()")
    tags = read_sentence(checkpoint.model, checkpoint.vocabulary, words).tags
    assert tuple(checkpoint.vocabulary.tags[row.argmax()] for row in tags) == tree.tags
    assert 0.25 <= checkpoint.information["temperature"] <= 4


def test_rare_tags_and_trees_without_tags_are_no_targets() -> None:
    run = SpanRun(replace(CONFIG, minimum_tags=10), [*TAGGED, *TREES], DEV)
    rare = {tag for tag, count in Counter(t for e in TAGGED for t in e.tags).items() if count < 10}
    assert rare and not rare & set(run.vocabulary.tags)
    assert (
        labelled(run.vocabulary, run.lexicon, TREES[0]).tags
        == [PADDING] * labelled(run.vocabulary, run.lexicon, TREES[0]).length
    )
    for tree in TAGGED:
        numbers = labelled(run.vocabulary, run.lexicon, tree).tags
        known = [tag for tag in tree.tags if tag not in rare]
        assert [run.vocabulary.tags[n] for n in numbers if n != PADDING] == known


def test_a_trained_model_learns_more(tmp_path: Path) -> None:
    """Its weights and words keep their places; new words, labels and tags follow."""
    first = tmp_path / "first.pt"
    train(CONFIG, TREES, DEV, first, tmp_path / "log")
    before = load_span_model(first)
    new = TaggedTree(("(Q", "(NP", "zebra", ")NP", "sleeps", ")Q"), ("WZ", "WS"))
    trees = [*TAGGED, new]
    config = replace(CONFIG, minimum_tags=1)
    run = SpanRun(config, trees, DEV, start_from=first)
    after = run.vocabulary
    assert after.words[: len(before.vocabulary.words)] == before.vocabulary.words
    assert "zebra" in after.words and "Q" in after.labels and "WZ" in after.tags
    weights = before.model.state_dict()
    for name, weight in run.model.named_parameters():
        if name in weights:
            assert torch.equal(weight[: len(weights[name])], weights[name])
    train(config, trees, DEV, tmp_path / "m.pt", tmp_path / "log2", start_from=first)
    assert load_span_model(tmp_path / "m.pt").information["start_from"] == "first.pt"
    wrong = replace(config, model={**SIZES, "span_size": 8})
    with pytest.raises(ConfigError, match=r"first\.pt: its left .*16 x 24"):
        SpanRun(wrong, trees, DEV, start_from=first)


def test_a_trained_model_gets_the_pieces_of_new_words(
    tmp_path: Path, encoder: PretrainedEncoder
) -> None:
    first = tmp_path / "first.pt"
    train(replace(CONFIG, known_pieces=11), TREES, DEV, first, tmp_path / "log", encoder=encoder)
    before = load_span_model(first)
    assert before.vocabulary.pieces and before.model.encoder
    old = before.vocabulary.pieces.pieces
    assert "zebra" not in old
    trees = [*TREES, TaggedTree(("(S", "zebra", ")S"), ())]
    # The limit is for new models: learned pieces stay, and new words get theirs.
    run = SpanRun(replace(CONFIG, known_pieces=11), trees, DEV, start_from=first, encoder=encoder)
    assert run.vocabulary.pieces and run.model.encoder
    new = run.vocabulary.pieces.pieces
    assert len(new) == 12 and {*old, "zebra"} == {*new}
    for row, piece in enumerate(new):
        expected = (
            before.model.encoder.embedding[old.index(piece)]
            if piece in old
            else encoder.weights["embedding"][encoder.pieces.pieces.index(piece)]
        )
        assert torch.equal(run.model.encoder.embedding[row], expected)
    kept = SpanRun(replace(CONFIG, known_pieces=12), trees, DEV, start_from=first)
    assert kept.vocabulary.pieces and kept.vocabulary.pieces.pieces == old
    other = replace(encoder, config=replace(encoder.config, heads=1))
    names = [f"{piece}x" if piece.isalpha() else piece for piece in encoder.pieces.pieces]
    foreign = replace(encoder, pieces=WordPieces(names, encoder.config.per_word))
    plain = tmp_path / "plain.pt"
    train(CONFIG, TREES, DEV, plain, tmp_path / "log2")
    for path, given in ((first, other), (first, foreign), (plain, encoder)):
        with pytest.raises(ConfigError, match="--encoder"):
            SpanRun(CONFIG, trees, DEV, start_from=path, encoder=given)


def test_a_lexicon_gives_each_word_what_the_vocabulary_gives_it(tmp_path: Path) -> None:
    write_encoder(tmp_path / "bert", ["the", "dog", "##s", "s", "##e", "child"])
    encoder = PretrainedEncoder.read(tmp_path / "bert")
    vocabulary = SpanRun(CONFIG, TREES, DEV, encoder=encoder).vocabulary
    lexicon = Lexicon()
    sentences = [("the", "dogs", "the"), ("a", "dog", "extraordinarily")]
    places = [*map(lexicon.places, sentences)]
    for some in ([0, 1], [0], [1]):  # as wide as these sentences' words need, and no wider
        rows, features = lexicon.table(vocabulary).read([places[number] for number in some])
        encoded = [vocabulary.encode(sentences[number]) for number in some]
        assert rows.T.tolist() == [each for each, _ in encoded]
        assert torch.equal(features, source_batch([each for _, each in encoded]))
