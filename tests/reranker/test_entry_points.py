"""Formats of n-best lists and architectures of other packages, by their entry points."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from reranker import models
from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.commands.main import main
from reranker.errors import CheckpointError
from tests.reranker.ensembles import untrained
from tests.reranker.small_files import write

Capture = pytest.CaptureFixture[str]
PACKAGE = """
from reranker.models.rnn_n import RnnN, RnnNConfig
from reranker.nbest.data import RawCandidate
from reranker.nbest.dialects.registry import Dialect


class Mine(RnnN):
    architecture = "mine"


def read(file):
    def groups():
        for number, line in file:
            score, tree = line.split(";", 1)
            yield number, [RawCandidate(number, tree.strip(), float(score))]

    return file.numbered(groups())


def write(nbest, position):
    return "".join(f"{each.parser_score:g};{each.bracketed}\\n" for each in nbest.candidates)


LISTS = Dialect(read=read, write=write)
MODEL = (RnnNConfig, Mine)
"""
POINTS = """[reranker.dialects]
mine = their_package:LISTS
[reranker.models]
mine = their_package:MODEL
"""
TREE = "(S (NP (PRP It)) (VP (VBZ runs)))"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install a package with a format and an architecture."""
    site = tmp_path / "site"
    installed = site / "their_package-1.0.dist-info"
    installed.mkdir(parents=True)
    (site / "their_package.py").write_text(PACKAGE)
    (installed / "METADATA").write_text("Name: their-package\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(site))
    models._others.cache_clear()
    yield tmp_path
    models._others.cache_clear()


def test_a_format_of_another_package_is_read_and_written(package: Path, capsys: Capture) -> None:
    file = write(package / "lists.txt", f"-2.5;{TREE}\n-3;{TREE}\n")
    assert main(["convert", file, "--format", "mine", "--to", "mine"]) == 0
    assert capsys.readouterr().out == f"-2.5;{TREE}\n-3;{TREE}\n"
    with pytest.raises(SystemExit):
        main(["convert", file, "--format", "theirs", "--to", "trees"])
    assert "invalid choice: 'theirs'" in capsys.readouterr().err


def test_an_architecture_of_another_package_is_loaded(package: Path) -> None:
    assert "mine" in {*models.ARCHITECTURES}
    config, model = models.ARCHITECTURES["mine"]
    vocabulary = untrained(1).vocabulary
    made = model(config(len(vocabulary), 12, (8,))).requires_grad_(False).eval()
    save_checkpoint(package / "mine.pt", made, vocabulary, {}, torch.float32)
    loaded = load_checkpoint(package / "mine.pt").model
    assert type(loaded).__name__ == "Mine" and loaded.architecture == "mine"


def test_without_the_package_its_checkpoint_is_refused(package: Path) -> None:
    config, model = models.ARCHITECTURES["mine"]
    vocabulary = untrained(1).vocabulary
    made = model(config(len(vocabulary), 12, (8,))).requires_grad_(False).eval()
    save_checkpoint(package / "mine.pt", made, vocabulary, {}, torch.float32)
    (package / "site" / "their_package-1.0.dist-info" / "entry_points.txt").unlink()
    models._others.cache_clear()
    with pytest.raises(CheckpointError, match=r"mine\.pt"):
        load_checkpoint(package / "mine.pt")
