"""A bracketed tree and its tokens, from constituents and the most probable tags of the words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reranker.chart.best import Span
from reranker.trees.tree import UNKNOWN_TAG


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
    opened: list[tuple[str, ...]] = [()] * len(words)
    closed = opened.copy()
    for start, end, label in spans:
        before, behind = _brackets(labels[label])
        opened[start] += before
        closed[end - 1] = behind + closed[end - 1]
    text, tokens = [f"({root}"], list[str]()
    for word, tag, before, behind in zip(words, tags, opened, closed, strict=True):
        text += [f" {name}" for name in before]
        text += f" ({tag} {word})", ")" * len(behind)
        tokens += *before, word, *behind
    return "".join(text) + ")", tuple(tokens)


@lru_cache(maxsize=4_096)
def _brackets(label: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tokens that open and close the brackets of a label.

    >>> _brackets("S VP")
    (('(S', '(VP'), (')VP', ')S'))
    """
    names = label.split(" ")
    return tuple(f"({name}" for name in names), tuple(f"){name}" for name in reversed(names))


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
    if not tags:
        return tuple(always.get(word, UNKNOWN_TAG) for word in words)
    is_punctuation = np.array([tag in marks for tag in tags], bool)
    of_marks = log_probabilities.argmax(1).tolist()
    of_words = of_marks
    if not is_punctuation.all():
        of_words = np.where(is_punctuation, -np.inf, log_probabilities).argmax(1).tolist()
    chosen = []
    for word, of_mark, of_word in zip(words, of_marks, of_words, strict=True):
        is_spelled = any(map(str.isalnum, word)) if punctuation is None else has_letters(word)
        chosen.append(always.get(word) or tags[of_word if is_spelled else of_mark])
    return tuple(chosen)


def has_letters(word: str) -> bool:
    """Return whether a word has a letter or a digit and is not a bracket."""
    return any(map(str.isalnum, word)) and not _ESCAPED.fullmatch(word)
