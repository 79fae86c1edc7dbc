"""``rerank adapt`` as a user meets it: a real parser process, real training, kill and resume."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.checkpoints.span_file import load_span_model, save_span_model
from reranker.commands.main import main
from reranker.pipeline import Reranker
from tests.checkout import TOY_PARSER
from tests.reranker.ensembles import untrained
from tests.reranker.small_files import write
from tests.reranker.span_models import untrained_spans
from tests.waiting import PATIENCE, until

Capture = pytest.CaptureFixture[str]

CONFIG = """[training]
epochs = 1
minimum_count = 1
batch_tokens = 200
[model]
embedding_size = 8
hidden_sizes = [8]
components = [0, 1]
"""
SPANS = """[training]
epochs = 8
learning_rate = 0.02
minimum_count = 1
minimum_tags = 1
batch_tokens = 50
[model]
architecture = "spans"
embedding_size = 8
hidden_sizes = [8]
span_size = 8
spelling_rows = 64
"""
WORDS = [
    "the",
    "a",
    "one",
    "cat",
    "dog",
    "bird",
    "house",
    "runs",
    "sees",
    "eats",
    "with",
    "near",
    "old",
    "new",
    "and",
    "it",
]


def gold(count: int) -> str:
    chance = random.Random(1)
    trees = []
    for _ in range(count):
        first, *rest = (f"(NN {word})" for word in chance.choices(WORDS, k=6))
        trees.append(f"(TOP (S (NP {first} {rest[0]}) {' '.join(rest[1:])}))\n")
    return "".join(trees)


def sentences(count: int) -> str:
    chance = random.Random(2)
    return "".join(" ".join(chance.choices(WORDS, k=7)) + "\n" for _ in range(count))


def weights_of(path: str) -> dict[str, list[float]]:
    state = load_checkpoint(path).model.state_dict()
    return {name: weight.flatten().tolist() for name, weight in state.items()}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a folder with a forward and a backward model, and their training data."""
    folder = tmp_path_factory.mktemp("trained")
    config, trees = write(folder / "c.toml", CONFIG), write(folder / "gold.mrg", gold(60))
    for name, direction in (("m", "forward"), ("n", "backward")):
        train = ["train", "--config", config, "--train", trees, "--dev", trees, "--threads", "1"]
        flags = ["--direction", direction, "--log-folder", str(folder / f"log-{name}")]
        assert main([*train, "--out", str(folder / f"{name}.pt"), *flags]) == 0
    return folder


