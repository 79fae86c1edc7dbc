"""Tokens of a tree with tags in place of words."""

from __future__ import annotations

from collections.abc import Sequence

from reranker.errors import TreeError
from reranker.trees.linearize import is_word


def with_tags(tokens: Sequence[str], tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tokens with its tag in the place of each word.

    Raises TreeError (``not-a-tree``) for another number of tags than of words.

    >>> with_tags(("(NP", "the", "dog", ")NP"), ("DT", "NN"))
    ('(NP', 'DT', 'NN', ')NP')
    """
    if len(tags) != sum(map(is_word, tokens)):
        raise TreeError("not-a-tree", "a word has no part-of-speech tag")
    left = iter(tags)
    return tuple(next(left) if is_word(token) else token for token in tokens)
