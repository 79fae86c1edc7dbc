"""``rerank convert --clean --binarize`` and ``--unbinarize``: constituents of at most two children,
and back."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from reranker.errors import InputError, TreeError
from reranker.plugins.grep.heads import head
from reranker.trees.tree import Tree

FLAGS = ("binarize", "unbinarize")
_MARK = "@"
Child = Tree | str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags to ``parser``."""
    text = (
        "with --clean: give each constituent two children at most, with constituents labelled @NP "
        "in NP: from the left, from the right, or from the head outwards, as Collins' rules for "
        "English find it"
    )
    parser.add_argument("--binarize", choices=("left", "right", "head"), help=text)
    text = "with --clean: take out the constituents whose labels begin with @"
    parser.add_argument("--unbinarize", action="store_true", help=text)


def change(arguments: argparse.Namespace) -> Callable[[Tree], Tree] | None:
    """Return what the flags say to do with a tree."""
    side = arguments.binarize
    if not side:
        return unbinarized if arguments.unbinarize else None
    if arguments.unbinarize:
        raise InputError("--binarize and --unbinarize undo each other: give one of them")
    return lambda tree: binarized(tree, side)


def binarized(tree: Tree, side: str) -> Tree:
    """Return the tree with at most two children a constituent; from the ``head``, its neighbours on
    the right join it first.

    >>> flat = Tree.from_string("(NP (DT a) (JJ big) (NN dog) (PP (RB here)))")
    >>> print(binarized(flat, "head").to_string())
    (NP (DT a) (@NP (JJ big) (@NP (NN dog) (PP (RB here)))))

    Raises TreeError for labels that begin with @.
    """

    def two(label: str, children: list[Child]) -> list[Child]:
        if label.startswith(_MARK):
            raise TreeError("not-a-tree", f"{label}: the tree is binarised already")
        if len(children) < 3:
            return [Tree(label, tuple(children))]
        place = {"left": 0, "right": len(children) - 1}.get(side)
        if place is None:
            place = head(label, [each.label if isinstance(each, Tree) else "" for each in children])
        node = children[place]
        order = [*children[place + 1 :], *reversed(children[:place])]
        for number, other in enumerate(order, 1):
            pair = (node, other) if number < len(children) - place else (other, node)
            node = Tree(label if number == len(order) else f"{_MARK}{label}", pair)
        return [node]

    return _changed(tree, two)


def unbinarized(tree: Tree) -> Tree:
    """Return the tree without the constituents that ``binarized`` adds.

    >>> print(unbinarized(Tree.from_string("(NP (@NP (DT a) (JJ big)) (NN dog))")).to_string())
    (NP (DT a) (JJ big) (NN dog))
    """

    def flat(label: str, children: list[Child]) -> list[Child]:
        return children if label.startswith(_MARK) else [Tree(label, tuple(children))]

    return _changed(tree, flat)


def _changed(tree: Tree, change: Callable[[str, list[Child]], list[Child]]) -> Tree:
    """Return the tree with each constituent replaced, bottom up, without recursion."""
    children: list[list[Child]] = [[]]
    labels: list[str] = []
    stack: list[Child | None] = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            inner = children.pop()
            children[-1] += change(labels.pop(), inner)
        elif isinstance(node, str) or node.is_preterminal:
            children[-1].append(node)
        else:
            labels.append(node.label)
            children.append([])
            stack += [None, *reversed(node.children)]
    (changed,) = children[0]
    assert isinstance(changed, Tree)  # roots have no mark
    return changed
