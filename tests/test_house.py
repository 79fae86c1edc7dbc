"""The promises of the house: names, layers, and commands that answer at once."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.checkout import RERANK, ROOT
from tests.conftest import TOGETHER
from tests.mutations.__main__ import mutations

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def run_python(code: str, directory: Path = ROOT, is_installed: bool = True) -> str:
    """Return the output of ``python -c code``. With -I, the working directory and PYTHONPATH are
    not on the import path: the installed package answers."""
    command = [sys.executable, "-I" if is_installed else "-P", "-c", code]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout


def test_packages_resolve_to_this_repository_and_common_names_are_left_to_others(
    tmp_path: Path,
) -> None:
    # Seen from elsewhere, so that it is the installation that answers, not the directory.
    names = ["reranker", "reranker.models", "reranker.service", "models", "service"]
    code = f"""if True:
        import importlib.util
        for name in {names!r}:
            print(getattr(importlib.util.find_spec(name), "origin", None))
    """
    own, models, service, *others = run_python(code, tmp_path).split()
    assert [Path(each).resolve() for each in (own, models, service)] == [
        ROOT / name / "__init__.py" for name in ("reranker", "models", "service")
    ]
    assert others == ["None", "None"]


def test_modules_that_promise_to_do_without_torch_keep_it() -> None:
    # import-linter reads each module's own imports; this also sees reranker/__init__.py.
    contracts = PYPROJECT["tool"]["importlinter"]["contracts"]
    (contract,) = [c for c in contracts if c["type"] == "forbidden"]
    code = (
        "import importlib, pkgutil, sys\n"
        f"for name in {contract['source_modules']!r}:\n"
        "    module = importlib.import_module(name)\n"
        "    for inner in pkgutil.walk_packages(getattr(module, '__path__', []), name + '.'):\n"
        "        importlib.import_module(inner.name)\n"
        "print([name for name in ('torch', 'nltk') if name in sys.modules])"
    )
    assert run_python(code, is_installed=False).strip() == "[]"


def test_imports_point_one_way() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def imported_by(file: Path) -> set[str]:
    """Return the modules that a file imports, wherever its import statements stand."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.update(f"{node.module}.{name.name}" for name in node.names)
    return modules


@pytest.mark.parametrize(
    ("folders", "forbidden"),
    [
        (["reranker", "service", "models", "eval", "benchmarks"], "tests."),
        (["eval", "benchmarks"], "reranker.commands."),
    ],
    ids=["nothing imports tests", "eval and benchmarks do without commands"],
)
def test_what_is_not_imported(folders: list[str], forbidden: str) -> None:
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 30
    found = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files
        for name in imported_by(file)
        if f"{name}.".startswith(forbidden)
    }
    assert not found


def test_windows_is_told_at_once() -> None:
    code = "import sys; sys.platform = 'win32'; import reranker"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("on Windows, install it in WSL 2")


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["train", "--help"]],
    ids=" ".join,
)
def test_help_answers_at_once(arguments: list[str]) -> None:
    """Imports are what takes time, so nothing slow to import may be among them."""
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(
        [RERANK, *arguments], env=environment, check=True, capture_output=True, text=True
    )
    # Each import is a line "import time: self | cumulative | name" on standard error.
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "reranker.commands.main" in imported
    slow = {"torch", "numpy", "PYEVALB", "nltk", "matplotlib", "tensorboard", "fastapi", "pydantic"}
    assert not imported & (slow | {"shtab", "structlog", "uvicorn", "prometheus_client"})
    assert done.stdout.startswith("usage: rerank")


def test_every_dependency_is_pinned() -> None:
    project = PYPROJECT["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {re.split(r"[^\w-]", line)[0].lower() for group in groups for line in group}
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = set(re.findall(r"^([\w-]+)==", constraints, re.MULTILINE))
    assert names - {project["name"]} <= pinned


def test_core_tests_that_need_plug_ins_are_known() -> None:
    """Others must pass without reranker/plugins (`make core`)."""
    needing = {
        str(path.relative_to(ROOT / "tests"))
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(
            r"^(from|import) [\w. ]*reranker\.plugins", path.read_text("utf-8"), re.MULTILINE
        )
    }
    assert {name for name in needing if not name.startswith(TOGETHER)} == set()


def test_mutations_fit_the_code() -> None:
    """Each changes one place, leaves Python, and its tests are there (`python -m tests.mutations`
    runs them)."""
    for mutation in mutations():
        text = (ROOT / mutation.file).read_text("utf-8")
        assert text.count(mutation.old) == 1, mutation
        if mutation.file.endswith(".py"):
            ast.parse(text.replace(mutation.old, mutation.new), str(mutation))
        assert (ROOT / mutation.tests.partition("::")[0]).exists(), mutation
