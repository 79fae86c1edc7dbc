"""``rerank validate`` as a user meets it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from reranker.checkpoints.ensemble_file import WeighedModels, write_ensemble_file
from reranker.commands.main import main
from reranker.ranking import Weighing
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.small_files import bllip, write

Capture = pytest.CaptureFixture[str]

FLAT = "(S1 (NP (DT The) (NN end)))"
RETAGGED = FLAT.replace("DT", "JJ")


def test_the_report(tmp_path: Path, capsys: Capture) -> None:
    broken = FLAT.replace("end", "cow")
    lists = bllip(CANDIDATES, (FLAT, RETAGGED, broken, FLAT[:-1]), ())
    file = write(tmp_path / "n.txt", lists)
    assert main(["validate", file, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    duplicates = report.pop("duplicates")
    assert duplicates >= 1  # RETAGGED, and repetitions in CANDIDATES
    assert report == {
        "files": [{"name": file, "format": "bllip"}],
        "sentences": 3,
        "without_candidates": 1,
        "candidates": 8,
        "repaired": 0,
        "rejected": 2,
        "rejected_by_code": {"wrong-words": 1, "unbalanced": 1},
        "rejected_lines": {
            "wrong-words": [f"{file}:21: word 2 is 'cow' where the list has 'end'"],
            "unbalanced": [f"{file}:23: 1 bracket(s) left open at the end"],
        },
        "longest_list": 6,
        "longest_sentence": 7,
        "scored": 8,
        "lowest_score": pytest.approx(-105.5 * math.log(2)),
        "highest_score": pytest.approx(-100.5 * math.log(2)),
        "words": 9,
        "unknown_words": {},
        "frequent_unknown_words": {},
    }
    assert main(["validate", file]) == 1
    text = capsys.readouterr().out
    assert "format bllip" in text
    assert "  wrong-words" in text
    assert f"{file}:23: 1 bracket(s) left open" in text


def test_words_unknown_to_checkpoints(tmp_path: Path, models: list[str], capsys: Capture) -> None:
    file = write(tmp_path / "n.txt", bllip((FLAT.replace("end", "xylophone"),)))
    assert main(["validate", file, "--models", *models, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report["unknown_words"].values()) == [1, 1]
    assert list(report["frequent_unknown_words"].values()) == [["xylophone"]] * 2
    ensemble = tmp_path / "ensemble.toml"
    write_ensemble_file(ensemble, WeighedModels(tuple(map(Path, models)), Weighing(0.5)))
    assert main(["validate", file, "--models", str(ensemble), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == report


def test_a_long_report_is_cut(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "n.txt", bllip([FLAT[:-1]] * 14))
    assert main(["validate", file]) == 1
    text = capsys.readouterr().out
    assert text.count("left open at the end") == 10
    assert "... and 4 more" in text


def test_not_an_nbest_file(tmp_path: Path, capsys: Capture) -> None:
    assert main(["validate", write(tmp_path / "letter", "Dear Sir,\nthe cat sat\n")]) == 2
    assert "letter:1: not an n-best list" in capsys.readouterr().err
