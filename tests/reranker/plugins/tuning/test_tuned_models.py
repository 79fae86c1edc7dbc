"""The whole path from scoring over tuning to ``rerank --models ensemble.toml``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reranker import Reranker
from reranker.checkpoints.ensemble_file import (
    WeighedModels,
    read_ensemble_file,
    write_ensemble_file,
)
from reranker.commands.main import main
from reranker.ranking import Weighing
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.small_files import bllip, break_off_after, write

Capture = pytest.CaptureFixture[str]

TUNED = Weighing(0.4, "perplexity", (0.25, 1.75), -0.5)


@pytest.fixture
def ensemble(tmp_path: Path, models: list[str]) -> str:
    path = tmp_path / "ensemble.toml"
    write_ensemble_file(path, WeighedModels(tuple(map(Path, models)), TUNED))
    return str(path)


def scores(capsys: Capture, *arguments: str) -> dict[int, float]:
    """Score by index of the first list."""
    assert main([*arguments, "--output", "ranked"]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {one["index"]: one["score"] for one in row["ranking"]}


def test_the_files_weights_are_used_unless_others_are_given(
    tmp_path: Path, models: list[str], ensemble: str, capsys: Capture
) -> None:
    file = write(tmp_path / "n.txt", bllip(CANDIDATES[:3]))
    main(["--nbest", file, "--models", *models, "--output", "ranked"])
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    def expected(lm_weight: float) -> dict[int, float]:
        weighed = {}
        for one in row["ranking"]:
            first, second = one["member_nll"]
            assert first + second == pytest.approx(one["nll"], abs=2e-4)
            lm = -0.25 * first - 1.75 * second - 0.5 * one["tokens"]
            weighed[one["index"]] = lm_weight * lm + (1 - lm_weight) * one["parser_score"]
        return weighed

    command = ["--nbest", file, "--models", ensemble]

    def found(*flags: str) -> Any:
        return pytest.approx(scores(capsys, *command, *flags), abs=5e-4)

    assert expected(0.4) == found()
    assert expected(1.0) == found("--lm-weight", "1")
    assert expected(0.4) == found("--lm-weight", "0.4")
    per_token = scores(capsys, *command, "--criterion", "token-perplexity")
    for one in row["ranking"]:
        total = scores(capsys, *command)[one["index"]]
        assert per_token[one["index"]] == pytest.approx(total / one["tokens"], abs=2e-4)
    assert main([*command, "--combine", "average"]) == 2
    assert "was tuned for the sum" in capsys.readouterr().err


def test_the_same_from_python(
    models: list[str], ensemble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = [-30.5, -31.0, -30.0, -32.0, -33.0, -30.25]
    plain, tuned = Reranker.load(models), Reranker.load([Path(ensemble)])
    assert (plain.weighing, tuned.weighing) == (Weighing(), TUNED)
    expected = plain.rerank(CANDIDATES, parser, TUNED)
    assert tuned.rerank(CANDIDATES, parser) == expected
    assert expected != plain.rerank(CANDIDATES, parser)
    # Requested weights override tuned ones, for one list or for all.
    assert tuned.rerank(CANDIDATES, parser, Weighing()) == plain.rerank(CANDIDATES, parser)
    other = Reranker.load([ensemble], weighing=Weighing(0.9))
    assert other.rerank(CANDIDATES, parser) == plain.rerank(CANDIDATES, parser, Weighing(0.9))
    # Names may have wildcards in them, as on the command line.
    monkeypatch.chdir(Path(ensemble).parent)
    assert Reranker.load(["ens*.toml"]).weighing == TUNED


def test_other_weights_are_another_run(
    tmp_path: Path, ensemble: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "n.txt", bllip(CANDIDATES[:3], CANDIDATES[:3]))
    gold = write(tmp_path / "gold.mrg", CANDIDATES[0] + "\n" + CANDIDATES[0])
    out = tmp_path / "out.jsonl"
    command = ["--nbest", file, "--models", ensemble, "--out", str(out), "--gold", gold]
    with monkeypatch.context() as patch:
        break_off_after(1, patch)
        assert main(command) == 2
    assert (tmp_path / "out.jsonl.part").exists()
    capsys.readouterr()
    models = read_ensemble_file(Path(ensemble))
    other = WeighedModels(models.paths, Weighing(0.4, "perplexity", (0.5, 1.5), -0.5))
    write_ensemble_file(Path(ensemble), other)
    assert main([*command, "--resume"]) == 2
    assert "member_weights is [0.5, 1.5], but was [0.25, 1.75] in the interrupted run" in (
        capsys.readouterr().err
    )


def test_the_ensemble_file_is_not_overwritten(
    tmp_path: Path, ensemble: str, capsys: Capture
) -> None:
    file = write(tmp_path / "n.txt", bllip(CANDIDATES[:3]))
    before = Path(ensemble).read_bytes()
    assert main(["--nbest", file, "--models", ensemble, "--out", ensemble]) == 2
    assert "is also an input" in capsys.readouterr().err
    assert Path(ensemble).read_bytes() == before


def test_tuning_what_was_scored(tmp_path: Path, models: list[str], capsys: Capture) -> None:
    file = write(tmp_path / "n.txt", bllip(*[CANDIDATES] * 4))
    gold = write(tmp_path / "gold.mrg", (CANDIDATES[1].replace("S1", "TOP") + "\n") * 4)
    ranked, saved = str(tmp_path / "r.jsonl"), str(tmp_path / "tuned.toml")
    command = ["--nbest", file, "--models", *models, "--output", "ranked", "--out", ranked]
    assert main(command) == 0
    assert main(["tune", ranked, gold, "--models", *models, "--save", saved]) == 0
    assert "chosen: LM weight" in capsys.readouterr().out
    tuned = read_ensemble_file(Path(saved)).weighing
    weight = ["--lm-weight", f"{tuned.lm_weight}"]
    command = ["--nbest", file, "--models"]
    assert main([*command, saved]) == 0
    printed = capsys.readouterr().out
    assert main([*command, *models, *weight]) == 0
    assert capsys.readouterr().out == printed


def test_given_weights_of_models(tmp_path: Path, models: list[str], capsys: Capture) -> None:
    file = write(tmp_path / "n.txt", bllip(*[CANDIDATES] * 2))
    gold = write(tmp_path / "gold.mrg", (CANDIDATES[1].replace("S1", "TOP") + "\n") * 2)
    ranked, saved = str(tmp_path / "r.jsonl"), str(tmp_path / "tuned.toml")
    scored = ["--nbest", file, "--models", *models, "--output", "ranked", "--out", ranked]
    assert main(scored) == 0
    tune = ["tune", ranked, gold, "--models", *models, "--save", saved]
    weights = ["--member-weights", "0.25", "2"]
    assert main([*tune, "--lm-weight", "1", *weights]) == 0
    assert "chosen: as given: W = 1.000, members 0.25 2.00" in capsys.readouterr().out
    assert read_ensemble_file(Path(saved)).weighing == Weighing(member_weights=(0.25, 2.0))
    assert main([*tune, *weights]) == 2
    assert "--member-weights needs --lm-weight" in capsys.readouterr().err
    assert main([*tune, "--lm-weight", "1", "--member-weights", "1"]) == 2
    assert "--member-weights has 1, but 2 models scored the lists" in capsys.readouterr().err
