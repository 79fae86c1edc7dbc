"""``--top``, ``--threads``, ``--device`` and ``--precision``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from reranker.commands.main import main
from reranker.models import rough_products
from tests.reranker.commands.test_rerank import SCHEMA
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.small_files import bllip, write


def ranked(file: str, models: list[str], *flags: str) -> list[dict[str, Any]]:
    out = Path(file).with_suffix(".jsonl")
    arguments = ["--nbest", file, "--models", *models, "--output", "ranked", "--out", str(out)]
    assert main([*arguments, *flags]) == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.fixture
def lists(tmp_path: Path) -> str:
    return write(tmp_path / "n.txt", bllip(CANDIDATES, CANDIDATES[2:], CANDIDATES[:3]))


def test_the_best_few_are_the_first_of_all(
    lists: str, models: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    everything = ranked(lists, models)
    few = ranked(lists, models, "--top", "2")
    assert " of 3 trees; 13 candidates ranked\n" in capsys.readouterr().err
    for row, whole in zip(few, everything, strict=True):
        jsonschema.validate(row, SCHEMA)
        different = [one for one in row["ranking"] if one["duplicate_of"] is None]
        assert len(different) == 2
        assert row["ranking"] == whole["ranking"][: len(row["ranking"])]
        assert (row["margin"], row["best_index"]) == (whole["margin"], whole["best_index"])


def test_threads_change_nothing(lists: str, models: list[str]) -> None:
    assert ranked(lists, models, "--threads", "1") == ranked(lists, models, "--threads", "3")


@pytest.mark.parametrize("pays", [True, False])
def test_fast_is_near_and_says_so(
    pays: bool,
    lists: str,
    models: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As on either kind of processor.
    monkeypatch.setattr(rough_products, "bfloat16_pays", lambda: pays)
    gold = write(tmp_path / "gold.mrg", (CANDIDATES[1].replace("(S1 ", "(TOP ") + "\n") * 3)
    exact = ranked(lists, models, "--gold", gold)
    assert "precision=float32 device=cpu" in capsys.readouterr().err
    fast = ranked(lists, models, "--gold", gold, "--precision", "fast")
    precision = "bfloat16" if pays else "float32"
    assert f"precision={precision} device=cpu" in capsys.readouterr().err
    differences = [
        abs(one["nll"] - {other["index"]: other["nll"] for other in whole["ranking"]}[one["index"]])
        for row, whole in zip(fast, exact, strict=True)
        for one in row["ranking"]
    ]
    assert (0 < max(differences) < 1) is pays
    assert pays or fast == exact


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--device", "tpu"], "device 'tpu' is not auto, cpu, cuda or cuda:N"),
        (["--device", "cuda:99"], "device cuda:99: no such CUDA device here; use cpu or auto"),
        (["--threads", "0"], "'0' is not a whole number of at least 1"),
        (["--top", "2"], "--top needs --output ranked"),
    ],
)
def test_flags_that_make_no_sense(
    flags: list[str],
    message: str,
    lists: str,
    models: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        code = main(["--nbest", lists, "--models", *models, *flags])
    except SystemExit as ended:
        code = int(str(ended.code))
    assert code == 2
    assert message in capsys.readouterr().err
