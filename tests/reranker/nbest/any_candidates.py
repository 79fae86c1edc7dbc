"""Candidates of a sentence in every notation, and lines among them that are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from reranker.nbest import Sentence
from reranker.nbest.notation import Notation

PHRASES = ("S", "NP", "VP", "PP", "WHNP", "NP-SBJ")
TAGS = ("DT", "NN", "PRP", "VBZ", ".", "_", "XX", "NOUN", "-LRB-")
WORDS = ("She", "left", "dog", ".", "a\\(b\\)", "\\(", "1\\/2", "\\*", "-LRB-", "caf\u00e9")


class Good(NamedTuple):
    """A tree in one of the notations, and its tokens."""

    text: str
    tokens: tuple[str, ...]
    notation: Notation


class Given(NamedTuple):
    """A sentence and its supposed trees."""

    words: tuple[str, ...]
    good: list[Good]
    mixed: list[str]
    """The good ones in their order, with others in between."""

    @property
    def sentence(self) -> Sentence:
        return Sentence(self.words)


BROKEN = (
    "Sorry, no parse.", "no parse", "", "(())", "()", "(TOP )", "(laughs)", "He ( said )x .",
    "(S (NP (PRP She)", "(S (NP She", "(S (NP XX )NP (VP XX", "(S (NP XX", ")", ")NP XX )S", "((((",
    "(S (NN She)) (S (NN left))", "(S (NP (PRP She)) (VP (VBZ left))) )", "left )VP )S",
    "(NP She))", "(S She left", "(S XX )S )S", "\\(", "(S \\(", "null",
)  # fmt: skip


@st.composite
def _trees(draw: st.DrawFn, words: Sequence[str]) -> list[str]:
    """Return the tokens of a constituent over the words; a function tag is at its opening
    bracket."""
    label = draw(st.sampled_from(PHRASES))
    tokens = ["(" + label]
    rest = words
    while rest:
        is_first = rest is words
        size = draw(st.integers(1, max(1, len(rest) - is_first)))
        part, rest = rest[:size], rest[size:]
        is_word = size == 1 and (len(words) == 1 or draw(st.booleans()))
        tokens += part if is_word else draw(_trees(part))
    return [*tokens, ")" + label]


@st.composite
def _good(draw: st.DrawFn, words: Sequence[str], notations: Sequence[Notation]) -> Good:
    pieces = draw(_trees(words))
    notation = draw(st.sampled_from(notations))
    closer = draw(st.sampled_from([")", ")_"]))

    def written(piece: str) -> str:
        if piece[0] == ")":
            return closer + piece[1:] if notation is Notation.LINEARIZED else ")"
        is_tagged = piece[0] != "(" and notation is Notation.BRACKETS
        return f"({draw(st.sampled_from(TAGS))} {piece})" if is_tagged else piece

    tokens = tuple(piece.removesuffix("-SBJ") for piece in pieces)
    return Good(" ".join(map(written, pieces)), tokens, notation)


@st.composite
def given_lists(draw: st.DrawFn, notations: Sequence[Notation] = tuple(Notation)) -> Given:
    words = tuple(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)))
    good = draw(st.lists(_good(words, notations), min_size=1, max_size=3))
    mixed = [one.text for one in good]
    for broken in draw(st.lists(st.sampled_from(BROKEN), max_size=4)):
        mixed.insert(draw(st.integers(0, len(mixed))), broken)
    return Given(words, good, mixed)
