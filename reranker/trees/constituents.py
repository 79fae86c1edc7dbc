"""The constituents of a tree and of its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reranker.trees.node import Node


class Bracket(NamedTuple):
    """A constituent and the half-open span of its words."""

    node: Node
    start: int
    end: int


class LabelledSpan(NamedTuple):
    """All brackets around one span of words."""

    start: int
    end: int  # the number of the word after its last
    label: str  # the labels of the brackets, outermost first, separated by spaces
    place: int  # the place of its first bracket among the tokens


def constituents(tokens: Sequence[str]) -> list[LabelledSpan]:
    """Return the constituents of a tree's tokens, in the order of their first brackets; leave out
    brackets around no words.

    >>> for each in constituents("(S (NP It )NP (VP runs )VP . )S".split()):
    ...     print(*each)
    0 3 S 0
    0 1 NP 1
    1 2 VP 4
    """
    opened: list[int] = []
    found: list[tuple[int, int, int]] = []  # place, first word, word after the last
    words = 0
    for place, token in enumerate(tokens):
        if token[0] == "(":
            opened.append(len(found))
            found.append((place, words, words))
        elif token[0] == ")":
            number = opened.pop()
            found[number] = (*found[number][:2], words)
        else:
            words += 1
    constituents: list[LabelledSpan] = []
    around = 0, 0
    for place, start, end in found:
        label = tokens[place][1:]
        if start == end:
            continue
        if (start, end) == around:  # only brackets around no words are between these
            last = constituents.pop()
            label, place = f"{last.label} {label}", last.place
        constituents.append(LabelledSpan(start, end, label, place))
        around = start, end
    return constituents


def brackets(tree: Node) -> list[Bracket]:
    """Return every constituent that is not a part of speech, parents first."""
    constituents: list[Bracket] = []
    words = 0
    stack: list[Node | str | int] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, int):  # the end of that bracket
            constituents[node] = constituents[node]._replace(end=words)
        elif isinstance(node, str) or node.is_preterminal:
            words += 1
        else:
            stack.append(len(constituents))
            constituents.append(Bracket(node, words, words))
            stack.extend(reversed(node.children))
    return constituents
