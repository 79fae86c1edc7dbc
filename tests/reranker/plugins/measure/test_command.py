"""``rerank measure`` and ``reranker.measure``: files of every kind in, tables and messages out."""

from __future__ import annotations

import csv
import io
import json
import logging
import sys
from pathlib import Path

import nltk
import pytest

import reranker
from reranker.commands.main import main
from reranker.errors import InputError
from reranker.parsers.parser import CANDIDATES, ParserSettings
from reranker.parsers.registry import create_parser
from reranker.plugins.measure.measures import RATIOS
from reranker.trees.tree import Tree
from tests.reranker.small_files import bllip, write
from tests.reranker.span_models import save_spans

Capture = pytest.CaptureFixture[str]

RAN = "(TOP (S (NP (PRP It)) (VP (VBD ran)) (. .)))"
MAN = (
    "(TOP (S (NP (NP (DT The) (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBD came)))))"
    " (VP (VBD left))))"
)
FLAT = "(TOP (S (NP (DT The) (NN man) (WP who) (VBD came)) (VP (VBD left))))"


def table(text: str, delimiter: str = "\t") -> dict[str, dict[str, str]]:
    """Return the table by measure."""
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    return {row["measure"]: row for row in rows}


def test_a_treebank_has_one_tree_a_sentence(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "t.mrg", f"{RAN}\n{MAN}\n")
    for flags, delimiter in ([], "\t"), (["--csv"], ","):
        assert main(["measure", file, *flags]) == 0
        rows = table(capsys.readouterr().out, delimiter)
        assert list(rows)[-21:] == list(RATIOS)
        assert rows["C"] == {
            "file": file, "measure": "C", "value": "3.0", "expected": "3.0", "parses": "0.0",
            "sentences": "",
        }  # fmt: skip
        assert rows["MLT"]["value"] == "3.5" and rows["MLT"]["sentences"] == "1.5"
    assert main(["measure", file, "--json"]) == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert objects[2] == {
        "file": file, "measure": "VP", "value": 3.0, "expected": 3.0, "parses": 0.0,
        "sentences": None,
    }  # fmt: skip


def test_lists_have_an_expectation_and_a_spread(tmp_path: Path, capsys: Capture) -> None:
    """The scores are of base 2 and one apart: two to one."""
    file = write(tmp_path / "n.txt", bllip([MAN, FLAT]))
    assert main(["measure", file, "--by", "sentence"]) == 0
    rows = table(capsys.readouterr().out)
    assert rows["DC"] == {
        "file": file, "line": "1", "measure": "DC", "value": "1.0", "expected": "0.667",
        "parses": "0.471",
    }  # fmt: skip


