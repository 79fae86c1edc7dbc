import re
from typing import Any

import nltk
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reranker.errors import TreeError
from reranker.trees.linearize import is_word, linearize_text
from reranker.trees.tree import MAX_DEPTH, MAX_WORDS, Tree

IT_RUNS = "(S1 (S (NP (PRP It)) (VP (VBZ runs)) (. .)))"


def code_of(text: str) -> str:
    with pytest.raises(TreeError) as caught:
        Tree.from_string(text)
    return caught.value.code


def test_from_string_builds_labels_and_children() -> None:
    tree = Tree.from_string("(S (NP (PRP It)) (VP (VBZ runs)))")
    assert tree.label == "S"
    noun_phrase, verb_phrase = tree.children
    assert isinstance(noun_phrase, Tree)
    assert isinstance(verb_phrase, Tree)
    assert (noun_phrase.label, verb_phrase.label) == ("NP", "VP")
    assert noun_phrase.children == (Tree("PRP", ("It",)),)
    assert tree.leaves() == ["It", "runs"]
    assert tree.tags() == ["PRP", "VBZ"]
    assert [node.label for node in tree.preorder()] == ["S", "NP", "PRP", "VP", "VBZ"]


@pytest.mark.parametrize(
    "text",
    [
        IT_RUNS,
        "( (S (NP (PRP It)) (VP (VBZ runs))))",
        "(NN a)",
        "(S (NP Ms. Haag) (VP plays))",
        "(S (NP) (VP (VB go)))",
        "(NP (CD 3\\/4) (-LRB- -LRB-) (X \\)) (NN caf\u00e9\u00a0x))",
        "(NP (SYM \\ ) (NN b))",
        "(X\\) (\\( \\())",
    ],
)
def test_one_line_trees_come_back_as_they_were(text: str) -> None:
    assert Tree.from_string(text).to_string() == text


@pytest.mark.parametrize(
    "text",
    [
        "(S1\n  (S (NP (PRP It))\n\t(VP (VBZ runs))\r\n (. .)))\n",
        "(S1(S(NP(PRP It))(VP(VBZ runs))(. .)))",
        " ( S1 ( S ( NP ( PRP It ) ) ( VP ( VBZ  runs ) ) ( . . ) ) ) ",
    ],
)
def test_white_space_does_not_matter(text: str) -> None:
    assert Tree.from_string(text) == Tree.from_string(IT_RUNS)


def test_a_no_break_space_belongs_to_its_word() -> None:
    assert Tree.from_string("(NP (NN 10\u00a0kg))").leaves() == ["10\u00a0kg"]


def test_a_backslash_escapes_a_bracket_or_is_a_word_whichever_balances() -> None:
    assert Tree.from_string("(NP (X \\)) (NN a))").leaves() == ["\\)", "a"]
    assert Tree.from_string("(NP (SYM \\) (NN a))").leaves() == ["\\", "a"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("()", "empty"),
        ("(S (NP ))", "empty"),
        ("It runs", "not-a-tree"),
        (")", "not-a-tree"),
        ("(S (NP (PRP It))", "unbalanced"),
        ("(NN a))", "unbalanced"),
        ("(S (NN a)))", "unbalanced"),
        ("(S (NN a)) (S (NN b))", "unbalanced"),
        ("(S (NN a)) b", "unbalanced"),
        ("(" * 5_000 + ")" * 5_000, "too-deep"),
        ("(S" + " (NN a)" * (MAX_WORDS + 1) + ")", "too-long"),
    ],
)
def test_what_is_not_a_tree_has_a_code(text: str, code: str) -> None:
    assert code_of(text) == code


def test_depth_is_bounded_exactly_and_without_recursion() -> None:
    def nested(depth: int) -> str:
        return "(X " * (depth - 1) + "(NN a)" + ")" * (depth - 1)

    thousand = Tree.from_string(nested(1_000))
    assert thousand.to_string() == nested(1_000)
    assert thousand == Tree.from_nltk(thousand.to_nltk())
    assert len(list(thousand.preorder())) == 1_000
    assert thousand.with_tags(["DT"]).tags() == ["DT"]
    assert MAX_DEPTH == 2_000
    assert Tree.from_string(nested(2_000)).leaves() == ["a"]
    assert code_of(nested(2_001)) == "too-deep"
    assert code_of(nested(2_001).replace("(NN a)", "(NN  a)")) == "too-deep"


@settings(deadline=None, max_examples=50)
@given(st.text("()\\ \n\u00a0aS", max_size=60) | st.text(max_size=40))
@example("(a\\)")
@example("(S (a \\ ) (b \\)))")
def test_any_text_is_a_tree_or_a_tree_error(text: str) -> None:
    try:
        tree = Tree.from_string(text)
    except TreeError as error:
        assert error.code in {"empty", "not-a-tree", "unbalanced"}
    else:
        assert Tree.from_string(tree.to_string()) == tree


