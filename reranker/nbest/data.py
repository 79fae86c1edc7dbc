"""Sentences, their candidates, and rejected candidates."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from reranker.errors import InputError, TreeError
from reranker.files.opening import text_digest
from reranker.files.text import encoding_fault
from reranker.nbest.growth_limit import GrowthLimit
from reranker.nbest.words import escaped, split_words
from reranker.trees.constituents import constituents
from reranker.trees.linearize import delinearize, is_word
from reranker.trees.tree import UNKNOWN_TAG, Tree, quoted, short_repr

if TYPE_CHECKING:
    from reranker.files.text import TextFile

LEAST_PROBABILITY = 1e-3

Repair = bool | Literal["authors"]
"""The repair of broken candidates; ``authors`` repairs the candidates of seq2seq parsers as the
parsers' authors do."""

Order = Literal["given", "score", "frequency"]
"""The order of a list's candidates: as the parser gave them, best first; or, for samples, which
come unordered, by score or by frequency. For pooled lists, ``score`` if it applies to any."""


Path: TypeAlias = "str | os.PathLike[str] | TextFile"


class Sentence(NamedTuple):
    """The words given to a parser; ``tags`` is empty or has one tag for each word."""

    words: tuple[str, ...]
    tags: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: Sequence[str], tags: Sequence[str] = ()) -> Sentence:
        """Return the sentence of these words; write brackets as -LRB- and -RRB-, as in trees.

        Raises InputError unless each word and tag is a string without white space and there are no
        tags or one for each word.
        """
        sentence = cls(_symbols(words, "tokens"), _symbols(tags, "tags"))
        if tags and len(tags) != len(words):
            raise InputError(f"{len(tags)} tags for {len(words)} tokens")
        return sentence

    def flat_tree(self, root: str = "TOP") -> str:
        """Return the tree for a parser that fails: every word under one constituent."""
        tags = self.tags or (UNKNOWN_TAG,) * len(self.words)
        nodes = (Tree(tag, (word,)) for tag, word in zip(tags, self.words, strict=True))
        return Tree(root, (Tree("S", tuple(nodes)),)).to_string() if self.words else f"({root} )"


def _symbols(symbols: Sequence[str], name: str) -> tuple[str, ...]:
    for symbol in symbols:
        is_one_word = isinstance(symbol, str) and split_words(symbol) == [symbol]
        if not is_one_word or encoding_fault(symbol):
            raise InputError(f"an entry of '{name}' is not one word: {symbol!r}")
    return tuple(map(escaped, symbols))


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options for reading n-best files; by default the format is auto-detected."""

    format: str = "auto"  # ``auto`` or the name of a dialect in ``reranker.nbest.FORMATS``
    tokens: Path | tuple[Sentence, ...] | None = None
    """A file with the sentences, see ``reranker.nbest.tokens_file``; or the sentences."""
    repair: Repair | None = None
    """Repair broken candidates, or those of seq2seq parsers as their ``"authors"`` do; None repairs
    those of seq2seq parsers only."""
    beam: int | None = None  # lines of a list, for files that do not say
    restore: bool = False
    """Rewrite candidates as bracketed trees with the sentence's words and tags."""
    check: Callable[[RawList], None] | None = None
    """A function called with each list before its candidates are read; its errors stop the
    reading."""
    growth_limit: GrowthLimit | None = None
    """The limit on how much longer all lists together may become than their text; None limits each
    list by itself."""


class Origin(NamedTuple):
    """The place of a sentence in a text."""

    file: str
    line: int
    """The line of the sentence's first word, from 1."""
    text: str
    """The text from the sentence's first word to its last."""
    offsets: tuple[tuple[int, int], ...]
    """The half-open span of each word in characters, counted from 0 at the start of the file's
    text."""
    speaker: str | None = None
    """The name before the turn of a transcript."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; only transcripts have speakers."""
        return {key: value for key, value in self._asdict().items() if value is not None}

    def __repr__(self) -> str:
        return short_repr(self)


class RawCandidate(NamedTuple):
    """Text that should be a tree.

    ``parser_score`` is the natural logarithm of the parser's joint probability, or None if the file
    has none. ``problem`` is (code, message) if the reader already knows that there is no tree here.
    """

    line: int
    text: str
    parser_score: float | None = None
    problem: tuple[str, str] | None = None


class RawList(NamedTuple):
    """The candidates of a sentence in the parser's order, not checked yet."""

    id: str
    line: int
    candidates: list[RawCandidate]
    sentence: Sentence | None = None
    """The words, if the file itself has them."""
    order: Order = "given"


@dataclass(frozen=True, slots=True, repr=False)
class Candidate:
    """A tree the parser proposes, with its place in the parser's list, counted from 0."""

    index: int
    text: str
    """The tree as given, on one line; a repaired tree in the same notation."""
    tokens: tuple[str, ...]
    """The linearised tree, with the sentence's own words (``reranker.trees.linearize``)."""
    parser_score: float | None
    """The parser's joint log-probability in nats."""
    line: int
    tags: tuple[str, ...] | None = None
    """The tags, given if ``text`` has no part-of-speech nodes."""
    is_repaired: bool = False
    file: str = ""

    def __repr__(self) -> str:
        return f"Candidate({self.index}, {quoted(self.text)})"

    @property
    def words(self) -> list[str]:
        """Return the sentence's words, in the list's spelling."""
        return [token for token in self.tokens if is_word(token)]

    @property
    def tree(self) -> Tree:
        """Return the tree with the sentence's own words, and with tags that the dialect or the user
        gives."""
        words = self.words
        if self.tags is not None:
            tree = delinearize(self.tokens, words, self.tags, root="TOP")
            (first, *others) = tree.children
            return tree if others or isinstance(first, str) else first
        tree = Tree.from_string(self.text)
        return tree if tree.leaves() == words else tree.with_words(words)

    @property
    def bracketed(self) -> str:
        """Return the tree with part-of-speech nodes: ``text``, if that has them."""
        return self.text if self.tags is None else self.tree.to_string()

    def rejected(self, code: str, message: str) -> Rejected:
        """Return this candidate as a rejected one."""
        return Rejected(self.index, self.line, code, message, self.text, self.file)


