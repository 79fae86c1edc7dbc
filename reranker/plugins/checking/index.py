"""Variation nuclei (Dickinson and Meurers 2003), the same words in other brackets elsewhere in a
treebank; and the number of places with each chain of labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from reranker.errors import KindError, TreeError
from reranker.trees.constituents import constituents
from reranker.trees.linearize import is_word, linearize
from reranker.trees.treebank import Remarks, read_texts

MOST_NUCLEI = 1_000_000
"""The number of different constituents that are compared, the first of the treebank: 300 MB."""
_LONGEST = 8  # words of a nucleus


class Index:
    """Counts of a treebank. A nucleus is the words of a constituent in lower case, with the word
    before and the word after them."""

    def __init__(self, context: int = 1) -> None:
        """Take the number of words before and behind that belong to a nucleus: 0 or 1."""
        self._context = context
        self._chains: Counter[str] = Counter()
        self._labelled: Counter[int] = Counter()  # by hashes of words and labels
        self._bracketed: Counter[int] = Counter()  # by hashes of words, as all others
        self._everywhere: Counter[int] = Counter()

    @classmethod
    def of(cls, files: Sequence[str]) -> Index:
        """Read the files twice. Trees and files that cannot be read are left out."""
        index = cls()
        for tokens in _read(files):
            index.add(tokens)
        for tokens in _read(files):
            index.count(tokens)
        return index

    def add(self, tokens: Sequence[str]) -> None:
        """Take the brackets of a tree."""
        words = _words(tokens)
        for each in constituents(tokens):
            if len(self._chains) < MOST_NUCLEI or each.label in self._chains:
                self._chains[each.label] += 1
            if each.end - each.start > _LONGEST:
                continue
            nucleus = self._nucleus(words, each.start, each.end)
            if nucleus in self._bracketed or len(self._bracketed) < MOST_NUCLEI:
                self._bracketed[nucleus] += 1
                self._labelled[hash((nucleus, each.label))] += 1

    def count(self, tokens: Sequence[str]) -> None:
        """Count where the words of constituents are, in brackets or not."""
        words = _words(tokens)
        last = len(words) - 2
        for start in range(last):
            for end in range(start + 1, min(last, start + _LONGEST) + 1):
                nucleus = self._nucleus(words, start, end)
                if nucleus in self._bracketed:
                    self._everywhere[nucleus] += 1

    def is_alone(self, chain: str) -> bool:
        """Return whether no other place has this chain of labels."""
        return self._chains[chain] == 1

    def elsewhere(self, words: Sequence[str], start: int, end: int, chain: str) -> tuple[int, int]:
        """Return how often these words have another chain of labels, and how often they occur.
        ``chain`` is empty for words without brackets."""
        if end - start > _LONGEST:
            return 0, 0
        nucleus = self._nucleus(["", *map(str.lower, words), ""], start, end)
        total = self._everywhere[nucleus]
        same = self._labelled[hash((nucleus, chain))] if chain else total - self._bracketed[nucleus]
        return max(0, total - same), total

    def _nucleus(self, words: Sequence[str], start: int, end: int) -> int:
        """Return the hash of a constituent's nucleus; ``words`` are the sentence's, with an empty
        one before and after them."""
        return hash(tuple(words[start + 1 - self._context : end + 1 + self._context]))


def _read(files: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the tokens of each tree."""
    for file in files:
        try:
            for text in read_texts([file], Remarks(lambda _: None)):
                try:
                    yield linearize(text.tree())
                except TreeError:
                    continue
        except KindError:
            continue


def _words(tokens: Sequence[str]) -> list[str]:
    return ["", *(token.lower() for token in tokens if is_word(token)), ""]
