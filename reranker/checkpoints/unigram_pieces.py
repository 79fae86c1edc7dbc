"""Words -> pieces of words as XLM-R and other multilingual encoders read them: the most probable
pieces by a unigram model (Kudo 2018), split by the library tokenizers."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence

from reranker.checkpoints.word_pieces import Pieces
from reranker.errors import needing
from reranker.languages import UNSPACED, normalised
from reranker.nbest.words import written

_BEGINS = "\u2581"
"""The mark that begins the first piece of a word after a space."""
_CLOSING = {"Pe", "Pf", "Po"}  # marks without a space before them
_MOST_LETTERS = 100
_RARE_SCRIPT = 200  # a script found in fewer than one word in this many is another language's


class UnigramPieces(Pieces):
    """Pieces, and the log-probability of each."""

    start, end, unknown = "<s>", "</s>", "<unk>"

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], per_word: int) -> None:
        """Raise ValueError as ``Pieces`` does, and InputError if tokenizers is not installed."""
        needed = "pieces of words in this language need tokenizers"
        with needing(f"{needed}: pip install 'parse-reranker[languages]'"):
            from tokenizers.models import Unigram
        super().__init__(pieces, per_word)
        self.scores = tuple(scores)
        scored = [*zip(self.pieces, self.scores, strict=True)]
        self._model = Unigram(scored, self._rows[self.unknown], byte_fallback=False)

    def kept(self, rows: Sequence[int]) -> UnigramPieces:
        """Return only these of the pieces."""
        pieces, scores = [self.pieces[row] for row in rows], [self.scores[row] for row in rows]
        return UnigramPieces(pieces, scores, self.per_word)

    def first_kept(self, words: set[str], needed: Collection[int]) -> list[int]:
        """Return the rows in the order in which a smaller list keeps them: special pieces,
        ``needed`` ones, single letters of the scripts of ``words``, and the most probable of the
        others that are written in the letters of ``words``."""
        letters = {letter for word in words for letter in _normal(word)} | {_BEGINS}
        scripts = _scripts(words)
        special = {self.start, self.end, self.unknown}

        def order(row: int) -> tuple[bool, bool, bool, bool, int]:
            piece = self.pieces[row]
            is_letter = len(piece) == 1 and (
                _script(piece) in scripts or unicodedata.category(piece)[0] == "P"
            )
            is_written = letters.issuperset(piece)
            return (
                piece not in special,
                row not in needed,
                not is_letter,
                not is_written,
                row,
            )

        return sorted(range(len(self.pieces)), key=order)

    def whole_words(self) -> set[str]:
        """Return the words, in lower case, that are a single piece."""
        return {each[1:].lower() for each in self.pieces if each.startswith(_BEGINS)}

    def rows(self, word: str) -> list[int]:
        text = _normal(word)[:_MOST_LETTERS]
        if not UNSPACED.match(word) and unicodedata.category(text[:1] or " ") not in _CLOSING:
            text = _BEGINS + text
        return self._padded([token.id for token in self._model.tokenize(text)])


def _normal(word: str) -> str:
    """Return the word in the form that SentencePiece's rules give it (NFKC, nothing invisible)."""
    text = normalised("NFKC", written(word))
    return "".join(each for each in text if unicodedata.category(each) not in ("Cc", "Cf"))


def _scripts(words: set[str]) -> set[str]:
    """Return the scripts of these words."""
    counts = Counter(script for word in words for script in {*map(_script, word)} - {""})
    return {script for script, count in counts.items() if count * _RARE_SCRIPT >= len(words)}


def _script(letter: str) -> str:
    """Return the first word of a letter's name (LATIN, CJK, ARABIC); "" if it is not a letter."""
    return unicodedata.name(letter, "").split(" ")[0] if letter.isalpha() else ""
