"""Rewrites trees: nodes are replaced and words changed; what stays keeps its structure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from reranker.trees.tree import Tree

Transformation = Callable[[Tree, Random], Iterator[Tree]]
"""Yields the trees, under the root TOP, that it makes of a tree; none if it finds no match."""

MOST_WORDS = 30
"""A longer sentence is not ordinary, and is left out."""
_MOST_DEPTH = 100  # rewriting recurses; no short sentence of a treebank is as deep

NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})
FINITE = frozenset({"VBZ", "VBP", "VBD"})
BE = frozenset({"am", "is", "are", "was", "were", "'s", "'re", "'m"})
_ARTICLES = frozenset({"a", "an", "the"})


def is_usable(tree: Tree) -> bool:
    """Return whether a tree has few enough words and levels."""
    level = [tree]
    for _ in range(_MOST_DEPTH):
        level = [child for node in level for child in subtrees(node)]
        if not level:
            return len(tree.words()) <= MOST_WORDS
    return False


def leaf(tag: str, text: str) -> Tree:
    """Return a part-of-speech node."""
    return Tree(tag, (text,))


def phrase(label: str, *children: Tree) -> Tree:
    """Return a constituent."""
    return Tree(label, children)


def word(node: Tree) -> str:
    """Return the word of a part-of-speech node, with a typewriter's apostrophes; "" of a
    constituent."""
    return str(node.children[0]).replace("\u2019", "'") if node.is_preterminal else ""


def subtrees(node: Tree) -> tuple[Tree, ...]:
    """Return the children of a constituent; none of a part-of-speech node."""
    return tuple(child for child in node.children if isinstance(child, Tree))


def labels(node: Tree) -> list[str]:
    """Return the labels of a constituent's children."""
    return [child.label for child in subtrees(node)]


def first_label(node: Tree) -> str:
    """Return the label of a constituent's first child; "" of a part-of-speech node."""
    return next(iter(labels(node)), "")


def constituents(tree: Tree) -> Iterator[tuple[Tree, Tree]]:
    """Yield every constituent below the root, and its parent, from left to right."""
    for parent in tree.preorder():
        yield from ((node, parent) for node in subtrees(parent) if not node.is_preterminal)


def rewritten(node: Tree, change: Callable[[Tree], Tree]) -> Tree:
    """Return a tree whose constituents are changed, children before parents."""
    if node.is_preterminal:
        return node
    return change(phrase(node.label, *(rewritten(child, change) for child in subtrees(node))))


def respelled(node: Tree, spell: Callable[[str, str], str]) -> Tree:
    """Return a tree with other words: ``spell`` is given a tag and a word. Words that stand for
    brackets stay."""
    if not node.is_preterminal:
        return phrase(node.label, *(respelled(child, spell) for child in subtrees(node)))
    text = str(node.children[0])
    is_bracket = text.startswith("-") and text.endswith("-")
    return node if is_bracket else leaf(node.label, spell(node.label, text))


def with_first_word(node: Tree, spell: Callable[[str, str], str]) -> Tree:
    """Return a tree whose first word is spelled anew, as by ``respelled``."""
    if node.is_preterminal:
        return respelled(node, spell)
    first, *others = subtrees(node)
    return phrase(node.label, with_first_word(first, spell), *others)


def capitalised(node: Tree) -> Tree:
    """Return a tree whose first word begins with a capital."""
    return with_first_word(node, lambda _, text: text[0].upper() + text[1:])


def lowered(node: Tree) -> Tree:
    """Return a tree whose first word begins with a small letter, unless the word is a name, *I* or
    an abbreviation."""

    def spell(tag: str, text: str) -> str:
        is_kept = tag.startswith("NNP") or text == "I" or text[1:] != text[1:].lower()
        return text if is_kept else text.lower()

    return with_first_word(node, spell)


def without_article(node: Tree) -> Tree:
    """Return a noun phrase without its article, if a noun is left."""
    article, *others = subtrees(node)
    is_noun_phrase = node.label in ("NP", "NML") and any(each.label in NOUNS for each in others)
    is_article = article.label == "DT" and word(article).lower() in _ARTICLES
    return phrase(node.label, *others) if is_noun_phrase and is_article else node


def is_ragged(node: Tree) -> bool:
    """Return whether a phrase begins or ends with a mark, or has one of two quotation marks."""
    tags = node.tags()
    is_mark = [not each[0].isalpha() and each != "$" for each in (tags[0], tags[-1])]
    return any(is_mark) or tags.count("``") != tags.count("''")


def marked(draw: Random, shares: dict[str, float]) -> list[Tree]:
    """Return a drawn mark as the end of a sentence; "" stands for none."""
    (mark,) = draw.choices([*shares], [*shares.values()])
    return [leaf(".", mark)] if mark else []


def without_mark(tree: Tree) -> tuple[Tree, str] | None:
    """Return the sentence under the root without the mark at its end, and the mark; None if there
    is none, and if fewer than two words are left."""
    tops = subtrees(tree)
    if len(tops) != 1 or labels(tops[0])[-1:] != ["."]:
        return None
    *kept, mark = subtrees(tops[0])
    # One child with the same label would be a constituent twice.
    if sum(len(each.words()) for each in kept) < 2 or labels(tops[0])[:-1] == [tops[0].label]:
        return None
    return phrase(tops[0].label, *kept), word(mark)


def addressed(node: Tree, draw: Random) -> Tree:
    """Return a phrase in which half of the possessive pronouns are *your*."""

    def spell(tag: str, text: str) -> str:
        return "your" if tag == "PRP$" and draw.random() < 0.5 else text

    return respelled(node, spell)
