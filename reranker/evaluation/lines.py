"""One line of a treebank as EVALB reads it: words, tags, brackets, and what is wrong with it.

This is not ``Tree.from_string``: EVALB takes a forest, words without letters and brackets without
words, and its figures depend on it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from reranker.evaluation.parameters import Parameters
from reranker.trees.tree import ROOT_LABELS

# An opening bracket with its label, and with its word if it closes right after one; a closing
# bracket; or text that belongs to no bracket. Only ASCII white space separates, as in C.
_PIECE = re.compile(r"\(([^()\s]*+)(?:\s++([^()\s]*+)(\)))?|(\)|[^()\s]++)", re.ASCII)
_BRACKET = re.compile(r"\(([^()\s]*+)(?:(\s*+)(?=\())?|\)", re.ASCII)


class Quote(NamedTuple):
    """A word that may be a quotation mark; ``position`` is its place among the words kept."""

    position: int
    next_bracket: int
    open_brackets: tuple[int, ...]
    tag: str
    word: str


@dataclass(slots=True)
class Reading:
    """What one line holds; ``brackets`` are [start, end, label], half-open, in opening order.

    ``length`` counts words for the cut-off; ``problem`` says why the line cannot be scored.
    """

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    brackets: list[tuple[int, int, str]] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    length: int = 0
    problem: str | None = None


def read_line(line: str, parameters: Parameters) -> Reading:
    """Read the brackets of ``line``; words with a tag of ``delete_labels`` are left out.

    >>> read_line("(NP (DT the) (NN cat) (. .))", Parameters.collins()).words
    ['the', 'cat']
    """
    reading = Reading()
    words, tags = reading.words, reading.tags
    starts: list[int] = []
    labels: list[str] = []
    ends: list[int] = []
    stack: list[int] = []
    problems: list[str] = []
    for label, word, closed, rest in _PIECE.findall(line):
        if closed:
            if label not in parameters.delete_labels_for_length:
                reading.length += 1
            if parameters.quote_labels and parameters.is_quote(label, word):
                reading.quotes.append(Quote(len(words), len(starts), tuple(stack), label, word))
            if label not in parameters.delete_labels:
                words.append(word)
                tags.append(label)
        elif not rest:
            stack.append(len(starts))
            starts.append(len(words))
            ends.append(len(words))
            labels.append(label)
        elif rest != ")":
            # Kept as a word, so that a line of nothing else is not taken for an empty tree.
            words.append(rest)
            tags.append("")
            problems.append(f"text that is not '(TAG word)': {rest[:40]!r}")
        elif stack:
            ends[stack.pop()] = len(words)
        else:
            problems.append("unbalanced: a ')' too many")
    if stack:
        problems.append(f"unbalanced: {len(stack)} '(' left open")
    reading.problem = problems[0] if problems else None
    reading.brackets = list(zip(starts, ends, labels, strict=True))
    return reading


def repair_quotes(gold: Reading, test: Reading, parameters: Parameters) -> tuple[Reading, Reading]:
    """Put a quotation mark back where only one of two trees tagged it for deletion.

    Returns copies. EVALB does this when the trees' numbers of words differ, and only then.
    """
    gold, test = _copy(gold), _copy(test)
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


def _copy(reading: Reading) -> Reading:
    return Reading(
        list(reading.words),
        list(reading.tags),
        list(reading.brackets),
        list(reading.quotes),
        reading.length,
        reading.problem,
    )


def _reinsert(reading: Reading, number: int) -> None:
    """Give the deleted word ``quotes[number]`` its place and move what stands after it."""
    quote = reading.quotes[number]
    reading.words.insert(quote.position, quote.word)
    reading.tags.insert(quote.position, quote.tag)
    for place, (start, end, label) in enumerate(reading.brackets):
        if place >= quote.next_bracket:
            reading.brackets[place] = (start + 1, end + 1, label)
        elif place in quote.open_brackets:
            reading.brackets[place] = (start, end + 1, label)
    for place in range(number, len(reading.quotes)):
        later = reading.quotes[place]
        reading.quotes[place] = later._replace(position=later.position + 1)


def with_top_root(line: str) -> str:
    """The same line with every root called TOP: S1, ROOT and nameless ones renamed, else one added.

    COLLINS' settings leave TOP out but count S1 and ROOT as brackets, so gold and parser trees
    need the same root before they are scored. Broken brackets stay broken.

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
