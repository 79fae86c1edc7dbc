"""The examples of docs/pipelines.md, run with the models and the parser of the tests."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.reranker.integrations.parsing import COMMAND
from tests.shell import ROOT, shell

PAGE = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHELL = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

# What each example prints, among other things.
PRINTED = (
    r"\(S .*\(NN -LRB-\).*\n\[\('We.*\n\(S .*\(NN here\)",
    r"\(S1.*\(NN We\)[\s\S]*\n-\d+\.\d \['It', 'is', 'here'\]\n-\d+\.\d \['We', 'saw', 'it'\]",
    r"\('\(', 'NN', 15, 16\)[\s\S]*\{'id': 1, 'text': 'We', 'xpos': 'NN', 'start_char': 0",
    r"\(S[\s\S]*Constituency=\(S[\s\S]*\"constituents\": \[[\s\S]*<svg[\s\S]*</svg>\n\(S",
)


@pytest.fixture(autouse=True)
def _small_models(models: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_MODELS", ",".join(models))


@pytest.mark.parametrize("place", range(len(PRINTED)))
def test_python(place: int, tmp_path: Path) -> None:
    if "import spacy" in PYTHON[place]:
        pytest.importorskip("spacy")
    example = tmp_path / "example.py"
    example.write_text(f"PARSER = {COMMAND!r}\n{PYTHON[place]}", "utf-8")
    done = shell(f"python {shlex.quote(str(example))}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(PRINTED[place], done.stdout), done.stdout


def test_every_example_runs_here() -> None:
    assert len(PYTHON) == len(PRINTED) and len(SHELL) == 1


def test_commands(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("We saw the man (again). It is here.", "utf-8")
    done = shell(f"PARSER={shlex.quote(COMMAND)}\n{SHELL[0]}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "text.conllu").read_text("utf-8").count("Constituency=") == 12
    drawings = sorted(path.name for path in (tmp_path / "drawings").iterdir())
    assert drawings == ["0.svg", "1.svg"]
