"""The wheels of `make wheels`, installed into an empty environment, in any folder."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import venv
from pathlib import Path

import httpx
import pytest

from tests.service.servers import serving

ROOT = Path(__file__).resolve().parents[1]
SENTENCE = "When the last guests left the hotel closed its kitchen."

PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create an environment with both wheels; other packages are those of this environment, but not
    the checkout that it may refer to."""
    folder = tmp_path_factory.mktemp("wheels")
    build = ["wheel", "--no-deps", "--wheel-dir", str(folder)]
    sources = [".", "packages/models", "packages/large"]
    subprocess.run([*PIP, *build, *sources], cwd=ROOT, check=True)
    wheels = sorted(folder.glob("*.whl"))
    assert [wheel.name.split("-")[0] for wheel in wheels] == [
        "parse_reranker",
        "parse_reranker_large",
        "parse_reranker_models",
    ]
    for wheel in wheels:
        assert wheel.stat().st_size < 100e6  # the most that the index takes
    return environment_with(folder, "--no-index", *map(str, wheels))


@pytest.fixture(scope="module")
def from_clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create an environment after `pip install .` in the clone, with other packages as above."""
    return environment_with(tmp_path_factory.mktemp("clone"), str(ROOT))


def environment_with(folder: Path, *packages: str) -> Path:
    """Return the programs of a new environment in the folder."""
    venv.create(folder / "env", with_pip=False, symlinks=True)
    python = str(folder / "env" / "bin" / "python")
    site_packages = next((folder / "env").glob("lib/python*/site-packages"))
    (site_packages / "others.pth").write_text("\n".join(site.getsitepackages()))
    install = ["install", "--no-deps", "--ignore-installed", *packages]
    # Where no other version of ours can be met.
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([*PIP, "--python", python, *install], cwd=folder, env=clean, check=True)
    return folder / "env" / "bin"


def run(
    installed: Path, home: Path, *arguments: str, text: str = ""
) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "PATH": os.defpath, "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [installed / "rerank", *arguments],
        cwd=home,
        env=environment,
        input=text,
        capture_output=True,
        text=True,
    )


def test_models_are_found(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "models")
    assert done.returncode == 0, done.stderr
    folder = next(installed.parent.glob("lib/python*/site-packages/parse_reranker_models/ckpt"))
    assert done.stdout.startswith(
        f"best (used for lists unless others are named)\n  folder  {folder}\n"
    )
    assert f"path    {folder / 'bllip-gum-craft.tar.gz'}\n" in done.stdout
    assert (folder / "README.md").is_file()  # the card, with the terms


def test_the_clone_s_models_are_found_after_pip_install(from_clone: Path, tmp_path: Path) -> None:
    done = run(from_clone, tmp_path, "models")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        f"best (used for lists unless others are named)\n  folder  {ROOT / 'ckpt'}\n"
    )
    assert f"path    {ROOT / 'ckpt' / 'bllip-gum-craft.tar.gz'}\n" in done.stdout


def test_a_sentence_is_parsed_after_pip_install(from_clone: Path, tmp_path: Path) -> None:
    done = run(from_clone, tmp_path, "parse", "-", text=SENTENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("(TOP (S (SBAR (WHADVP (WRB When)) (S (NP (DT the) ")


def test_the_large_parser_is_found(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "parse", "-", "--models", "large", text=SENTENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("(TOP (S (SBAR (WHADVP (WRB When)) (S (NP (DT the) ")


def test_lists_are_ranked(installed: Path, tmp_path: Path) -> None:
    lists = ROOT / "examples" / "short.txt"
    done = run(installed, tmp_path, "--nbest", str(lists))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4


def test_a_sentence_is_parsed(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "parse", "-", text=SENTENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("(TOP (S (SBAR (WHADVP (WRB When)) (S (NP (DT the) ")
    assert done.stdout.count("\n") == 1
    again = run(installed, tmp_path, "parse", "-", text=SENTENCE)
    assert again.stdout == done.stdout


def test_configurations_are_found_by_their_names(installed: Path, tmp_path: Path) -> None:
    trees = tmp_path / "t.mrg"
    trees.write_text("(TOP (S (NP (PRP It)) (VP (VBZ runs))))\n" * 2)
    data = ["--train", str(trees), "--dev", str(trees), "--out", "m.pt", "--epochs", "1"]
    done = run(installed, tmp_path, "train", "--config", "tiny", *data)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.pt").is_file()


def test_the_service_parses_and_ranks(installed: Path, tmp_path: Path) -> None:
    lists = ROOT / "examples" / "short.txt"
    rerank = str(installed / "rerank")
    with (
        serving([], rerank=rerank, folder=tmp_path, HOME=str(tmp_path), PYTHONPATH="") as server,
        server.client() as client,
    ):
        parsed = client.post("/parse", json={"text": SENTENCE})
        kind = {"Content-Type": "text/plain"}
        ranked = client.post("/rerank", content=lists.read_bytes(), headers=kind)
        page = client.get("/")
    assert best_trees(parsed) == run(installed, tmp_path, "parse", "-", text=SENTENCE).stdout
    assert best_trees(ranked) == run(installed, tmp_path, "--nbest", str(lists)).stdout
    assert page.text.startswith("<!doctype html>")


def best_trees(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    sentences = answer.json()["sentences"]
    return "".join(f"{sentence['ranking'][0]['tree']}\n" for sentence in sentences)


def test_without_the_parser_it_is_said_what_to_install(installed: Path, tmp_path: Path) -> None:
    others = next(installed.parent.glob("lib/python*/site-packages/others.pth"))
    content = others.read_text()
    # No package named bllipparser: a folder with links to all others.
    links = tmp_path / "links"
    links.mkdir()
    for package in (each for line in content.splitlines() for each in Path(line).iterdir()):
        if not package.name.startswith("bllipparser"):
            (links / package.name).symlink_to(package)
    others.write_text(str(links))
    try:
        done = run(installed, tmp_path, "parse", "-", "--parser", "bllip", text=SENTENCE)
    finally:
        others.write_text(content)
    assert done.returncode == 2
    assert "pip install 'parse-reranker[bllip]'" in done.stderr
    assert "Traceback" not in done.stderr
