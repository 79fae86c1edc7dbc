"""``rerank generate`` as a user meets it, and what it writes read by ``rerank``."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from reranker.commands.main import main
from reranker.nbest import ReadOptions, read_nbest
from reranker.plugins.generation.encoder_decoder_file import load_generator
from reranker.trees.tree import Tree
from tests.reranker.ensembles import LANGUAGE_MODEL
from tests.reranker.plugins.generation.generators import TREES, pairs, trained_parser
from tests.reranker.small_files import break_off_after

Capture = pytest.CaptureFixture[str]
SENTENCES = "".join(" ".join(pair.source) + "\n" for pair in pairs())

TRANSLATOR = """[training]
task = "text"
epochs = 60
learning_rate = 0.02
warmup_batches = 5
merges = 3
[model]
architecture = "encoder-decoder"
embedding_size = 16
hidden_sizes = [16]
attentional_size = 16
components = []
embedding_range = 0.3
"""


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(trained_parser(tmp_path_factory.mktemp("parser")))


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sentences.txt").write_text(SENTENCES)
    Path("trees.mrg").write_text("".join(f"{tree.to_string()}\n" for tree in TREES))


def without_root(tree: Tree) -> str:
    """Return the tree as the parser prints it: linearising leaves TOP out."""
    (child,) = tree.children
    assert isinstance(child, Tree)
    return child.to_string()


def generated(*flags: str) -> int:
    return main(["generate", "--source", "sentences.txt", "--threads", "1", *flags])


def interrupt_after_two(monkeypatch: pytest.MonkeyPatch, *flags: str) -> None:
    with monkeypatch.context() as patched:
        break_off_after(2, patched, KeyboardInterrupt())
        assert generated(*flags) == 130


def test_what_is_generated_can_be_reranked(parser: str, capsys: Capture) -> None:
    assert generated("--models", parser, "--beam", "4", "--out", "lists.txt") == 0
    Path("lm.toml").write_text(LANGUAGE_MODEL)
    trees = ["--train", "trees.mrg", "--dev", "trees.mrg"]
    assert main(["train", "--config", "lm.toml", *trees, "--out", "lm.pt"]) == 0
    capsys.readouterr()
    flags = ["--models", "lm.pt", "--lm-weight", "0", "--restore", "--gold", "trees.mrg"]
    assert main(["--nbest", "lists.txt", *flags]) in (0, 1)
    assert capsys.readouterr().out.splitlines() == [without_root(tree) for tree in TREES]


def test_the_lists_have_words_scores_and_tags(parser: str) -> None:
    assert generated("--models", parser, "--beam", "4", "--nbest", "2", "--out", "lists.txt") == 0
    lists = list(read_nbest("lists.txt", options=ReadOptions(restore=True)))
    assert [nbest.words for nbest in lists] == [pair.source for pair in pairs()]
    for nbest, tree in zip(lists, TREES, strict=True):
        first = nbest.candidates[0]
        assert first.text == without_root(tree)
        assert first.parser_score is not None and -10 < first.parser_score < 0
        assert len(nbest.candidates) + len(nbest.rejected) == 2
    lines = Path("lists.txt").read_text().splitlines()
    assert lines[0] == "S-0\tIt runs ."
    # The mean over tokens and <eos>, in base 2, as fairseq prints it, and the sum.
    _, mean, tokens = lines[1].split("\t")
    total = float(lines[2].split("\t")[1])
    assert math.isclose(float(mean), total / (len(tokens.split()) + 1), rel_tol=1e-9)


def test_a_translator_from_two_files_and_from_one(capsys: Capture) -> None:
    Path("c.toml").write_text(TRANSLATOR)
    Path("de").write_text("der hund\ndie hunde\nein haus\n" * 4)
    Path("en").write_text("the dog\nthe dogs\na house\n" * 4)
    Path("both").write_text("der hund\tthe dog\ndie hunde\tthe dogs\nein haus\ta house\n" * 4)
    train = ["train", "--config", "c.toml", "--threads", "1"]
    files = ["--train", "de", "--train-target", "en", "--dev", "de", "--dev-target", "en"]
    assert main([*train, *files, "--out", "a.pt"]) == 0
    one = ["--epochs", "1", "--out"]
    assert main([*train, *files, *one, "b.pt"]) == 0
    assert main([*train, "--train", "both", "--dev", "both", *one, "c.pt"]) == 0
    first, second = (load_generator(Path(name)) for name in ("b.pt", "c.pt"))
    for name, weight in first.model.named_parameters():
        assert torch.equal(weight, second.model.get_parameter(name))
    capsys.readouterr()
    Path("test").write_text("ein haus\ndie hunde\n\nder hund\n")
    flags = ["--source", "test", "--format", "text", "--nbest", "1"]
    assert main(["generate", "--models", "a.pt", "b.pt", *flags]) == 1, "a line has no words"
    captured = capsys.readouterr()
    assert captured.out == "a house\nthe dogs\n\nthe dog\n"
    assert "1 sentence without words has no output" in captured.err


def test_what_cannot_be_generated_is_refused(parser: str, capsys: Capture) -> None:
    Path("c.toml").write_text(TRANSLATOR)
    Path("bad.toml").write_text(LANGUAGE_MODEL)
    trees = ["--train", "trees.mrg", "--dev", "trees.mrg", "--out", "x.pt"]
    for command, reason in [
        (["generate", "--models", parser, "--beam", "2", "--nbest", "3"], "has only 2 outputs"),
        (["generate", "--models", "none.pt"], "none.pt"),
        (["generate", "--models", parser, "--source", "missing"], "missing: cannot be read"),
        (["generate", "--models", parser, "--out", parser], "is also an input"),
        (["--nbest", "trees.mrg", "--models", parser], "for `rerank generate`"),
        (["train", "--config", "c.toml", *trees, "--start-from", parser], "language models"),
        (["train", "--config", "c.toml", *trees, "--direction", "backward"], "'direction'"),
        (["train", "--config", "c.toml", *trees, "--train-target", "a", "b"], "2 files for 1"),
        (["train", "--config", "c.toml", *trees], "contains no pairs"),
        (["train", "--config", "bad.toml", *trees, "--dev-target", "a"], "encoder-decoders"),
    ]:
        assert main(command) == 2, command
        lines = [x for x in capsys.readouterr().err.splitlines() if "skipped" not in x]
        assert lines[-1].startswith("rerank: ") and reason in lines[-1], (command, lines)


def test_a_parsers_targets_come_with_its_trees(parser: str, capsys: Capture) -> None:
    Path("c.toml").write_text(TRANSLATOR.replace('"text"', '"parsing"'))
    trees = ["--train", "trees.mrg", "--dev", "trees.mrg", "--out", "x.pt"]
    assert main(["train", "--config", "c.toml", *trees, "--train-target", "trees.mrg"]) == 2
    assert "trees are in --train" in capsys.readouterr().err
    assert main(["train", "--config", "c.toml", *trees, "--epochs", "1"]) == 0
    vocabulary = load_generator(Path("x.pt")).vocabulary
    assert {"_NN_", "_VBZ_", ".", "(NP", ")NP"} <= set(vocabulary.target)


def test_a_resumed_run_knows_of_lines_without_words(
    parser: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("sentences.txt").write_text("\n" + SENTENCES)
    flags = ("--models", parser, "--beam", "2", "--out", "lists.txt")
    interrupt_after_two(monkeypatch, *flags)
    assert "2 sentences are kept" in capsys.readouterr().err
    assert generated(*flags, "--resume") == 1
    printed = capsys.readouterr().err
    assert "resuming after sentence 2" in printed
    assert "1 sentence without words has no output" in printed
