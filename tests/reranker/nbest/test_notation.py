"""Broken candidates, and what they are repaired to."""

from __future__ import annotations

from typing import NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reranker.errors import TreeError
from reranker.nbest.notation import Notation, Skeleton, read_skeleton, with_root
from reranker.trees.linearize import delinearize, is_word, linearize
from reranker.trees.tree import MAX_DEPTH, MAX_WORDS, Tree

BRACKETS, BARE, LINEARIZED = Notation.BRACKETS, Notation.BARE, Notation.LINEARIZED


def tokens(text: str, notation: Notation) -> str:
    return " ".join(read_skeleton(text, notation).tokens)


def fault(text: str, notation: Notation) -> str:
    found = read_skeleton(text, notation).fault
    return found.code if found else ""


WHOLE = "(S (NP It )NP (VP runs )VP . )S"


@pytest.mark.parametrize(
    ("notation", "text"),
    [
        (BRACKETS, "(S (NP (PRP It)) (VP (VBZ runs)) (. .))"),
        (BRACKETS, "(S1 (S (NP-SBJ (PRP It)) (VP=2 (VBZ runs)) (NP (-NONE- *T*-1)) (. .)))"),
        (BRACKETS, "( (S (NP (PRP It) ) (VP (VBZ runs) ) (. .) ) )"),
        (BARE, "(S (NP It) (VP runs) .)"),
        (BARE, "(TOP (S (NP-SBJ It ) (VP runs ) . ) ) "),
        (LINEARIZED, WHOLE),
        (LINEARIZED, "<s> (TOP (S (NP-SBJ It )_NP-SBJ (VP runs ) . )_S )_TOP </s>"),
        (LINEARIZED, "(S (NP It)NP (VP runs)VP .)S"),
    ],
)
def test_whole_trees_have_no_fault(notation: Notation, text: str) -> None:
    assert tokens(text, notation) == WHOLE
    assert fault(text, notation) == ""


@pytest.mark.parametrize("root", ["S1", "TOP", "ROOT", ""])
def test_roots_go(root: str) -> None:
    assert tokens(f"({root} (S a b))", BARE) == "(S a b )S"
    assert tokens(f"({root} (S XX )S XX ){root}", LINEARIZED) == "(S XX )S XX"
    assert tokens(f"({root} XX ){root}", LINEARIZED) == "XX"
    assert tokens(f"({root} (UH Yes))", BRACKETS) == "Yes"


def test_tags() -> None:
    assert read_skeleton("(S (NP (PRP It)) (VP (VBZ runs)))", BRACKETS).tags == ["PRP", "VBZ"]
    assert read_skeleton("(S (NP It) runs)", BARE).tags == ["", ""]
    assert read_skeleton("(S _DT_ XX , _-PC-_ __ )S", LINEARIZED).tags == [
        "DT",
        "",
        ",",
        "-PC-",
        "",
    ]


