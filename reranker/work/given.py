"""Texts and trees given from Python as a source of trees."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from reranker.errors import InputError
from reranker.parsers.choice import kept_parser
from reranker.parsers.parser import CANDIDATES, Parser, temperature_of
from reranker.parsers.running import ParsedLists
from reranker.text.conventions import Convention
from reranker.text.given import sentences as sentences_of
from reranker.text.splitting import Form
from reranker.trees.tree import Tree
from reranker.work.loop import Source, run
from reranker.work.parses import Parses, from_nbest
from reranker.work.sinks import ListSink
from reranker.work.tree_files import TreeJob, TreeSentence

if TYPE_CHECKING:
    import nltk

A = TypeVar("A")
logger = logging.getLogger(__name__)


def answers(job: TreeJob[A], parses: Iterable[Parses]) -> list[A]:
    """Return a job's answers to the trees of each sentence."""
    answers: ListSink[A | None] = ListSink()
    run(Source(TreeSentence("", each) for each in parses), job, answers)
    return [answer for answer in answers if answer is not None]


def given_parses(
    text: str | Iterable[Tree | nltk.Tree],
    form: Form,
    words: Convention,
    parser: Parser | str,
    parser_model: str,
    temperature: float | None = None,
) -> Iterator[Parses]:
    """Yield the trees of each sentence; log the sentences that are not parsed. Raises InputError
    for anything but a text or trees, and if the parser or its model is missing."""
    if not isinstance(text, str):
        expected = "expected a text as a string, or trees"
        if isinstance(text, bytes) or not isinstance(text, Iterable):
            raise InputError(f"{expected}, got {text!r:.60}")
        for number, tree in enumerate(text, 1):
            if not hasattr(tree, "label"):  # of our trees and of nltk's
                raise InputError(f"{expected} (Tree.from_string), not a list with {tree!r:.60}")
            own = tree if isinstance(tree, Tree) else Tree.from_nltk(tree)
            yield Parses("trees", number, (own,))
        return
    options: dict[str, Any] = {"parser_model": parser_model} if parser_model else {}
    if isinstance(parser, str):
        options["candidates"] = CANDIDATES
    chosen = kept_parser(parser, **options)
    scale = temperature_of(chosen) if temperature is None else temperature
    for nbest in ParsedLists(chosen, sentences_of(text, form, words), 1):
        for rejected in nbest.rejected:
            logger.warning("text:%d: left out: %s", rejected.line, rejected.message)
        if parses := from_nbest(nbest, scale, lambda _: None):
            yield parses
