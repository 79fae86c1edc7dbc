"""``rerank spoken``: transcripts in, trees out, with offsets and probabilities."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import reranker
from reranker.commands.main import main
from reranker.errors import InputError
from reranker.plugins.spoken.scores import Scores
from reranker.plugins.spoken.segmentation import best_ends
from reranker.plugins.spoken.transcript import SpokenOrigin
from reranker.scoring import pools
from tests.reranker.small_files import break_off_after, write
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


def test_a_model_of_another_language(tmp_path: Path, capsys: Capture) -> None:
    model = save_spans(tmp_path / "id.pt", 3, {"language": "id"})
    file = write(tmp_path / "talk.txt", TALK)
    assert main(["spoken", file, "--models", model, "--parser-model", model]) == 2
    assert "a model of Indonesian: ends of sentences were learned" in capsys.readouterr().err


def test_scores_are_those_of_the_window(flags: list[str]) -> None:
    scores = Scores(flags[1]).of(("we", "saw", "the", "man"), 3)
    assert scores.shape == (4, 4) and np.isfinite(scores).all()
    assert best_ends(scores)[-1] == 4


@pytest.mark.parametrize("output", ["best", "json"])
def test_an_interrupted_run_is_resumed(
    output: str,
    tmp_path: Path,
    capsys: Capture,
    flags: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pools, "BATCH_TOKENS", 1)  # one list at a time
    file, out = write(tmp_path / "talk.txt", TALK * 3), tmp_path / "out.txt"
    run = ["spoken", file, *flags, "--output", output]
    assert main(run) == 0
    expected = capsys.readouterr().out
    run += ["--out", str(out)]
    with monkeypatch.context() as patch:
        break_off_after(2, patch)
        assert main(run) == 2
    assert not out.exists() and "2 sentences are kept" in capsys.readouterr().err
    part = (tmp_path / "out.txt.part").read_text("utf-8")
    assert part.splitlines() == expected.splitlines()[:2]
    assert main([*run, "--resume", "--longest", "3"]) == 2  # other sentences
    assert "longest" in capsys.readouterr().err
    assert main([*run, "--resume"]) == 0
    assert "resuming after sentence 2" in capsys.readouterr().err
    assert out.read_text("utf-8") == expected


def test_from_python(tmp_path: Path, flags: list[str], caplog: pytest.LogCaptureFixture) -> None:
    model = flags[1]
    found = reranker.spoken(TALK, models=model, parser_model=model, jobs=1)
    assert " ".join(each.origin.text for each in found if each.origin).split() == (
        TALK.replace("A:", "").replace("B:", "").split()
    )
    for each in found:
        assert isinstance(each.origin, SpokenOrigin)
        assert 0 <= each.origin.end_probability <= 1
    assert reranker.spoken("", models=model, parser_model=model) == []
    with caplog.at_level("WARNING"):
        reranker.spoken("It was so. " * 70, models=model, parser_model=model, jobs=1)
    assert "text: has punctuation" in caplog.text
    for text, options, message in (
        (TALK, {"longest": 0}, "longest must be from 1 to 200, got 0"),
        ([TALK], {}, "expected a transcript as a string"),
        ("(TOP (NP (NN x)))\n" * 3, {}, "not text"),
    ):
        with pytest.raises(InputError, match=message):
            reranker.spoken(text, models=model, parser_model=model, **options)


def test_ends_are_known_of_transcripts_alone(tmp_path: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["parse", write(tmp_path / "t.txt", "We saw it."), "--output", "spoken"])
    assert "invalid choice: 'spoken'" in capsys.readouterr().err


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