@dataclass(frozen=True, slots=True, repr=False)
class Rejected:
    """An entry of a list that cannot be used, and the reason.

    ``code`` is one of TreeError's, or ``encoding`` (bytes that are not UTF-8), ``surplus`` (beyond
    the number in the header), ``truncated`` (the list is missing from here on),
    ``missing`` (one of several pooled files has no such list), ``no-id``, ``not-json``,
    ``unparsed`` (a parser found no tree), or, when candidates are weighed, ``no-score``.
    """

    index: int
    line: int
    code: str
    message: str
    text: str
    file: str = ""

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def is_tree(self) -> bool:
        """Return whether the text is a tree, though not a tree of this sentence or list."""
        if self.code not in ("wrong-length", "wrong-words", "surplus", "no-score"):
            return False
        try:
            Tree.from_string(self.text)
        except TreeError:
            return False
        return True


@dataclass(frozen=True, slots=True, repr=False)
class Certainty:
    """The certainty of a parser about a sentence, over all trees that the parser considers."""

    probabilities: Mapping[tuple[int, int, str], float]
    """P(bracket | words) by the bracket's first word, the word after its last, and its label;
    values below ``LEAST_PROBABILITY`` are missing."""
    entropy: float
    """Entropy of the distribution over trees, in nats; 0 if one tree is certain."""

    def __repr__(self) -> str:
        return f"Certainty({len(self.probabilities)} brackets, entropy={self.entropy:.2f})"

    def of(self, tokens: Sequence[str]) -> list[tuple[int, int, str, float]]:
        """Return the brackets of a linearised tree, each with its probability: parents before
        children, left to right."""
        return [
            (
                each.start,
                each.end,
                label,
                self.probabilities.get((each.start, each.end, label), 0.0),
            )
            for each in constituents(tokens)
            for label in each.label.split(" ")
        ]

    def rows(self) -> list[tuple[int, int, str, float]]:
        """Return all of ``probabilities``, rounded to 4 decimals, ordered by place and label."""
        rows = ((*key, round(value, 4)) for key, value in self.probabilities.items())
        return sorted(rows, key=lambda row: (row[0], -row[1], row[2]))

    def mean(self, tokens: Sequence[str]) -> float | None:
        """Return the mean probability of a tree's brackets: its expected precision. None without
        any bracket."""
        probabilities = [probability for *_, probability in self.of(tokens)]
        return sum(probabilities) / len(probabilities) if probabilities else None


@dataclass(frozen=True, slots=True, repr=False)
class NBest:
    """The candidates of one sentence, in the parser's order."""

    id: str
    candidates: tuple[Candidate, ...]
    rejected: tuple[Rejected, ...]
    line: int
    sentence: Sentence | None = None
    order: Order = "given"
    origin: Origin | None = None
    """The place of a sentence in a parsed text."""
    root: str = "TOP"
    """The root label of the parser's trees."""
    certainty: Certainty | None = None
    """The parser's certainty, if known."""

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def fallback(self) -> str:
        """Return the answer if no candidate can be used: the parser's first text that is a tree,
        else a flat tree of the sentence's words, else ``(TOP )``; with ``root`` for TOP."""
        for rejected in sorted(self.rejected, key=lambda entry: entry.index):
            if rejected.is_tree:
                return rejected.text
        return self.sentence.flat_tree(self.root) if self.sentence else f"({self.root} )"

    @property
    def words(self) -> Sequence[str]:
        """Return the sentence's words; empty if there is neither a sentence nor a candidate."""
        if self.sentence:
            return self.sentence.words
        return self.candidates[0].words if self.candidates else ()

    def digest(self) -> str:
        """Return a digest that identifies the list when the same input is read again. The digest of
        a sentence in a text covers its words and place, whatever the parser returned; the digest of
        any other list covers its whole content."""
        words = map(" ".join, self.sentence or ())
        if self.origin is not None:
            return text_digest(self.origin.text, str(self.origin.offsets), *words)
        scores = str([each.parser_score for each in self.candidates])
        rejected = str([(each.index, each.code, each.text) for each in self.rejected])
        texts = [each.text for each in self.candidates]
        return text_digest(self.id, *words, scores, rejected, *texts)

    def duplicates(self) -> list[int | None]:
        """Return, for each candidate, the index of the first candidate with the same tokens; None
        for the first itself. Candidates with the same tokens get the same scores."""
        first: dict[tuple[str, ...], int] = {}
        originals = [first.setdefault(entry.tokens, entry.index) for entry in self.candidates]
        return [
            None if original == entry.index else original
            for entry, original in zip(self.candidates, originals, strict=True)
        ]
