"""eval/evalb.sh: the same figures as ``rerank eval``, and never a quiet failure."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest

from tests.checkout import COMMANDS
from tests.shell import environment

SCRIPT = Path(__file__).resolve().parents[2] / "eval" / "evalb.sh"
SYSTEM = "/usr/bin:/bin"

TREE = "(TOP (NP (DT a) (NN cat)))"


def evalb(*words: str | Path, path: str | Path = COMMANDS) -> subprocess.CompletedProcess[str]:
    variables = {**environment(), "PATH": f"{path}:{SYSTEM}"}
    return subprocess.run([SCRIPT, *words], env=variables, capture_output=True, text=True)


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.gz"
    path.write_bytes(gzip.compress(f"{TREE}\n{TREE}\n".encode()))
    return path


def test_identity(gold: Path) -> None:
    done = evalb(gold, gold)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Bracketing FMeasure       = 100.00\n") == 2


def test_parameter_file_and_errors(gold: Path, tmp_path: Path) -> None:
    test, parameters = tmp_path / "test", tmp_path / "own.prm"
    test.write_text(f"(TOP (NX (DT a) (NN cat)))\n{TREE[:-1]}\n", encoding="utf-8")
    parameters.write_text("LABELED 0\n", encoding="utf-8")
    done = evalb(gold, test, parameters, "--max-error", "0")
    # The broken line is one too many; TOP and, unlabelled, NX match.
    assert done.returncode == 1
    assert f"{test}:2: error: test tree: unbalanced" in done.stderr
    assert "Bracketing FMeasure       = 100.00\n" in done.stdout
    assert "NOT COMPARABLE" in done.stdout
    # With COLLINS' settings NX is wrong; one error is allowed, but still not a success.
    done = evalb("--max-error", "1", gold, test)
    assert done.returncode == 1
    assert "Bracketing FMeasure       =   0.00\n" in done.stdout
    assert "NOT COMPARABLE" not in done.stdout


def test_flags_of_rerank_eval_pass_through(gold: Path, tmp_path: Path) -> None:
    test, parameters = tmp_path / "test", tmp_path / "own.prm"
    test.write_text(f"{TREE.replace('TOP', 'S1')}\n" * 2, encoding="utf-8")
    parameters.write_text("DELETE_LABEL TOP\n", encoding="utf-8")
    counted = evalb(gold, test, "--count-roots")
    assert "Bracketing Precision      =  50.00\n" in counted.stdout
    assert evalb(gold, test, "--count-roots", "--parameters", parameters).stdout == counted.stdout
    assert "Bracketing Precision      = 100.00\n" in evalb(gold, test).stdout
    assert json.loads(evalb(gold, test, "--json").stdout)["all"]["f1"] == 100
    assert evalb("--help").returncode == 0


def test_wrong_use(gold: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    for words in (
        [],
        [gold],
        [gold, gold, "--max-error"],
        ["-x", gold, gold],
    ):
        done = evalb(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("rerank eval: error: ") and done.stderr.count("\n") == 1
    for words in ([gold, missing], [gold, gold, tmp_path / "missing.prm"]):
        done = evalb(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert "missing" in done.stderr
        assert "Traceback" not in done.stderr


def test_no_command_and_no_f1_are_failures(gold: Path, tmp_path: Path) -> None:
    done = evalb(gold, gold, path=tmp_path)
    assert done.returncode == 2
    assert "no command named rerank" in done.stderr
    silent = tmp_path / "rerank"
    silent.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    silent.chmod(0o755)
    done = evalb(gold, gold, path=tmp_path)
    assert done.returncode == 2
    assert "no F1 found" in done.stderr
