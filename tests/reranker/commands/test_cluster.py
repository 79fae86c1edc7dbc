"""``rerank cluster``: what it refuses, without Ray, and whole runs with it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from reranker.commands.main import main
from tests.reranker.ray.lists import write_shard

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs the extra: pip install '.[ray]'"
)


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """A folder with shards of 7 and 3 sentences."""
    folder = tmp_path / "lists"
    folder.mkdir()
    write_shard(folder / "a.txt", 0, 7)
    write_shard(folder / "b.txt", 7, 3)
    return folder


def _run(lists: Path, out: Path, models: list[str], *flags: str) -> int:
    return main(
        ["cluster", "--nbest", f"{lists}/*", "--out", str(out), "--models", *models, *flags]
    )


def test_without_ray_it_says_what_to_install(
    lists: Path,
    models: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    assert _run(lists, lists / "../out", models) == 2
    assert capsys.readouterr().err == (
        "rerank: rerank cluster needs the package ray: pip install 'parse-reranker[ray]'\n"
    )


@needs_ray
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--address", "127.0.0.1:1"], "no Ray cluster at 127.0.0.1:1: Connection refused"),
        (["--address", "ray://127.0.0.1:1"], "no Ray cluster at ray://127.0.0.1:1: Connection ref"),
        (["--tokens", "sentences.txt"], "--tokens has the sentences of one file"),
        (["--top", "3"], "--top needs --output ranked"),
        (["--nbest", "none*"], "none*: no file matches"),
    ],
)
def test_what_cannot_be_done_is_refused(
    lists: Path,
    models: list[str],
    flags: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _run(lists, lists / "../out", models, *flags) == 2
    assert f"rerank: {message}" in capsys.readouterr().err


def test_bounds_of_actors(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        _run(lists, lists / "../out", ["x.pt"], "--actors", "3:2")
    assert stopped.value.code == 2
    assert "'3:2': the first number is the smaller one" in capsys.readouterr().err
