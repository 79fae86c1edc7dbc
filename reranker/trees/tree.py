"""``Tree``: a constituency tree, from bracketed text or nltk and back.

Nothing here recurses, so depth is bounded by ``MAX_DEPTH`` and not by Python's stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from reranker.errors import TreeError

if TYPE_CHECKING:
    import nltk

MAX_DEPTH = 2_000
MAX_WORDS = 10_000
ROOT_LABELS = frozenset({"", "S1", "TOP", "ROOT"})
TRACE = "-NONE-"
UNKNOWN_TAG = "XX"
"""The tag of a word whose part of speech is not known."""

# Only ASCII white space separates: a no-break space belongs to the word it stands in. A token is
# a part-of-speech node ``(DT the)``, an opening bracket with its label, a closing bracket or a
# word. A backslash keeps a bracket inside a word, as some parsers print it.
_TOKEN = re.compile(
    r"""\([^()\s\\]{1,60}\ [^()\s\\]{1,60}\)
    | \(\s*+(?:[^()\s\\]++|\\[()]?+)*+
    | \)
    | (?:[^()\s\\]++|\\[()]?+)++""",
    re.ASCII | re.VERBOSE,
)
_BRACKET_TOKEN = re.compile(r"\(\s*+[^()\s]*+|\)|[^()\s]++", re.ASCII)
_ESCAPED_TOKEN = re.compile(
    r"\(\s*+(?:[^()\s\\]++|\\[()]?+)*+|\)|(?:[^()\s\\]++|\\[()]?+)++", re.ASCII
)
WHITE_SPACE = " \t\n\r\f\v"
_BRACKET_TAGS = frozenset({"-LRB-", "-RRB-"})
# Labels of phrases. Only phrases may be empty: a deleted trace leaves an empty phrase.
_PHRASE_LABELS = (
    "ADJP ADVP CLP CONJP CP DNP DP DVP FRAG INTJ IP LCP LST NAC NML NP NX PP PRN PRT QP RRC "
    "S SBAR SBARQ SINV SQ UCP VP WHADJP WHADVP WHNP WHPP X"
)
PHRASES = ROOT_LABELS | frozenset(_PHRASE_LABELS.split())


def bracket_tokens(text: str) -> list[str]:
    """Return the opening brackets with their labels, the closing brackets and the words of a text,
    whether it is a tree or not. A backslash keeps a bracket in its word, as in a ``Tree``, unless
    the brackets balance only without this rule."""
    if "\\" not in text:
        return _BRACKET_TOKEN.findall(text)
    tokens = _ESCAPED_TOKEN.findall(text)
    if not _is_one_tree(tokens) and _is_one_tree(plain := _BRACKET_TOKEN.findall(text)):
        return plain
    return tokens


def _is_one_tree(tokens: list[str]) -> bool:
    depth = 0
    for place, token in enumerate(tokens, 1):
        depth += (token[0] == "(") - (token[0] == ")")
        if depth <= 0:
            return depth == 0 and place == len(tokens)
    return False


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

        Raises TreeError: ``empty`` (no text or no word), ``not-a-tree`` (words outside brackets, or
        no string), ``unbalanced`` (a bracket too many or too few), ``too-deep`` or ``too-long``.
        """
        if not isinstance(text, str):
            kind = type(text).__name__
            raise TreeError("not-a-tree", f"expected a tree as a string, got {kind}")
        try:
            return cls._from_tokens(_TOKEN.findall(text))
        except TreeError as error:
            if error.code != "unbalanced" or "\\" not in text:
                raise
            # A word can also end in a backslash of its own: ``(SYM \\)``.
            return cls._from_tokens(_BRACKET_TOKEN.findall(text))

    @classmethod
    def _from_tokens(cls, tokens: list[str]) -> Tree:
        if not tokens:
            raise TreeError("empty", "there is no tree")
        if tokens[0][0] != "(":
            raise TreeError("not-a-tree", f"a tree starts with '(', not with {tokens[0][:40]!r}")
        words = 0
        label = ""
        children: list[Tree | str] = []
        unfinished: list[tuple[str, list[Tree | str]]] = []
        lost = ""
        for token in tokens:
            if token == ")":
                if not unfinished:
                    raise TreeError("unbalanced", "more brackets are closed than opened")
                node = cls(label, tuple(children))
                label, children = unfinished.pop()
                if not node.children:
                    lost = lost or lost_word(node.label, label)
                children.append(node)
            elif token[0] != "(":
                words += 1
                children.append(token)
            elif len(unfinished) == MAX_DEPTH:
                raise TreeError("too-deep", f"more than {MAX_DEPTH} brackets are open")
            elif token[-1] == ")" and token[-2] != "\\":
                words += 1
                children.append(_part_of_speech(token))
            else:
                unfinished.append((label, children))
                label, children = token[1:].strip(WHITE_SPACE), []
        if unfinished:
            raise TreeError("unbalanced", f"{len(unfinished)} bracket(s) left open at the end")
        if len(children) > 1:
            raise TreeError("unbalanced", "text after the tree's last bracket")
        if lost and words:
            raise TreeError("not-a-tree", lost)
        if not words:
            raise TreeError("empty", "the tree has no words")
        if words > MAX_WORDS:
            raise TreeError("too-long", f"{words} words, more than {MAX_WORDS}")
        (tree,) = children
        assert isinstance(tree, Tree)
        return tree

    @classmethod
    def from_nltk(cls, tree: nltk.Tree) -> Tree:
        """Convert an nltk tree; write brackets inside words and labels as -LRB- and -RRB-.

        Raises TreeError as ``from_string`` does, and ``not-a-tree`` for a leaf that is not one
        word (a pair, an empty string, words with a space) and for a label with a space in it.
        """
        from reranker.trees.nltk_tree import as_text

        return cls.from_string(as_text(tree, MAX_DEPTH))

    def to_nltk(self) -> nltk.Tree:
        """Return this tree as ``nltk.Tree``."""
        from reranker.trees.nltk_tree import as_nltk

        return as_nltk(self)

    @property
    def is_preterminal(self) -> bool:
        """Return whether this is a part-of-speech node: exactly one child, a word."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    @property
    def is_trace(self) -> bool:
        """Return whether this is a preterminal whose leaf is not a word."""
        return self.label == TRACE and self.is_preterminal

    def preorder(self) -> Iterator[Tree]:
        """Yield every constituent, parents before children, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(c for c in reversed(node.children) if isinstance(c, Tree))

    def leaves(self) -> list[str]:
        """Return the words and traces, left to right."""
        return self._leaves(with_traces=True)

    def words(self) -> list[str]:
        """Return the leaves without traces."""
        return self._leaves(with_traces=False)

    def _leaves(self, with_traces: bool) -> list[str]:
        leaves: list[str] = []
        stack: list[Tree | str] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                leaves.append(node)
            elif with_traces or not node.is_trace:
                stack.extend(reversed(node.children))
        return leaves

    def tags(self) -> list[str]:
        """Return the label of every preterminal, left to right."""
        return [node.label for node in self.preorder() if node.is_preterminal]

    def word_tags(self) -> list[str]:
        """Return the tags of words, without the tags of traces."""
        return [tag for tag in self.tags() if tag != TRACE]

    def with_tags(self, tags: Iterable[str]) -> Tree:
        """Return this tree with other part-of-speech tags, left to right; traces stay.

        Raises TreeError (``wrong-length``) unless there is one tag for each of the others.
        """
        tags, expected = list(tags), len(self.word_tags())
        if len(tags) != expected:
            raise TreeError("wrong-length", f"{len(tags)} tags for {expected} words")
        return self._with_leaves(iter(tags), None)

    def with_words(self, words: Iterable[str]) -> Tree:
        """Return this tree with other words, left to right; traces stay.

        Raises TreeError (``wrong-length``) unless there is one word for each leaf but the traces.
        """
        words, expected = list(words), len(self.words())
        if len(words) != expected:
            raise TreeError("wrong-length", f"{len(words)} words for {expected} words")
        return self._with_leaves(None, iter(words))

    def _with_leaves(self, tags: Iterator[str] | None, words: Iterator[str] | None) -> Tree:
        text: list[str] = []
        stack: list[Tree | str] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):  # ")", or a word that has sisters
                text.append(next(words) if words and node != ")" else node)
            elif node.is_preterminal:
                (word,), tag = node.children, node.label
                if tag != TRACE:
                    word, tag = next(words) if words else word, next(tags) if tags else tag
                # The space keeps a last backslash in the word.
                text.append(f"({tag} {word} )")
            else:
                text.append(f"({node.label} ")
                stack.append(")")
                stack.extend(reversed(node.children))
        return Tree.from_string(" ".join(text))

    def to_string(self) -> str:
        """Return the tree on one line, one space before every child: ``(S (NP (PRP It)) ...)``."""
        text: list[str] = []
        stack: list[Tree | str] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                # A backslash right before a bracket would take it into the word.
                closes = node == ")" and not text[-1].endswith("\\")
                text.append(node if closes else f" {node}")
                continue
            text.append(f" ({node.label}")
            stack.append(")")
            stack.extend(reversed(node.children))
        return "".join(text)[1:]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle flat, since pickle recurses: words, and labels with their numbers of children."""
        flat: list[str | tuple[str, int]] = []
        stack: list[Tree | str] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                flat.append(node)
            else:
                flat.append((node.label, len(node.children)))
                stack.extend(reversed(node.children))
        return _from_flat, (flat,)

    def __repr__(self) -> str:
        text = self.to_string()
        if shortened(text) == text and text.isprintable():
            return f"Tree.from_string({text!r})"
        return f"<Tree {shortened(repr(shortened(text))[1:-1], 80)}>"

    def to_svg(self) -> str:
        """Draw the tree."""
        from reranker.trees.svg import drawing

        return drawing(self)

    def _repr_svg_(self) -> str:
        """Return the drawing that notebooks show."""
        return self.to_svg()


def shortened(text: str, most: int = 60) -> str:
    """Return a text, or its beginning if it has more than ``most`` characters, for a repr."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def quoted(text: str) -> str:
    """Return the repr of the beginning of a text."""
    return shortened(repr(shortened(text)), 80)


