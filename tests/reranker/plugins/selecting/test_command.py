"""``rerank select``: text in, the sentences to annotate out."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from reranker.commands.main import main
from reranker.plugins.grep.parses import Parses
from reranker.plugins.selecting.choosing import Uncertain
from reranker.plugins.selecting.sentence import uncertain
from reranker.trees.tree import Tree
from tests.reranker.small_files import write
from tests.reranker.span_models import save_spans

Capture = pytest.CaptureFixture[str]
TEXT = "We saw the man.\nWe saw 2 men.\nWe saw 3 men.\nThe man saw us on Monday.\n"


@pytest.fixture
def flags(tmp_path: Path) -> list[str]:
    model = save_spans(tmp_path / "spans.pt", 3)
    return ["--as", "sentences", "--parser-model", model, "--most-new", "1"]


def test_a_table_trees_and_what_is_left_out(
    tmp_path: Path, capsys: Capture, flags: list[str]
) -> None:
    text = write(tmp_path / "t.txt", TEXT + "word " * 10_000 + "\n")
    empty = write(tmp_path / "e.txt", "")
    assert main(["select", text, empty, *flags, "-n", "2"]) == 1
    out, err = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) == 2
    for row in rows:
        assert row["file"] == text
        assert row["sentence"] == TEXT.splitlines()[int(row["line"]) - 1]
        assert int(row["words"]) == len(Tree.from_string(row["tree"]).words())
        assert float(row["entropy_a_word"]) == pytest.approx(
            float(row["entropy"]) / int(row["words"]), rel=1e-3
        )
    assert f"{text}:5: not parsed: a part of more than 32,768 characters" in err
    assert f"{empty}: there is no sentence" in err
    assert "chose 2 of 4 sentences" in err and "1 with the same words" in err
    assert "2 that could not be used" in err
    assert main(["select", text, *flags, "-n", "2", "--output", "trees"]) == 1
    assert capsys.readouterr().out.splitlines() == [row["tree"] for row in rows]


def test_a_run_with_an_output_can_be_resumed(
    tmp_path: Path, capsys: Capture, flags: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, out = write(tmp_path / "t.txt", TEXT), tmp_path / "next.tsv"
    run = ["select", text, *flags, "--budget", "9"]
    assert main(run) == 0
    printed = capsys.readouterr().out
    seen: list[int] = []

    def stops(parses: Parses) -> Uncertain:
        seen.append(parses.line)
        if parses.line == 3:
            raise KeyboardInterrupt
        return uncertain(parses)

    monkeypatch.setattr("reranker.plugins.selecting.command.uncertain", stops)
    assert main([*run, "--out", str(out)]) == 130
    assert seen == [1, 2, 3] and not out.exists()
    monkeypatch.undo()
    assert main([*run, "--out", str(out), "--resume"]) == 0
    assert "resuming after sentence 2" in capsys.readouterr().err
    assert out.read_text("utf-8") == printed


def test_annotated_sentences_are_left_out(
    tmp_path: Path, capsys: Capture, flags: list[str]
) -> None:
    text = write(tmp_path / "t.txt", TEXT)
    done = "(TOP (S (NP (PRP We)) (VP (VBD saw) (NP (DT the) (NN man))) (. .)))"
    folder = tmp_path / "done"
    folder.mkdir()
    write(folder / "a.mrg", done)
    assert main(["select", text, *flags, "--annotated", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert "We saw the man." not in out and "The man saw us" in out
    assert "1 nearly like annotated ones" in err


def test_usage(tmp_path: Path, capsys: Capture, flags: list[str]) -> None:
    text, empty = write(tmp_path / "t.txt", TEXT), write(tmp_path / "e.mrg", "")
    for given, message in (
        (["-n", "0"], "is not a whole number from 1 to 10,000"),
        (["--budget", "0"], "is not a whole number of at least 1"),
        (["--most-new", "2"], "is not a number from 0 to 1"),
        (["--annotated", "-"], "-: a treebank of --annotated must be a file or a folder"),
        (["--annotated", str(tmp_path / "no.mrg")], "no.mrg"),
        (["--annotated", empty], "contains no trees"),
        (["--annotated", text, "--out", text], "t.txt"),
    ):
        try:
            status = main(["select", text, *flags, *given])
        except SystemExit as stopped:
            status = int(stopped.code or 0)
        assert status == 2, given
        assert message in capsys.readouterr().err, given
    trees = write(tmp_path / "t.mrg", "(TOP (NP (NN x)))")
    assert main(["select", trees]) == 1
    assert "nothing says how probable its trees are" in capsys.readouterr().err


def test_sentences_of_another_language(tmp_path: Path, capsys: Capture, flags: list[str]) -> None:
    text = write(tmp_path / "t.txt", "Das hier ist kein Englisch.\nWe saw the man.\n")
    assert main(["select", text, *flags[:-1], "0.8"]) == 1
    out, err = capsys.readouterr()
    assert "t.txt:1: left out: 5 of 5 words are new to the parser: another language?" in err
    assert "kein" not in out and "We saw" in out
