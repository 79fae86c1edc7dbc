"""Which dialect a file is written in, and in which notation, from its first lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reranker.nbest.dialects.dialect import Dialect, Head, are_linearized
from reranker.nbest.dialects.registry import DIALECTS
from reranker.nbest.notation import Notation
from reranker.trees.linearize import is_word
from reranker.trees.tree import BRACKET_TOKEN


def recognise(lines: Sequence[str]) -> Dialect | None:
    """The first dialect in the registry that a file with these first lines can be of."""
    head = Head(lines)
    return next((dialect for dialect in DIALECTS.values() if dialect.recognise(head)), None)


def detect_notation(format_name: str, head: Iterable[str]) -> Notation:
    """How the format's candidates are written; where several are in use, most of the head
    decides."""
    dialect = DIALECTS[format_name]
    if dialect.notation is not None:
        return dialect.notation
    texts = list(dialect.candidate_texts(head))
    if are_linearized(texts):
        return Notation.LINEARIZED
    # A tree of one word can be read both ways and says nothing.
    is_bare = list(map(_is_bare, texts))
    bracketed = sum(t.count("(") > 3 and not b for t, b in zip(texts, is_bare, strict=True))
    return Notation.BARE if any(is_bare) and sum(is_bare) >= bracketed else Notation.BRACKETS


def _is_bare(text: str) -> bool:
    """Whether a word has sisters, which none has in a part-of-speech node."""
    tokens = BRACKET_TOKEN.findall(text)
    return any(
        is_word(token) and (before[0] != "(" or len(before.strip()) == 1 or after != ")")
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
    )
