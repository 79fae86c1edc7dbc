"""Without Ray, commands that need it say what to install."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reranker.commands.main import main


@pytest.mark.parametrize(
    ("command", "flags"),
    [("rerank cluster", ["--nbest", "lists.txt", "--out", "trees"]), ("rerank serve --ray", [])],
)
def test_without_ray_it_says_what_to_install(
    command: str,
    flags: list[str],
    models: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    assert main([*command.split()[1:], *flags, "--models", *models]) == 2
    assert capsys.readouterr().err == (
        f"rerank: {command} needs the package ray: pip install 'parse-reranker[ray]'\n"
    )
