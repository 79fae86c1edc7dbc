"""A warm process is as good as a fresh one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from execnet.gateway_io import popen_args
from execnet.xspec import XSpec

from tests import warm
from tests.checkout import RERANK, ROOT, before_python_path

MODEL = str(ROOT / "ckpt" / "rnn-forward.pt")
RANKED = ["--nbest", str(ROOT / "examples" / "short.txt"), "--models", MODEL, "--device", "cpu"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all are fresh")


def run(*arguments: str, **options: object) -> tuple[int, bytes, bytes]:
    done = subprocess.run([RERANK, *arguments], capture_output=True, **options)  # type: ignore[call-overload]
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [[*RANKED, "--output", "ranked"], ["--help"], ["parse", "--none"], [], ["validate", "missing"]],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_warm_command_prints_what_a_fresh_one_prints(arguments: list[str]) -> None:
    here = run(*arguments)
    with warm.fresh():
        assert run(*arguments) == here


def test_it_has_its_own_folder_files_and_variables(tmp_path: Path) -> None:
    text = "(S (NP (PRP It)) (VP (VBZ runs)))\n"
    (tmp_path / "a.mrg").write_text(text)
    out = ["convert", "-", "--to", "trees", "--out", "out"]
    assert run(*out, cwd=tmp_path, input=text.encode())[0] == 0
    assert (tmp_path / "out").read_text() == text
    narrow, wide = (
        run("--help", env={**os.environ, "COLUMNS": width})[1] for width in ("60", "200")
    )
    assert narrow != wide
    command = (
        f"{RERANK} validate a.mrg | head -n 1; {RERANK} nothing; echo $?; {RERANK} models >&-;"
        f"{RERANK} --nbest {ROOT}/examples/short.txt --models {MODEL} 2> /dev/full"
    )
    shell = {"shell": True, "cwd": tmp_path, "capture_output": True, "text": True}
    here = subprocess.run(command, **shell)  # type: ignore[call-overload]
    with warm.fresh():
        there = subprocess.run(command, **shell)  # type: ignore[call-overload]
    assert (here.stdout, here.stderr, here.returncode) == (
        there.stdout,
        there.stderr,
        there.returncode,
    )


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)]
)
@pytest.mark.parametrize("start", [[], ["env"]], ids=["direct", "relayed"])
def test_it_gets_signals(number: signal.Signals, status: int, start: list[str]) -> None:
    command = [*start, RERANK, "validate", "-"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-3) as process:
        assert process.stdin is not None and process.stdout is not None
        # More than a pipe holds: it has begun to read.
        process.stdin.write(b"(S (NP (PRP It)) (VP (VBZ runs)))\n" * 10_000)
        process.send_signal(number)
        assert process.wait() == status
        process.stdin.close()
        process.stdout.read()  # until no process has it


def who() -> tuple[int, list[str], bool]:
    return os.getppid(), sys.argv, "torch" in sys.modules


def test_a_pool_has_warm_processes_too() -> None:
    pools = multiprocessing.get_context("spawn")
    with pools.Pool(1) as pool:
        assert pool.apply(who) == (os.getpid(), sys.argv, True)
    with warm.fresh(), pools.Pool(1) as pool:
        assert pool.apply(who) == (os.getpid(), sys.argv, False)


def test_a_worker_of_pytest_is_warm() -> None:
    program = repr("import sys; print('torch' in sys.modules)") + "\n"
    command = popen_args(XSpec("popen"))
    assert subprocess.run(command, input=program, stdout=-1, text=True).stdout == "True\n"


def test_another_interpreter_is_fresh(tmp_path: Path) -> None:
    """A variable that Python reads, or modules of one's own, make a difference as ever."""
    assert (
        b"import time:" in run("--version", env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"})[2]
    )
    path = {**os.environ, "PYTHONPATH": before_python_path(str(tmp_path))}
    (tmp_path / "sitecustomize.py").write_text("import sys; print(sys.orig_argv[1:])")
    assert run("--version", env=path)[1].startswith(b"['-P', '-m', 'reranker', '--version']\n")
    (tmp_path / "torch.py").write_text("raise ImportError('mine')")
    assert b"mine" in run(*RANKED, env=path)[2]
