"""The clauses of a sentence in its text, and ``reranker.clauses``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from reranker.parsers.parser import Parser
from reranker.plugins.clauses import clause
from reranker.plugins.clauses.clause import LABELS, Clause, Range
from reranker.text.conventions import Convention
from reranker.text.splitting import TextForm
from reranker.trees.patterns.pattern import Pattern
from reranker.trees.tree import Tree
from reranker.work.given import answers, given_trees
from reranker.work.loop import Identity
from reranker.work.matches import Words, matches
from reranker.work.parses import Parses
from reranker.work.tree_files import TreeJob

if TYPE_CHECKING:
    import nltk

_PATTERN = Pattern("|".join(LABELS))


class SentenceClauses(NamedTuple):
    """A sentence and its clauses, outer ones before those in them."""

    file: str
    line: int
    id: str
    text: str
    clauses: list[Clause[Range]]
    """The clauses; their places are characters of the text's file or, without a file, of
    ``text``."""

    start: int = 0
    """The place of ``text`` in the file, in characters; 0 without a file."""
    speaker: str | None = None
    """In a transcript, the name before the turn."""

    def within(self, place: Range) -> Range:
        """Return a place of these clauses as characters of ``text``."""
        start, end = place
        return start - self.start, end - self.start

    @classmethod
    def of(cls, parses: Parses) -> SentenceClauses:
        """Find the clauses of the most probable tree. Raises TreeError as ``clause.clauses``."""
        known = None if parses.certainty is None else parses.certainty.probabilities
        if known is None and parses.probabilities is not None:
            known = {
                (each.start, each.end, each.label): each.probability or 0.0
                for each in matches(_PATTERN, parses)
            }
        written = Words.of(parses)
        first = written.first or 0

        def characters(words: Range) -> Range:
            start, end = words
            return first + written.places[start][0], first + written.places[end - 1][1]

        found = [clause.placed(each, characters, known) for each in clause.clauses(parses.trees[0])]
        speaker = parses.origin.speaker if parses.origin else None
        return cls(parses.file, parses.line, parses.id, written.text, found, first, speaker)


Found = tuple[Parses, SentenceClauses]


class FindClauses(TreeJob[Found]):
    """The job of finding clauses."""

    def __init__(self, output: Identity | None = None, *, is_certain: bool = True) -> None:
        """Take the flags on which the text of answers depends. Unless ``is_certain``, probabilities
        are those of the trees, not those of the parser's brackets."""
        self._output, self._is_certain = output, is_certain

    def identity(self) -> Identity:
        return self._output or {}

    def read(self, parses: Parses) -> Found:
        """Return a sentence's trees and clauses. Raises TreeError as ``clause.clauses``."""
        if not self._is_certain:
            parses = replace(parses, certainty=None)
        return parses, SentenceClauses.of(parses)


def clauses(
    text: str | os.PathLike[str] | Iterable[Tree | nltk.Tree],
    *,
    form: TextForm = "text",
    words: Convention = "gum",
    speakers: bool | None = None,
    parser: Parser | str = "chart",
    parser_model: str = "",
) -> list[SentenceClauses]:
    """Return the clauses of each sentence of a text, or of each tree.

    ``form``, ``words``, ``speakers``, ``parser`` and ``parser_model`` are those of
    ``reranker.parse``. A sentence
    whose clauses cannot be told is left out, and logged; a text in another language than the
    parser's gets a UserWarning.

    >>> (sentence,) = clauses([Tree.from_string("(S (NP (PRP It)) (VP (VBZ runs)))")])
    >>> [(each.kind, each.subject) for each in sentence.clauses]
    [('main', (0, 2))]

    Raises InputError if the parser or its model is missing.
    """
    trees = given_trees(text, form, words, parser, parser_model, speakers=speakers)
    return [sentence for _, sentence in answers(FindClauses(), trees)]
