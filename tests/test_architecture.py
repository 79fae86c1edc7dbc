"""The walks of docs/architecture.md: their files are there, are used, and stay few; commands import
few other modules."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.latency import MOST_MODULES as MOST_WITH_OTHERS
from tests.checkout import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
MOST_LINES = 8_000
MOST_MODULES = {"rerank": 94, "parse": 105}
"""Modules of ours that a command imports for a sentence or two with the installed models."""
TRACE = """if True:
    import json, sys
    import torch
    torchs = [*sys.modules]
    from reranker.commands.main import main
    code = main(sys.argv[1:])
    files = {name: getattr(each, "__file__", None) for name, each in sys.modules.items()}
    print(json.dumps([torchs, files]), file=sys.stderr)
    sys.exit(code)
"""

# Torch's compiler: half a second and 70 MB that no answer needs.
COMPILER = "torch._dynamo.", "sympy."


class Imported(NamedTuple):
    """The modules that a command has imported when it ends, those of `import torch` alone, and the
    modules' files."""

    modules: set[str]
    torchs: set[str]
    files: set[Path]


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


def test_the_reading_list_of_rerank_nbest_is_short() -> None:
    files = walk("A candidate")
    lines = {name: len((ROOT / name).read_text("utf-8").splitlines()) for name in files}
    listed = "\n".join(f"{count:5} {name}" for name, count in lines.items())
    assert sum(lines.values()) <= MOST_LINES, f"{sum(lines.values())} lines:\n{listed}"


def imported_by(*arguments: str) -> Imported:
    command = [sys.executable, "-c", TRACE, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    torchs, files = json.loads(done.stderr.splitlines()[-1])
    return Imported({*files}, {*torchs}, {Path(file).resolve() for file in files.values() if file})


def has_compiler(modules: set[str]) -> bool:
    return any(module.startswith(COMPILER) for module in modules)


def ours(files: set[Path]) -> list[str]:
    """Return the names of those files that are modules of ours."""
    folders = ("models", "reranker", "service")
    names = (each.relative_to(ROOT) for each in files if each.is_relative_to(ROOT))
    return sorted(str(name) for name in names if name.parts[0] in folders)


@pytest.fixture(scope="module")
def reranking() -> Imported:
    """Return what reranking a few lists imports."""
    return imported_by("--nbest", "examples/short.txt")


@pytest.fixture(scope="module")
def parsing(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    """Return what parsing a sentence imports."""
    text = tmp_path_factory.mktemp("text") / "text.txt"
    text.write_text("We saw it.\n")
    return imported_by("parse", str(text))


def test_rerank_nbest_uses_every_file_of_its_walk() -> None:
    used = imported_by("--nbest", "examples/short.txt", "--models", "ckpt/doc/doc-1.pt").files
    files = walk("A candidate")
    assert [name for name in files if (ROOT / name).resolve() not in used] == []


def test_rerank_nbest_imports_few_modules(reranking: Imported) -> None:
    names = ours(reranking.files)
    assert len(names) <= MOST_MODULES["rerank"], "\n".join(names)
    assert len(reranking.modules - reranking.torchs) <= MOST_WITH_OTHERS


def test_rerank_parse_imports_few_modules(parsing: Imported) -> None:
    names = ours(parsing.files)
    assert len(names) <= MOST_MODULES["parse"], "\n".join(names)


def test_a_first_answer_needs_no_compiler(reranking: Imported, parsing: Imported) -> None:
    """Its time is measured by the benchmark; that only these modules are imported is what holds on
    every machine."""
    assert has_compiler({"torch._dynamo.config"}) and has_compiler({"sympy.core"})
    assert {"torch", "reranker.models.piece_encoder"} <= reranking.modules & parsing.modules
    assert not has_compiler(reranking.modules) and not has_compiler(parsing.modules)