@pytest.mark.parametrize(
    ("notation", "text", "repaired", "code"),
    [
        # Missing closing brackets are added where the text ends ...
        (BRACKETS, "(S (NP (PRP It)) (VP (VBZ runs", "(S (NP It )NP (VP runs )VP )S", "unbalanced"),
        (BARE, "(S (NP It) (VP runs", "(S (NP It )NP (VP runs )VP )S", "unbalanced"),
        (LINEARIZED, "(S (NP XX )NP (VP XX", "(S (NP XX )NP (VP XX )VP )S", "unbalanced"),
        # ... or where a closing bracket of another label shows that they are missing.
        (LINEARIZED, "(S (NP XX (PP XX )NP XX )S", "(S (NP XX (PP XX )PP )NP XX )S", "unbalanced"),
        (LINEARIZED, "(S (NP XX (VP XX )S", "(S (NP XX (VP XX )VP )NP )S", "unbalanced"),
        # Of a label that is not open: the innermost is meant.
        (LINEARIZED, "(S (NP XX )VP XX )S", "(S (NP XX )NP XX )S", "unbalanced"),
        (LINEARIZED, "(S (NP XX )NX (VP XX )VX )S", "(S (NP XX )NP (VP XX )VP )S", "unbalanced"),
        # Surplus closing brackets wrap everything before them.
        (BRACKETS, "(S (NP (PRP I)) (VP (VBP run))))", "(S (NP I )NP (VP run )VP )S", "unbalanced"),
        (BRACKETS, "(NP (PRP It)) (VP (VBZ runs)))", "(NP It )NP (VP runs )VP", "unbalanced"),
        (BARE, "(S (NP It) (VP runs)))", "(S (NP It )NP (VP runs )VP )S", "unbalanced"),
        (LINEARIZED, "XX )NP (VP XX )VP )S", "(S (NP XX )NP (VP XX )VP )S", "not-a-tree"),
        (BARE, "(S It)) runs)", "(TOP (S It )S )TOP runs", "unbalanced"),  # another root
        (LINEARIZED, "(S XX )S )S )FRAG", "(FRAG (S (S XX )S )S )FRAG", "unbalanced"),
        (LINEARIZED, ")NP (S XX )S", "(S XX )S", "unbalanced"),  # it wrapped nothing
        # Several trees are kept side by side.
        (LINEARIZED, "(S XX )S (S XX )S", "(S XX )S (S XX )S", "unbalanced"),
        (LINEARIZED, "(S XX )S .", "(S XX )S .", "not-a-tree"),
        (LINEARIZED, "XX (S )S", "XX", "not-a-tree"),
        (BRACKETS, "(S (NN a)) (S (NN b))", "(S a )S (S b )S", "unbalanced"),
        # Constituents without words go, but are no fault of their own.
        (LINEARIZED, "(S (NP )NP (VP XX )VP )S", "(S (VP XX )VP )S", ""),
        (BARE, "(S (NP (NP )) (VP a) b)", "(S (VP a )VP b )S", ""),
        (LINEARIZED, "(S XX (NP (PP", "(S XX )S", "unbalanced"),
    ],
)  # fmt: skip
def test_repairs(notation: Notation, text: str, repaired: str, code: str) -> None:
    assert tokens(text, notation) == repaired
    assert fault(text, notation) == code


@pytest.mark.parametrize("notation", Notation)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        ("()", "empty"),
        ("(())", "empty"),
        ("(S (NP ) )", "empty"),
        (")))", "empty"),
        ("It runs", "not-a-tree"),
        ("(S " * (MAX_DEPTH + 2) + "a" + " )" * (MAX_DEPTH + 2), "too-deep"),
        ("a" + " )" * (MAX_DEPTH + 1), "too-deep"),
        ("(S" + " a" * (MAX_WORDS + 1) + " )", "too-long"),
    ],
)
def test_nothing_to_repair(notation: Notation, text: str, code: str) -> None:
    with pytest.raises(TreeError) as caught:
        read_skeleton(text, notation)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "count", "fitted"),
    [
        ("(S (NP XX )NP . )S", 2, "(S (NP XX )NP . )S"),
        # Missing words go to the end of the root constituent,
        ("(S (NP XX )NP )S", 3, "(S (NP XX )NP XX XX )S"),
        # surplus ones with the constituents that held nothing else.
        ("(S (NP XX )NP (VP XX (NP XX XX )NP )VP . )S", 2, "(S (NP XX )NP (VP XX )VP )S"),
        ("(S (NP XX (PP XX (NP XX )NP )PP )NP )S", 1, "(S (NP XX )NP )S"),
        ("(S XX )S (S XX )S", 1, "(S XX )S"),
        ("(S XX )S (S XX )S", 3, "(S XX )S (S XX XX )S"),
    ],
)
def test_fitting_the_sentence(text: str, count: int, fitted: str) -> None:
    skeleton = read_skeleton(text, LINEARIZED)
    skeleton.fault = None
    is_right = len(list(filter(is_word, skeleton.tokens))) == count
    skeleton.fit(count)
    assert " ".join(skeleton.tokens) == fitted
    assert len(skeleton.tags) == count
    assert (skeleton.fault is None) == is_right
    assert skeleton.fault is None or skeleton.fault.code == "wrong-length"


def test_surplus_brackets_move_no_words() -> None:
    """Each was put before all words, 2,000 times."""

    class Tokens(list[str]):
        def insert(self, *_: object) -> NoReturn:
            raise AssertionError("words are moved")

    skeleton = Skeleton(tokens=Tokens(["a"]))
    for label in ("NP", "", "S"):
        skeleton.close(label)
    skeleton.finish()
    assert skeleton.tokens == ["(S", "(TOP", "(NP", "a", ")NP", ")TOP", ")S"]


