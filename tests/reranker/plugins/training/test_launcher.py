"""``rerank train`` in several processes, as a user meets it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.commands.main import main
from reranker.plugins.training.processes import _SET_BY_LAUNCHERS
from tests.reranker.plugins.training.runs import log
from tests.reranker.plugins.training.test_command import TREES
from tests.reranker.small_files import write
from tests.waiting import until

Capture = pytest.CaptureFixture[str]

CONFIG = """[training]
recipe = "thesis"
epochs = 1
minimum_count = 1
batch_size = 4
sequence_length = 7
validate_every = 1000
learning_rate = 0.01
stored_precision = "float32"
[model]
embedding_size = 4
hidden_sizes = [5]
components = []
tied = false
"""
TRAIN = ["train", "--config", "c.toml", "--train", "trees", "--dev", "trees", "--threads", "1"]


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "c.toml", CONFIG)
    write(tmp_path / "trees", TREES * 4)
    monkeypatch.chdir(tmp_path)
    for name in _SET_BY_LAUNCHERS:
        monkeypatch.delenv(name, raising=False)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "reranker", *TRAIN, *arguments]


def finished(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=280)


def weights(path: str) -> list[Tensor]:
    return list(load_checkpoint(Path(path)).model.state_dict().values())


def same(path: str, other: str) -> bool:
    return all(map(torch.equal, weights(path), weights(other)))


def test_two_processes_train_as_one_does() -> None:
    ended = finished("--out", "two.pt", "--nproc", "2")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("16 training trees, 16 dev trees; logs in runs/two\n") == 1
    assert ended.stderr.count("two.pt: dev perplexity ") == 1
    assert main([*TRAIN, "--out", "one.pt", "--shards", "2"]) == 0
    assert log(Path("runs/two")) == log(Path("runs/one"))
    assert same("two.pt", "one.pt")


def test_mistakes_are_said_once_before_there_are_processes(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistakes = {
        ("--nproc", "3", "--shards", "2"): "--nproc 3, but shards is 2: each has to have one",
        ("--nproc", "5"): "c.toml: shards is 5, but a batch has batch_size = 4 columns",
        ("--nproc", "2", "--device", "cuda:1"): "--device cuda:1: with several processes, use "
        "cuda; each process takes one device",
    }
    count = torch.cuda.device_count()
    if count < 4:
        here = "1 CUDA device" if count == 1 else f"{count or 'no'} CUDA devices"
        mistakes["--nproc", "4", "--device", "cuda"] = (
            f"4 processes need one CUDA device each, but there are {here}"
        )
    for flags, expected in mistakes.items():
        assert main([*TRAIN, "--out", "m.pt", *flags]) == 2
        assert capsys.readouterr().err == f"rerank: {expected}\n"
    for name in _SET_BY_LAUNCHERS:
        monkeypatch.setenv(name, "1")
    assert main([*TRAIN, "--out", "m.pt", "--nproc", "2"]) == 2
    assert "a launcher has already started this process" in capsys.readouterr().err


def test_processes_that_cannot_meet_say_so(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in zip(_SET_BY_LAUNCHERS, ("0", "2", "localhost", "no port"), strict=True):
        monkeypatch.setenv(name, value)
    assert main([*TRAIN, "--out", "m.pt"]) == 2
    message = "rerank: cannot reach the other processes at localhost:no port: "
    assert capsys.readouterr().err.startswith(message)


@pytest.mark.slow
def test_a_mistake_in_a_file_ends_all_processes_with_one_message() -> None:
    ended = finished("--out", "m.pt", "--nproc", "2", "--vectors", "none.txt")
    assert ended.returncode == 2
    assert ended.stderr.count("none.txt") == 1 and "Traceback" not in ended.stderr


@pytest.mark.slow
def test_when_a_process_is_killed_all_start_again_from_the_last_state() -> None:
    """First they are allowed to; then they are not, and the same command resumes."""
    endless = ("--out", "m.pt", "--nproc", "2", "--epochs", "100000")
    with subprocess.Popen(command(*endless, "--restarts", "1"), stderr=subprocess.PIPE) as run:
        for _ in range(2):
            _wait_for_the_state()
            os.kill(_processes(run.pid)[1], signal.SIGKILL)
        _, messages = run.communicate(timeout=280)
    assert run.returncode == 2
    text = messages.decode()
    killed = "rerank: process 1 of 2 was killed by SIGKILL; "
    assert killed + "starting all again (1 of at most 1 times)\n" in text
    assert killed + "the same command resumes from the last state in runs/m\n" in text
    assert re.search(r"resuming runs/m/state\.pt after \d+ batches", text)
    assert "Traceback" not in text

    ended = finished("--out", "m.pt", "--nproc", "2", "--budget", "0.001")
    assert ended.returncode == 0, ended.stderr
    assert "resuming" in ended.stderr


def _wait_for_the_state() -> None:
    """Wait until the state has been saved anew (every 45 seconds)."""
    state = Path("runs/m/state.pt")
    before = state.stat().st_mtime_ns if state.exists() else 0
    until(lambda: state.exists() and state.stat().st_mtime_ns > before)


def _processes(parent: int) -> list[int]:
    """Return the training processes, in order."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "stat").read_text().rpartition(")")[2].split()
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if int(status[1]) == parent and b"spawn_main" in line:
            found.append(int(folder.name))
    return sorted(found)


@pytest.mark.slow
def test_torchrun_starts_it_too() -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    program = [*torchrun, "-m", "reranker", "--", *TRAIN, "--out", "two.pt"]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=280)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("two.pt: dev perplexity ") == 1
    assert main([*TRAIN, "--out", "one.pt", "--shards", "2"]) == 0
    assert same("two.pt", "one.pt")
