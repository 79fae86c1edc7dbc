"""The NEGRA export format, versions 3 and 4 (Brants 1997): a row for each word and constituent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from reranker.errors import TreeError
from reranker.plugins.treebanks.graph import MOST_ROWS, NONE, Graphs, Row, parts
from reranker.plugins.treebanks.pieces import broken
from reranker.trees.tree import WHITE_SPACE, Tree
from reranker.trees.treebank import TreePiece

START, END = "#FORMAT 4\n", ""
_FIRST = 500
_NODE = re.compile(r"#([0-9]{3,})")
_SPACE = re.compile(r"[ \t]+")


class _Sentence:
    def __init__(self, line: int) -> None:
        self.line = line
        self.words: list[Row] = []
        self.nodes: dict[str, Row] = {}
        self.problem = ""

    def add(self, line: int, cells: list[str], version: int) -> None:
        """Add a row: word, lemma in version 4, tag, morphology, function, parent."""
        behind = cells[2 if version == 4 else 1 :]
        parent = behind[3].partition(" ")[0] if len(behind) > 3 else ""  # without a remark
        if not (parent.isascii() and parent.isdecimal()):
            self.problem = self.problem or f"line {line}: no parent in column {version + 2}"
            return
        if len(self.words) + len(self.nodes) >= MOST_ROWS:
            self.problem = f"more than {MOST_ROWS} rows"
            return
        label, _, edge = behind[:3]
        parent = parent if parent.strip("0") else ""
        if node := _NODE.fullmatch(cells[0]):
            if node[1] in self.nodes:
                self.problem = f"line {line}: a second row of {cells[0]:.60}"
            self.nodes[node[1]] = Row(label, edge, parent)
        else:
            self.words.append(Row(label, edge, parent, cells[0]))

    def piece(self, end: int, graphs: Graphs) -> TreePiece:
        """Return the sentence as a piece."""
        if self.problem:
            return broken(self.line, end, "not-a-tree", self.problem)
        return graphs.piece(self.line, end, self.words, self.nodes)


def read(file: str, lines: Iterable[str], say: Callable[[str], None]) -> Iterator[TreePiece]:
    """Yield the trees of a file."""
    graphs, sentence, version, number = Graphs(), None, 0, 0
    is_table = has_stray = False  # tables of labels come before the sentences
    for number, line in enumerate(lines, 1):
        text = line.strip(WHITE_SPACE)  # not a word of other spaces
        mark = text[:4]
        if mark in ("#BOS", "#EOS") and sentence:
            if mark == "#BOS":
                sentence.problem = f"line {number}: #BOS before #EOS"
            yield sentence.piece(number, graphs)
            sentence = None
        if mark == "#BOS":
            sentence = _Sentence(number)
        elif text.startswith("#FORMAT"):
            version = 4 if text.endswith("4") else 3
        elif mark in ("#BOT", "#EOT"):
            is_table = mark == "#BOT"
        elif text and sentence and mark != "#EOS":
            cells = text.split("\t") if "\t" in text else _SPACE.split(text)
            cells = [cell.strip(WHITE_SPACE) for cell in cells if cell.strip(WHITE_SPACE)]
            if not version:
                version = 3 if cells[4:5] and cells[4].isdecimal() else 4
            sentence.add(number, cells, version)
        elif text and mark != "#EOS" and not (is_table or has_stray or text.startswith("%%")):
            say(f"{file}:{number}: rows outside sentences are skipped: {text[:40]!r}")
            has_stray = True
    if sentence:
        sentence.problem = "no #EOS up to the end of the file"
        yield sentence.piece(number, graphs)
    graphs.report(file, say)


def write(tree: Tree, position: int) -> str:
    """Return a tree in version 4; its root is not written if it is called TOP, as readers call it
    that. Raises TreeError for a tree that the format cannot hold."""
    roots = tree.children if tree.label in ("", "TOP") and not tree.is_preterminal else (tree,)
    words, nodes = parts(roots)
    last = _FIRST + len(nodes) - 1  # constituents are numbered before those that they are in

    def row(word: str, part: Row) -> str:
        parent = last - int(part.parent) if part.parent else 0
        return f"{word}\t{NONE}\t{part.label}\t{NONE}\t{part.edge}\t{parent}\n"

    rows = []
    for part in words:
        word = part.word or ""
        if _NODE.fullmatch(word) or word[:4] in ("#BOS", "#EOS", "#BOT", "#EOT", "#FOR"):
            raise TreeError("not-a-tree", f"the word {word} means something else in this format")
        rows.append(row(word, part))
    rows += [row(f"#{last - place}", nodes[place]) for place in reversed(range(len(nodes)))]
    number = position + 1
    return f"#BOS {number} 0 0 0\n{''.join(rows)}#EOS {number}\n"
