"""Stanza's constituency parser (Bauer et al. 2023), by its Python package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from reranker.errors import InputError
from reranker.nbest.data import Sentence
from reranker.nbest.words import escaped, written
from reranker.parsers.in_process import OneTreeParser, cannot_load, check_installed
from reranker.parsers.parser import ParserSettings
from reranker.trees.tree import Tree


class StanzaParser(OneTreeParser):
    """``settings.model`` is the code of a language whose models ``stanza.download`` has fetched,
    such as ``en``, or the folder of a language, ``stanza_resources/en``."""

    root = "ROOT"

    def __init__(self, settings: ParserSettings) -> None:
        """Load models. Raises InputError without Stanza or models that Stanza can load; nothing is
        downloaded."""
        if not settings.model:
            raise InputError("the parser stanza needs --parser-model, a language such as en")
        check_installed("stanza")
        import stanza

        resources, language = os.path.split(os.path.normpath(settings.model))
        try:
            self._pipeline = stanza.Pipeline(
                language,
                processors="tokenize,pos,constituency",
                tokenize_pretokenized=True,
                download_method=None,
                logging_level="ERROR",
                **({"dir": resources} if resources else {}),
            )
        except Exception as error:  # errors of Stanza and of torch
            raise cannot_load("stanza", settings.model, error) from error
        super().__init__("stanza", self._trees_of)

    def _trees_of(self, sentences: Sequence[Sentence]) -> list[Tree]:
        # Its models learned from words, not from their spelling in trees.
        given = [[*map(written, sentence.words)] for sentence in sentences]
        return [_tree(sentence.constituency) for sentence in self._pipeline(given).sentences]


def _tree(node: Any) -> Tree:
    """Return Stanza's own tree as ours."""
    children = (_tree(child) if child.children else escaped(child.label) for child in node.children)
    return Tree(node.label, tuple(children))
