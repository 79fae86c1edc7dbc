"""``rerank models``: what is there, its terms, figures and cost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reranker.checkpoints.installed import user_folder
from reranker.commands.main import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("RERANK_MODELS", raising=False)


def test_ours_are_listed_with_terms_figures_and_cost(capsys: Capture) -> None:
    assert main(["models"]) == 0
    ensemble, parser = capsys.readouterr().out.split("\nbllip-", 1)
    assert ensemble.startswith("best (used for lists unless others are named)\n")
    for printed in (ensemble, parser):
        assert "\n  terms   non-commercial use" in printed
        assert "\n  F1      GUM dev" in printed
        assert "ms on one core for" in printed
    assert "2, 29 MB" in ensemble
    large = ensemble.partition("\nlarge\n")[2].partition("\nlanguages")[0]
    assert "1, 86 MB" in large and "cost    35 ms on one core" in large
    own = "used for the trees of the built-in parser unless others are named"
    assert f"\nfast ({own})\n" in ensemble
    assert "ckpt/fast.toml\n  models  the span model" in ensemble


def test_ones_own_and_the_environments(
    models: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = user_folder() / "mine"
    folder.mkdir(parents=True)
    shutil.copy(models[0], folder)
    (user_folder() / "parser").mkdir()
    (user_folder() / "parser" / "terms.txt").write_text("")
    monkeypatch.setenv("RERANK_MODELS", "mine, other.pt")
    assert main(["models"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("RERANK_MODELS names the models to use: mine, other.pt\nbest\n")
    assert f"\nmine\n  folder  {folder}\n  files   1, 0 MB\n  terms   not known\n" in printed
    assert f"\nparser\n  path    {user_folder() / 'parser'}\n  parser  bllip\n" in printed


@pytest.mark.parametrize("about", ["name = ", "f1 = 3", 'f1 = ["a"]', 'milliseconds = "fast"'])
def test_a_wrong_description_is_named(capsys: Capture, about: str) -> None:
    folder = user_folder() / "mine"
    folder.mkdir(parents=True)
    (folder / "about.toml").write_text(about)
    (folder / "x.pt").write_text("")
    assert main(["models"]) == 2
    assert f"{folder / 'about.toml'}: cannot be used" in capsys.readouterr().err
