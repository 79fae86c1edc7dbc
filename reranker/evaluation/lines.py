"""One line of a treebank as EVALB reads it: words, tags, brackets, and what is wrong with it.

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

# An opening bracket with its label, and with its word if it closes right after one; a closing
# bracket; or text that belongs to no bracket. Only ASCII white space separates, as in C.
_PIECE = re.compile(r"\(([^()\s]*+)(?:\s++([^()\s]*+)(\)))?|(\)|[^()\s]++)", re.ASCII)
# Only these words does EVALB take for quotation marks that one of two trees may have mistagged.
_QUOTE_WORDS = frozenset({"'", '"', "/"})
_MOST_QUOTES = 200
_BRACKET = re.compile(r"\(([^()\s]*+)(?:(\s*+)(?=\())?|\)", re.ASCII)


class Quote(NamedTuple):
    """A word that may be a quotation mark; ``position`` is its place among the words kept,
    ``piece`` among all that the line consists of."""

    position: int
    piece: int
    next_bracket: int
    tag: str
    word: str


@dataclass(slots=True)
class EvalbLine:
    """The content of a line; ``brackets`` are (start, end, label), half-open, in opening order.

    ``closed`` has for each bracket the piece of the line that closes it. ``length`` counts words
    for the cut-off; ``problem`` says why the line cannot be scored.
    """

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    brackets: list[tuple[int, int, str]] = field(default_factory=list)
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
    for piece, (label, word, closed, rest) in enumerate(_PIECE.findall(line)):
        if closed:
            if label not in parameters.delete_labels_for_length:
                content.length += 1
            if word in _QUOTE_WORDS and label in parameters.quote_labels:
                content.quotes.append(Quote(len(words), piece, len(brackets), label, word))
            if label not in parameters.delete_labels:
                words.append(word)
                tags.append(label)
        elif not rest:
            stack.append(len(brackets))
            brackets.append((len(words), len(words), label))
            content.closed.append(piece)
        elif rest != ")":
            # Kept as a word, so that a line of only such text is not an empty tree.
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
    """Copies of both lines, a quotation mark put back where only one of them tagged it for
    deletion. EVALB does this when their numbers of words differ, and only then. Lines with more
    quotation marks than EVALB takes words are left alone: that would take cubic time."""
    if max(len(gold.quotes), len(test.quotes)) > _MOST_QUOTES:
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
    """Put the deleted word ``quotes[number]`` back and move what comes after it."""
    quote = line.quotes[number]
    line.words.insert(quote.position, quote.word)
    line.tags.insert(quote.position, quote.tag)
    for place, (start, end, label) in enumerate(line.brackets):
        if place >= quote.next_bracket:
            line.brackets[place] = (start + 1, end + 1, label)
        elif line.closed[place] > quote.piece:  # it was open
            line.brackets[place] = (start, end + 1, label)
    for place in range(number, len(line.quotes)):
        later = line.quotes[place]
        line.quotes[place] = later._replace(position=later.position + 1)


def with_top_root(line: str) -> str:
    """The same line with every root called TOP: S1, ROOT and nameless ones renamed, else one added.

    COLLINS' settings ignore TOP but count S1 and ROOT as brackets, so gold and parser trees need
    the same root before they are scored. Unbalanced brackets stay unbalanced.

    >>> with_top_root("(S1 (NP (NN tea)))"), with_top_root("(NP (NN tea))")
    ('(TOP (NP (NN tea)))', '(TOP (NP (NN tea)))')
    """
    pieces: list[str] = []
    done = depth = 0
    wrapped = False
    for match in _BRACKET.finditer(line):
        if match[0] == ")":
            depth -= 1
            if depth == 0 and wrapped:
                pieces += [line[done : match.end()], ")"]
                done = match.end()
            continue
        if depth == 0:
            wrapped = match[1] not in ROOT_LABELS or match[2] is None
            pieces += [line[done : match.start()], "(TOP "]
            done = match.start() if wrapped else match.end()
        depth += 1
    return "".join(pieces) + line[done:]