def test_two_texts_are_compared(tmp_path: Path, capsys: Capture) -> None:
    first, second = (
        write(tmp_path / "a.mrg", f"{RAN}\n{MAN}"),
        write(tmp_path / "b.mrg", f"{MAN}\n" * 3),
    )
    assert main(["measure", first, second]) == 0
    rows = table(capsys.readouterr().out)
    assert list(rows) == list(RATIOS)
    assert rows["C/S"] == {
        "measure": "C/S", first: "1.5", second: "2.0", "difference": "0.5", "parses": "0.0",
        "sentences": "0.5", "z": "1.0",
    }  # fmt: skip
    assert main(["measure", first, second, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[3])["second"] == 2.0
    assert main(["measure", first, second, write(tmp_path / "c.mrg", RAN)]) == 0
    assert {row["file"] for row in csv.DictReader(
        io.StringIO(capsys.readouterr().out), delimiter="\t")} >= {first, second}  # fmt: skip


def test_what_cannot_be_measured_is_named(tmp_path: Path, capsys: Capture) -> None:
    untagged = "(TOP (S (XX It) (XX ran)))"
    file = write(
        tmp_path / "t.mrg", f"{untagged}\n(S (NP\n\n(TOP (-NONE- *))\n{RAN}\n(S (NN it) ran)\n"
    )
    assert main(["measure", file]) == 1
    printed = capsys.readouterr()
    assert table(printed.out)["S"]["value"] == "1.0"
    for line, reason in (
        (1, "left out: its words have no part-of-speech tags"),
        (2, "tree rejected, unbalanced"),
        (4, "left out: there are no word tokens"),
        (6, "left out: a leaf that is not (TAG word): (S (NN it) ran)"),
    ):
        assert f"rerank: {file}:{line}: {reason}" in printed.err
    assert main(["measure", write(tmp_path / "u.mrg", untagged)]) == 2
    assert "no sentence could be measured" in capsys.readouterr().err
    # Half of a comparison would look like one text's measures.
    assert main(["measure", file, write(tmp_path / "u.mrg", untagged)]) == 2
    assert f"nothing to compare with: all measured is {file}" in capsys.readouterr().err


def test_an_empty_file_is_named(tmp_path: Path, capsys: Capture, span_model: str) -> None:
    """First, between others and last, of text and of trees."""
    contents = {"a.txt": "", "b.txt": " \n", "c.txt": "", "d.txt": "\n", "e.mrg": ""}
    empty = [write(tmp_path / name, content) for name, content in contents.items()]
    full = [write(tmp_path / f"{name}.txt", "It ran.") for name in "123"]
    files = [empty[0], full[0], empty[1], empty[2], full[1], empty[3], full[2], empty[4]]
    assert main(["measure", *files, "--parser-model", span_model, "--jobs", "1"]) == 1
    printed = capsys.readouterr()
    messages = [
        line for line in printed.err.splitlines() if line.endswith(": there is no sentence")
    ]
    assert sorted(messages) == sorted(f"rerank: {name}: there is no sentence" for name in empty)
    assert {line.split("\t")[0] for line in printed.out.splitlines()[1:]} == {*full}


def test_trees_from_python() -> None:
    measured = reranker.measure([Tree.from_string(RAN), nltk.Tree.fromstring(MAN)])
    rows = {row.measure: row for row in measured.rows}
    assert rows["C/T"].value == 1.5 and rows["W"].value == 7
    frame = measured.to_pandas()
    assert list(frame.columns) == ["measure", "value", "expected", "parses", "sentences"]
    assert frame.set_index("measure").value["C/T"] == 1.5
    by_sentence = measured.to_pandas("sentence")
    words = by_sentence[by_sentence.measure == "W"]
    assert list(words.value) == [2, 5] and list(words.sentence) == [0, 1]
    (same,) = {row.difference for row in measured.compare(measured)}
    assert same == 0


@pytest.mark.filterwarnings("ignore:text")  # untrained models know no English words
def test_text_from_python_is_that_of_the_command(
    tmp_path: Path, capsys: Capture, span_model: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = "It ran. The man who came left."
    flags = ["--parser-model", span_model, "--jobs", "1", "--json"]
    assert main(["measure", write(tmp_path / "t.txt", text), *flags]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    measured = reranker.measure(text, parser_model=span_model)
    parser = create_parser("chart", ParserSettings(model=span_model, candidates=CANDIDATES))
    assert [*reranker.measure(text, parser=parser).rows] == [*measured.rows]
    with pytest.raises(InputError, match="only for a parser"):
        reranker.measure(text, parser=parser, parser_model=span_model)
    assert [row["expected"] for row in printed] == [
        None if row.expected is None else round(row.expected, 6) for row in measured.rows
    ]
    with caplog.at_level(logging.WARNING):
        assert reranker.measure("word " * 300, parser_model=span_model).sentences == []
    assert "text:1: not parsed: 300 words, more than 200" in caplog.text


@pytest.mark.filterwarnings("ignore:text")  # untrained models know no English words
@pytest.mark.parametrize("speakers", [None, True, False])
def test_speakers_are_no_words(
    tmp_path: Path,
    capsys: Capture,
    speakers: bool | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    span_model = save_spans(tmp_path / "spans.pt", 3, minimum_tags=1)
    caplog.set_level(logging.INFO)
    text = "Anna: We saw it.\nBen: It ran.\nAnna: Did it?\n"
    flags = {None: [], True: ["--speakers"], False: ["--no-speakers"]}[speakers]
    flags += ["--parser-model", span_model, "--jobs", "1", "--json"]
    assert main(["measure", write(tmp_path / "t.txt", text), *flags]) == 0
    printed = capsys.readouterr()
    assert ("(--no-speakers: words)" in printed.err) == (speakers is None)
    values = {row["measure"]: row["value"] for row in map(json.loads, printed.out.splitlines())}
    caplog.clear()
    measured = reranker.measure(text, parser_model=span_model, speakers=speakers)
    assert ("(speakers false: words)" in caplog.text) == (speakers is None)
    found = reranker.clauses(text, parser_model=span_model, speakers=speakers)
    lines = text.splitlines() if speakers is False else ["We saw it.", "It ran."]
    assert [sentence.text for sentence in found][:2] == lines[:2]
    assert values == {
        row.measure: None if row.value is None else round(row.value, 6) for row in measured.rows
    }


@pytest.mark.filterwarnings("ignore:text")
def test_prose_is_chosen_by_the_flag_that_a_message_names(tmp_path: Path, capsys: Capture) -> None:
    span_model = save_spans(tmp_path / "spans.pt", 3, minimum_tags=1)
    file = write(tmp_path / "t.txt", "The man left Anna\nJones.\n")
    flags = ["--parser-model", span_model, "--jobs", "1", "--by", "sentence", "--json"]
    for more, sentences in ([], 2), (["--as", "prose"], 1):
        assert main(["measure", file, *flags, *more]) == 0
        printed = capsys.readouterr()
        lines = {json.loads(line)["line"] for line in printed.out.splitlines()}
        assert len(lines) == sentences
        assert ("(--as prose: they do not)" in printed.err) == (sentences == 2)


def test_pandas_is_not_needed_for_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    measured = reranker.measure([Tree.from_string(RAN)])
    assert len(measured.rows) == 30
    with pytest.raises(InputError, match="needs pandas"):
        measured.to_pandas()
