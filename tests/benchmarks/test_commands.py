"""The commands themselves, in their smallest settings."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.scoring.__main__ import main
from benchmarks.scoring.contestants import OURS


def test_lists_that_are_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--lists", "nowhere/lists.txt"]) == 2
    expected = "nowhere/lists.txt: no such lists; name others with --lists (make bench LISTS=FILE)"
    assert capsys.readouterr().err.startswith(expected)


def test_a_folder_without_the_authors_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["--sentences", "1", "--candidates", "1", "--lists", "examples/parses.txt"]
    assert main([*few, "--authors", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(
        f"{tmp_path}: not a checkout of the authors' code; git"
    )


@pytest.mark.slow
def test_the_whole_benchmark() -> None:
    options = ["--lists", "examples/parses.txt", "--sentences", "1", "--candidates", "3"]
    options += ["--models", "ckpt/doc/doc-1.pt", "--rounds", "1"]
    command = [sys.executable, "-m", "benchmarks.scoring", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\n1 sentences, 3 candidates, " in done.stdout
    lines = done.stdout.splitlines()
    for contestant in OURS:
        (line,) = (line for line in lines if line.startswith(f"{contestant.name} "))
        megabytes, loaded, _, same_winner = line.replace(",", "").split()[-4:]
        assert int(megabytes) > int(loaded) > 100
        assert same_winner == "1/1"
