"""TigerXML (Mengel and Lezius 2000): words, constituents and the edges between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from xml.sax.saxutils import quoteattr

from reranker.errors import TreeError
from reranker.plugins.treebanks.graph import MOST_ROWS, NONE, VROOT, Graphs, Row, parts
from reranker.plugins.treebanks.pieces import broken
from reranker.plugins.treebanks.xml_events import Event, Fault, events
from reranker.trees.tree import ROOT_LABELS, Tree
from reranker.trees.treebank import TreePiece

START = '<?xml version="1.0" encoding="UTF-8"?>\n<corpus id="trees">\n<body>\n'
END = "</body>\n</corpus>\n"
_FIRST = 500
_NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


class _Sentence:
    def __init__(self, line: int) -> None:
        self.line = line
        self._words: dict[str, tuple[str, str]] = {}  # a label and a word
        self._labels: dict[str, str] = {}
        self._parents: dict[str, tuple[str, str]] = {}  # and the functions
        self._node = self._problem = ""

    def add(self, event: Event) -> None:
        """Add the start of an element."""
        given = event.attributes or {}
        if len(self._words) + len(self._labels) + len(self._parents) >= 2 * MOST_ROWS:
            self._problem = f"more than {2 * MOST_ROWS} words, constituents and edges"
        elif event.name == "t":
            self._words[self._new(event)] = given.get("pos", ""), given.get("word", "")
        elif event.name == "nt":
            self._node = self._new(event)
            self._labels[self._node] = given.get("cat", "")
        elif event.name == "edge":
            child = given.get("idref", "")
            if child in self._parents:
                self._problem = f"line {event.line}: a second edge to {child}"
            self._parents[child] = self._node, given.get("label", "")

    def _new(self, event: Event) -> str:
        """Return the id of a word or constituent, which no other may have."""
        name = (event.attributes or {}).get("id", "")
        if not name:
            self._problem = f"line {event.line}: an element {event.name} without an id"
        elif name in self._words or name in self._labels:
            self._problem = f"line {event.line}: a second element with the id {name:.60}"
        return name

    def piece(self, end: int, graphs: Graphs) -> TreePiece:
        """Return the sentence as a piece."""
        known = self._words.keys() | self._labels.keys()
        if lost := [each for each in self._parents if each not in known]:
            self._problem = self._problem or f"an edge to {lost[0]!r:.60}, which is not there"
        if self._problem:
            return broken(self.line, end, "not-a-tree", self._problem)
        words = []
        for name, (label, word) in self._words.items():
            parent, edge = self._parents.get(name, ("", ""))
            words.append(Row(label, edge, parent, word))
        nodes = {}
        for name, label in self._labels.items():
            parent, edge = self._parents.get(name, ("", ""))
            nodes[name] = Row(label, edge, parent)
        return graphs.piece(self.line, end, words, nodes)


def read(file: str, lines: Iterable[str], say: Callable[[str], None]) -> Iterator[TreePiece]:
    """Yield the trees of a file."""
    graphs, sentence = Graphs(), None
    for event in events(lines, "s"):
        if isinstance(event, Fault):
            if sentence or event.is_of_sentence:
                line, _, error = event
                yield broken(sentence.line if sentence else line, line, error.code, str(error))
            else:
                say(f"{file}:{event.line}: {event.error}")
            sentence = None
        elif event.name == "s" and event.attributes is not None:
            sentence = _Sentence(event.line)
        elif event.name == "s" and sentence:
            yield sentence.piece(event.line, graphs)
            sentence = None
        elif sentence and event.attributes is not None:
            sentence.add(event)
    graphs.report(file, say)


def write(tree: Tree, position: int) -> str:
    """Return a tree; TOP is left out or, above several constituents, called VROOT, as readers call
    it TOP. Raises TreeError for a tree that the format cannot hold."""
    if found := _NOT_XML.search(tree.to_string()):
        raise TreeError("not-a-tree", f"{found[0]!r} cannot be written in XML")
    if tree.label in ("", "TOP") and not tree.is_preterminal:
        below = tree.children
        is_plain = len(below) == 1 and getattr(below[0], "label", "") not in (*ROOT_LABELS, VROOT)
        tree = below[0] if is_plain and isinstance(below[0], Tree) else Tree(VROOT, below)
    words, nodes = parts([tree])
    if nodes and nodes[0].edge != NONE:  # a function is that of an edge, and none leads to the top
        words, nodes = parts([Tree(VROOT, (tree,))])
    sentence, first = f"s{position + 1}", max(_FIRST, len(words) + 1)
    names = [f"{sentence}_{first + place}" for place in range(len(nodes))]
    edges: list[list[str]] = [[] for _ in nodes]

    def attributes(name: str, part: Row, **others: str) -> str:
        if part.parent:
            edges[int(part.parent)].append(f'<edge label={quoteattr(part.edge)} idref="{name}"/>\n')
        values = (f" {key}={quoteattr(value)}" for key, value in others.items())
        return f'id="{name}"' + "".join(values)

    terminals = [
        f"<t {attributes(f'{sentence}_{place}', each, word=each.word or '', pos=each.label)}/>\n"
        for place, each in enumerate(words, 1)
    ]
    labels = [attributes(*pair, cat=pair[1].label) for pair in zip(names, nodes, strict=True)]
    constituents = (
        f"<nt {label}>\n{''.join(below)}</nt>\n" for label, below in zip(labels, edges, strict=True)
    )
    return (
        f'<s id="{sentence}">\n<graph root="{[*names, f"{sentence}_1"][0]}">\n'
        f"<terminals>\n{''.join(terminals)}</terminals>\n"
        f"<nonterminals>\n{''.join(constituents)}</nonterminals>\n</graph>\n</s>\n"
    )
