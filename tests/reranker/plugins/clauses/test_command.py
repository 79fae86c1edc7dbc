"""``rerank clauses`` and ``reranker.clauses``: files of every kind in, three outputs out."""

from __future__ import annotations

import csv
import io
import json
import logging
from pathlib import Path

import pytest

import reranker
from reranker.commands.main import main
from reranker.trees.tree import Tree
from tests.reranker.small_files import bllip, write
from tests.reranker.span_models import save_spans

Capture = pytest.CaptureFixture[str]

SAID = "(TOP (S (NP (PRP I)) (VP (VBD said) (SBAR (S (NP (PRP he)) (VP (VBD left))))) (. .)))"
FLAT = "(TOP (S (NP (PRP I)) (VP (VBD said) (NP (PRP he) (VBD left))) (. .)))"


def test_outputs_of_trees(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "t.mrg", SAID)
    assert main(["clauses", file, "--json"]) == 0
    inner = {
        "kind": "complement", "labels": "SBAR S", "finite": True, "span": [7, 14],
        "own": [[7, 14]], "subject": [7, 9], "predicate": [[10, 14]], "parent": 0,
        "probability": None,
    }  # fmt: skip
    written = json.loads(capsys.readouterr().out)
    assert written["clauses"][1] == inner
    assert written["clauses"][0]["own"] == [[0, 6], [15, 16]]
    assert (written["file"], written["line"], written["text"]) == (file, 1, "I said he left .")
    assert main(["clauses", file, "--conllu"]) == 0
    assert capsys.readouterr().out.splitlines()[3:6] == [
        "# clause 0 = kind=main labels=S finite=yes span=1-5 own=1-2,5-5 subject=1-1 predicate=2-4",
        "# clause 1 = kind=complement labels=SBAR+S finite=yes span=3-4 own=3-4 subject=3-3 "
        "predicate=4-4 parent=0",
        "1\tI\t_\tPRON\tPRP\t_\t_\t_\t_\tConstituency=(TOP(S(NP*)",
    ]


@pytest.mark.parametrize(("flags", "delimiter"), [([], "\t"), (["--csv"], ",")])
def test_a_table_has_words_and_no_ranges(
    flags: list[str], delimiter: str, tmp_path: Path, capsys: Capture
) -> None:
    """Spreadsheets take 8-11 for a date."""
    file = write(tmp_path / "t.mrg", SAID)
    assert main(["clauses", file, *flags]) == 0
    rows = [*csv.DictReader(io.StringIO(capsys.readouterr().out), delimiter=delimiter)]
    assert rows == [
        {
            "file": file, "line": "1", "clause": "0", "parent": "", "kind": "main", "labels": "S",
            "finite": "yes", "probability": "", "start": "0", "end": "16",
            "words": "I said he left .", "own": "I said … .", "subject": "I",
            "predicate": "said he left", "sentence": "I said he left .", "speaker": "",
        },
        {
            "file": file, "line": "1", "clause": "1", "parent": "0", "kind": "complement",
            "labels": "SBAR S", "finite": "yes", "probability": "", "start": "7", "end": "14",
            "words": "he left", "own": "he left", "subject": "he", "predicate": "left",
            "sentence": "I said he left .", "speaker": "",
        },
    ]  # fmt: skip


