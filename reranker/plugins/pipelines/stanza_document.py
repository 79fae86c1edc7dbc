"""Rankings as a Stanza document (Qi et al. 2020), with its names but without the package."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from reranker.ranking import Ranking
from reranker.trees.tree import Tree, short_repr


@dataclass(frozen=True, slots=True, repr=False)
class StanzaWord:
    """``id`` counts from 1; ``xpos`` is the part of speech in the tree."""

    id: int
    text: str
    xpos: str | None
    start_char: int | None
    end_char: int | None

    def __repr__(self) -> str:
        return short_repr(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the word as plain data."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True, repr=False)
class StanzaSentence:
    sent_id: str
    text: str
    words: tuple[StanzaWord, ...]
    constituency: Tree | None

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def tokens(self) -> tuple[StanzaWord, ...]:
        """Return ``words``, since no token stands for two words."""
        return self.words

    @property
    def comments(self) -> list[str]:
        """Return comments as in CoNLL-U, from which Stanza takes id, text and tree."""
        comments = [f"# sent_id = {self.sent_id}", f"# text = {' '.join(self.text.split())}"]
        if self.constituency is not None:
            comments.append(f"# constituency = {self.constituency.to_string()}")
        return comments


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """``stanza.Document(document.to_dict(), document.text, document.comments)`` is Stanza's own,
    with a ``constituency`` in each sentence."""

    text: str
    """The text in which ``start_char`` and ``end_char`` count."""
    sentences: tuple[StanzaSentence, ...]

    def __repr__(self) -> str:
        return short_repr(self)

    @classmethod
    def from_rankings(cls, rankings: Iterable[Ranking], text: str) -> Document:
        """Build a document of the best trees of a text's sentences, from ``Reranker.parse``."""
        return cls(text, tuple(map(_sentence, rankings)))

    @property
    def comments(self) -> list[list[str]]:
        """Return the comments of each sentence."""
        return [sentence.comments for sentence in self.sentences]

    def to_dict(self) -> list[list[dict[str, Any]]]:
        """Return Stanza's JSON: for each sentence its words."""
        return [[word.to_dict() for word in sentence.words] for sentence in self.sentences]


def _sentence(ranking: Ranking) -> StanzaSentence:
    parsed = ranking.parsed_sentence()
    words = tuple(
        StanzaWord(number, word.form, word.tag, word.start, word.end)
        for number, word in enumerate(parsed.words, 1)
    )
    return StanzaSentence(parsed.id, parsed.text, words, parsed.tree)
