"""``--top``, ``--threads``, ``--device`` and ``--precision``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import jsonschema
import numpy as np
import pytest
import torch

from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.checkpoints.members import Precision
from reranker.commands.main import main
from reranker.models import LanguageModel, products
from reranker.pipeline import Reranker
from reranker.process.cancellation import Cancellation
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree
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
    expected = ranked(lists, models, "--threads", "1")
    for threads in ("3", "9" * 24):
        assert ranked(lists, models, "--threads", threads) == expected


def test_fast_is_near_and_says_so(
    lists: str, models: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    gold = write(tmp_path / "gold.mrg", (CANDIDATES[1].replace("(S1 ", "(TOP ") + "\n") * 3)
    small = [str(tmp_path / Path(name).name) for name in models]
    for name, stored in zip(models, small, strict=True):
        member = load_checkpoint(name)
        given = member.model, member.vocabulary, member.information
        save_checkpoint(Path(stored), *given, torch.int8)
    exact = ranked(lists, small, "--gold", gold, "--precision", "exact")
    assert "precision=exact device=cpu" in capsys.readouterr().err
    fast = ranked(lists, small, "--gold", gold)
    precision = "fast" if products.eight_bits_work() else "exact"
    assert f"precision={precision} device=cpu" in capsys.readouterr().err
    differences = [
        abs(one["nll"] - {other["index"]: other["nll"] for other in whole["ranking"]}[one["index"]])
        for row, whole in zip(fast, exact, strict=True)
        for one in row["ranking"]
    ]
    assert max(differences) < 1e-3


def test_fast_needs_files_of_8_bits(models: list[str], tmp_path: Path) -> None:
    member = load_checkpoint(models[0])
    stored = tmp_path / "small.pt"
    save_checkpoint(stored, member.model, member.vocabulary, member.information, torch.int8)
    cases: list[tuple[Precision, str, bool]] = [
        ("fast", str(stored), products.eight_bits_work()),
        ("exact", str(stored), False),
        ("fast", models[0], False),
    ]
    for precision, name, expected in cases:
        with Reranker.load(name, precision=precision) as reranker:
            (loaded,) = reranker.members
            assert isinstance(loaded.model, LanguageModel)
            assert (loaded.model.rounded is not None) is expected
            assert reranker.precision == ("fast" if expected else "exact")


def test_fast_scores_are_computed_with_8_bits(models: list[str], tmp_path: Path) -> None:
    member = load_checkpoint(models[0])
    stored = tmp_path / "small.pt"
    save_checkpoint(stored, member.model, member.vocabulary, member.information, torch.int8)
    sequences = [linearize(Tree.from_string(each)) for each in CANDIDATES]
    values = []
    for precision in get_args(Precision):
        with Reranker.load(stored, precision=precision) as reranker:
            found = reranker.ensemble.log_probabilities(sequences, Cancellation())
            values.append(np.concatenate([each.ravel() for each in found]))
    assert np.abs(values[0] - values[1]).max() < 1e-4
    assert (values[0] != values[1]).any() == products.eight_bits_work()


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
