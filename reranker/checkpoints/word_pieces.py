"""Words -> pieces of words as BERT reads them (Devlin et al. 2019; Wu et al. 2016): lower-cased,
without accents, punctuation apart, the longest known piece first."""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence

from reranker.nbest.words import written

CONTINUED = "##"
"""The mark that begins a piece inside a word."""
_MOST_LETTERS = 100


class Pieces(ABC):
    """The pieces that an encoder knows."""

    start: str
    end: str
    unknown: str
    scores: tuple[float, ...] = ()
    """The log-probability of each piece, where it decides how words are split."""

    def __init__(self, pieces: Sequence[str], per_word: int) -> None:
        """Assign rows to the pieces. A word has at most ``per_word`` pieces; the rest of a longer
        word is not read. Raises ValueError for a piece that occurs twice, or if the special pieces
        are missing."""
        self.pieces, self.per_word = tuple(pieces), per_word
        self._rows = {piece: row for row, piece in enumerate(self.pieces)}
        if len(self._rows) != len(self.pieces):
            raise ValueError("a piece occurs twice")
        if not {self.start, self.end, self.unknown} <= self._rows.keys():
            raise ValueError(f"the pieces lack {self.start}, {self.end} or {self.unknown}")

    def is_whole(self, word: str) -> bool:
        """Return whether the word is a single piece."""
        first, *more = self.rows(word)
        return first != self._rows[self.unknown] and all(row < 0 for row in more)

    def special(self, piece: str) -> list[int]:
        """Return the row of a special piece such as ``start``, and -1 up to ``per_word``."""
        return self._padded([self._rows[piece]])

    def needed(self, words: Iterable[str]) -> set[int]:
        """Return the rows of all pieces of ``words``."""
        return {row for word in words for row in self.rows(word) if row >= 0}

    @abstractmethod
    def rows(self, word: str) -> list[int]:
        """Return the rows of a treebank word's pieces, at least one, and -1 up to ``per_word``."""

    def _padded(self, rows: list[int]) -> list[int]:
        """Return at least one row, and -1 up to ``per_word``."""
        rows = rows[: self.per_word] or [self._rows[self.unknown]]
        return rows + [-1] * (self.per_word - len(rows))


class WordPieces(Pieces):
    """BERT's pieces."""

    start, end, unknown = "[CLS]", "[SEP]", "[UNK]"

    def kept(self, rows: Sequence[int]) -> WordPieces:
        """Return only these of the pieces."""
        return WordPieces([self.pieces[row] for row in rows], self.per_word)

    def first_kept(self, words: set[str], needed: Collection[int]) -> list[int]:
        """Return the rows in the order in which a smaller list keeps them: special pieces,
        ``needed`` ones and single letters, and the first of the others, which are the most
        frequent."""
        needed = set(needed)
        single = (row for row, piece in enumerate(self.pieces) if len(piece.lstrip("#")) < 2)
        needed.update(single)  # so that nearly every word still has pieces
        return sorted(
            range(len(self.pieces)),
            key=lambda row: (
                not self.pieces[row].startswith("["),
                row not in needed,
                row,
            ),
        )

    def whole_words(self) -> set[str]:
        """Return the words, in lower case, that are a single piece."""
        return {each for each in self.pieces if not each.startswith((CONTINUED, "["))}

    def rows(self, word: str) -> list[int]:
        text = written(word)[:_MOST_LETTERS]
        return self._padded([row for part in _parts(text) for row in self._split(part)])

    def _split(self, part: str) -> list[int]:
        rows, start = [], 0
        while start < len(part):
            mark = CONTINUED if start else ""
            for end in range(len(part), start, -1):
                row = self._rows.get(mark + part[start:end])
                if row is not None:
                    rows.append(row)
                    start = end
                    break
            else:
                return [self._rows[self.unknown]]
        return rows


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a word's text; each punctuation mark and each Chinese character is its own
    part."""
    part = ""
    for letter in unicodedata.normalize("NFD", text.lower()):
        category = unicodedata.category(letter)
        if category == "Mn" or category in ("Cc", "Cf"):
            continue
        is_mark = category[0] == "P" or (letter.isascii() and not letter.isalnum())
        if is_mark or _is_chinese(letter):
            if part:
                yield part
            yield letter
            part = ""
        else:
            part += letter
    if part:
        yield part


def _is_chinese(letter: str) -> bool:
    return "\u4e00" <= letter <= "\u9fff" or "\u3400" <= letter <= "\u4dbf"