@pytest.fixture
def command(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for name in ("m.pt", "n.pt", "gold.mrg"):
        shutil.copy(trained / name, name)
    write(tmp_path / "text.txt", sentences(100))
    flags = ["--out", "adapted", "--margin", "0", "--threads", "1", "--epochs", "1"]
    models = ["--models", "m.pt", "n.pt", "--train", "gold.mrg"]
    return ["adapt", "--text", "text.txt", "--parser-command", TOY_PARSER, *models, *flags]


def test_text_in_models_and_report_out(command: list[str], capsys: Capture) -> None:
    assert main(command) == 0
    report = capsys.readouterr().out
    assert report == Path("adapted/report.md").read_text()
    assert "| sentences parsed | 100 |" in report
    assert "| held out | 5 |" in report
    for name in ("m", "n"):
        before, after = load_checkpoint(f"{name}.pt"), load_checkpoint(f"adapted/{name}.pt")
        assert after.vocabulary.symbols == before.vocabulary.symbols
        assert after.sha256 != before.sha256
        row = next(line for line in report.splitlines() if line.startswith(f"| {name} |"))
        _, _, start, end, _ = row.split("|")
        assert float(end) < float(start)
    assert len(Reranker.load("adapted/").members) == 2
    assert main(command) == 0  # all is there
    assert capsys.readouterr().out == report


def test_text_in_a_parser_of_its_kind_out(command: list[str], capsys: Capture) -> None:
    config = write(Path("spans.toml"), SPANS)
    train = ["train", "--config", config, "--train", "gold.mrg", "--dev", "gold.mrg"]
    assert main([*train, "--threads", "1", "--out", "s.pt", "--log-folder", "log"]) == 0
    place = command.index("--parser-command")
    parser = ["--parser-model", "s.pt", "--candidates", "5"]
    flags = ["--models", "m.pt", "s.pt", *command[place + 5 :], "--rate", "1"]
    capsys.readouterr()
    assert main([*command[:place], *parser, *flags]) == 0
    report = capsys.readouterr().out
    before, after = load_span_model(Path("s.pt")), load_span_model(Path("adapted/s.pt"))
    for name in ("words", "labels", "tags"):
        assert getattr(after.vocabulary, name) == getattr(before.vocabulary, name)
    assert after.vocabulary.tags and after.sha256 != before.sha256
    assert after.information["temperature"] == before.information["temperature"]
    row = next(line for line in report.splitlines() if line.startswith("| s |"))
    _, _, start, end, _ = row.split("|")
    assert float(end) < float(start)
    parse = ["parse", "text.txt", "--tokens", "--parser-model", "adapted/s.pt"]
    assert main([*parse, "--models", "adapted/", "--threads", "1", "--jobs", "1"]) == 0
    assert capsys.readouterr().out.count("(NN ") == 100 * 7


def test_a_text_that_is_not_there_is_named_first(tmp_path: Path, capsys: Capture) -> None:
    assert main(["adapt", "--text", "none.txt", "--out", str(tmp_path / "adapted")]) == 2
    assert "none.txt: no such file" in capsys.readouterr().err


def test_models_and_parser_are_of_one_language(command: list[str], capsys: Capture) -> None:
    place = command.index("--parser-command")
    flags = [*command[place + 2 : place + 5], *command[place + 5 :]]
    parser = ["--parser", "chart", "--language", "id", "--models", "m.pt"]
    assert main([*command[:place], *flags, *parser]) == 2
    error = capsys.readouterr().err
    assert "m.pt: a model of English, and the parser is of Indonesian" in error


def test_a_model_that_does_not_say_how_it_was_trained(command: list[str], capsys: Capture) -> None:
    spans = untrained_spans(1)
    save_span_model(Path("spans.pt"), spans.model, spans.vocabulary, {})
    assert main([*command[: command.index("m.pt")], "spans.pt", "--out", "adapted"]) == 2
    assert "spans.pt: does not say how it was trained" in capsys.readouterr().err


def test_a_model_that_reads_tags(command: list[str], capsys: Capture) -> None:
    tags = untrained(1, reads_tags=True)
    save_checkpoint(Path("tags.pt"), tags.model, tags.vocabulary, {})
    assert main([*command[: command.index("m.pt")], "tags.pt", "--out", "adapted"]) == 2
    assert "tags.pt: a language model that reads tags in place of" in capsys.readouterr().err


def test_what_cannot_be_parsed_is_named_and_left_out(command: list[str], capsys: Capture) -> None:
    text = Path("text.txt").read_text()
    Path("text.txt").write_text("it crash here\n" + text + "a b " * 40 + "\n")
    assert main(command) == 1
    printed = capsys.readouterr()
    assert "rerank: text.txt:1: left out: the parser ended with status 1" in printed.err
    assert "rerank: text.txt:102: left out: 80 words, more than 60" in printed.err
    assert "| left out | 2 |" in printed.out


@pytest.mark.slow
def test_a_killed_run_ends_as_one_that_was_not(command: list[str], capsys: Capture) -> None:
    assert main(command) == 0
    whole = capsys.readouterr().out
    weights = [weights_of(f"adapted/{name}.pt") for name in ("m", "n")]
    again = [*command, "--out", "again"]
    seconds = 0.5
    for _ in range(4):  # wherever it is by then
        seconds += 1.5
        run = subprocess.Popen([sys.executable, "-m", "reranker.commands.main", *again])
        time.sleep(seconds)
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert main(again) == 0
    assert capsys.readouterr().out == whole
    assert [weights_of(f"again/{name}.pt") for name in ("m", "n")] == weights


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--text", "none.txt"], "none.txt: no such file"),
        (["--text", "-"], "cannot be resumed"),
        (["--out", "."], "m.pt: is also an input"),
        (["--format", "opennmt"], "--format opennmt needs --beam K"),
        (["--models", "untold.pt"], "does not say how it was trained"),
        (["--models", "m.pt", "sub/m.pt"], "two of --models have the same name"),
        (["--gold-share", "1"], "nothing to learn"),
        (["--parser-command", "/no/such/parser"], "--parser-command /no/such/parser: No such file"),
        (["--margin", "1e9"], "0 sentences to learn from, of 100"),
        (["--parser-command", "false"], "could not be parsed: the parser ended with status 1"),
    ],
)
def test_what_cannot_work(
    command: list[str], flags: list[str], message: str, capsys: Capture
) -> None:
    Path("sub").mkdir()
    shutil.copy("n.pt", "sub/m.pt")
    save_checkpoint(Path("sub/untold.pt"), untrained(1).model, untrained(1).vocabulary, {})
    flags = [flag.replace("untold", "sub/untold") for flag in flags]
    assert main([*command, *flags]) == 2
    assert message in capsys.readouterr().err


