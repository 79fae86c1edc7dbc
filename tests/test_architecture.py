"""The walks of docs/architecture.md: their files are there, are used, and stay few."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from tests.checkout import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
MOST_LINES = 8_000
MOST_MODULES = {"rerank": 94, "parse": 105}
"""Modules of ours that a command imports for a sentence or two with the installed models."""
TRACE = """if True:
    import sys
    from reranker.commands.main import main
    code = main(sys.argv[1:])
    print(*(getattr(each, "__file__", None) for each in sys.modules.values()), file=sys.stderr)
    sys.exit(code)
"""


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


def used_by(*arguments: str) -> set[Path]:
    """Return the files that a command has imported when it ends."""
    command = [sys.executable, "-c", TRACE, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {Path(name).resolve() for name in done.stderr.splitlines()[-1].split()}


def ours(files: set[Path]) -> list[str]:
    """Return the names of those files that are modules of ours."""
    folders = ("models", "reranker", "service")
    names = (each.relative_to(ROOT) for each in files if each.is_relative_to(ROOT))
    return sorted(str(name) for name in names if name.parts[0] in folders)


@pytest.fixture(scope="module")
def reranking(tmp_path_factory: pytest.TempPathFactory) -> set[Path]:
    """Return the files that reranking one list uses."""
    first = (ROOT / "examples" / "parses.txt").read_text("utf-8").partition("\n\n")[0]
    path = tmp_path_factory.mktemp("lists") / "list.txt"
    path.write_text(f"{first}\n\n")
    return used_by("--nbest", str(path))


def test_rerank_nbest_uses_every_file_of_its_walk(reranking: set[Path]) -> None:
    files = walk("A candidate")
    assert [name for name in files if (ROOT / name).resolve() not in reranking] == []


def test_rerank_nbest_imports_few_modules(reranking: set[Path]) -> None:
    names = ours(reranking)
    assert len(names) <= MOST_MODULES["rerank"], "\n".join(names)


def test_rerank_parse_imports_few_modules(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("We saw it.\n")
    names = ours(used_by("parse", str(tmp_path / "text.txt")))
    assert len(names) <= MOST_MODULES["parse"], "\n".join(names)
