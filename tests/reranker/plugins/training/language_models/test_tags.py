"""Training a language model that reads tags in place of words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.commands.main import main
from reranker.errors import ConfigError, InputError
from reranker.models import AwdLstmDoc
from reranker.plugins.training.corpus.tree_files import StreamedTrees, read_tokens
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.language_models.run import LanguageModelRun
from tests.reranker.ensembles import untrained
from tests.reranker.plots import no_plots
from tests.reranker.small_files import write
from tests.reranker.toy_trees import DEV, TREES

Capture = pytest.CaptureFixture[str]
TREE = "( (S (NP-SBJ (DT The) (NN dog)) (VP (VBZ runs) (NP (-NONE- *))) (-LRB- -LRB-) (. .)))\n"
SKELETON = "(S (NP (DT _) (NN _)) (VP (VBZ run)) (-LRB- _) (. _))\n"
TOKENS = ("(S", "(NP", "DT", "NN", ")NP", "(VP", "VBZ", ")VP", "-LRB-", ".", ")S")
CONFIG = """[training]
reads = "tags"
epochs = 1
minimum_count = 1
stored_precision = "float32"
[model]
embedding_size = 4
hidden_sizes = [4]
components = [0, 1]
"""


def test_words_become_tags(tmp_path: Path) -> None:
    path = write(tmp_path / "t.mrg", TREE + SKELETON)
    assert list(read_tokens([path], "tags")) == [TOKENS, TOKENS]
    assert list(StreamedTrees([path], tmp_path, reads="tags")) == [TOKENS, TOKENS]
    assert next(read_tokens([path], "words"))[2:4] == ("The", "dog")


def test_a_word_without_a_tag_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "t.mrg", f"{TREE}(S (NP\n  (DT The) dog)\n  (. .))\n")
    with pytest.raises(InputError, match=r"t\.mrg:2: .*reads = "):
        list(read_tokens([path], "tags"))


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_a_command_trains_one(
    stream: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("c.toml"), CONFIG)
    write(Path("t.mrg"), TREE + SKELETON)
    command = ["train", "--config", "c.toml", "--train", "t.mrg", "--dev", "t.mrg"]
    with no_plots():
        assert main([*command, "--out", "m.pt", "--log-folder", "log", *stream]) == 0
    vocabulary = load_checkpoint(Path("m.pt")).vocabulary
    assert vocabulary.reads_tags
    assert {"dt", "nn", "vbz", "-lrb-", "."} < {*vocabulary.symbols}
    assert not {"dog", "_", "run"} & {*vocabulary.symbols}
    with no_plots():
        again = [*command, "--start-from", "m.pt", "--out", "again.pt", "--log-folder", "log2"]
        assert main(again) == 0
    assert load_checkpoint(Path("again.pt")).vocabulary == vocabulary


def test_word_vectors_are_of_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("c.toml"), CONFIG)
    write(Path("t.mrg"), TREE)
    write(Path("v.txt"), "dog 1 2\n")
    command = ["train", "--config", "c.toml", "--train", "t.mrg", "--dev", "t.mrg"]
    assert main([*command, "--out", "m.pt", "--vectors", "v.txt"]) == 2
    assert "--vectors are of words, but the model reads tags" in capsys.readouterr().err


def test_a_start_that_reads_something_else_is_refused(tmp_path: Path) -> None:
    member = untrained(1, reads_tags=True)
    assert isinstance(member.model, AwdLstmDoc)
    save_checkpoint(tmp_path / "tags.pt", member.model, member.vocabulary, {})
    config = TrainingConfig(epochs=1)
    with pytest.raises(ConfigError, match=r"tags\.pt: .*tags.* words"):
        LanguageModelRun(config, TREES, DEV, start_from=tmp_path / "tags.pt")
    words = untrained(1)
    assert isinstance(words.model, AwdLstmDoc)
    save_checkpoint(tmp_path / "words.pt", words.model, words.vocabulary, {})
    config = replace(config, reads="tags")
    with pytest.raises(ConfigError, match=r"words\.pt: .*words.* tags"):
        LanguageModelRun(config, TREES, DEV, start_from=tmp_path / "words.pt")


def test_text_has_no_tags() -> None:
    with pytest.raises(ValueError, match="reads is tags"):
        TrainingConfig(recipe="thesis", epochs=1, text=True, reads="tags").check()
