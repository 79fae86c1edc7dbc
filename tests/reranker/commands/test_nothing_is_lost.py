"""Files that commands must not destroy, and runs that want to write the same file."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reranker.commands.main import main
from tests.reranker.ensembles import CANDIDATES, LANGUAGE_MODEL
from tests.reranker.small_files import bllip, standard_input, write
from tests.waiting import until

Capture = pytest.CaptureFixture[str]

LISTS = bllip(*(CANDIDATES[number % 4 :] for number in range(60)))
HEAD = bllip(*(CANDIDATES[number % 4 :] for number in range(50)))  # enough to know the format
TREES = "(S1 (S (NP (DT The) (NN cat)) (VP (VBZ runs))))\n" * 9


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def contents() -> dict[str, bytes]:
    files = [each for each in Path.cwd().rglob("*") if each.is_file()]
    return {str(each.relative_to(Path.cwd())): each.read_bytes() for each in files}


def refused(capsys: Capture, message: str, *arguments: str) -> None:
    """Assert that the command ends with a message and changes no file."""
    before = contents()
    capsys.readouterr()
    assert main(arguments) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert contents() == before


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``rerank`` in a process of its own."""
    command = [sys.executable, "-m", "tests.reranker.small_steps", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def feed(process: subprocess.Popen[bytes], text: str) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it has ended
        process.stdin.write(text.encode())
        process.stdin.flush()


def lines(name: str) -> int:
    path = Path(name)
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for_lines(count: int) -> None:
    until(lambda: lines("out.part") >= count)


@pytest.mark.parametrize("name", ["lists.tmp", "lists.part", "lists.journal", "lists.lock"])
def test_an_input_may_have_any_name(name: str, models: list[str]) -> None:
    Path(name).write_text(LISTS)
    assert main(["convert", name, "--to", "jsonl", "--out", "lists"]) == 0
    assert Path(name).read_text() == LISTS
    assert sorted(contents()) == sorted(["lists", name])


def test_parts_and_journals_that_are_not_ours(models: list[str], capsys: Capture) -> None:
    rerank = ["--models", *models, "--out", "x"]
    for name in ("x.part", "x.journal"):
        Path(name).write_text(LISTS)
        also = f"{name}: is also an input; give the output another name"
        refused(capsys, also, *rerank, "--nbest", name)
        os.link(name, "link")
        refused(capsys, also, *rerank, "--nbest", "link")
        Path("lists").write_text(LISTS)
        for flags in ([], ["--resume"]):
            message = f"{name}: not the output of an interrupted run"
            refused(capsys, message, *rerank, "--nbest", "lists", *flags)
        for each in (name, "link", "lists"):
            Path(each).unlink()
    for name in ("lists", "x.lock"):
        Path(name).write_text(LISTS)
    refused(capsys, "x.lock: is not a lock of this program", *rerank, "--nbest", "lists")


def test_standard_input_is_an_input_too(models: list[str]) -> None:
    Path("lists").write_text(LISTS)
    for out in (["--out", "lists"], []):
        with Path("lists").open() as given, Path("lists").open("a") as appended:
            done = subprocess.run(
                [sys.executable, "-m", "reranker", "convert", "-", "--to", "bllip", *out],
                stdin=given, stdout=appended, stderr=subprocess.PIPE, timeout=100,
            )  # fmt: skip
        assert done.returncode == 2
        assert b"is also an input" in done.stderr
        assert Path("lists").read_text() == LISTS


@pytest.mark.plugins
def test_training_replaces_nothing_that_it_reads(capsys: Capture) -> None:
    Path("encoder").mkdir()
    files = {"c.toml": LANGUAGE_MODEL, "train": TREES, "dev": TREES, "v.txt": "a 1"}
    for name, content in files.items():
        write(Path(name), content)
    command = ["train", "--config", "c.toml", "--train", "train", "--dev", "dev"]
    assert main([*command, "--out", "m.pt", "--log-folder", "log"]) == 0
    write(Path("encoder/vocab.txt"), "a")
    os.link("train", "hard")
    os.symlink("dev", "soft")
    others = [["--start-from", "m.pt"], ["--encoder", "encoder"], ["--vectors", "v.txt"]]
    for out, *flags in (
        ["train"], ["dev"], ["c.toml"], ["hard"], ["soft"],
        *([flag[1].replace("encoder", "encoder/vocab.txt"), *flag] for flag in others),
    ):  # fmt: skip
        refused(capsys, f"{out}: is also an input", *command, "--out", out, *flags)
        many = ["--nproc", "2", *flags]
        refused(capsys, f"{out}: is also an input", *command, "--out", out, *many)
    refused(capsys, "log: cannot be written: it is a directory", *command, "--out", "log")
    for name in ("state.pt", "log.jsonl", "curve.png"):
        same = [*command, "--log-folder", "log", "--out", f"log/{name}"]
        refused(capsys, "two outputs are the same file", *same)
    state = [*command, "--log-folder", "log", "--out", "n.pt", "--vectors", "log/state.pt"]
    refused(capsys, "log/state.pt: is also an input", *state)


SOMEBODYS_LOGS = [
    '{"my": "notes"}\n',
    '{"my": "notes"}',  # without a line break, as if a kill had cut it
    '{"batches": 3, "accuracy": 0.9}\n',
    '{"batches": 3, "accuracy": 0.9}',
    '{"batches": 3, "loss": 2.5}\nnotes\n{"batches": 4, "loss": 2.4}\n',
    "notes",
]


def small_training() -> list[str]:
    for name, content in (("c.toml", LANGUAGE_MODEL), ("trees", TREES)):
        write(Path(name), content)
    return ["train", "--config", "c.toml", "--train", "trees", "--dev", "trees", "--out", "m.pt"]


@pytest.mark.plugins
def test_a_log_folder_with_files_of_someone_else(capsys: Capture) -> None:
    command = [*small_training(), "--log-folder", "."]
    for name in ("log.jsonl", "curve.png", "state.pt", "tokens.bin", "tokens.json", "tokens.ends"):
        for content in SOMEBODYS_LOGS if name == "log.jsonl" else ("{}\n",):
            Path(name).write_text(content)
            refused(capsys, f"{name}: not ", *command)
        Path(name).unlink()
        os.mkfifo(name)
        refused(capsys, ", but a device or pipe; choose", *command)
        Path(name).unlink()
    assert main(command) == 0
    Path("state.pt").unlink()
    assert main(command) == 0


@pytest.mark.plugins
def test_a_curve_that_somebody_drew_of_our_log_stays(capsys: Capture) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    command = [*small_training(), "--log-folder", "log", "--epochs", "1"]
    assert main(command) == 0
    figure.savefig("log/curve.png")
    refused(capsys, "log/curve.png: not written by a run; choose", *command)
    Path("log/curve.png").unlink()
    for _ in range(2):  # the second output replaces the first
        assert main([*command[:-1], "2"]) == 0


@pytest.mark.plugins
def test_a_log_folder_that_is_none(capsys: Capture) -> None:
    command = small_training()
    Path("file").touch()
    for folder in ("file", "file/log"):
        refused(capsys, f"{folder}: cannot be written: ", *command, "--log-folder", folder)


@pytest.mark.plugins
def test_an_ensemble_is_not_replaced_by_what_is_made_of_it(
    models: list[str], capsys: Capture
) -> None:
    Path("lists").write_text(LISTS)
    Path("gold").write_text(TREES)
    Path("m.pt").write_bytes(Path(models[0]).read_bytes())
    rerank = ["--nbest", "lists", "--models", ".", "--out", "m.pt"]
    refused(capsys, "m.pt: is also an input", *rerank)
    analyse = ["analyse", "classes", "--models", ".", "--trees", "gold"]
    refused(capsys, "m.pt: it is also an output", *analyse, "--out", "m.pt")
    refused(capsys, "two outputs are the same", *analyse, "--out", "a.png", "--plot", "./a.png")
    tune = ["tune", "lists", "gold", "--models", "m.pt"]
    same = ["--save", "e.toml", "--plot", "a.png", "--plot-confidence", "a.png"]
    refused(capsys, "two outputs are the same", *tune, *same)
    write(Path("parser.py"), "print()")
    parse = ["parse", "gold", "--models", "m.pt", "--parser-command", f"{sys.executable} parser.py"]
    refused(capsys, "parser.py: is also an input", *parse, "--out", "parser.py")


def whole(models: list[str]) -> list[str]:
    """Rank ``LISTS`` into a file of this name; the flags but for the lists and the output."""
    Path("lists").write_text(LISTS)
    rerank = ["--models", *models, "--out"]
    assert main(["--nbest", "lists", *rerank, "whole"]) == 0
    return rerank


def test_a_second_run_says_who_is_writing_and_loses_nothing(
    models: list[str], capsys: Capture
) -> None:
    rerank = whole(models)
    with running("--nbest", "-", *rerank, "out") as first:
        feed(first, HEAD)
        wait_for_lines(2)
        parts = Path("out.part").read_bytes(), Path("out.journal").read_bytes()
        message = f"out: process {first.pid} is writing it"
        for flags in ([], ["--resume"]):
            assert main(["--nbest", "lists", *rerank, "out", *flags]) == 2
            assert capsys.readouterr().err.splitlines()[-1].endswith(message)
        for number in (signal.SIGINT, signal.SIGKILL):
            with running("--nbest", "lists", *rerank, "out", "--resume") as second:
                assert second.stderr is not None
                second.stderr.readline()  # the format: now it loads, and then it wants to write
                second.send_signal(number)
                assert second.wait(60) in (130, 2, -signal.SIGKILL)
        for before, path in zip(parts, ("out.part", "out.journal"), strict=True):
            assert Path(path).read_bytes().startswith(before)
        feed(first, LISTS.removeprefix(HEAD))
        _, messages = first.communicate(timeout=120)
        assert first.returncode == 0, messages.decode()
    assert Path("out").read_bytes() == Path("whole").read_bytes()
    assert sorted(contents()) == ["lists", "out", "whole"]


def test_what_is_deleted_under_a_run_is_not_replaced_by_it(models: list[str]) -> None:
    rerank = ["--nbest", "-", "--models", *models, "--out", "out"]
    with running(*rerank) as first:
        feed(first, HEAD)
        wait_for_lines(2)
        for name in ("out.part", "out.journal", "out.lock"):
            Path(name).unlink()
        with running(*rerank) as second:
            feed(second, HEAD)
            wait_for_lines(2)
            feed(first, LISTS.removeprefix(HEAD))
            _, messages = first.communicate(timeout=120)
            assert first.returncode == 2
            assert b"was deleted or replaced while this " in messages
            assert not Path("out").exists()
            feed(second, LISTS.removeprefix(HEAD))
            _, messages = second.communicate(timeout=120)
            assert second.returncode == 0, messages.decode()
    assert lines("out") == 60
    assert sorted(contents()) == ["out"]


def test_other_standard_input_is_not_mixed_in(models: list[str], capsys: Capture) -> None:
    rerank = whole(models)
    with running("--nbest", "-", *rerank, "out") as first:
        feed(first, LISTS)
        wait_for_lines(3)
        first.kill()
        first.wait()
    before = {name: content for name, content in contents().items() if name != "out.lock"}
    other = bllip(*(CANDIDATES[(number + 1) % 4 :] for number in range(60)))
    resume = ["--nbest", "-", *rerank, "out", "--resume"]
    with standard_input(other):
        assert main(resume) == 2
    message = "sentence 1 differs from the one that the interrupted run read"
    assert message in capsys.readouterr().err
    assert contents() == before
    score = LISTS.replace(LISTS.split("\n")[1], "-12345.5", 1)  # one score is another
    with standard_input(score):
        assert main(resume) == 2
    with standard_input(LISTS):
        assert main(resume) == 0
    assert Path("out").read_bytes() == Path("whole").read_bytes()


SEARCHES = [
    (["grep", "PP"], "trees"),
    (["grep", "__", "--count"], "text"),
    (["measure", "--by", "sentence", "--csv"], "lists"),
]


@pytest.mark.plugins
@pytest.mark.parametrize("command, kind", SEARCHES, ids=lambda value: "".join(value))
def test_a_killed_search_resumes(
    command: list[str], kind: str, span_model: str, capsys: Capture
) -> None:
    """A search in a pipe, killed twice and started again, gives the output of a whole run."""
    broken = "(S1 (S (NN broken)\n"
    head, tail = {
        "trees": ("".join(f"{tree}\n" for tree in CANDIDATES) * 100, broken + CANDIDATES[0]),
        "lists": (HEAD, LISTS.removeprefix(HEAD) + bllip([broken.strip()])),
        "text": (f"It {'r' * 200} runs .\n" * 25, "word " * 300 + "\n\nIt ran .\n"),
    }[kind]
    form = {
        "trees": ["--as", "trees"],
        "lists": ["--format", "bllip"],
        "text": ["--as", "tokens", "--jobs", "1", "--parser-model", span_model],
    }[kind]
    command = [command[0], *command[1:], "-", *form]
    given = 2 * head + tail
    with standard_input(given):
        assert main(command) == 1
    whole = capsys.readouterr().out
    assert len(whole.splitlines()) > 1
    kept = 0
    for number, times in (signal.SIGKILL, 1), (signal.SIGINT, 2):
        with running(*command, "--out", "out", "--resume") as process:
            feed(process, times * head)
            wait_for_lines(kept + 3)
            process.send_signal(number)
            assert process.stderr is not None
            messages = process.stderr.read().decode()
        kept = lines("out.journal") - 1  # its records are in out.part as well
    reported = re.search(r"rerank: interrupted; (\d+) sentences are kept", messages)
    assert reported is not None and kept - 1 <= int(reported[1]) <= kept  # one may just be written
    with standard_input(given):
        assert main([*command, "--out", "out", "--resume"]) == 1
    assert f"rerank: resuming after sentence {kept}\n" in capsys.readouterr().err
    assert Path("out").read_text() == whole
    assert list(contents()) == ["out"]


@pytest.mark.plugins
def test_a_search_resumes_with_its_own_settings_only(capsys: Capture) -> None:
    write(Path("trees"), f"{CANDIDATES[0]}\n" * 3)
    grep = ["grep", "PP", "-", "--as", "trees"]
    with running(*grep, "--out", "out") as process:
        feed(process, f"{CANDIDATES[0]}\n" * 900)
        wait_for_lines(3)
        process.kill()
    kept = Path("out.part").read_bytes(), Path("out.journal").read_bytes()
    for flags, message in (
        (["grep", "NP", "-"], 'pattern is "NP", but was "PP"'),
        (["grep", "PP", "-", "--count"], "count is true, but was false"),
        (["grep", "PP", "trees"], "files is "),
        (["measure", "-"], 'job is "Measure", but was "Search"'),
    ):
        assert main([*flags, "--as", "trees", "--out", "out", "--resume"]) == 2
        assert message in capsys.readouterr().err
    refused(capsys, "--resume, or delete the file", *grep, "--out", "out")
    refused(capsys, "name an output file", "grep", "PP", "trees", "--resume")
    refused(capsys, "trees: is also an input", "measure", "trees", "--out", "trees")
    assert kept == (Path("out.part").read_bytes(), Path("out.journal").read_bytes())


@pytest.mark.plugins
def test_a_model_has_one_training(capsys: Capture) -> None:
    command = [*small_training(), "--threads", "1"]
    with running(*command, "--epochs", "1e9") as first:
        until(Path("runs/m/state.pt").exists)
        for flags in ([], ["--log-folder", "other"], ["--out", "n.pt", "--log-folder", "runs/m"]):
            assert main([*command, *flags]) == 2
            message = f": process {first.pid} is writing it"
            assert capsys.readouterr().err.splitlines()[-1].endswith(message)
        assert not Path("m.pt").exists()
        Path("runs/m/state.pt.lock").unlink()
        assert first.wait(60) == 2
        assert first.stderr is not None
        assert b"state.pt: state.pt.lock was deleted or replaced while" in first.stderr.read()
    assert not Path("m.pt").exists() and not list(Path.cwd().rglob("*.lock"))
    with running(*command, "--epochs", "1e9") as first:
        until(Path("runs/m/state.pt.lock").exists)
        first.kill()
        first.wait()
    assert main([*command, "--budget", "0.0001"]) == 0
    assert Path("m.pt").exists() and not list(Path.cwd().rglob("*.lock"))
