"""CoNLL-U carries the whole tree: what is read back is what was written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reranker.errors import InputError
from reranker.nbest.data import Origin
from reranker.outputs.conllu import from_conllu, to_conllu
from reranker.outputs.upos import upos
from reranker.ranking.sentence import ParsedSentence, with_words_only
from reranker.trees.tree import Tree
from tests.reranker.outputs.any_trees import TREES

TEXT = 'She "met"\n(him)'
ORIGIN = Origin(
    "t.txt", 3, TEXT, ((10, 13), (14, 15), (15, 18), (18, 19), (20, 21), (21, 24), (24, 25))
)
TREE = Tree.from_string(
    "(TOP (S (NP (PRP She)) (VP (`` ``) (VBD met) ('' '') (PRN (-LRB- -LRB-) (NP (PRP him)) "
    "(-RRB- -RRB-)))))"
)


def test_a_sentence_with_its_text() -> None:
    written = to_conllu(ParsedSentence("7", TREE, -12.25, ORIGIN))
    comments, rows = written.split("\n1\t")
    assert comments.splitlines() == [
        "# sent_id = 7",
        "# source = t.txt:3",
        "# score = -12.25",
        '# text = She "met" (him)',
        f"# constituency = {TREE.to_string()}",
    ]
    assert rows.endswith("\n\n")
    columns = [row.split("\t") for row in f"1\t{rows}".splitlines() if row]
    assert all([row[2], *row[5:9]] == ["_"] * 5 for row in columns)
    assert [row[3] for row in columns] == [upos(row[4]) or "_" for row in columns]
    assert [(row[0], row[1], row[4], row[9]) for row in columns] == [
        ("1", "She", "PRP", "Constituency=(TOP(S(NP*)|start_char=10|end_char=13"),
        ("2", '"', "``", "Constituency=(VP*|Leaf=``|SpaceAfter=No|start_char=14|end_char=15"),
        ("3", "met", "VBD", "Constituency=*|SpaceAfter=No|start_char=15|end_char=18"),
        ("4", '"', "''", "Constituency=*|Leaf=''|start_char=18|end_char=19"),
        (
            "5",
            "(",
            "-LRB-",
            "Constituency=(PRN*|Leaf=-LRB-|SpaceAfter=No|start_char=20|end_char=21",
        ),
        ("6", "him", "PRP", "Constituency=(NP*)|SpaceAfter=No|start_char=21|end_char=24"),
        ("7", ")", "-RRB-", "Constituency=*))))|Leaf=-RRB-|start_char=24|end_char=25"),
    ]
    assert list(from_conllu(written.splitlines(keepends=True))) == [TREE]


def test_without_text_words_are_those_of_the_tree() -> None:
    rows = to_conllu(ParsedSentence("0", Tree.from_string("(S (NP It) (VP runs) .)"))).splitlines()
    assert rows[3:6] == [
        "1	It	_	_	NP	_	_	_	_	Constituency=(S*",
        "2	runs	_	_	VP	_	_	_	_	Constituency=*",
        "3	.	_	_	_	_	_	_	_	Constituency=*)",
    ]


def test_a_sentence_of_which_nothing_is_known() -> None:
    written = to_conllu(ParsedSentence("0", None))
    assert (
        written == "# sent_id = 0\n# text = _\n1	_	_	_	_	_	_	_	_	_\n\n"
    )
    assert list(from_conllu(written.split("\n"))) == [None]


def test_the_example_of_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "output.md").read_text("utf-8")
    (example,) = re.findall(r"^```\n(# sent_id.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tree,) = from_conllu(example.splitlines())
    offsets = ((0, 2), (3, 6), (7, 8), (8, 10), (10, 11), (11, 12))
    origin = Origin("text.txt", 1, "We saw (it).", offsets)
    assert to_conllu(ParsedSentence("0", tree, -52.1034, origin)) == f"{example}\n"


@settings(deadline=None, max_examples=25)
@given(st.lists(TREES, min_size=1, max_size=3))
def test_every_tree_is_read_back(trees: list[Tree]) -> None:
    kept = [with_words_only(tree) for tree in trees]
    written = "".join(to_conllu(ParsedSentence(str(n), tree)) for n, tree in enumerate(kept))
    lines = written.split("\n")
    assert list(from_conllu(lines)) == kept
    for line in filter(None, lines):
        assert line.startswith("# ") or line.count("\t") == 9


@pytest.mark.parametrize(
    "bits, message",
    [
        (["(S*", "*"], "2: the brackets of the sentence are not one tree"),
        (["(S*)", "(S*)"], "not one tree"),
        (["(S*))", "*"], "word 1 closes more than is open"),
        (["(S*", "S)"], "word 2 has no brackets"),
        (["(S*", ""], "word 2 has no brackets"),
    ],
)
def test_wrong_brackets_are_named(bits: list[str], message: str) -> None:
    rows = [f"{n}\ta\t_\tNOUN\tNN\t_\t_\t_\t_\tConstituency={bit}" for n, bit in enumerate(bits, 1)]
    with pytest.raises(InputError, match=f"^x.conllu:.*{message}"):
        list(from_conllu(["# text = a a", *rows, ""], "x.conllu"))


@pytest.mark.parametrize("code", ["110000", "ffffff", "d0000000", "0"])
def test_what_is_no_character_is_not_unescaped(code: str) -> None:
    row = f"1\ta\t_\tNOUN\tNN\t_\t_\t_\t_\tConstituency=(A\\u{code};*)|Leaf=\\u10ffff;"
    (tree,) = from_conllu([row])
    assert tree == Tree(f"A\\u{code};", (Tree("NN", ("\U0010ffff",)),))


def test_other_rows_and_columns() -> None:
    rows = to_conllu(ParsedSentence("0", Tree.from_string("(S (NN a) (NN b))"))).split("\n")
    ranges = ["1-2\tab" + "\t_" * 8, "0.1\tx" + "\t_" * 8]
    assert list(from_conllu([*rows[:3], *ranges, *rows[3:]])) == [
        Tree.from_string("(S (NN a) (NN b))")
    ]
    with pytest.raises(InputError, match=r"^CoNLL-U:1: 2 columns, not 10"):
        list(from_conllu(["1\ta"]))


def test_the_preposition_to_is_an_adposition_whatever_its_tag() -> None:
    text = "(VP (VB go) (PP ({} to) (NP (NN school))) (S (VP (TO to) (VP (VB learn)))))"
    for tag in ("IN", "TO"):
        written = to_conllu(ParsedSentence("7", Tree.from_string(text.format(tag))))
        columns = [row.split("\t") for row in written.splitlines() if row and row[0] != "#"]
        found = [(row[3], row[4]) for row in columns if row[1] == "to"]
        assert found == [("ADP", tag), ("PART", "TO")]