def test_no_tree_fits_a_sentence_without_words() -> None:
    with pytest.raises(TreeError) as caught:
        read_skeleton("(S XX )S", LINEARIZED).fit(0)
    assert caught.value.code == "wrong-length"


@pytest.mark.parametrize(
    ("notation", "text", "written"),
    [
        (LINEARIZED, "(S (NP XX )NP . )S )S", "(S (S (NP XX )NP . )S )S"),
        (LINEARIZED, "(S (NP XX )_NP . ", "(S (NP XX )_NP . )_S"),
        (LINEARIZED, "(S XX )_S (S XX )_S", "(TOP (S XX )_S (S XX )_S )_TOP"),
        (BARE, "(S (NP It) runs", "(S (NP It ) runs )"),
        (BARE, "(TOP (S It) runs", "(TOP (S It ) runs )"),
        (BRACKETS, "(S1 (S (NP (PRP It)) (VBZ runs", "(S (NP (PRP It) ) (VBZ runs) )"),
        (BRACKETS, "(S1 (NP (PRP It)) (VBZ runs", "(TOP (NP (PRP It) ) (VBZ runs) )"),
        (BRACKETS, "(S (NP It there) (VBZ runs)", "(S (NP (XX It) (XX there) ) (VBZ runs) )"),
    ],
)
def test_written_again(notation: Notation, text: str, written: str) -> None:
    skeleton = read_skeleton(text, notation)
    assert skeleton.to_text(notation, text) == written
    assert read_skeleton(written, notation).fault is None


def test_a_root_where_one_is_needed() -> None:
    assert with_root(["(S", "a", ")S"]) == ["(S", "a", ")S"]
    for inner in (["a"], ["(S", "a", ")S", "b"], ["(S", "a", ")S", "(S", "b", ")S"]):
        assert with_root(inner) == ["(TOP", *inner, ")TOP"]
    # It would be taken for the root and lost.
    assert with_root(["(S1", "a", ")S1"]) == ["(TOP", "(S1", "a", ")S1", ")TOP"]


# Without a bracket that has no label: before a word, nobody can tell it from one that has.
PIECES = st.sampled_from(["(S", "(NP-1", "(TOP", ")", ")S", ")_NP", "XX", "_NN_", ".", "<s>"])
BROKEN = st.lists(PIECES, max_size=14).map(" ".join)


@settings(deadline=None, max_examples=75)
@given(BROKEN, st.sampled_from([BARE, LINEARIZED]), st.integers(1, 6))
def test_whatever_is_repaired_is_a_tree(text: str, notation: Notation, count: int) -> None:
    try:
        skeleton = read_skeleton(text, notation)
    except TreeError:
        return
    for _ in range(2):
        words = list(filter(is_word, skeleton.tokens))
        assert len(words) == len(skeleton.tags)
        tree = delinearize(skeleton.tokens, words, ["X"] * len(words))
        assert linearize(tree) == tuple(skeleton.tokens)
        again = read_skeleton(skeleton.to_text(notation, text), notation)
        assert (again.tokens, again.fault) == (skeleton.tokens, None)
        skeleton.fit(count)


BROKEN_BRACKETS = st.lists(
    st.sampled_from(["(S", "(NP-1", "(TOP", "( ", ")", "(NN a)", "(. .)", "(-NONE- *)", "a"]),
    max_size=14,
).map(" ".join)


@settings(deadline=None, max_examples=75)
@given(BROKEN_BRACKETS, st.integers(1, 6))
def test_repaired_brackets_are_read_as_what_they_were_repaired_to(text: str, count: int) -> None:
    try:
        skeleton = read_skeleton(text, BRACKETS)
    except TreeError:
        return
    for _ in range(2):
        tree = Tree.from_string(skeleton.to_text(BRACKETS, text))
        assert linearize(tree) == tuple(skeleton.tokens)
        skeleton.fit(count)


@pytest.mark.parametrize("text", ["(S (NP (It)) (VP runs))", "(S (NP It ()) (VP runs))"])
def test_a_word_in_the_place_of_a_label_is_a_fault(text: str) -> None:
    assert fault(text, BARE) == fault(text, BRACKETS) == "not-a-tree"
    assert fault("(S (NP ) (VP runs))", BARE) == ""
