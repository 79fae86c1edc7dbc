"""docs/tutorial/plugin.md: its package prints what the page says, and its own tests pass."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.checkout import ROOT, before_python_path
from tests.shell import shell

PAGE = (ROOT / "docs" / "tutorial" / "plugin.md").read_text("utf-8")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the page's files, which is found like an installed package."""
    for _, block in _BLOCK.findall(PAGE):
        if name := re.match(r"# (\S+\.(?:py|toml))\n", block):
            file = tmp_path / name[1]
            file.parent.mkdir(exist_ok=True)
            file.write_text(block)
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]
    installed = tmp_path / f"my_package-{project['version']}.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    points = ""
    for group, names in project["entry-points"].items():
        points += f"[{group}]\n" + "".join(f"{name} = {at}\n" for name, at in names.items())
    (installed / "entry_points.txt").write_text(points)
    monkeypatch.setenv("PYTHONPATH", before_python_path(str(tmp_path)))
    return tmp_path


@pytest.mark.slow
def test_the_page_shows_what_its_package_prints(package: Path) -> None:
    sessions = [block for kind, block in _BLOCK.findall(PAGE) if kind == "text"]
    commands = re.findall(r"^\$ (.*)\n((?:[^$\n].*\n)*)", "".join(sessions), re.MULTILINE)
    assert len(commands) == 6
    for command, output in commands:
        if not command.startswith("pip "):  # the fixture is its stead
            assert (command, shell(command, package).stdout) == (command, output)
    done = shell("python -m pytest -q -p no:cacheprovider", package)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout + done.stderr
