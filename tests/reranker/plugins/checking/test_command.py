"""``rerank check`` and ``reranker.check``: treebanks in, a table and a page out."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

import reranker
from reranker.commands.main import main
from reranker.errors import InputError
from reranker.nbest.data import NBest, Sentence
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser
from reranker.plugins.checking.evidence import Evidence
from reranker.plugins.checking.page import Row, in_words, is_doubtful, page
from reranker.plugins.checking.suspicion import Place
from reranker.trees.constituents import brackets
from reranker.trees.tree import Tree
from tests.reranker.small_files import write
from tests.reranker.span_models import save_spans

Capture = pytest.CaptureFixture[str]

TREE = "(TOP (S (NP (PRP We)) (VP (VBD saw) (NP (DT the) (NN <man>))) (. .)))"


@pytest.fixture
def model(tmp_path: Path) -> str:
    return save_spans(tmp_path / "spans.pt", 3)


def test_a_table_a_page_and_python(
    tmp_path: Path, capsys: Capture, model: str, caplog: pytest.LogCaptureFixture
) -> None:
    long = f"(TOP (S {'(NN x) ' * 10_000}))"
    file = write(tmp_path / "t.mrg", f"{TREE}\n(S (NP\n(TOP (S (XX x) (XX y)))\n{long}\n{TREE}\n")
    empty, page = write(tmp_path / "e.mrg", ""), tmp_path / "page.html"
    flags = ["--parser-model", model, "--most", "5", "--html", str(page)]
    assert main(["check", file, empty, *flags]) == 1
    printed = capsys.readouterr()
    for expected in (
        f"{file}:2: tree rejected, unbalanced",
        f"{file}:3: left out: a flat tree",
        f"{file}:4: left out: 10000 words, more than the 500",
        f"{empty}: there is no sentence",
    ):
        assert f"rerank: {expected}" in printed.err
    rows = list(csv.DictReader(io.StringIO(printed.out), delimiter="\t"))
    assert len(rows) == 5 and {row["line"] for row in rows} == {"1", "5"}
    suspicions = [float(row["suspicion"]) for row in rows]
    assert suspicions == sorted(suspicions, reverse=True)
    with caplog.at_level(logging.WARNING):
        same = reranker.check([file], most=5, parser_model=model)
    assert f"{file}:4: left out: 10000 words" in caplog.text
    assert [f"{each.place.suspicion:.4g}" for each in same] == [row["suspicion"] for row in rows]
    assert main(["check", file, *flags, "--json"]) == 1
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["suspicion"] for each in objects] == [each.place.suspicion for each in same]
    html = page.read_text("utf-8")
    assert html.count("<svg") == html.count("<section>") > 0 and "<man>" not in html
    assert "&lt;man&gt;" in html and re.search(r">\*?NP<", html)


def test_a_file_is_one_name_and_an_iterator_several(tmp_path: Path, model: str) -> None:
    file = write(tmp_path / "t.mrg", TREE)
    expected = reranker.check([file], parser_model=model)
    assert expected  # one name is not a list of letters, of which / would be a folder
    for files in (file, Path(file), iter([file])):
        assert reranker.check(files, parser_model=model) == expected
    wrong: list[Any] = [None, 3, [None], [Tree.from_string(TREE)]]
    for each in wrong:
        with pytest.raises(InputError, match="expected the names of treebank files, got"):
            reranker.check(each, parser_model=model)
    wrong = [0, -1, "x"]
    for each in wrong:
        with pytest.raises(InputError, match=f"most must be a positive integer, got {each!r}"):
            reranker.check(file, most=each, parser_model=model)


def test_what_is_said_of_a_place() -> None:
    sure = Place(-9.0, 0, 2, "NP", 0.999, "", None, 0, 4, False, "the <dog>")
    assert not is_doubtful(sure)
    expected = "<b>NP</b> around “the &lt;dog&gt;”: probability "
    odd = sure._replace(probability=0.001, likely="VP", likely_probability=0.995)
    assert in_words(odd) == f"{expected}below 0.01; the parser expects <b>VP</b> (above 0.99)"
    varied = sure._replace(probability=0.75, others=3, is_alone=True)
    assert in_words(varied) == (
        f"{expected}0.75; of 4 places with these words, 3 differ; no other place has these labels"
    )
    missing = sure._replace(gold="", probability=None, likely="PP", likely_probability=0.6)
    assert in_words(missing).startswith("no bracket around “the &lt;dog&gt;”: the parser expects")
    assert all(map(is_doubtful, (odd, varied, missing)))
    row = Row("f&g", 3, odd, "(TOP (NP (DT the) (NN <dog>)))", "(TOP (VP (DT the) (NN <dog>)))")
    html = "".join(page([row._replace(line=9, place=sure), row]))
    assert "<h2>f&amp;g:3</h2>" in html and html.count("<svg") == 1
    assert ">*NP<" in html and ">*VP<" in html
    assert "None." in "".join(page([row._replace(place=sure)]))


def test_probabilities_are_those_of_the_chart(model: str) -> None:
    expected = Evidence(model).of(("we", "saw", "it"), ("PRP", "VBD", "PRP"))
    best = Tree.from_string(expected.tree)
    assert best.leaves() == ["we", "saw", "it"] and best.tags() == ["PRP", "VBD", "PRP"]
    parser = create_parser("chart", ParserSettings(model=model))
    (nbest,) = parser.parse([Sentence(("we", "saw", "it"))])
    assert isinstance(nbest, NBest) and nbest.certainty is not None
    for key, value in nbest.certainty.probabilities.items():
        assert expected.probabilities[key] == pytest.approx(value, abs=1e-6)
    assert all(value <= 1.001 for value in expected.probabilities.values()) and brackets(best)


def test_a_treebank_of_another_language(
    tmp_path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture, model: str
) -> None:
    """Its labels may be those of the model's."""
    file = write(tmp_path / "t.mrg", "(TOP (S (NP (X saya)) (VP (X lihat) (NP (X apa) (X itu)))))")
    assert main(["check", file, "--parser-model", model]) == 0
    expected = f"{file}: 4 of the first 4 words are unknown. If this is not English"
    assert expected in capsys.readouterr().err
    with caplog.at_level(logging.WARNING):
        reranker.check([file], parser_model=model)
    assert expected in caplog.text


def test_usage(tmp_path: Path, capsys: Capture, model: str) -> None:
    file = write(tmp_path / "t.mrg", TREE)
    for flags, message in (
        (["-"], "-: a treebank is read three times, so it must be a file"),
        ([file, "--html", file], "is also an input"),
        ([file, "--html", "x", "--out", "x"], "two outputs are the same file"),
        ([file, "--language", "xx"], "xx"),
        ([write(tmp_path / "b.txt", "It ran.")], "no sentence with a tree"),
    ):
        assert main(["check", *flags, *([] if "xx" in flags else ["--parser-model", model])]) == 2
        assert message in capsys.readouterr().err, message
