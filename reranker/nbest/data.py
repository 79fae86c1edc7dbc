"""What n-best files are about: sentences, candidates, and candidates that cannot be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from reranker.errors import TreeError
from reranker.trees.linearize import delinearize, is_word
from reranker.trees.tree import Tree

UNKNOWN_TAG = "XX"


class Sentence(NamedTuple):
    """The words a parser was given; ``tags`` is empty or has one tag a word."""

    words: tuple[str, ...]
    tags: tuple[str, ...] = ()

    @property
    def flat_tree(self) -> str:
        """What a parser that fails prints: every word under one constituent."""
        tags = self.tags or (UNKNOWN_TAG,) * len(self.words)
        nodes = (f"({tag} {word})" for tag, word in zip(tags, self.words, strict=True))
        return f"(TOP (S {' '.join(nodes)}))" if self.words else "(TOP )"


class RawCandidate(NamedTuple):
    """What a dialect's reader finds: text that should be a tree.

    ``parser_score`` is the natural logarithm of the parser's joint probability, or None if the file
    has none. ``problem`` is (code, message) if the reader already knows that there is no tree here.
    """

    line: int
    text: str
    parser_score: float | None = None
    problem: tuple[str, str] | None = None


class RawList(NamedTuple):
    """One sentence's candidates in the parser's order, as a dialect's reader finds them."""

    id: str
    line: int
    candidates: list[RawCandidate]
    sentence: Sentence | None = None
    """The words, where the file itself tells them."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tree the parser proposes, with its place in the parser's list, counted from 0."""

    index: int
    text: str
    """The tree as it came, on one line; a repaired one in the same notation."""
    tokens: tuple[str, ...]
    """Linearised, with the sentence's own words (``reranker.trees.linearize``)."""
    parser_score: float | None
    """The parser's joint log-probability in nats."""
    line: int
    tags: tuple[str, ...] | None = None
    """Given if ``text`` has no part-of-speech nodes of its own."""
    is_repaired: bool = False
    file: str = ""

    @property
    def words(self) -> list[str]:
        """The sentence's words, as the list knows them."""
        return [token for token in self.tokens if is_word(token)]

    @property
    def tree(self) -> Tree:
        """The tree with the sentence's own words, and tags where the dialect or the user tells
        them."""
        if self.tags is not None:
            tree = delinearize(self.tokens, self.words, self.tags, root="TOP")
            return tree if len(tree.children) > 1 else _only_child(tree)
        tree, words = Tree.from_string(self.text), self.words
        return tree if tree.leaves() == words else tree.with_words(words)

    def rejected(self, code: str, message: str) -> Rejected:
        """The candidate as one that cannot be used after all."""
        return Rejected(self.index, self.line, code, message, self.text, self.file)


def _only_child(tree: Tree) -> Tree:
    (child,) = tree.children
    assert isinstance(child, Tree)
    return child


@dataclass(frozen=True, slots=True)
class Rejected:
    """What stands in a list but cannot be used, and why.

    ``code`` is one of TreeError's, or ``encoding`` (bytes that are not UTF-8), ``surplus`` (beyond
    the number the header promises), ``truncated`` (from this place on the list is missing),
    ``missing`` (one of several pooled files has no such list), ``no-id``, ``not-json``, or, when
    candidates are weighed, ``no-score``.
    """

    index: int
    line: int
    code: str
    message: str
    text: str
    file: str = ""

    @property
    def is_tree(self) -> bool:
        """Whether the text is a tree all the same, only not one of this sentence or list."""
        if self.code not in ("wrong-length", "wrong-words", "surplus", "no-score"):
            return False
        try:
            Tree.from_string(self.text)
        except TreeError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class NBest:
    """The candidates of one sentence, in the parser's order."""

    id: str
    candidates: tuple[Candidate, ...]
    rejected: tuple[Rejected, ...]
    line: int
    sentence: Sentence | None = None

    @property
    def fallback(self) -> str:
        """The answer if no candidate can be used: the parser's first text that is a tree, else the
        sentence's words in a flat one, else ``(TOP )``."""
        for one in sorted(self.rejected, key=lambda rejected: rejected.index):
            if one.is_tree:
                return one.text
        return self.sentence.flat_tree if self.sentence else "(TOP )"
