"""Trees of every kind that can be read: odd labels and words, traces, empty constituents, words
without a part of speech."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from reranker.errors import TreeError
from reranker.ranking.sentence import with_words_only
from reranker.trees.linearize import is_word, linearize
from reranker.trees.tree import Tree

_LETTERS = st.characters(exclude_characters=" \t\n\r\f\v()\\", exclude_categories=["Cs"])
_SYMBOLS = st.sampled_from(
    ["NP", "S|<NP-VP>", "_", "a=b", "*", "**", "\\(", "-LRB-", "``", "|", "\\u007c;", "x\u2028y"]
) | st.text(_LETTERS, min_size=1, max_size=4)
_WORDS = _SYMBOLS | st.builds(
    "({} {} )".format, _SYMBOLS | st.sampled_from(["", "-NONE-"]), _SYMBOLS
)


def _constituent(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    labels = _SYMBOLS | st.sampled_from(["", "TOP"])
    return st.builds(
        lambda label, inner: f"({label} {' '.join(inner)} )",
        labels,
        st.lists(children, min_size=1, max_size=4),
    )


def _tree(text: str) -> Tree | None:
    try:
        tree = Tree.from_string(text)
    except TreeError:
        return None
    if not any(map(is_word, linearize(tree))):
        return None
    # A word right behind an empty label would be read as the label.
    is_readable = all(
        node.label or isinstance(node.children[0], Tree)
        for node in with_words_only(tree).preorder()
    )
    return tree if is_readable else None


@st.composite
def _trees(draw: st.DrawFn) -> Tree:
    tree = _tree(draw(_constituent(st.recursive(_WORDS, _constituent, max_leaves=12))))
    assume(tree is not None)
    assert tree is not None
    return tree


TREES = _trees()
