"""The core knows no plug-in, and each plug-in's folder can be deleted."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT

PLUGINS = sorted(path.parent.name for path in ROOT.glob("reranker/plugins/*/__init__.py"))
CORE = [
    path
    for path in [*ROOT.glob("reranker/**/*.py"), *ROOT.glob("service/**/*.py")]
    if not path.is_relative_to(ROOT / "reranker" / "plugins")
]


def test_no_string_of_the_core_names_a_plugin() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in CORE
        for text in strings(path)
        if any(f"plugins.{name}" in text for name in PLUGINS)
    ]
    assert len(CORE) > 200 and not found


def strings(path: Path) -> list[str]:
    """Return the strings of a program without its docstrings."""
    nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


PROGRAM = """
import contextlib, io, sys
from reranker.commands.main import command_names, command_parser, main
for name in command_names():
    assert command_parser(name).format_help(), name
for line in (["--nbest", "examples/short.txt"], ["parse", "examples/words.txt"]):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(line) == 0, line
    assert out.getvalue().startswith(("(S1 (S", "(TOP (S")), out.getvalue()
print(*command_names())
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", PLUGINS)
def test_the_rest_works_without_a_plugin(name: str, tmp_path: Path) -> None:
    for folder in ("reranker", "models", "service", "ckpt", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)  # a clone has one
    (tmp_path / "examples" / "words.txt").write_text("We saw it.\n")
    shutil.rmtree(tmp_path / "reranker" / "plugins" / name)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env=environment,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert {"rerank", "parse", "serve", "eval"} <= {*done.stdout.split()}
