"""The walks of docs/architecture.md: their files are there and are used; a first answer needs no
compiler."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

import pytest

from tests.checkout import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
TRACE = """if True:
    import json, sys
    from reranker.commands.main import main
    for command in json.loads(sys.argv[1]):
        assert main(command) == 0
        files = {name: getattr(each, "__file__", None) for name, each in sys.modules.items()}
        print(json.dumps(files), file=sys.stderr)
"""

# Torch's compiler: half a second and 70 MB that no answer needs.
COMPILER = "torch._dynamo.", "sympy."


def walk(title: str) -> list[str]:
    """Return the files that a walk names, in order."""
    section = PAGE.partition(f"\n### {title}")[2].partition("\n#")[0]
    table = takewhile(lambda line: line.startswith("|"), section[section.index("|") :].split("\n"))
    names = re.findall(r"`((?:reranker|models|service)/[\w/]+\.(?:py|js))`", "\n".join(table))
    return list(dict.fromkeys(names))


@pytest.mark.parametrize("title", ["A candidate", "A POST", "A sentence"])
def test_the_files_of_a_walk_are_there(title: str) -> None:
    files = walk(title)
    assert len(files) >= 10
    for name in files:
        assert (ROOT / name).is_file(), name


def test_the_page_shows_the_lines_of_the_loop() -> None:
    code = (ROOT / "reranker" / "work" / "loop.py").read_text("utf-8")
    lines = iter([line.strip() for line in code.splitlines()])
    shown = PAGE.partition("\n### The loop")[2].split("```")[1].splitlines()[1:]
    assert len(shown) == 10
    assert [line for line in shown if line.strip() not in lines] == []  # in this order


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str | None]]:
    """Return the modules, and their files, that one process has imported after ranking lists with
    a language model, then with the installed models, then parsing a sentence."""
    text = tmp_path_factory.mktemp("text") / "text.txt"
    text.write_text("We saw it.\n")
    lists = ["--nbest", "examples/short.txt"]
    commands = [[*lists, "--models", "ckpt/doc/doc-1.pt"], lists, ["parse", str(text)]]
    command = [sys.executable, "-c", TRACE, json.dumps(commands)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]


def has_compiler(modules: Iterable[str]) -> bool:
    return any(module.startswith(COMPILER) for module in modules)


def test_rerank_nbest_uses_every_file_of_its_walk(imported: list[dict[str, str | None]]) -> None:
    used = {Path(file).resolve() for file in imported[0].values() if file}
    files = walk("A candidate")
    assert [name for name in files if (ROOT / name).resolve() not in used] == []


def test_a_first_answer_needs_no_compiler(imported: list[dict[str, str | None]]) -> None:
    """benchmarks/latency.py measures the time; which modules are imported holds on every
    machine."""
    assert has_compiler({"torch._dynamo.config"}) and has_compiler({"sympy.core"})
    assert {"torch", "reranker.models.piece_encoder"} <= imported[-1].keys()
    assert not has_compiler(imported[-1])