def short_repr(value: Any) -> str:
    """Return the repr of a dataclass or named tuple in at most 200 characters."""
    names = getattr(value, "_fields", None) or [field.name for field in fields(value)]
    values = (" ".join(repr(getattr(value, name)).split()) for name in names)
    parts = (f"{name}={shortened(given, 80)}" for name, given in zip(names, values, strict=True))
    return shortened(f"{type(value).__name__}({', '.join(parts)})", 200)


def _from_flat(flat: list[str | tuple[str, int]]) -> Tree:
    """Rebuild the tree of ``Tree.__reduce__``."""
    nodes: list[Tree | str] = []
    for entry in reversed(flat):  # children before their parents
        if isinstance(entry, str):
            nodes.append(entry)
        else:
            label, count = entry
            children = tuple(nodes.pop() for _ in range(count))
            nodes.append(Tree(label, children))
    (tree,) = nodes
    assert isinstance(tree, Tree)
    return tree


@lru_cache(maxsize=32_768)
def _part_of_speech(token: str) -> Tree:
    """Return the node for ``(DT the)``; candidates of one sentence share nearly all such nodes."""
    tag, word = token[1:-1].split(" ")
    return Tree(tag, (word,))


def lost_word(label: str, parent: str) -> str:
    """Return why an empty bracket in a bracket labelled ``parent`` may be a lost word; "" for an
    empty constituent in a constituent.

    >>> lost_word("word", "NN"), lost_word("NP-SBJ", "S")
    ("a label without a word, or a word without a label: '(word)'", '')
    """
    if label and _is_phrase(label) and _is_phrase(parent):
        return ""
    if not label:
        return "'()' has neither label nor word; brackets that are words are -LRB- and -RRB-"
    if label in _BRACKET_TAGS:
        return f"no word after {label!r}; brackets that are words are -LRB- and -RRB-"
    return f"a label without a word, or a word without a label: '({label[:40]})'"


def _is_phrase(label: str) -> bool:
    """Return whether a label, with or without function tags, is a phrase's."""
    return re.split("(?<!^)[-=]", label, maxsplit=1)[0] in PHRASES
