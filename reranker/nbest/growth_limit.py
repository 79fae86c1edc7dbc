"""``GrowthLimit``: how much longer lists may become while they are read."""

from __future__ import annotations

from collections.abc import Sequence

from reranker.errors import TreeError
from reranker.trees.tree import MAX_WORDS

# No list from a parser grows by this many characters.
_MAX_ADDED = 10_000_000


class GrowthLimit:
    """A limit on how much longer lists may become than they are written.

    A sentence's words are put into each candidate that hides or lacks them, so a short list of a
    long sentence could become as long as the product of both.
    """

    def __init__(self, characters: int = _MAX_ADDED) -> None:
        """Let lists grow to twice the length of their text and sentences, and by this many
        characters more."""
        self._left = characters

    def give(self, words: Sequence[str]) -> None:
        """Raise the limit by the length of a list's sentence, given as its words."""
        self._left += _length(words)

    def take(self, text: str, words: Sequence[str]) -> None:
        """Count a candidate before ``words`` are put into it. Raises TreeError (``too-long``) if
        the limit is exceeded."""
        if len(words) > MAX_WORDS:
            raise TreeError("too-long", f"the sentence has {len(words)} words, over {MAX_WORDS}")
        length = _length(words)
        left = self._left + 2 * len(text) - max(len(text), length)
        if left < 0:
            raise TreeError(
                "too-long",
                f"the list would become too long: its sentence has {length} characters, this tree "
                f"{len(text)}; is it the right sentence?",
            )
        self._left = left


def _length(words: Sequence[str]) -> int:
    """Return the number of characters in words, with a space after each."""
    return sum(map(len, words)) + len(words)
