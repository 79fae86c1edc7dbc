"""CoNLL-U with a tree in the comment ``# constituency``, as Stanza writes it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from reranker.nbest.dialects.recognition import COMMENT
from reranker.outputs.conllu import to_conllu
from reranker.plugins.treebanks.pieces import broken, piece
from reranker.ranking.sentence import ParsedSentence, with_words_only
from reranker.trees.tree import Tree
from reranker.trees.treebank import TreePiece

START = END = ""


def read(file: str, lines: Iterable[str], say: Callable[[str], None]) -> Iterator[TreePiece]:
    """Yield the trees of a file."""
    tree: TreePiece | None = None
    start, number = 0, 0
    for number, line in enumerate(itertools.chain(lines, [""]), 1):
        text = line.strip()
        if not text:
            if start:
                no_tree = broken(start, number - 1, "empty", "a sentence without # constituency")
                yield tree._replace(end=number - 1) if tree else no_tree
            tree, start = None, 0
            continue
        if text[0] != "#":
            start = start or number
        elif tree is None and (comment := COMMENT.fullmatch(text)):
            tree = piece(number, number, comment[1])
            start = start or number


def write(tree: Tree, position: int) -> str:
    """Return the comments and rows of a tree, without traces, and the blank line after them."""
    return to_conllu(ParsedSentence(str(position + 1), with_words_only(tree)))
