"""``rerank spoken``: transcripts in, trees out, with offsets and probabilities."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from reranker.commands.main import main
from reranker.plugins.spoken.scores import Scores
from reranker.plugins.spoken.segmentation import best_ends
from tests.reranker.small_files import write
from tests.reranker.span_models import save_spans

Capture = pytest.CaptureFixture[str]

TALK = "A: well we saw the man\nand we saw him\nB: uh yeah\n"


@pytest.fixture
def flags(tmp_path: Path) -> list[str]:
    model = save_spans(tmp_path / "spans.pt", 3)
    return ["--parser-model", model, "--models", model]


def test_outputs(tmp_path: Path, capsys: Capture, flags: list[str]) -> None:
    file = write(tmp_path / "talk.txt", TALK)
    assert main(["spoken", file, *flags, "--output", "json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    spoken = [word for each in found for word in each["words"]]
    assert [word["text"] for word in spoken] == TALK.replace("A:", "").replace("B:", "").split()
    for word in spoken:
        assert TALK[word["start"] : word["end"]] == word["text"]
    assert all(0 <= each["end_probability"] <= 1 for each in found)
    assert found[-1]["end_probability"] == 1 and found[-1]["line"] == 3
    assert main(["spoken", file, *flags]) == 0
    assert capsys.readouterr().out.splitlines() == [each["tree"] for each in found]
    assert main(["spoken", file, *flags, "--output", "conllu", "--longest", "1"]) == 0
    assert capsys.readouterr().out.count("# text = ") == len(spoken)


def test_scores_are_those_of_the_window(flags: list[str]) -> None:
    scores = Scores(flags[1]).of(("we", "saw", "the", "man"), 3)
    assert scores.shape == (4, 4) and np.isfinite(scores).all()
    assert best_ends(scores)[-1] == 4


def test_a_run_with_an_output_can_be_resumed(
    tmp_path: Path, capsys: Capture, flags: list[str]
) -> None:
    file, out = write(tmp_path / "talk.txt", TALK * 3), tmp_path / "out.txt"
    assert main(["spoken", file, *flags]) == 0
    expected = capsys.readouterr().out
    for _ in range(2):
        assert main(["spoken", file, *flags, "--out", str(out), "--resume"]) == 0
        assert out.read_text("utf-8") == expected


def test_bad_input(tmp_path: Path, capsys: Capture, flags: list[str]) -> None:
    file, empty = write(tmp_path / "talk.txt", TALK), write(tmp_path / "empty.txt", "\n")
    trees = write(tmp_path / "t.mrg", "(TOP (S (NP (PRP We)) (VP (VBD saw))))\n" * 3)
    for given, message in (
        ([empty, *flags], "empty.txt: no text"),
        ([trees, *flags], "not text"),
        ([file, "--language", "id"], "--language id: ends of sentences were learned from English"),
        ([file, "--parser", "bllip"], "the parser chart finds the sentences, not bllip"),
        ([file, *flags, "--longest", "201"], "--longest must be at most 200, got 201"),
    ):
        assert main(["spoken", *given]) == 2
        assert message in capsys.readouterr().err, message
