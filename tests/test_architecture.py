"""The walks of docs/architecture.md: their files are there and are used; a first answer needs no
compiler."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.checkout import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
TRACE = """if True:
    import json, sys
    from reranker.commands.main import main
    code = main(sys.argv[1:])
    files = {name: getattr(each, "__file__", None) for name, each in sys.modules.items()}
    print(json.dumps(files), file=sys.stderr)
    sys.exit(code)
"""

# Torch's compiler: half a second and 70 MB that no answer needs.
COMPILER = "torch._dynamo.", "sympy."


class Imported(NamedTuple):
    """The modules that a command has imported when it ends, and their files."""

    modules: set[str]
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


def imported_by(*arguments: str) -> Imported:
    command = [sys.executable, "-c", TRACE, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files = json.loads(done.stderr.splitlines()[-1])
    return Imported({*files}, {Path(file).resolve() for file in files.values() if file})


def has_compiler(modules: set[str]) -> bool:
    return any(module.startswith(COMPILER) for module in modules)


def test_rerank_nbest_uses_every_file_of_its_walk() -> None:
    used = imported_by("--nbest", "examples/short.txt", "--models", "ckpt/doc/doc-1.pt").files
    files = walk("A candidate")
    assert [name for name in files if (ROOT / name).resolve() not in used] == []


def test_a_first_answer_needs_no_compiler(tmp_path: Path) -> None:
    """benchmarks/latency.py measures the time; which modules are imported holds on every
    machine."""
    assert has_compiler({"torch._dynamo.config"}) and has_compiler({"sympy.core"})
    (tmp_path / "text.txt").write_text("We saw it.\n")
    for command in (["--nbest", "examples/short.txt"], ["parse", str(tmp_path / "text.txt")]):
        modules = imported_by(*command).modules
        assert {"torch", "reranker.models.piece_encoder"} <= modules
        assert not has_compiler(modules)
