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
    return [(line, " ".join(tree.split())) for line, tree in split_trees(text.splitlines(True))]


def test_split_one_tree_per_line() -> None:
    assert split("(NN a)\n\n(NN b)\n(NN c)") == [(1, "(NN a)"), (3, "(NN b)"), (4, "(NN c)")]


def test_split_pretty_printed_trees() -> None:
    pretty = nltk.Tree.fromstring("(S (NP (PRP It)) (VP (VBZ runs) (ADVP (RB fast))))").pformat(20)
    assert pretty.count("\n") == 5
    text = f"{pretty}\n{pretty}\n\n{pretty}"
    trees = list(split_trees(text.splitlines(True)))
    assert [line for line, _ in trees] == [1, 7, 14]
    assert {Tree.from_string(tree).to_string() for _, tree in trees} == {
        "(S (NP (PRP It)) (VP (VBZ runs) (ADVP (RB fast))))"
    }


def test_split_joins_lines_that_come_without_breaks() -> None:
    assert list(split_trees(["(S (NP", "(NN a)))"])) == [(1, "(S (NP"), (2, "(NN a)))")]
    assert list(split_trees(["(S (NP", " (NN a)))"])) == [(1, "(S (NP (NN a)))")]


def test_split_a_wrapped_tree_without_indentation() -> None:
    text = "(TOP\n(S\n(NP (PRP It))\n(VP (VBZ runs))))\n(\n(S (NN a)))\n"
    assert split(text) == [(1, "(TOP (S (NP (PRP It)) (VP (VBZ runs))))"), (5, "( (S (NN a)))")]


@pytest.mark.parametrize("root", ["S1 (S", "TOP (S", " (S", "S (NP"])
def test_an_unfinished_tree_costs_only_itself(root: str) -> None:
    good = f"({root} (NN a)))"
    broken = f"({root} (NN b))"
    assert split(f"{good}\n{broken}\n{good}\n") == [(1, good), (2, broken), (3, good)]
    assert split(f"{broken}\n\n  {good}\n") == [(1, broken), (3, good)]
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


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text("()\\ aS1\n", max_size=12)))
def test_split_loses_no_bracket_and_no_word(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    pieces = [piece for _, piece in split_trees(text.splitlines(True))]
    assert " ".join(pieces).split() == text.split()
