"""``rerank train`` as a user meets it: word vectors, directions, exit codes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import torch

from reranker.checkpoints.archive import read_archive
from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.commands.main import main
from reranker.pipeline import Reranker
from reranker.plugins.training import worker
from tests.reranker.limited_runs import with_small_files
from tests.reranker.small_files import write

Capture = pytest.CaptureFixture[str]

CONFIG = """[training]
epochs = 1
minimum_count = 2
word_classes = 2
direction = "backward"
stored_precision = "float32"
[model]
embedding_size = 4
hidden_sizes = [5]
components = []
tied = false
"""
TREES = """(S1 (S (NP (DT The) (NN cat)) (VP (VBZ runs))))
(S1 (S (NP (DT The) (NN dog)) (VP (VBZ runs))))
(S1 (S (NP (DT The) (NNS zebras)) (VP (VBD ran))))
(S1 (S (NP (DT The) (NNS lions)) (VP (VBZ runs))))
"""
VECTORS = """the 0 0
cat 1 0.1
zebras 9 1
dog 3 0.5
ran -0.1 1
lions 3 0
walked -1 9
tigers 9 1.5
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    for name, content in (("c.toml", CONFIG), ("trees", TREES), ("vectors.txt", VECTORS)):
        write(tmp_path / name, content)
    train = ["train", "--config", "c.toml", "--train", "trees", "--dev", "trees", "--out", "m.pt"]
    return [*train, "--log-folder", "log", "--threads", "1"]


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_direction_may_be_a_flag(command: list[str]) -> None:
    assert main([*command, "--direction", "forward"]) == 0
    assert not load_checkpoint(Path("m.pt")).vocabulary.backward
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--direction", "sideways"])


def test_a_backward_model_with_word_vectors(command: list[str]) -> None:
    assert main([*command, "--vectors", "vectors.txt"]) == 0
    checkpoint = load_checkpoint(Path("m.pt"))
    vocabulary = checkpoint.vocabulary
    assert vocabulary.backward
    assert checkpoint.information["word_vectors"] == 8
    assert checkpoint.information["training"]["direction"] == "backward"
    # The rare words point in the directions of animals, 1 : 0, and of walking, 0 : 1.
    animals = vocabulary.classes["lions"]
    assert set(vocabulary.classes) == {
        "the", "cat", "zebras", "dog", "ran", "lions", "walked", "tigers"
    }  # fmt: skip
    assert vocabulary.classes["tigers"] == animals != vocabulary.classes["walked"]
    # Twice each: zebras and lions, cat and dog; ran is alone in its class.
    assert vocabulary.symbol("tigers") == f"<unks/{animals}>"
    assert vocabulary.symbol("cat") == f"<unk/{animals}>"
    assert vocabulary.symbol("walked") == "<unk>"
    ranking = Reranker.load(["m.pt"]).rerank(TREES.splitlines()[:1])
    assert ranking.tree == TREES.splitlines()[0]


def test_the_first_words_alone(command: list[str]) -> None:
    assert main([*command, "--vectors", "vectors.txt", "--vector-words", "3"]) == 0
    vocabulary = load_checkpoint(Path("m.pt")).vocabulary
    assert set(vocabulary.classes) == {"the", "cat", "zebras"}


def refused(command: list[str], reason: str, capsys: Capture) -> None:
    """Assert a refusal in one line, after the line about the data read."""
    capsys.readouterr()
    assert main(command) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len([line for line in lines if line.startswith("rerank: ")]) == 1
    assert reason in lines[-1]


def test_another_file_of_vectors_is_another_run(command: list[str], capsys: Capture) -> None:
    with_vectors = [*command, "--vectors", "vectors.txt"]
    assert main(with_vectors) == 0
    assert main([*with_vectors, "--epochs", "2"]) == 0
    reason = "different settings or trees"
    refused(command, reason, capsys)
    refused([*with_vectors, "--vector-words", "6"], reason, capsys)
    write(Path("others.txt"), VECTORS.replace("tigers 9 1.5", "tigers -9 9"))
    refused([*command, "--vectors", "others.txt"], reason, capsys)
    write(Path("log/state.pt"), b"")
    assert main([*with_vectors, "--log-folder", "new"]) == 0


