"""Training trees on disk give the batches, and the model, that trees in memory give."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import InputError, RerankError
from reranker.plugins.training.corpus.tree_files import Reads, StreamedTrees, TokenFile, read_tokens
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.processes import Processes
from reranker.trees.linearize import linearize
from reranker.trees.treebank import read_treebank
from tests.reranker.plugins.training.forked import in_processes
from tests.reranker.plugins.training.loop.test_shards import FAST, PAPER
from tests.reranker.plugins.training.runs import train
from tests.reranker.small_files import write

TREES = [
    f"(S1 (S (NP (DT {determiner}) (NN {noun})) (VP (VBZ {verb})) (. .)))\n"
    for determiner in ("The", "A")
    for noun in ("dog", "cat", "old man")
    for verb in ("runs", "sleeps", "walks")
]


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    trees = [tree.replace("old man", "man") for tree in TREES]
    write(tmp_path / "a.mrg", "".join(trees[:7]))
    write(tmp_path / "b.mrg", "".join(trees[7:]))
    return [tmp_path / "a.mrg", tmp_path / "b.mrg"]


@pytest.mark.parametrize("sequences", [[[3, 0]], [[1, 2, 3, 0], [0], [7, 0], [70_000] * 9 + [0]]])
def test_a_file_holds_the_sequences(sequences: list[list[int]], tmp_path: Path) -> None:
    TokenFile.write(tmp_path / "t.bin", iter(sequences), eos=0)
    tokens = TokenFile(tmp_path / "t.bin")
    assert list(tokens) == sequences
    assert tokens.lengths() == list(map(len, sequences))
    joined = [number for ids in sequences for number in ids]
    assert tokens.stream.tolist() == [0, *joined]
    size = max(joined) + 3
    assert tokens.counts(size).equal(torch.bincount(torch.tensor(joined), minlength=size))


@pytest.mark.parametrize("config", [FAST, PAPER], ids=["fast", "paper"])
@pytest.mark.parametrize("shards", [0, 3])
def test_a_model_is_the_same_as_of_trees_in_memory(
    config: TrainingConfig, shards: int, paths: list[Path], tmp_path: Path
) -> None:
    config = replace(config, shards=shards)
    trees = [*map(linearize, read_treebank(paths))]
    found = []
    for name, given in (("memory", trees), ("disk", StreamedTrees(paths, tmp_path / "disk"))):
        folder = tmp_path / name
        train(config, given, trees[:4], folder / "m.pt", folder)
        found.append(load_checkpoint(folder / "m.pt"))
    memory, disk = found
    assert memory.information == {**disk.information, "minutes": memory.information["minutes"]}
    weights = disk.model.state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in
               memory.model.state_dict().items())  # fmt: skip


def test_a_tree_that_is_skipped_is_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "a.mrg", f"{TREES[0]}(S (NP\n{TREES[1]}")
    files = StreamedTrees([path], tmp_path / "log")
    assert len(files.encoded(Vocabulary.build(files, 1))) == 2
    (message,) = caplog.messages
    assert message.startswith(f"{path}:2: skipped, unbalanced: ")


@pytest.mark.parametrize("reads", ["words", "tags"])
def test_trees_of_nothing_but_traces_are_left_out(reads: Reads, tmp_path: Path) -> None:
    empty = "(S (NP (-NONE- *)) (VP (-NONE- *?*)))\n"
    some = write(tmp_path / "some.mrg", f"{empty}{TREES[0]}{empty}")
    none = write(tmp_path / "none.mrg", empty)
    for name in (some, none):
        assert len([*read_tokens([some, name], reads)]) == 1 + (name == some)
    with pytest.raises(InputError, match=r"none\.mrg: "):
        list(StreamedTrees([none], tmp_path / "log", reads=reads))


def test_tokens_are_written_once(paths: list[Path], tmp_path: Path) -> None:
    files = StreamedTrees(paths, tmp_path / "log")
    vocabulary = Vocabulary.build(files, 1)
    expected = list(files.encoded(vocabulary))
    written = tmp_path / "log" / "tokens.bin"
    first = written.stat().st_mtime_ns
    assert list(files.encoded(vocabulary)) == expected
    assert written.stat().st_mtime_ns == first
    write(paths[0], TREES[0])  # another file, another size
    assert len(files.encoded(vocabulary)) == 1 + 11
    assert written.stat().st_mtime_ns > first


def test_what_was_half_written_is_written_again(paths: list[Path], tmp_path: Path) -> None:
    files = StreamedTrees(paths, tmp_path / "log")
    vocabulary = Vocabulary.build(files, 1)
    expected = list(files.encoded(vocabulary))
    known, tokens = tmp_path / "log" / "tokens.json", tmp_path / "log" / "tokens.bin"
    made_of = json.loads(known.read_text())
    assert made_of["vocabulary"] == vocabulary.digest
    known.write_text(json.dumps({"vocabulary": "", "files": []}))  # as long as it is being written
    tokens.write_bytes(b"half")
    assert list(files.encoded(vocabulary)) == expected
    known.unlink()
    tokens.write_bytes(b"another program's")
    with pytest.raises(InputError, match=r"tokens\.bin: .*--stream"):
        files.encoded(vocabulary)
    assert tokens.read_bytes() == b"another program's"


def test_a_folder_that_cannot_be_written_to_is_named(paths: list[Path], tmp_path: Path) -> None:
    (tmp_path / "log").write_text("a file")
    files = StreamedTrees(paths, tmp_path / "log")
    with pytest.raises(RerankError, match=r"log/tokens\.bin: "):
        files.encoded(Vocabulary.build(files, 1))


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA: no forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_read_what_the_first_writes(paths: list[Path], tmp_path: Path) -> None:
    trees = [*map(linearize, read_treebank(paths))]
    train(replace(FAST, shards=2), trees, trees[:4], tmp_path / "one.pt", tmp_path / "one")

    def work(processes: Processes) -> None:
        files = StreamedTrees(paths, tmp_path / "two", processes)
        train(
            replace(FAST, shards=2), files, trees[:4], tmp_path / "two.pt", tmp_path / "two",
            processes=processes,
        )  # fmt: skip

    assert in_processes(2, tmp_path, work) == [0, 0]
    one, two = (load_checkpoint(tmp_path / f"{name}.pt").model for name in ("one", "two"))
    for weight, other in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.allclose(weight, other, rtol=1e-5)
