"""Models by name: which are found, which are used where none is named, and what is refused."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

import pytest

from reranker.checkpoints import installed
from reranker.checkpoints.ensemble_file import named_models, parser_of
from reranker.checkpoints.installed import (
    default_models,
    installed_models,
    installed_parser_models,
    installed_span_model,
    parsing_models,
    user_folder,
)
from reranker.errors import InputError
from reranker.parsers.choice import ParserChoice
from reranker.pipeline import Reranker

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder for packages, without a checkout, a package of models, or files in the
    home."""
    site = tmp_path / "site-packages"
    (site / "reranker" / "checkpoints").mkdir(parents=True)
    monkeypatch.setattr(installed, "__file__", str(site / "reranker" / "checkpoints" / "x.py"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("RERANK_MODELS", raising=False)
    monkeypatch.syspath_prepend(site)
    for name in [name for name in sys.modules if name.startswith("parse_reranker_models")]:
        monkeypatch.delitem(sys.modules, name)
    return site


def ensemble(folder: Path, models: list[str], about: str | None = None) -> Path:
    folder.mkdir(parents=True)
    for path in models:
        shutil.copy(path, folder)
    if about is not None:
        (folder / "about.toml").write_text(about)
    return folder


def package(site: Path, models: list[str]) -> Path:
    (site / "parse_reranker_models").mkdir()
    (site / "parse_reranker_models" / "__init__.py").write_text("")
    hashes = [f'"{Path(path).name}" = "{digest(path)}"' for path in models]
    about = "\n".join(['name = "shipped"', "[sha256]", *hashes])
    return ensemble(site / "parse_reranker_models" / "ckpt", models, about)


def digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def names(paths: tuple[Path, ...]) -> list[str]:
    return [path.name for path in paths]


def test_without_any_it_is_said_what_to_install(outside: Path) -> None:
    assert installed_models() == [] and installed_parser_models() == []
    with pytest.raises(InputError, match=r"install parse-reranker-models.*--models"):
        Reranker.load()


def test_the_installed_package_comes_before_the_users_own(outside: Path, models: list[str]) -> None:
    own = ensemble(user_folder() / "mine", models[:1])
    assert default_models().folder == own
    shipped = package(outside, models)
    assert [each.name for each in installed_models()] == ["shipped", "mine"]
    assert default_models().folder == shipped
    assert names(named_models(None).paths) == ["model-1.pt", "model-2.pt"]
    assert named_models("mine").paths == (own / "model-1.pt",)
    assert named_models(["mine"]).paths == named_models("mine").paths
    assert len(Reranker.load("shipped").members) == 2


def test_the_checkout_comes_first(models: list[str]) -> None:
    assert default_models().folder == ROOT / "ckpt"
    about = default_models().about
    assert {path.name for path in (ROOT / "ckpt").glob("*.pt")} == set(about["sha256"])
    for name, sha256 in about["sha256"].items():
        assert digest(str(ROOT / "ckpt" / name)) == sha256
    for model in about["parser_models"]:
        assert digest(str(ROOT / "ckpt" / model["file"])) == model["sha256"]


def test_the_clone_that_pip_installed_from(
    outside: Path, models: list[str], tmp_path: Path
) -> None:
    clone, record = tmp_path / "a clone", outside / "parse_reranker-0.1.0.dist-info"
    ensemble(clone / "ckpt", models, (ROOT / "ckpt" / "about.toml").read_text())
    (clone / "ckpt" / "bllip-gum-craft.tar.gz").touch()
    record.mkdir()
    (record / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: parse-reranker\nVersion: 0.1.0\n"
    )
    for folder, kind, is_found in (
        (clone, "dir_info", True),
        (tmp_path / "gone", "dir_info", False),
        (clone, "archive_info", False),  # a wheel that lies there
    ):
        source = {"url": folder.as_uri(), kind: {}}
        (record / "direct_url.json").write_text(json.dumps(source))
        assert [each.folder for each in installed_models()][:1] == [clone / "ckpt"] * is_found
        assert [each.name for each in installed_parser_models()] == ["bllip-gum-craft"] * is_found
    shipped = package(outside, models)
    assert default_models().folder == shipped


def test_an_ensemble_file_by_its_name() -> None:
    fast, best = named_models("fast"), named_models("best")
    assert [path.name for path in fast.paths] == ["spans.pt"]
    assert {*fast.paths} < {*best.paths} and {*fast.sha256} < {*best.sha256}
    assert fast.calibration is not None
    commercial = named_models("commercial")
    assert commercial.paths == (installed_span_model(parser_of("commercial"))[0],)
    assert commercial.paths != (installed_span_model()[0],), "its own parser, not the default one"
    assert parser_of("commercial", "id") == parser_of("best") == parser_of("fast") == ""


def test_the_environment_comes_before_all(
    outside: Path, models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    package(outside, models)
    ensemble(user_folder() / "mine", models[:1])
    for value, expected in (
        (models[1], ["model-2.pt"]),
        (f" {models[1]}, {models[0]} ", ["model-2.pt", "model-1.pt"]),
        ("mine", ["model-1.pt"]),
        ("", ["model-1.pt", "model-2.pt"]),
    ):
        monkeypatch.setenv("RERANK_MODELS", value)
        assert names(named_models(None).paths) == expected
    monkeypatch.setenv("RERANK_MODELS", "none")
    with pytest.raises(InputError, match=r"none: .*mine$"):
        named_models(None)


@pytest.mark.parametrize(("parsing", "expected"), [("fast", "fast"), ("none", None)])
def test_an_ensemble_may_name_the_one_for_its_parsers_trees(
    outside: Path, models: list[str], monkeypatch: pytest.MonkeyPatch, parsing: str, expected: str
) -> None:
    about = f'parsing = "{parsing}"\n[[ensembles]]\nname = "fast"\nfile = "fast.toml"\n'
    folder = ensemble(user_folder() / "mine", models[:1], about)
    (folder / "fast.toml").touch()
    assert parsing_models() == expected
    chart, named = ParserChoice(), ParserChoice(named_models=["mine"])
    others = ParserChoice(["chart", "bllip"]), ParserChoice(reranking=["best"]), named
    assert chart.own_models == expected
    assert [each.own_models for each in others] == [None] * 3
    monkeypatch.setenv("RERANK_MODELS", "mine")
    assert chart.own_models is None


def test_of_several_folders_of_ones_own_one_is_named(outside: Path, models: list[str]) -> None:
    ensemble(user_folder() / "a", models)
    ensemble(user_folder() / "b", models)
    with pytest.raises(InputError, match="a, b"):
        named_models(None)
    assert named_models("b").paths[0].parent.name == "b"


def test_a_path_is_not_a_name(
    outside: Path, models: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensemble(user_folder() / "mine", models[:1])
    monkeypatch.chdir(tmp_path)
    ensemble(tmp_path / "mine", models[1:])
    assert names(named_models("mine").paths) == ["model-2.pt"]


def test_a_file_that_is_not_the_published_one_is_refused(outside: Path, models: list[str]) -> None:
    folder = package(outside, models)
    shutil.copy(models[1], folder / "model-1.pt")
    with pytest.raises(InputError, match="SHA-256"):
        Reranker.load()
    (folder / "model-1.pt").unlink()
    with pytest.raises(InputError):
        Reranker.load()


@pytest.mark.parametrize(
    "about",
    [
        "name = ",
        'sha256 = "x"',
        "[sha256]\nx = 1",
        "parser_models = 1",
        "[[parser_models]]",
        'ensembles = ["a"]',
        "f1 = 3",
        'f1 = ["a"]',
        '[[f1]]\nparser = "high"',
        'milliseconds = "fast"',
        "terms = [1]",
        '[[ensembles]]\nname = "a"\nfile = "b"\nf1 = 3',
    ],
)
def test_a_description_that_is_none(outside: Path, models: list[str], about: str) -> None:
    path = ensemble(user_folder() / "mine", models, about) / "about.toml"
    with pytest.raises(InputError, match=f"{path}: "):
        installed_models()
