"""The examples of docs/pipelines.md, run with the models of ckpt/ and a parser of the tests."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.shell import ROOT, newcomers_directory, shell

PAGE = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
PARSER = shlex.join(
    [sys.executable, str(ROOT / "tests" / "reranker" / "parsers" / "toy_parser.py")]
)
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHELL = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

# What each example prints, among other things.
PRINTED = (
    r"\(S .*\(NN -LRB-\).*\n\[\('We.*\n\(S .*\(NN here\)",
    r"\(S1.*\(NN We\)[\s\S]*\n-\d+\.\d \['It', 'is', 'here'\]\n-\d+\.\d \['We', 'saw', 'it'\]",
    r"\('\(', 'NN', 15, 16\)[\s\S]*\{'id': 1, 'text': 'We', 'xpos': 'NN', 'start_char': 0",
    r"\(S[\s\S]*Constituency=\(S[\s\S]*\"constituents\": \[[\s\S]*<svg[\s\S]*</svg>\n\(S",
)


@pytest.mark.parametrize("place", range(len(PRINTED)))
def test_python(place: int, tmp_path: Path) -> None:
    if "import spacy" in PYTHON[place]:
        pytest.importorskip("spacy")
    example = tmp_path / "example.py"
    example.write_text(f"PARSER = {PARSER!r}\n{PYTHON[place]}", "utf-8")
    done = shell(f"python {shlex.quote(str(example))}", newcomers_directory(tmp_path))
    assert done.returncode == 0, done.stderr
    assert re.search(PRINTED[place], done.stdout), done.stdout


def test_every_example_runs_here() -> None:
    assert len(PYTHON) == len(PRINTED) and len(SHELL) == 1


def test_commands(tmp_path: Path) -> None:
    place = newcomers_directory(tmp_path)
    (place / "text.txt").write_text("We saw the man (again). It is here.", "utf-8")
    done = shell(f"PARSER={shlex.quote(PARSER)}\n{SHELL[0]}", place)
    assert done.returncode == 0, done.stderr
    assert (place / "text.conllu").read_text("utf-8").count("Constituency=") == 12
    drawings = sorted(path.name for path in (place / "drawings").iterdir())
    assert drawings == ["0.svg", "1.svg"]
