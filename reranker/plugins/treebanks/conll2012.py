"""The columns of the CoNLL-2012 shared task (Pradhan et al. 2012): document, part, word number,
word, tag, parse bit and others, which are not read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from reranker.errors import TreeError
from reranker.nbest.words import escaped
from reranker.outputs.conllu import parse_bits
from reranker.plugins.treebanks.pieces import broken, piece
from reranker.trees.tree import MAX_WORDS, WHITE_SPACE, Tree
from reranker.trees.treebank import TreePiece

START, END = "#begin document (trees); part 000\n", "#end document\n"
_NONE = "-"  # no tag
_SPACE = re.compile(r"[ \t]+")


def read(file: str, lines: Iterable[str], say: Callable[[str], None]) -> Iterator[TreePiece]:
    """Yield the trees of a file."""
    parts: list[str] = []
    problem, start, number = "", 0, 0
    for number, line in enumerate(lines, 1):
        cells = _SPACE.split(line.strip(WHITE_SPACE))
        if cells[0] in ("", "#begin", "#end"):
            if start:
                yield _piece(start, number - 1, parts, problem)
            parts, problem, start = [], "", 0
            continue
        start = start or number
        before, star, behind = cells[5].rpartition("*") if len(cells) > 5 else ("", "", "")
        if not star:
            problem = problem or f"line {number}: no parse bit in column 6"
        elif len(parts) >= MAX_WORDS:
            problem = f"more than {MAX_WORDS} words"
        else:
            word, tag = escaped(cells[3]), escaped(cells[4])
            leaf = word if tag == _NONE else f"({tag} {word})"
            parts.append(f"{before} {leaf}{behind}")
    if start:
        yield _piece(start, number, parts, problem)


def _piece(start: int, end: int, parts: list[str], problem: str) -> TreePiece:
    if problem:
        return broken(start, end, "not-a-tree", problem)
    return piece(start, end, "".join(parts))


def write(tree: Tree, position: int) -> str:
    """Return the rows of a tree, and the blank line that ends them. Raises TreeError for a tree
    that the format cannot hold."""
    rows = []
    for place, (word, tag, bit) in enumerate(parse_bits(tree)):
        if tag == _NONE:
            raise TreeError("not-a-tree", f"the tag {_NONE} of {word} means no tag in this format")
        rows.append(f"trees\t0\t{place}\t{word}\t{tag or _NONE}\t{bit}\t-\t-\t-\t-\t*\t-\n")
    return "".join(rows) + "\n"