def test_clauses_are_counted_by_kind(tmp_path: Path, capsys: Capture) -> None:
    one, two = write(tmp_path / "1.mrg", SAID), write(tmp_path / "2.mrg", f"{SAID}\n{SAID}")
    head = "file\tsentences\tclauses\tmain\tcoordinate\tcomplement\trelative\tadverbial\t"
    assert main(["clauses", one, "--count"]) == 0
    row = f"{one}\t1\t2\t1\t0\t1\t0\t0\t0\n"
    assert capsys.readouterr().out == f"{head}parenthetical\n{row}"
    assert main(["clauses", one, two, "--count", "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        f"{two},2,4,2,0,2,0,0,0",
        "all,3,6,3,0,3,0,0,0",
    ]
    assert main(["clauses", one, "--count", "--json"]) == 2
    assert "--count writes a table" in capsys.readouterr().err


def test_lists_give_probabilities(tmp_path: Path, capsys: Capture) -> None:
    """The scores are of base 2 and one apart: two to one."""
    file = write(tmp_path / "n.txt", bllip([SAID, FLAT]))
    assert main(["clauses", file, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["clauses"]
    assert (first["probability"], second["probability"]) == (1.0, 0.6667)


@pytest.mark.filterwarnings("ignore:text")  # untrained models know no English words
def test_text_has_offsets_into_the_file(
    tmp_path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    """An untrained parser, which knows tags: what it finds differs, the places do not."""
    span_model = save_spans(tmp_path / "spans.pt", 3, minimum_tags=1)
    text = "It ran.\n\n  We saw (the man) on Monday.\n\n" + "word " * 300 + "."
    file = write(tmp_path / "t.txt", text)
    flags = ["--parser-model", span_model, "--jobs", "1", "--json"]
    assert main(["clauses", file, *flags]) == 1
    printed = capsys.readouterr()
    assert f"{file}:5: not parsed: 301 words, more than 200" in printed.err
    written = [json.loads(line) for line in printed.out.splitlines()]
    given = reranker.clauses(text, parser_model=span_model)
    assert "text:5: not parsed: 301 words" in caplog.text
    assert written and [each["text"] for each in written] == [each.text for each in given]
    for sentence, same in zip(written, given, strict=True):
        for clause, other in zip(sentence["clauses"], same.clauses, strict=True):
            start, end = clause["span"]
            assert text[start:end] in sentence["text"] and (start, end) == other.span
            assert clause["probability"] == other.probability and 0 <= other.probability <= 1
    assert main(["clauses", file, *flags, "--temperature", "2"]) == 1  # that of the model
    lists = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [len(each["clauses"]) for each in lists] == [len(each["clauses"]) for each in written]


def test_what_has_no_clauses_is_named(
    tmp_path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    indonesian = "(TOP (S (NP (PRO Dia)) (VP (VBI pergi))))"
    flat = "(TOP (S (PRP It) (VBD ran)))"
    file = write(tmp_path / "t.mrg", f"{indonesian}\n{flat}\n{SAID}\n(S (NP")
    empty = write(tmp_path / "e.mrg", "")
    assert main(["clauses", file, empty]) == 1
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 3  # a heading, two clauses
    for written in (
        f"{file}:1: left out: its words have no tags of the Penn Treebank",
        f"{file}:2: left out: a flat tree",
        f"{file}:4: tree rejected, unbalanced",
        f"{empty}: there is no sentence",
    ):
        assert f"rerank: {written}" in printed.err
    assert main(["clauses", empty]) == 2
    assert main(["clauses", file, "--language", "id"]) == 2
    assert "--language id: clauses are defined by the labels of English" in capsys.readouterr().err
    with caplog.at_level(logging.WARNING):
        assert len(reranker.clauses(map(Tree.from_string, (flat, SAID)))) == 1
    assert "trees:1: left out: a flat tree" in caplog.text


def test_clauses_of_a_transcript_have_its_speakers(tmp_path: Path, capsys: Capture) -> None:
    lists = write(tmp_path / "lists", bllip([SAID], [SAID]))
    file = write(tmp_path / "t.txt", "ANNA: I said he left.\nDr. Meyer: I said he left.\n")
    flags = ["--parser-command", f"cat {lists}", "--speakers"]
    assert main(["clauses", file, *flags, "--json"]) == 0
    written = [json.loads(line)["speaker"] for line in capsys.readouterr().out.splitlines()]
    assert written == ["ANNA", "Dr. Meyer"]
    assert main(["clauses", file, *flags]) == 0
    rows = [*csv.DictReader(io.StringIO(capsys.readouterr().out), delimiter="\t")]
    assert [row["speaker"] for row in rows] == ["ANNA", "ANNA", "Dr. Meyer", "Dr. Meyer"]
