"""Vocabularies of any size, for measuring."""

from __future__ import annotations

from itertools import count, islice

from reranker.checkpoints.vocabulary import (
    EOS,
    UNKNOWN_CLOSING,
    UNKNOWN_OPENING,
    UNKNOWN_WORD,
    Vocabulary,
)

_NEEDED = (EOS, UNKNOWN_WORD, UNKNOWN_OPENING, UNKNOWN_CLOSING)


def resized(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """The ``size`` most frequent symbols, those that every vocabulary needs among them; or all, and
    symbols that nothing is spelled like."""
    others = (symbol for symbol in vocabulary.symbols if symbol not in _NEEDED)
    kept = {*_NEEDED, *islice(others, size - len(_NEEDED))}
    invented = (f"<unused-{number}>" for number in count())
    symbols = [symbol for symbol in vocabulary.symbols if symbol in kept]
    symbols += islice(invented, size - len(symbols))
    return Vocabulary(symbols, vocabulary.classes, vocabulary.backward)
