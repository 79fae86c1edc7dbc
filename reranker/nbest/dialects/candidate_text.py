"""A candidate as text in each of the notations, and its score."""

from __future__ import annotations

import math
import re

from reranker.nbest.data import Candidate
from reranker.nbest.notation import PLACEHOLDER, PUNCTUATION, with_root
from reranker.trees.linearize import is_word

# A space behind a backslash stays: it keeps the bracket out of the word.
_SPACE = re.compile(r"(?<!\\) (?=\))")


def bare(candidate: Candidate) -> str:
    """Return the tree without part-of-speech nodes, as RNNG prints it."""
    text = " ".join(")" if token[0] == ")" else token for token in with_root(candidate.tokens))
    return _SPACE.sub("", text)


def linearized(candidate: Candidate) -> str:
    """Return the tree as a seq2seq parser writes it: ``(S (NP XX )NP ... . )S``."""
    return " ".join(
        PLACEHOLDER if is_word(token) and token not in PUNCTUATION else token
        for token in with_root(candidate.tokens)
    )


def score_text(candidate: Candidate) -> str:
    """Return the parser's score in nats, ``nan`` without one."""
    return "nan" if candidate.parser_score is None else repr(candidate.parser_score)


def is_number(text: str) -> bool:
    """Return whether the text is a number, infinite or nan included."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def finite(text: str) -> float | None:
    """Return the text as a number; None if it is not one, or is infinite or nan."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
