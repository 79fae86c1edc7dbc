"""Words <-> pieces of words, by byte-pair encoding (Sennrich et al. 2016) with subword-nmt.

The papers used this implementation. The merges it learns are plain text, which a checkpoint can
hold as data.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterable, Mapping, Sequence

from reranker.errors import needing

_JOIN = "@@"  # ends a piece that is not the last of its word
_NEEDED = "pieces of words need subword-nmt: pip install '.[generate]'"


class Pieces:
    """The learned splitting of words; without merges (where no pair occurs twice) words stay
    whole."""

    def __init__(self, merges: str = "") -> None:
        """Use ``merges``, the lines that ``learn`` writes. Raises ValueError for other text, and
        InputError if there are merges but subword-nmt is not installed."""
        self.merges = merges
        self._encoder = None
        if merges:
            # The library would end the program.
            _, *pairs = merges.rstrip("\n").split("\n")
            if not pairs or any(len(pair.strip("\r\n ").split(" ")) != 2 for pair in pairs):
                raise ValueError("its merges are not pairs")
            with needing(_NEEDED):
                from subword_nmt.apply_bpe import BPE
            self._encoder = BPE(io.StringIO(merges), separator=_JOIN)

    @classmethod
    def learn(cls, counts: Mapping[str, int], merges: int) -> Pieces:
        """Learn pieces from the words of a text, by as many merges as there are pairs seen twice,
        at most ``merges``. The same counts give the same pieces, whatever their order."""
        if not merges:
            return cls()
        with needing(_NEEDED):
            from subword_nmt.learn_bpe import learn_bpe
        words = "".join(f"{word} {count}\n" for word, count in sorted(counts.items()))
        learned = io.StringIO()
        # The library prints a progress bar, and a note if there are no more pairs.
        shown = sys.stderr if sys.stderr.isatty() else io.StringIO()
        with contextlib.redirect_stderr(shown):
            learn_bpe(io.StringIO(words), learned, merges, is_dict=True)
        header, _, pairs = learned.getvalue().partition("\n")
        return cls(f"{header}\n{pairs}" if pairs else "")

    def split(self, words: Iterable[str]) -> list[str]:
        """Return the pieces of all words, one after another.

        >>> Pieces().split(["the", "dog"])
        ['the', 'dog']
        """
        return list(words) if self._encoder is None else self._encoder.segment_tokens(list(words))


def joined(pieces: Sequence[str]) -> list[str]:
    """Return the words that these pieces spell.

    >>> joined(["the", "do@@", "gs"])
    ['the', 'dogs']
    """
    text = " ".join(pieces).replace(_JOIN + " ", "").removesuffix(_JOIN)
    return text.split(" ") if text else []
