"""A bracketed tree and its tokens, from constituents and the most probable tags of the words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from reranker.chart.best import Span


def bracketed(
    spans: Iterable[Span],
    labels: Sequence[str],
    words: Sequence[str],
    tags: Sequence[str],
    root: str,
) -> tuple[str, tuple[str, ...]]:
    """Return the tree under ``root``, and its tokens as ``trees.linearize`` makes them. ``spans``
    are in preorder; ``labels[number]`` may be several brackets around the same words, the outermost
    first, with spaces between them.

    >>> spans = Span(0, 2, 0), Span(1, 2, 1)
    >>> bracketed(spans, ["S VP", "NP"], ["See", "it"], ["VB", "PRP"], "TOP")[0]
    '(TOP (S (VP (VB See) (NP (PRP it)))))'
    """
    opened: list[list[str]] = [[] for _ in words]
    closed: list[list[str]] = [[] for _ in words]
    for start, end, label in spans:
        names = labels[label].split(" ")
        opened[start] += names
        closed[end - 1] = [*reversed(names), *closed[end - 1]]
    text, tokens = [f"({root}"], list[str]()
    for word, tag, before, behind in zip(words, tags, opened, closed, strict=True):
        text += [f" ({name}" for name in before]
        text += [f" ({tag} {word})", ")" * len(behind)]
        tokens += [f"({name}" for name in before]
        tokens += [word, *(f"){name}" for name in behind)]
    return "".join(text) + ")", tuple(tokens)


# Tags on which the English treebanks agree. EVALB leaves out words by these tags, and does not
# score a sentence whose parse and gold tree leave out different words.
_FIXED = {
    **dict.fromkeys((",",), ","),
    **dict.fromkeys((".", "?", "!"), "."),
    **dict.fromkeys((";", "--", "\N{EM DASH}", "\N{HORIZONTAL ELLIPSIS}"), ":"),
    **dict.fromkeys(
        ("``", "`", "\N{LEFT DOUBLE QUOTATION MARK}", "\N{LEFT SINGLE QUOTATION MARK}"), "``"
    ),
    **dict.fromkeys(("''", "\N{RIGHT DOUBLE QUOTATION MARK}"), "''"),
    **dict.fromkeys(("-LRB-", "-LSB-", "-LCB-", "[", "{"), "-LRB-"),
    **dict.fromkeys(("-RRB-", "-RSB-", "-RCB-", "]", "}"), "-RRB-"),
}
_ESCAPED = re.compile("-[LR][RCS]B-")
UNKNOWN_TAG = "XX"
_PUNCTUATION = {",", ".", ":", "``", "''"}


def best_tags(
    words: Sequence[str],
    log_probabilities: NDArray[np.floating],
    tags: Sequence[str],
    punctuation: Collection[str] | None = None,
) -> tuple[str, ...]:
    """Return the most probable tag of each word, given ``log_probabilities`` [n, T] of ``tags``. No
    word with a letter or a digit gets one of ``punctuation``, the tags of marks. Without
    ``punctuation``, the language is English: marks that have the same tag in all its treebanks get
    that tag. Without ``tags`` all other words are ``XX``."""
    always = _FIXED if punctuation is None else {}
    marks = _PUNCTUATION if punctuation is None else punctuation
    is_punctuation = np.array([tag in marks for tag in tags], bool)
    chosen = []
    for word, row in zip(words, log_probabilities, strict=True):
        fixed = always.get(word)
        if fixed is None:
            is_spelled = any(map(str.isalnum, word)) if punctuation is None else has_letters(word)
            if is_spelled and not is_punctuation.all():
                row = np.where(is_punctuation, -np.inf, row)
            fixed = tags[int(row.argmax())] if tags else UNKNOWN_TAG
        chosen.append(fixed)
    return tuple(chosen)


def has_letters(word: str) -> bool:
    """Return whether a word has a letter or a digit and is not a bracket."""
    return any(map(str.isalnum, word)) and not _ESCAPED.fullmatch(word)
