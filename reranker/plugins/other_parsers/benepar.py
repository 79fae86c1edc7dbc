"""The Berkeley Neural Parser (Kitaev and Klein 2018; Kitaev et al. 2019), by its Python package."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from reranker.errors import InputError
from reranker.nbest.data import Sentence
from reranker.parsers.in_process import OneTreeParser, cannot_load, check_installed
from reranker.parsers.parser import ParserSettings
from reranker.trees.tree import Tree


class BeneparParser(OneTreeParser):
    """``settings.model`` is a benepar checkpoint, the folder of one, or the name of one that
    ``benepar.download`` has put into nltk's data folder, such as ``benepar_en3``."""

    def __init__(self, settings: ParserSettings) -> None:
        """Load a model. Raises InputError without benepar or a model that benepar can load."""
        if not settings.model:
            raise InputError("the parser benepar needs --parser-model, for instance benepar_en3")
        check_installed("benepar")
        try:
            benepar = import_benepar()
            self._model = benepar.Parser(settings.model)
        except Exception as error:  # of nltk, torch, transformers
            raise cannot_load("benepar", settings.model, error) from error
        self._sentence = benepar.InputSentence
        super().__init__("benepar", self._trees_of)

    def _trees_of(self, sentences: Sequence[Sentence]) -> list[Tree]:
        given = [self._sentence(escaped_words=list(sentence.words)) for sentence in sentences]
        return [Tree.from_nltk(tree) for tree in self._model.parse_sents(given)]


def import_benepar() -> ModuleType:
    """Import the package. It registers attributes of spaCy's spans and tokens and fails if some
    exist already, such as those of our own component; these are kept."""
    if "benepar" in sys.modules or "spacy" not in sys.modules:
        return import_module("benepar")
    from spacy.tokens import Span, Token

    both = ("labels", "parse_string", "parent")
    names = [(Span, name) for name in (*both, "constituents", "children")]
    attributes: list[tuple[Any, str]] = [*names, *((Token, name) for name in both)]
    taken = [
        (owner, name, owner.remove_extension(name))
        for owner, name in attributes
        if owner.has_extension(name)
    ]
    try:
        return import_module("benepar")
    finally:
        for owner, name, (default, method, getter, setter) in taken:
            if getter is None and setter is None and method is None:
                owner.set_extension(name, default=default, force=True)
            else:
                owner.set_extension(name, method=method, getter=getter, setter=setter, force=True)
