"""One tree a sentence, on a line or pretty-printed: a parser's best trees, a treebank, Stanza.

Each tree is a list of one candidate; files of several parsers can be pooled. A blank line is a
sentence without a tree, unless it follows a tree of several lines or every tree, as BLLIP's parser
prints one after its only tree, or comes before the first of several lines, as in the Penn Treebank.
"""

from __future__ import annotations

from collections.abc import Iterator

from reranker.nbest.data import NBest, RawCandidate
from reranker.nbest.dialects.candidate_text import bracketed
from reranker.nbest.dialects.dialect import Dialect
from reranker.nbest.lines import Group, NumberedLines
from reranker.trees.splitting import TreeLines, open_brackets


def _lists(file: NumberedLines) -> Iterator[Group]:
    """One list for every tree or blank line."""
    is_blank = [not line.strip() for line in file.head]
    # Trees on a line and blank lines take turns to the end, with more than one tree.
    always_ends_blank = len(is_blank) > 2 and is_blank == [False, True] * (len(is_blank) // 2)
    # By a blank line that says nothing else; before a tree of several lines one says nothing.
    is_ended = open_brackets(next(filter(str.strip, file.head), "")) <= 0
    tree = TreeLines()
    for number, line in file:
        text = line.strip()
        if tree.is_open and (not text or tree.ends_before(line)):
            yield tree.start, [RawCandidate(*tree.take())]
            is_ended = False
        if text:
            if tree.add(number, text):
                is_ended = number == tree.start and not always_ends_blank
                yield tree.start, [RawCandidate(*tree.take())]
        else:
            if is_ended:
                yield number, []
            is_ended = True
    if tree.is_open:
        yield tree.start, [RawCandidate(*tree.take())]


def _write(nbest: NBest, position: int) -> str:
    # No blank line, which between trees can mean nothing at all.
    return (bracketed(nbest.candidates[0]) if nbest.candidates else "(TOP )") + "\n"


TREES = Dialect(
    name="trees",
    description="one tree a sentence, on a line or pretty-printed",
    recognise=lambda head: head.first[:1] == "(" and head.has_tree,
    read=lambda file: file.numbered(_lists(file)),
    write=_write,
    notation=None,
)
