import nltk
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reranker.trees import Tree
from reranker.trees.splitting import TreeLines, split_trees


@pytest.mark.parametrize(
    ("text", "is_complete"),
    [("(S (NN a)", False), ("(S (NN \\))", False), ("(NN a)", True), ("))", True), ("no", True)],
)
def test_a_tree_is_complete_when_its_brackets_balance(text: str, is_complete: bool) -> None:
    tree = TreeLines()
    assert tree.add(7, text) == is_complete
    assert tree.is_open
    assert tree.take() == (7, text)
    assert not tree.is_open


def split(text: str) -> list[tuple[int, str]]:
    pieces = split_trees(text.splitlines(True))
    return [(piece.line, " ".join(piece.text.split())) for piece in pieces if piece.text]


def test_split_one_tree_per_line() -> None:
    assert split("(NN a)\n\n(NN b)\n(NN c)") == [(1, "(NN a)"), (3, "(NN b)"), (4, "(NN c)")]


def test_split_pretty_printed_trees() -> None:
    pretty = nltk.Tree.fromstring("(S (NP (PRP It)) (VP (VBZ runs) (ADVP (RB fast))))").pformat(20)
    assert pretty.count("\n") == 5
    text = f"{pretty}\n{pretty}\n\n{pretty}"
    trees = list(split_trees(text.splitlines(True)))
    assert [tree.line for tree in trees if tree.text] == [1, 7, 14]
    assert {Tree.from_string(tree.text).to_string() for tree in trees if tree.text} == {
        "(S (NP (PRP It)) (VP (VBZ runs) (ADVP (RB fast))))"
    }


def test_split_joins_lines_that_come_without_breaks() -> None:
    assert list(split_trees(["(S (NP", "(NN a)))"])) == [(1, 1, "(S (NP"), (2, 2, "(NN a)))")]
    assert list(split_trees(["(S (NP", " (NN a)))"])) == [(1, 2, "(S (NP (NN a)))")]


def test_split_a_wrapped_tree_without_indentation() -> None:
    text = "(TOP\n(S\n(NP (PRP It))\n(VP (VBZ runs))))\n(\n(S (NN a)))\n"
    assert split(text) == [(1, "(TOP (S (NP (PRP It)) (VP (VBZ runs))))"), (5, "( (S (NN a)))")]


@pytest.mark.parametrize("root", ["S1 (S", "TOP (S", " (S", "S (NP"])
def test_an_unfinished_tree_costs_only_itself(root: str) -> None:
    good = f"({root} (NN a)))"
    broken = f"({root} (NN b))"
    assert split(f"{good}\n{broken}\n{good}\n") == [(1, good), (2, broken), (3, good)]
    assert split(f"{broken}\n\n{good}\n") == [(1, broken), (3, good)]
    assert split(f"  {broken}\n\n  {good}\n") == [(1, broken), (3, good)]
    assert split(f"{good}\n{broken}") == [(1, good), (2, broken)]


def test_a_surplus_bracket_and_prose_cost_only_their_line() -> None:
    assert split("(NN a))\n(NN b)\nhello\n(NN c)") == [
        (1, "(NN a))"),
        (2, "(NN b)"),
        (3, "hello"),
        (4, "(NN c)"),
    ]


@pytest.mark.parametrize(
    ("unfinished", "line", "ends"),
    [
        ("(S1 (S", "(S1 (S", True),
        ("(TOP", "( (S", True),
        ("(S (NP", "(S (NP", True),
        ("(S1 (S", "(NP (NN a))", False),
        ("(S1 (S", "  (S1 (S", False),
    ],
)
def test_which_lines_end_an_unfinished_tree(unfinished: str, line: str, ends: bool) -> None:
    tree = TreeLines()
    tree.add(1, unfinished)
    assert tree.ends_before(line) == ends


def test_a_blank_line_does_not_end_a_tree() -> None:
    first, whole = "( (S (NP (NN a))", "( (S (NP (NN a)) (VP (VB go))))"
    for rest in ("   (VP (VB go))))", "(VP (VB go))))"):
        text = f"{first}\n\n \n{rest}\n(S (NN b))\n"
        assert split(text) == [(1, whole), (5, "(S (NN b))")]
    assert split(f"{first}\n (VP (VB go))\n\n))\n") == [(1, whole.replace("))))", ")) ))"))]


def test_no_half_of_an_unfinished_tree_is_a_sentence() -> None:
    half = "(S (NP (NN a))"
    for after in ("(S (NN b))", "( (S (NN b)))"):
        text = f"{half}\n\n  (VP (VB go))\n\n{after}\n"
        assert split(text) == [(1, f"{half} (VP (VB go))"), (5, after)]
    # Root wrappers never nest, however they are indented.
    assert split(f"{half}\n\n  (TOP (NN b))\n") == [(1, half), (3, "(TOP (NN b))")]


def test_blank_lines_after_an_unfinished_tree_are_kept() -> None:
    pieces = list(split_trees(["(S (NN a)", "", " ", "(S (NN b))", ""]))
    assert pieces == [(1, 1, "(S (NN a)"), (2, 2, ""), (3, 3, ""), (4, 4, "(S (NN b))"), (5, 5, "")]


@pytest.mark.parametrize(
    "remark",
    [
        *("# text = (laughs", "#(S (NN a)", "*x*x*x*x*x*", "*x* Copyright (C) 1995 *x*"),
        *("<S ID=1>", "</S>", "<DATE> 19980101 </DATE>"),
    ],
)
def test_remarks_and_notices_are_part_of_no_tree(remark: str) -> None:
    assert split(f"{remark}\n(S\n{remark}\n  (NP (NN a))\n  {remark}\n  (NP (NN b)))\n") == [
        *((line, remark) for line in (1, 3, 5)),
        (2, "(S (NP (NN a)) (NP (NN b)))"),
    ]


def test_a_word_is_no_remark() -> None:
    assert split("(NP (NN\n#\n) (CD\n#5))") == [(1, "(NP (NN # ) (CD #5))")]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text("()\\ aS1\n", max_size=12)))
def test_split_loses_no_bracket_and_no_word(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    pieces = [piece.text for piece in split_trees(text.splitlines(True))]
    assert " ".join(pieces).split() == text.split()
