"""Brackets as a table."""

from __future__ import annotations

import csv
import io

import pytest

from reranker.nbest import from_candidates
from reranker.nbest.data import Certainty, Origin
from reranker.outputs.brackets import COLUMNS, Brackets
from reranker.ranking.rankings import Rankings
from reranker.ranking.sentence import ParsedSentence
from reranker.trees.tree import Tree
from tests.reranker.outputs.test_registry import ranking_of

TREE = Tree.from_string("(TOP (S (NP (PRP We)) (VP (VBD saw) (NP (PRP it))) (. !)))")
TEXT = 'We  "saw",\nit!'
ORIGIN = Origin("t", 2, TEXT, ((5, 7), (10, 13), (16, 18), (18, 19)), "ANNA")
_TAB = "\t"
SURE = Certainty({(0, 4, "S"): 0.95, (0, 1, "NP"): 0.123456, (1, 3, "VP"): 1.0}, 0.3)


def test_a_row_is_a_bracket_with_its_places_and_probability() -> None:
    sentence = ParsedSentence("6", TREE, origin=ORIGIN, certainty=SURE)
    assert Brackets().rows(sentence, 7).split("\n") == [
        '7\tTOP\t0\t4\t\t5\t19\t"We ""saw"", it!"\tANNA',
        '7\tS\t0\t4\t0.95\t5\t19\t"We ""saw"", it!"\tANNA',
        "7\tNP\t0\t1\t0.1235\t5\t7\tWe\tANNA",
        '7\tVP\t1\t3\t1.0\t10\t18\t"saw"", it"\tANNA',
        "7\tNP\t2\t3\t0.0\t16\t18\tit\tANNA",
    ]


def test_the_heading_stands_above_the_first_sentence() -> None:
    assert Brackets().begin() == "\t".join(COLUMNS) + "\n"
    assert Brackets().rows(ParsedSentence("0", TREE), 1).split("\n")[2] == "1\tNP\t0\t1\t\t\t\tWe\t"


def test_commas_are_quoted_as_spreadsheets_read_them() -> None:
    table = Brackets().with_commas()
    assert isinstance(table, Brackets)
    sentence = ParsedSentence("0", TREE, origin=ORIGIN, certainty=SURE)
    text = table.begin() + table.rows(sentence, 1)
    heading, *rows = csv.reader(io.StringIO(text))
    assert heading == [*COLUMNS]
    assert rows[1] == ["1", "S", "0", "4", "0.95", "5", "19", 'We "saw", it!', "ANNA"]


@pytest.mark.parametrize("tree", [None, Tree.from_string("(NN tea)")])
def test_a_sentence_without_brackets_is_a_row(tree: Tree | None) -> None:
    assert Brackets().rows(ParsedSentence("0", tree), 2) == f"2{7 * _TAB}{'tea' if tree else ''}\t"


def test_pandas_has_the_same_names_and_values() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    ranking = ranking_of(from_candidates(["(S (NP (NN a)) (VP (VB c)))"]))
    frame = Rankings([ranking]).to_pandas()
    assert set(COLUMNS) <= set(frame.columns)
    rows = [*csv.reader(io.StringIO(Brackets().line(ranking, 1)), "excel-tab")]
    for name in ("label", "start", "end", "text"):
        assert [row[COLUMNS.index(name)] for row in rows] == [*map(str, frame[name])]