WORDS = st.text("ab\\\u00a0\u00e9.-", min_size=1, max_size=5)
TREES = st.recursive(
    st.builds(lambda tag, word: Tree(tag, (word,)), WORDS, WORDS),
    lambda subtrees: st.builds(
        lambda label, children: Tree(label, tuple(children)),
        WORDS | st.just(""),
        st.lists(subtrees, min_size=1, max_size=4),
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=50)
@given(TREES)
def test_every_tree_survives_text_and_nltk(tree: Tree) -> None:
    # Without a bracket that a backslash could escape, both readings of it agree.
    assert Tree.from_string(tree.to_string()) == tree
    assert Tree.from_nltk(tree.to_nltk()) == tree


def test_nltk_agrees_on_the_tree() -> None:
    theirs = nltk.Tree.fromstring(IT_RUNS)
    own = Tree.from_nltk(theirs)
    assert own == Tree.from_string(IT_RUNS)
    assert own.to_nltk() == theirs
    assert own.leaves() == theirs.leaves()


def test_an_nltk_tree_within_itself_is_refused() -> None:
    tree = nltk.Tree("S", [nltk.Tree("NN", ["a"])])
    tree.append(tree)
    with pytest.raises(TreeError, match="2000 brackets"):
        Tree.from_nltk(tree)


def test_from_nltk_escapes_brackets() -> None:
    tree = nltk.Tree("NP", [nltk.Tree("(", ["("]), nltk.Tree("NN", [":-)"])])
    assert Tree.from_nltk(tree).to_string() == "(NP (-LRB- -LRB-) (NN :--RRB-))"


@pytest.mark.parametrize(
    "tree",
    [
        nltk.Tree("S", [("dog", "NN")]),
        nltk.Tree("S", [nltk.Tree("NN", ["New York"])]),
        nltk.Tree("S", [nltk.Tree("NN", [""])]),
        nltk.Tree("S", [nltk.Tree("N N", ["a"])]),
        nltk.Tree("S", [nltk.Tree("", ["a"])]),
        nltk.Tree("S", [nltk.Tree("NN", ["a"]), None]),
    ],
)
def test_from_nltk_refuses_what_text_cannot_hold(tree: nltk.Tree) -> None:
    with pytest.raises(TreeError) as caught:
        Tree.from_nltk(tree)
    assert caught.value.code == "not-a-tree"


def test_from_nltk_refuses_what_from_string_refuses() -> None:
    with pytest.raises(TreeError) as caught:
        Tree.from_nltk(nltk.Tree("S", []))
    assert caught.value.code == "empty"


@pytest.mark.parametrize("text", [None, b"(S (NN a))", 3])
def test_from_string_refuses_what_is_no_string(text: Any) -> None:
    with pytest.raises(TreeError, match="as a string") as caught:
        Tree.from_string(text)
    assert caught.value.code == "not-a-tree"


def test_with_tags_replaces_only_preterminal_labels() -> None:
    tree = Tree.from_string("(S (NP (PRP It)) (VP (AUX is)) (SYM \\ ))")
    assert (
        tree.with_tags(["NN", "VBZ", ":"]).to_string() == "(S (NP (NN It)) (VP (VBZ is)) (: \\ ))"
    )
    for tags in (["NN", "VBZ"], ["NN", "VBZ", ":", "."]):
        with pytest.raises(TreeError) as caught:
            tree.with_tags(tags)
        assert caught.value.code == "wrong-length"


def test_with_tags_leaves_traces_alone() -> None:
    tree = Tree.from_string("(S (NP (-NONE- *)) (VP (VB Go)))")
    assert tree.word_tags() == ["VB"]
    assert tree.with_tags(["VBP"]).to_string() == "(S (NP (-NONE- *)) (VP (VBP Go)))"
    with pytest.raises(TreeError):
        tree.with_tags(["-NONE-", "VBP"])


def test_trees_are_values() -> None:
    tree = Tree.from_string(IT_RUNS)
    assert len({tree, Tree.from_string(IT_RUNS), Tree.from_string("(NN a)")}) == 2
    assert tree != IT_RUNS
    with pytest.raises(AttributeError):
        tree.label = "X"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(S (NN (NP)) (VB go))", "a word without a label: '(NP)'"),
        ("(S (NP (NN dog)) (barks))", "a word without a label: '(barks)'"),
        ("(S (-LRB- () (NN x) (-RRB- )))", "'()' has neither label nor word; brackets that"),
        ("(S (NN x) (-RRB- ))", "no word after '-RRB-'; brackets that are words"),
    ],
)
def test_a_bracket_that_may_hide_a_word_is_refused(text: str, reason: str) -> None:
    with pytest.raises(TreeError) as caught:
        Tree.from_string(text)
    assert caught.value.code == "not-a-tree"
    assert reason in str(caught.value)


def test_a_tree_of_words_without_labels_has_no_words() -> None:
    assert code_of("(S (NP (NN (Kera))))") == code_of("(())") == "empty"


def plainly_read(text: str) -> list[str]:
    """Return the words of a text: everything but labels, which are the text right after a bracket.
    A label alone, unless a constituent's, is a word, and so is a pair of brackets alone."""
    pieces = ["", *re.findall(r"[()]|[^()\s]+", text), ""]
    words = []
    for before, piece, after in zip(pieces, pieces[1:], pieces[2:], strict=False):
        is_alone = before == "(" and after == ")" and not re.fullmatch("(NP|S)(-[A-Z]+)?", piece)
        is_pair = before == "(" and piece == ")"
        if is_pair or (piece not in "()" and (before != "(" or is_alone)):
            words.append(piece)
    return words


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.sampled_from(["(", "(", ")", ")", " ", "(NP ", "(NN a)", "(NP-A)", "b", "-LRB-"]))
)
@example(["(NP ", "(NN a)", "(NP-A)", "(", "b", ")", ")"])
def test_no_tree_loses_a_word(pieces: list[str]) -> None:
    text = f"(S {''.join(pieces)})"
    try:
        tree = Tree.from_string(text)
    except TreeError:
        return
    assert tree.leaves() == plainly_read(text)
    assert [token for token in linearize_text(text) if is_word(token)] == tree.leaves()
