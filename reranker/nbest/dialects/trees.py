"""One tree a sentence, on a line or pretty-printed: a parser's best trees, a treebank, Stanza.

Each tree is a list of one candidate; files of several parsers can be pooled. A blank line is a
sentence without a tree, unless it follows a tree of several lines or every tree: BLLIP's parser
prints one after its only tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reranker.nbest.data import NBest, RawCandidate, RawList
from reranker.nbest.dialects.candidate_text import bracketed
from reranker.nbest.dialects.dialect import Dialect
from reranker.nbest.dialects.tree_lines import TreeLines
from reranker.nbest.lines import NumberedLines


def _read(file: NumberedLines) -> Iterator[RawList]:
    """One list for every tree or blank line."""
    position = 0
    tree = TreeLines()
    always_ends_blank = _always_ends_blank(file.head)
    is_ended = True  # by a blank line that says nothing else

    def finish() -> RawList:
        nonlocal position
        position += 1
        return RawList(str(position - 1), tree.start, [RawCandidate(tree.start, tree.take())])

    for number, line in file:
        text = line.strip()
        if tree.is_open and (not text or tree.ends_before(line)):
            yield finish()
            is_ended = False
        if text:
            if tree.add(number, text):
                is_ended = number == tree.start and not always_ends_blank
                yield finish()
        else:
            if is_ended:
                yield RawList(str(position), number, [])
                position += 1
            is_ended = True
    if tree.is_open:
        yield finish()
    yield from file.rest(position)


def _always_ends_blank(head: Sequence[str]) -> bool:
    """Whether trees on a line and blank lines take turns to the end, with more than one tree."""
    is_blank = [not line.strip() for line in head]
    return len(head) > 2 and is_blank == [False, True] * (len(head) // 2)


def _write(nbest: NBest, position: int) -> str:
    # No blank line, which between trees can mean nothing at all.
    return (bracketed(nbest.candidates[0]) if nbest.candidates else "(TOP )") + "\n"


TREES = Dialect(
    name="trees",
    description="one tree a sentence, on a line or pretty-printed",
    recognise=lambda head: head.first[:1] == "(",
    read=_read,
    write=_write,
    notation=None,
)