@pytest.mark.parametrize("flags", [(), ("--stream",)])
def test_words_in_no_encoding_are_not_learned(
    flags: tuple[str, ...], command: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    Path("trees").write_bytes((TREES + "(S1 (NP (NN chi\xffn)))\n" * 3).encode("latin-1"))
    assert main([*command, *flags]) == 0
    assert "trees:5: skipped, encoding: byte 0xff is not UTF-8" in caplog.messages
    symbols = load_checkpoint(Path("m.pt")).vocabulary.symbols
    assert "runs" in symbols and "chi\udcffn" not in symbols


@pytest.mark.parametrize(("epochs", "is_short"), [("0.01", True), ("1", False)])
def test_the_last_message_tells_how_long_it_trained(
    epochs: str, is_short: bool, command: list[str], capsys: Capture
) -> None:
    Path("trees").write_text(TREES * 400)
    assert main([*command, "--epochs", epochs]) == 0
    message = capsys.readouterr().err.splitlines()[-1]
    assert re.search(r"dev perplexity [\d.]+ per token, after \S+ epochs, \d+ batch", message)
    assert ("not seen; use a larger --budget" in message) == is_short


def test_off_a_terminal_lines_tell_the_progress(
    command: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_SAID_EVERY", 0.0)
    assert main(command) == 0
    pattern = r"^\d+\.\d%, [\d,]+ batch(es)?, [\d.]+ nats/token, dev perplexity .* tokens/s$"
    assert re.search(pattern, capsys.readouterr().err, re.MULTILINE)


@pytest.mark.parametrize("flag", ["--budget", "--epochs"])
def test_a_number_that_a_flag_cannot_have_is_the_flags(
    flag: str, command: list[str], capsys: Capture
) -> None:
    with pytest.raises(SystemExit):
        main([*command, flag, "-1"])
    assert f"argument {flag}: '-1' is not a number of at least 0" in capsys.readouterr().err


def test_a_damaged_state_says_what_to_do(command: list[str], capsys: Capture) -> None:
    assert main(command) == 0
    state = Path("log/state.pt")
    state.write_bytes(state.read_bytes()[:1000])
    assert main([*command, "--epochs", "2"]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("rerank: log/state.pt: not a checkpoint of `rerank train` (")
    assert message.endswith(
        "; to train from the beginning, delete it, or choose another log folder"
    )


def test_vectors_that_are_none(command: list[str], capsys: Capture) -> None:
    write(Path("ragged.txt"), VECTORS + "owl 1\n")
    for file, reason in (
        ("none.txt", "none.txt: cannot be read: No such file"),
        ("ragged.txt", "ragged.txt:9: not a word and 2 numbers: 'owl 1"),
        ("trees", "trees:1: not a word and"),
    ):
        refused([*command, "--vectors", file], reason, capsys)
    for count in ("0", "-5", "10000000"):
        arguments = [*command, "--vectors", "vectors.txt", "--vector-words", count]
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
        assert "not a whole number from 1 to 5,000,000" in capsys.readouterr().err
    assert not Path("m.pt").exists()


def test_a_checkpoint_brings_its_own_vocabulary_and_direction(
    command: list[str], capsys: Capture
) -> None:
    assert main([*command, "--vectors", "vectors.txt"]) == 0
    again = [*command, "--log-folder", "again", "--out", "n.pt", "--start-from", "m.pt"]
    with pytest.raises(SystemExit) as stopped:
        main([*again, "--vectors", "vectors.txt"])
    assert stopped.value.code == 2
    assert "not allowed with argument" in capsys.readouterr().err
    before = load_checkpoint(Path("m.pt")).vocabulary
    assert main(again) == 0
    assert load_checkpoint(Path("n.pt")).vocabulary == before
    write(Path("c.toml"), CONFIG.replace("backward", "forward"))
    refused([*again, "--log-folder", "other"], "m.pt: a backward model, but", capsys)
    write(Path("c.toml"), CONFIG.replace("backward", "sideways"))
    refused(command, "direction must be forward or backward, got 'sideways'", capsys)


MOST = 200_000  # bytes: more than any file of a run but its state


def test_a_full_disk_ends_a_run_which_resumes_from_its_last_state(command: list[str]) -> None:
    write(Path("c.toml"), CONFIG.replace("hidden_sizes = [5]", "hidden_sizes = [120]"))
    assert main(command) == 0
    shutil.copytree("log", "unlimited")
    longer = [*command, "--epochs", "4", "--out", "longer.pt"]
    before = Path("log/state.pt").read_bytes()
    assert len(before) > MOST
    status, messages = with_small_files(MOST, longer)
    assert status == 2
    assert messages.endswith("rerank: log/state.pt: cannot be written: File too large\n")
    assert "Traceback" not in messages
    assert Path("log/state.pt").read_bytes() == before
    names = {path.name for path in (*Path().iterdir(), *Path("log").iterdir())}
    expected = {"c.toml", "trees", "vectors.txt", "m.pt", "log", "unlimited"}
    expected |= {"log.jsonl", "curve.png", "state.pt"}
    assert {name for name in names if not name.startswith("events.")} <= expected, "nothing is left"
    assert main(longer) == 0
    assert main([*command, "--epochs", "4", "--log-folder", "unlimited", "--out", "u.pt"]) == 0
    resumed, whole = (read_archive(Path(name)).content for name in ("longer.pt", "u.pt"))
    assert all(map(torch.equal, resumed["weights"].values(), whole["weights"].values()))
