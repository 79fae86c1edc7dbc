"""Lists of one tree per sentence, on a line or pretty-printed: a parser's best trees, a treebank,
Stanza.

Each tree is a list of one candidate; files of several parsers can be pooled. Blank lines mean
nothing in a file in which some tree takes up several lines, as for
``reranker.trees.treebank.sentences``. In others, a blank line is a sentence without a tree, unless
one follows every tree, as BLLIP's parser prints one after its only tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reranker.files.kinds import is_treebank, kind_of
from reranker.nbest.data import NBest, RawCandidate
from reranker.nbest.dialects.registry import Dialect
from reranker.nbest.lines import Group, NumberedLines
from reranker.trees.splitting import is_remark, open_brackets, split_trees
from reranker.trees.treebank import Remarks, TreePiece, TreeReader


def _lists(file: NumberedLines) -> Iterator[Group]:
    """Yield one list for every tree or blank line."""
    head = [line.strip() for line in file.head if not is_remark(line.strip())]
    is_blank = [not line for line in head]
    # Trees on one line alternate with blank lines to the end, and there is more than one tree.
    always_ends_blank = len(is_blank) > 2 and is_blank == [False, True] * (len(is_blank) // 2)
    # A blank line only ends the previous tree; before a tree of several lines it means nothing.
    is_ended = open_brackets(next(filter(None, head), "")) <= 0
    is_spread = any(
        TreePiece(*piece).is_spread for piece in split_trees(file.head) if not is_remark(piece.text)
    )
    blank = 0  # the last blank line that was a sentence
    lines = (line for _, line in file)
    for piece in TreeReader(file.name, lines, Remarks(file.warn), file.head):
        if piece.text:
            if piece.is_spread and blank and not is_spread:
                file.warn(
                    f"{file.name}:{piece.line}: a tree over several lines: blank lines mean "
                    f"nothing from here on; up to line {blank} they were sentences without a tree"
                )
            is_spread = is_spread or piece.is_spread
            yield piece.line, [RawCandidate(piece.line, piece.text, problem=piece.problem)]
            is_on_a_line = piece.end == piece.line and open_brackets(piece.text) <= 0
            is_ended = is_on_a_line and not always_ends_blank
        else:
            if is_ended and not is_spread:
                blank = piece.line
                yield piece.line, []
            is_ended = True


def _write(nbest: NBest, position: int) -> str:
    # No blank line, which between trees can mean nothing at all.
    return (nbest.candidates[0].bracketed if nbest.candidates else "(TOP )") + "\n"


def _candidate_texts(head: Iterable[str]) -> list[str]:
    """Return the lines that show a notation: none in columns or XML."""
    lines = list(head)
    return [] if is_treebank(kind_of("".join(lines))) else [line for line in lines if line.strip()]


TREES = Dialect(
    read=lambda file: file.numbered(_lists(file)),
    write=_write,
    notation=None,
    candidate_texts=_candidate_texts,
)