def test_all_that_is_chosen_can_be_learned_from(command: list[str], capsys: Capture) -> None:
    assert main([*command, "--margin", "1e9"]) == 2, "none is certain enough"
    assert main([*command, "--margin", "all"]) == 0
    # Every twentieth of 100 is held out.
    assert re.search(r"\| learned from \| 95 \|", capsys.readouterr().out)


@pytest.mark.parametrize(
    "flag", ["--epochs 0", "--epochs nan", "--margin -1", "--margin every", "--seed -1"]
)
def test_numbers_that_make_no_sense(command: list[str], flag: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([*command, *flag.split()])
    assert "is not a" in capsys.readouterr().err


def test_a_folder_of_another_run_is_not_touched(command: list[str], capsys: Capture) -> None:
    assert main(command) == 0
    first = weights_of("adapted/m.pt")
    assert main([*command, "--longest", "70"]) == 2
    assert "adapted/work belongs to a run with a different text" in capsys.readouterr().err
    shutil.rmtree("adapted/work")
    assert main(command) == 2
    assert "adapted contains files of another kind" in capsys.readouterr().err
    assert weights_of("adapted/m.pt") == first


def test_other_training_needs_no_other_parses(command: list[str], capsys: Capture) -> None:
    assert main(command) == 0
    first, _ = weights_of("adapted/m.pt"), capsys.readouterr()
    assert main([*command, "--seed", "2"]) == 0
    assert weights_of("adapted/m.pt") != first
    assert main(command) == 0
    assert weights_of("adapted/m.pt") == first


def test_an_interruption_leaves_no_parser_behind(command: list[str]) -> None:
    Path("text.txt").write_text("it may hang here\n" + Path("text.txt").read_text())
    run = subprocess.Popen([sys.executable, "-m", "reranker.commands.main", *command])
    names = until(lambda: _children(run.pid))
    run.send_signal(signal.SIGTERM)
    assert run.wait(PATIENCE) == 130
    until(lambda: not any(map(_is_running, names)))
    assert not Path("adapted/work/ranked.jsonl").exists()


def test_a_report_of_someone_else_is_not_replaced(command: list[str], capsys: Capture) -> None:
    Path("adapted").mkdir()
    Path("adapted/report.md").write_text("my report")
    assert main(command) == 2
    assert "adapted contains files of another kind" in capsys.readouterr().err
    assert Path("adapted/report.md").read_text() == "my report"
    Path("adapted/report.md").unlink()
    Path("adapted/work").mkdir()
    os.mkfifo("adapted/work/settings.json")
    assert main(command) == 2
    assert "adapted/work/settings.json: not a file that this run may" in capsys.readouterr().err


def _children(pid: int) -> list[int]:
    found = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for several in found for child in several]


def _is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
