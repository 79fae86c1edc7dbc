"""Part-of-speech tags as newer treebanks write them (OntoNotes 5, English Web, BOLT, CRAFT, GUM).

Treebanks differ in some tags. A parser that learns from several unchanged treebanks chooses between
their tags by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reranker.trees.linearize import FUNCTION_TAG
from reranker.trees.tree import TRACE, Tree

_RENAMED = {
    "PRPP": "PRP$",  # GENIA's
    "WPP": "WP$",
    **dict.fromkeys(("-LSB-", "-LCB-"), "-LRB-"),  # MASC's, for square and curly brackets
    **dict.fromkeys(("-RSB-", "-RCB-"), "-RRB-"),
}
# Adjectives (=), comparatives (<), conjunctions (+) or TO (-->) in GENIA.
_SIGNS = frozenset({"=", "<", ">", "+", "+/-", "-->"})
_BEFORE_VERB = frozenset(
    {"RB", "RBR", "RBS", "UH", "CC", "CODE", "NFP", ",", ":", "``", "''", "-LRB-", TRACE}
)
"""Tags that may stand between *to* and the verb of its infinitive."""
_SISTERS = 20  # the number of sisters of *to* examined
_PHRASES = frozenset(
    {"PP", "WHPP", "QP", "NP", "NML", "NX", "NAC", "ADJP", "ADVP", "CONJP", "PRT", "UCP"}
)
"""Constituents at whose end *to* is a preposition: "the book that I referred to"."""


def newer_tags(tree: Tree) -> Tree:
    """Return the tree with tags as newer treebanks write them.

    *To* is TO where it begins an infinitive, else IN; older treebanks write TO for both. GENIA's
    PRPP and WPP become PRP$ and WP$, all brackets -LRB- and -RRB-, signs of arithmetic and arrows
    SYM.

    >>> text = "(S (NP (PRP I)) (VP (VBD went) (PP (TO to) (NP (NN work)))))"
    >>> newer_tags(Tree.from_string(text)).word_tags()
    ['PRP', 'VBD', 'IN', 'NN']
    >>> text = "(S (NP (PRP I)) (VP (VBP want) (S (VP (TO to) (VP (VB work))))))"
    >>> newer_tags(Tree.from_string(text)).word_tags()
    ['PRP', 'VBP', 'TO', 'VB']
    """
    tags = [tag for tag in each_newer_tag(tree) if tag != TRACE]
    return tree if tags == tree.word_tags() else tree.with_tags(tags)


def each_newer_tag(tree: Tree) -> Iterator[str]:
    """Yield the tag of every part-of-speech node in ``newer_tags``, left to right."""
    stack = [(tree, tree, 0)]
    while stack:
        node, parent, place = stack.pop()
        if not node.is_preterminal:
            children = [*enumerate(node.children)]
            stack += [(e, node, at) for at, e in reversed(children) if isinstance(e, Tree)]
        else:
            word = str(node.children[0])
            if word in _SIGNS and node.label != TRACE:
                yield "SYM"
            elif node.label == "TO" and word.lower() == "to":
                yield "TO" if _is_infinitive(parent, place) else "IN"
            else:
                yield _RENAMED.get(node.label, node.label)


def _is_infinitive(parent: Tree, place: int) -> bool:
    """Return whether *to*, the child of ``parent`` at ``place``, begins an infinitive."""
    behind = parent.children[place + 1 : place + 1 + _SISTERS]
    sisters = [each for each in behind if isinstance(each, Tree)]
    phrases = [each for each in sisters if _label(each) == "VP"]
    if _label(parent) == "VP" and phrases:
        return True
    first = _first_tag(sisters)
    if not first:
        return _label(parent) not in _PHRASES
    return "VB" in (first, _first_tag(phrases[:1]))


def _first_tag(nodes: Iterable[Tree]) -> str:
    """Return the first tag in the nodes, skipping tags that may precede an infinitive's verb."""
    inside = (each for node in nodes for each in node.preorder() if each.is_preterminal)
    return next((each.label for each in inside if each.label not in _BEFORE_VERB), "")


def _label(node: Tree) -> str:
    """Return the node's label without function tags."""
    return FUNCTION_TAG.sub("", node.label)
