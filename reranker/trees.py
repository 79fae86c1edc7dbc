"""Bracketed text <-> Tree.

Nothing here recurses, so depth is bounded by ``MAX_DEPTH`` and not by Python's stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reranker.errors import TreeError

if TYPE_CHECKING:
    import nltk

MAX_DEPTH = 2_000
MAX_WORDS = 10_000
ROOT_LABELS = frozenset({"", "S1", "TOP", "ROOT"})

# A backslash keeps a bracket inside a word, as some parsers print it. Only ASCII white space
# separates: a no-break space belongs to the word it stands in.
_TOKEN = re.compile(r"[()]|(?:\\[()]|[^()\t\n\v\f\r ])+")
_WORD_BRACKETS = str.maketrans({"(": "-LRB-", ")": "-RRB-"})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A constituent: its label and, left to right, its children; a ``str`` child is a word.

    >>> tree = Tree.from_string("(S (NP (PRP It)) (VP (VBZ runs)))")
    >>> tree.leaves()
    ['It', 'runs']
    """

    label: str
    children: tuple[Tree | str, ...]

    @classmethod
    def from_string(cls, text: str) -> Tree:
        """Read the one bracketed tree in ``text``; white space and line breaks do not matter.

        Raises TreeError: ``empty`` (no text or no word), ``not-a-tree`` (words outside brackets),
        ``unbalanced`` (a bracket too many or too few), ``too-deep`` or ``too-long``.
        """
        labels: list[str] = []
        open_children: list[list[Tree | str]] = []
        words = 0
        tokens = _TOKEN.findall(text)
        if not tokens:
            raise TreeError("empty", "no tree here")
        if tokens[0] != "(":
            raise TreeError("not-a-tree", f"a tree starts with '(', not with {tokens[0][:40]!r}")
        position, last = 0, len(tokens) - 1
        while True:
            token = tokens[position]
            if token == "(":
                if len(labels) == MAX_DEPTH:
                    raise TreeError("too-deep", f"more than {MAX_DEPTH} brackets are open")
                label = ""
                if position < last and tokens[position + 1] not in "()":
                    position += 1
                    label = tokens[position]
                labels.append(label)
                open_children.append([])
            elif token == ")":
                node = cls(labels.pop(), tuple(open_children.pop()))
                if not labels:
                    break
                open_children[-1].append(node)
            else:
                words += 1
                if words > MAX_WORDS:
                    raise TreeError("too-long", f"more than {MAX_WORDS} words")
                open_children[-1].append(token)
            if position == last:
                raise TreeError("unbalanced", f"{len(labels)} bracket(s) left open at the end")
            position += 1
        if position != last:
            surplus = tokens[position + 1]
            raise TreeError("unbalanced", f"text after the tree's last bracket: {surplus[:40]!r}")
        if not words:
            raise TreeError("empty", "the tree has no words")
        return node

    @classmethod
    def from_nltk(cls, tree: nltk.Tree) -> Tree:
        """Convert; brackets inside words and labels are written -LRB- and -RRB-."""
        done: list[list[Tree | str]] = [[]]
        stack: list[tuple[nltk.Tree, Iterator[object]]] = [(tree, iter(tree))]
        done.append([])
        while stack:
            node, children = stack[-1]
            child = next(children, None)
            if child is None:
                stack.pop()
                made = cls(str(node.label()).translate(_WORD_BRACKETS), tuple(done.pop()))
                done[-1].append(made)
            elif isinstance(child, str):
                done[-1].append(child.translate(_WORD_BRACKETS))
            else:
                stack.append((child, iter(child)))  # type: ignore[arg-type, call-overload]
                done.append([])
        (result,) = done[0]
        assert isinstance(result, Tree)
        return result

    def to_nltk(self) -> nltk.Tree:
        """The same tree as ``nltk.Tree`` (needs nltk installed)."""
        import nltk

        root = nltk.Tree(self.label, [])
        todo = [(self, root)]
        while todo:
            node, target = todo.pop()
            for child in node.children:
                if isinstance(child, str):
                    target.append(child)
                else:
                    target.append(nltk.Tree(child.label, []))
                    todo.append((child, target[-1]))
        return root

    @property
    def is_preterminal(self) -> bool:
        """True for a part-of-speech node: exactly one child, and that a word."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def preorder(self) -> Iterator[Tree]:
        """Every constituent, parents before children, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(c for c in reversed(node.children) if isinstance(c, Tree))

    def leaves(self) -> list[str]:
        """The words, left to right."""
        words: list[str] = []
        stack: list[Tree | str] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                words.append(node)
            else:
                stack.extend(reversed(node.children))
        return words

    def tags(self) -> list[str]:
        """The label of every preterminal, left to right."""
        return [node.label for node in self.preorder() if node.is_preterminal]

    def with_tags(self, tags: Iterable[str]) -> Tree:
        """The same tree with its preterminals relabelled, left to right.

        Raises TreeError (``wrong-length``) unless there is one tag for each preterminal.
        """
        given = list(tags)
        position = 0
        text: list[str] = []
        stack: list[Tree | str] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                text.append(node)
                continue
            label = node.label
            if node.is_preterminal:
                label = given[position] if position < len(given) else label
                position += 1
            text.append(f"({label} ")
            stack.append(")")
            stack.extend(reversed(node.children))
        if position != len(given):
            raise TreeError("wrong-length", f"{len(given)} tags for {position} words")
        return Tree.from_string(" ".join(text))

    def to_string(self) -> str:
        """The tree on one line, one space before every child: ``(S (NP (PRP It)) ...)``."""
        text: list[str] = []
        stack: list[Tree | str] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                text.append(node if node == ")" else f" {node}")
                continue
            text.append(f" ({node.label}")
            stack.append(")")
            stack.extend(reversed(node.children))
        return "".join(text)[1:]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"Tree.from_string({self.to_string()!r})"


def split_trees(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Cut text into trees by bracket balance: (line number of the start, text) for each.

    A blank line, or a line that opens a tree while one with another indentation is unfinished,
    never merges two trees: text is cut where brackets balance, and a tree still open at a blank
    line is handed on as it is, for ``Tree.from_string`` to refuse.
    """
    start, depth = 0, 0
    pending: list[str] = []
    for number, line in enumerate(lines, 1):
        tokens = _TOKEN.findall(line)
        starts_at_margin = line[:1] == "("
        if pending and (not tokens or (starts_at_margin and depth > 0)):
            yield start, "".join(pending)
            pending, depth = [], 0
        if not tokens:
            continue
        if not pending:
            start = number
        pending.append(line)
        depth += tokens.count("(") - tokens.count(")")
        if depth <= 0:
            yield start, "".join(pending)
            pending, depth = [], 0
    if pending:
        yield start, "".join(pending)
