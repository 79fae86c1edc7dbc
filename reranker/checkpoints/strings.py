"""Checks of the strings in a checkpoint that can reach an output: a label with a bracket, a space
or an escape sequence in it would make broken trees, silently."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from reranker.errors import InputError
from reranker.languages import ENGLISH, checked_language

_NOT_IN_LABELS = re.compile(r"[()\s\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\A\Z")
_NOT_IN_WORDS = re.compile(r"\s|\A\Z", re.ASCII)


def check_labels(labels: Iterable[str]) -> None:
    """Raise ValueError for a string that is no label or tag of a tree."""
    for label in labels:
        if _NOT_IN_LABELS.search(label):
            raise ValueError(f"{label!r:.40} is no label or tag of a tree")


def check_labels_of(tokens: Iterable[str]) -> None:
    """Raise ValueError for an opening and a closing bracket whose label is none; a vocabulary of
    plain text has words that begin with a bracket."""
    tokens = [*tokens]
    closed = {token[1:] for token in tokens if token[:1] == ")"}
    check_labels(token[1:] for token in tokens if token[:1] == "(" and token[1:] in closed)


def check_words(words: Iterable[str]) -> None:
    """Raise ValueError for a string that is several words, or none."""
    for word in words:
        if _NOT_IN_WORDS.search(word):
            raise ValueError(f"{word!r:.40} is not one word")


def check_information(information: Mapping[str, Any]) -> None:
    """Raise TypeError or ValueError for a language without a code, and for tags that are none."""
    try:
        checked_language(information.get("language", ENGLISH))
    except InputError as error:
        raise ValueError(str(error)) from error
    check_labels(information.get("punctuation", ()))
