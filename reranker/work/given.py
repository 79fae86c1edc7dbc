"""Texts and trees given from Python as a source of trees."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from reranker.errors import InputError
from reranker.parsers.choice import kept_parser
from reranker.parsers.language import with_warnings
from reranker.parsers.parser import CANDIDATES, Parser, temperature_of
from reranker.parsers.running import ParsedLists
from reranker.text.conventions import Convention
from reranker.text.given import sentences as sentences_of
from reranker.text.given import warn_about_text
from reranker.text.reading import TextSentence
from reranker.text.splitting import TextForm
from reranker.trees.tree import Tree
from reranker.work.loop import Source, run
from reranker.work.parses import Parses
from reranker.work.sinks import ListSink
from reranker.work.tree_files import ParsedTrees, TreeJob, TreeSentence

if TYPE_CHECKING:
    import nltk

A = TypeVar("A")
logger = logging.getLogger(__name__)


def answers(job: TreeJob[A], sentences: Iterable[TreeSentence]) -> list[A]:
    """Return a job's answers to the trees of each sentence."""
    answers: ListSink[A] = ListSink()
    run(Source(sentences), job, answers)
    return answers


def given_trees(
    text: str | os.PathLike[str] | Iterable[Tree | nltk.Tree],
    form: TextForm,
    words: Convention,
    parser: Parser | str,
    parser_model: str,
    temperature: float | None = None,
    speakers: bool | None = None,
) -> Iterator[TreeSentence]:
    """Yield the trees of each sentence. Sentences that are not parsed, unusable trees and
    characters that are replaced are logged, as by the commands; a text in another language than the
    parser's gets a UserWarning. Raises InputError for anything but a text or trees, and if the
    parser or its model is missing."""
    if not isinstance(text, str | os.PathLike):
        expected = "expected a text as a string, the Path of one, or trees"
        if isinstance(text, bytes) or not isinstance(text, Iterable):
            raise InputError(f"{expected}, got {text!r:.60}")
        for number, tree in enumerate(text, 1):
            if not hasattr(tree, "label"):  # of our trees and of nltk's
                raise InputError(f"{expected} (Tree.from_string), not a list with {tree!r:.60}")
            own = tree if isinstance(tree, Tree) else Tree.from_nltk(tree)
            yield TreeSentence("", Parses("trees", number, (own,)))
        return
    warn_about_text(text)
    options: dict[str, Any] = {"parser_model": parser_model} if parser_model else {}
    if isinstance(parser, str):
        options["candidates"] = CANDIDATES
    chosen = kept_parser(parser, **options)
    trees = ParsedTrees(temperature_of(chosen) if temperature is None else temperature)
    lists = ParsedLists(chosen, with_warnings(_read(text, form, words, speakers), chosen), 1)
    for number, nbest in enumerate(lists, 1):
        yield trees.of(nbest, number)


def _read(
    text: str | os.PathLike[str], form: TextForm, words: Convention, speakers: bool | None
) -> Iterator[TextSentence]:
    for sentence in sentences_of(text, form, words, speakers=speakers):
        if sentence.warning:
            logger.warning("%s", sentence.warning)
        yield sentence
