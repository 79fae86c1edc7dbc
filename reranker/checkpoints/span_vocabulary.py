"""The words, labels and tags that a span model knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

from reranker.trees.constituents import constituents
from reranker.trees.linearize import TaggedTree

if TYPE_CHECKING:
    from reranker.checkpoints.unigram_pieces import UnigramPieces
    from reranker.checkpoints.word_pieces import WordPieces

UNKNOWN, START, END, PADDING = 0, 1, 2, -1
"""Rows of the embedding that belong to no word; row 0 of the vectors is for words without a vector.
PADDING stands for no row at all, as in ``models.batch``."""
NO_LABEL, RARE_LABEL = 0, 1
_SPECIAL = 3
_LENGTHS = (3, 4, 5)
_MOST_LETTERS = 40
_MOST_KNOWN = 20_000

AnyPieces: TypeAlias = "WordPieces | UnigramPieces"
"""An encoder's pieces."""


class SpanVocabulary:
    """A mapping of words, labels and tags to rows of a span model's tables."""

    backward = False  # its log-probabilities are in the tree's order

    def __init__(
        self,
        words: Sequence[str],
        vector_words: Sequence[str],
        labels: Sequence[str],
        spelling_rows: int,
        pieces: AnyPieces | None = None,
        tags: Sequence[str] = (),
    ) -> None:
        """Assign rows to the entries; ``pieces`` are the encoder's, if there is one. Raises
        ValueError for a word, label or tag that occurs twice."""
        self.words, self.vector_words = tuple(words), tuple(vector_words)
        self.labels, self.tags = tuple(labels), tuple(tags)
        self.spelling_rows, self.pieces = spelling_rows, pieces
        self._words = _numbered(self.words, _SPECIAL)
        self._vectors = _numbered(self.vector_words, 1)
        self._labels = _numbered(self.labels, RARE_LABEL + 1)
        self._tags = _numbered(self.tags, 0)
        self._known: dict[str, tuple[int, tuple[int, ...]]] = {}

    @classmethod
    def build(
        cls,
        trees: Iterable[TaggedTree],
        minimum_count: int,
        vector_words: Sequence[str],
        spelling_rows: int,
        pieces: AnyPieces | None = None,
        minimum_tags: int = 0,
    ) -> SpanVocabulary:
        """Build the vocabulary of ``trees``; words and labels rarer than ``minimum_count`` share
        one row. Tags that occur ``minimum_tags`` times are known; with 0, none are."""
        words, labels, tags = Counter[str](), Counter[str](), Counter[str]()
        for tree in trees:
            words.update(tree.words)
            labels.update(each.label for each in constituents(tree.tokens))
            tags.update(tree.tags)
        return cls(
            _frequent(words, minimum_count),
            vector_words,
            _frequent(labels, minimum_count),
            spelling_rows,
            pieces,
            _frequent(tags, minimum_tags) if minimum_tags else (),
        )

    def extended(
        self,
        trees: Iterable[TaggedTree],
        minimum_count: int,
        minimum_tags: int,
        pieces: AnyPieces | None = None,
    ) -> SpanVocabulary:
        """Return this vocabulary followed by the missing words, labels and tags of ``trees``, for a
        model whose training continues; ``pieces`` replace its own, if given."""
        new = SpanVocabulary.build(trees, minimum_count, (), 1, None, minimum_tags)
        words, labels, tags = (
            dict.fromkeys((*known, *learned))  # each once, in this order
            for known, learned in (
                (self.words, new.words), (self.labels, new.labels), (self.tags, new.tags),
            )
        )  # fmt: skip
        return SpanVocabulary(
            [*words],
            self.vector_words,
            [*labels],
            self.spelling_rows,
            pieces or self.pieces,
            [*tags],
        )

    @property
    def word_count(self) -> int:
        return len(self.words) + _SPECIAL

    @property
    def tag_count(self) -> int:
        return len(self.tags)

    @property
    def vector_count(self) -> int:
        return len(self.vector_words) + 1

    @property
    def label_count(self) -> int:
        return len(self.labels) + RARE_LABEL + 1

    def __len__(self) -> int:
        """Return the number of words known by more than their spelling, as a language model's
        vocabulary returns its number of symbols."""
        whole = self.pieces.whole_words() if self.pieces else set()
        return len({word.lower() for word in self.words} | set(self.vector_words) | whole)

    def is_unknown(self, word: str) -> bool:
        """Return whether only the word's spelling or pieces are known."""
        if word in self._words or word.lower() in self._vectors:
            return False
        return self.pieces is None or not self.pieces.is_whole(word)

    def label(self, label: str) -> int:
        """Return the number of a constituent's label."""
        return self._labels.get(label, RARE_LABEL)

    def tag(self, tag: str) -> int:
        """Return the number of a part-of-speech tag; PADDING if the tag is not known."""
        return self._tags.get(tag, PADDING)

    def encode(self, words: Sequence[str]) -> tuple[list[int], list[list[int]]]:
        """Return the rows of the words and of their features, between the sentence's start and end;
        every word has the same number of features, padded with PADDING."""
        pieces = self.pieces
        start, end = (
            ((0, *pieces.special(each)) for each in (pieces.start, pieces.end))
            if pieces
            else ((0,), (0,))
        )
        entries = [(START, start), *map(self._entry, words), (END, end)]
        width = max(len(features) for _, features in entries)
        padded = [[*features, *[PADDING] * (width - len(features))] for _, features in entries]
        return [row for row, _ in entries], padded

    def _entry(self, word: str) -> tuple[int, tuple[int, ...]]:
        entry = self._known.get(word)
        if entry is None:
            vector = self._vectors.get(word.lower(), 0)
            row = self._words.get(word, UNKNOWN)
            pieces = self.pieces.rows(word) if self.pieces else ()
            entry = row, (vector, *pieces, *spelling(word, self.spelling_rows))
            if len(word) <= _MOST_LETTERS:  # bounds the cache, with the number of words
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[word] = entry
        return entry


def spelling(word: str, rows: int) -> list[int]:
    """Return the rows of a word's letter n-grams, each once, and of its shape: ``AaAa-0`` of
    McCoy-3."""
    text = f"<{word[:_MOST_LETTERS]}>"
    parts = {
        text[start : start + length]
        for length in _LENGTHS
        for start in range(max(1, len(text) - length + 1))
    }
    return sorted({crc32(part.encode(errors="replace")) % rows for part in {*parts, _shape(word)}})


def _shape(word: str) -> str:
    shape = " "  # no n-gram starts with a space
    for letter in word[:_MOST_LETTERS]:
        kind = "0" if letter.isdigit() else "A" if letter.isupper() else "a"
        kind = kind if letter.isalnum() else letter
        if shape[-1] != kind:
            shape += kind
    return shape


def _frequent(counts: Counter[str], least: int) -> list[str]:
    """Return the texts that occur at least ``least`` times, the most frequent first."""
    return [text for text, count in counts.most_common() if count >= least]


def _numbered(texts: Sequence[str], first: int) -> dict[str, int]:
    numbers = {text: number for number, text in enumerate(texts, first)}
    if len(numbers) != len(texts):
        raise ValueError("a word, label or tag occurs twice")
    return numbers
