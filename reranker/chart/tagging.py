"""Part-of-speech tags of a sentence's words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# What the English treebanks agree on. EVALB leaves out words by these tags, and a sentence in which
# parser and gold tree differ in that is not scored at all.
_FIXED = {
    **dict.fromkeys((",",), ","),
    **dict.fromkeys((".", "?", "!"), "."),
    **dict.fromkeys((";", "--", "\N{EM DASH}", "\N{HORIZONTAL ELLIPSIS}"), ":"),
    **dict.fromkeys(
        ("``", "`", "\N{LEFT DOUBLE QUOTATION MARK}", "\N{LEFT SINGLE QUOTATION MARK}"), "``"
    ),
    **dict.fromkeys(("''", "\N{RIGHT DOUBLE QUOTATION MARK}"), "''"),
    "-LRB-": "-LRB-",
    "-RRB-": "-RRB-",
}
UNKNOWN_TAG = "XX"
_PUNCTUATION = {",", ".", ":", "``", "''"}


def best_tags(
    words: Sequence[str], log_probabilities: NDArray[np.floating], tags: Sequence[str]
) -> tuple[str, ...]:
    """The most probable tag of each word, given ``log_probabilities`` [n, T] of ``tags``.
    Punctuation that has the same tag in all treebanks gets that tag, and no word with a letter or a
    digit gets a punctuation tag. Without ``tags`` all other words are ``XX``."""
    is_punctuation = np.array([tag in _PUNCTUATION for tag in tags], bool)
    chosen = []
    for word, row in zip(words, log_probabilities, strict=True):
        fixed = _FIXED.get(word)
        if fixed is None:
            if any(letter.isalnum() for letter in word):
                row = np.where(is_punctuation, -np.inf, row)
            fixed = tags[int(row.argmax())] if tags else UNKNOWN_TAG
        chosen.append(fixed)
    return tuple(chosen)
