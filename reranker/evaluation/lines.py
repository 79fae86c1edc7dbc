"""One line of a treebank as EVALB reads it: words, tags, brackets, and its faults.

This is not ``Tree.from_string``: EVALB accepts a forest, empty words and brackets without words,
and its figures depend on that.
"""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass, field
from typing import NamedTuple

from reranker.evaluation.parameters import Parameters
from reranker.trees.tree import ROOT_LABELS

# A piece is an opening bracket with its label, and with its word if the bracket closes right after
# one, or with the opening bracket that follows; a closing bracket; or text outside of any bracket.
# Only ASCII white space separates, as in C.
_PIECE = re.compile(r"\(([^()\s]*+)(?:\s++([^()\s]*+)(\))|\s*+(?=(\()))?|(\)|[^()\s]++)", re.ASCII)
# EVALB takes only these words for quotation marks that one of two trees may have mistagged.
_QUOTE_WORDS = frozenset({"'", '"', "/"})
_MAX_QUOTES = 200


class Quote(NamedTuple):
    """A word that may be a quotation mark. ``position`` is its place among the words kept,
    ``piece`` its place among all pieces of the line."""

    position: int
    piece: int
    next_bracket: int
    tag: str
    word: str


@dataclass(slots=True)
class EvalbLine:
    """The content of a line; ``brackets`` are (start, end, label), half-open, in opening order; the
    label is None for a root that does not count.

    ``closed`` has for each bracket the piece of the line that closes it. ``length`` counts words
    for the cut-off; ``problem`` is the reason why the line cannot be scored.
    """

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    brackets: list[tuple[int, int, str | None]] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    length: int = 0
    problem: str | None = None


def read_line(line: str, parameters: Parameters) -> EvalbLine:
    """Read the brackets of ``line``; words tagged with one of ``delete_labels`` are dropped.

    >>> read_line("(NP (DT the) (NN cat) (. .))", Parameters.collins()).words
    ['the', 'cat']
    """
    content = EvalbLine()
    words, tags = content.words, content.tags
    brackets = content.brackets
    stack: list[int] = []
    problems: list[str] = []
    for piece, (label, word, closed, opens, rest) in enumerate(_PIECE.findall(line)):
        if closed:
            if label not in parameters.delete_labels_for_length:
                content.length += 1
            if word in _QUOTE_WORDS and label in parameters.quote_labels:
                content.quotes.append(Quote(len(words), piece, len(brackets), label, word))
            if label not in parameters.delete_labels:
                words.append(word)
                tags.append(label)
        elif not rest:
            is_root = opens and not stack and label in ROOT_LABELS
            stack.append(len(brackets))
            counted = None if is_root and not parameters.count_roots else label
            brackets.append((len(words), len(words), counted))
            content.closed.append(piece)
        elif rest != ")":
            # Keep it as a word, so that a line of only such text is not an empty tree.
            words.append(rest)
            tags.append("")
            problems.append(f"text that is not '(TAG word)': {rest[:40]!r}")
        elif stack:
            place = stack.pop()
            start, _, name = brackets[place]
            brackets[place] = start, len(words), name
            content.closed[place] = piece
        else:
            problems.append("unbalanced: one ')' too many")
    if stack:
        problems.append(f"unbalanced: {len(stack)} '(' left open")
    content.problem = problems[0] if problems else None
    return content


def repair_quotes(
    gold: EvalbLine, test: EvalbLine, parameters: Parameters
) -> tuple[EvalbLine, EvalbLine]:
    """Return copies of both lines, with a quotation mark put back where only one line tagged it for
    deletion. EVALB does this only if the numbers of words differ. Lines with more quotation marks
    than EVALB accepts words stay unchanged: the repair would take cubic time."""
    if max(len(gold.quotes), len(test.quotes)) > _MAX_QUOTES:
        return gold, test
    gold, test = deepcopy((gold, test))
    deleted = parameters.delete_labels
    for there in range(len(test.quotes)):
        position = test.quotes[there].position
        for here, quote in enumerate(gold.quotes):
            other = test.quotes[there]
            if quote.position != position or quote.tag == other.tag:
                continue
            if quote.tag in deleted and other.tag not in deleted:
                _reinsert(gold, here)
            elif other.tag in deleted and quote.tag not in deleted:
                _reinsert(test, there)
    return gold, test


def _reinsert(line: EvalbLine, number: int) -> None:
    """Put the deleted word ``quotes[number]`` back and move everything after it."""
    quote = line.quotes[number]
    line.words.insert(quote.position, quote.word)
    line.tags.insert(quote.position, quote.tag)
    for place, (start, end, label) in enumerate(line.brackets):
        if place >= quote.next_bracket:
            line.brackets[place] = (start + 1, end + 1, label)
        elif line.closed[place] > quote.piece:  # the bracket was open
            line.brackets[place] = (start, end + 1, label)
    for place in range(number, len(line.quotes)):
        later = line.quotes[place]
        line.quotes[place] = later._replace(position=later.position + 1)
