"""Tags as newer treebanks write them."""

from __future__ import annotations

import pytest

from reranker.trees.newer_tags import newer_tags
from reranker.trees.tree import Tree


@pytest.mark.parametrize(
    "text",
    [
        "(VP (VBD went) (PP (IN to) (NP (NN school))))",
        "(WHPP (IN To) (WHNP (WP whom)))",
        "(NP (QP (IN from) (CD 5) (IN to) (CD 10)) (NNS men))",
        "(QP (RB Up) (IN to) ($ $) (CD 50))",
        "(NP (NP (CD -306)) (IN to) (NP (CD -260)))",
        "(ADJP (CD 15-) (IN to) (JJ 20-fold))",
        "(PP (IN to) (S (VP (VBG paying) (NP (NN rent)))))",
        "(PP (IN as) (IN to) (SBAR (IN whether) (S (VP (TO to) (VP (VB go))))))",
        "(PP-DIR (IN in) (NN addition) (IN to) (NP (PRP it)))",
        "(SBAR (WHNP-1 (WDT that)) (S (VP (VBD came) (PP (IN to) (NP (-NONE- *T*-1))))))",
        "(VP (VBD moved) (IN to) (NP (NNP Rome)))",
        "(S (VP (TO to) (VP (VB be))))",
        "(VP (TO to) (ADVP (RB further)) (VP (VB map) (NP (PRP it))))",
        "(VP (TO to) (`` ``) (PRN (S (NP (PRP you)) (VP (VBP know)))) (VP (VB be)))",
        "(VP (VBD wanted) (S (VP (TO to) (VP (-NONE- *?*)))))",
        "(VP (RB not) (TO to) (RB not))",
        "(SBAR (IN in) (NN order) (TO to) (S (VP (VB see) (NP (PRP it)))))",
        "(CONJP (RB not) (TO to) (VB mention))",
        "(VP (VBG gon) (VP (TO na) (VP (VB go))))",
        "(S (EDITED (TO to)) (VP (TO to) (VP (VB go))))",
        "(NP (PRP$ its) (NN aim) (SBAR (WHNP (WP$ whose) (NN end))))",
        "(PRN (-LRB- -LSB-) (NP (NN P) (SYM =) (CD 5)) (-RRB- -RSB-))",
        "(NP (NN a) (SYM -->) (NN b))",
        "(NP (JJ bare) word)",
    ],
)
def test_the_preposition_and_the_infinitive(text: str) -> None:
    """Each tree has the newer tags, which also come out if older ones are put in."""
    tree = Tree.from_string(text)
    assert newer_tags(tree) == tree
    older = {"PRP$": "PRPP", "WP$": "WPP", "-LRB-": "-LSB-", "-RRB-": "-RSB-", "SYM": "JJ"}
    tags = [
        "TO" if word.lower() == "to" else older.get(tag, tag)
        for word, tag in zip(tree.words(), tree.word_tags(), strict=False)
    ]
    assert newer_tags(tree.with_tags(tags)) == tree


def test_words_named_to_and_other_tags_stay() -> None:
    tree = Tree.from_string("(S (NP (NNP James) (NNP To)) (VP (VBZ 's) (JJR more)))")
    assert newer_tags(tree) is tree


@pytest.mark.parametrize("opening, closing", [("(X", ")"), ("", "")])
def test_time_grows_as_the_tree_does(opening: str, closing: str) -> None:
    count = 1_900
    text = f"(VP {f'{opening} (TO to) ' * count} (NN x) {closing * count})"
    assert newer_tags(Tree.from_string(text)).word_tags() == ["IN"] * count + ["NN"]
