"""A request's candidates become what Python makes of them, whatever stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from reranker.nbest import NBest, Sentence, from_candidates
from reranker.service.limits import Limits
from reranker.service.requests import schemas
from reranker.service.requests.lists import read_lists, read_trees
from reranker.service.settings import load_settings
from tests.reranker.nbest.any_candidates import BROKEN, Given, given_lists

TREE = "(S1 (S (NP (PRP She)) (VP (VBD left)) (. .)))"
LIMITS = Limits.from_settings(load_settings({}))
Request = TypeVar("Request", bound=BaseModel)
EXAMPLES = settings(deadline=None, max_examples=30)


def read(body: schemas.AnyRequest) -> list[NBest]:
    return read_lists(body, LIMITS, warn=lambda _: None)


def as_read(nbest: NBest) -> list[object]:
    """Return the facts that do not depend on the list's origin."""
    rejected = [(one.index, one.code, one.message) for one in nbest.rejected]
    return [[(one.index, one.text, one.tokens, one.tags) for one in nbest.candidates], rejected]


def request(kind: type[Request], **fields: object) -> Request:
    return kind.model_validate(fields)


def good(nbest: NBest, lists: Given) -> list[object]:
    texts = {one.text for one in lists.good}
    return [(one.text, one.tokens, one.tags) for one in nbest.candidates if one.text in texts]


@EXAMPLES
@given(given_lists())
def test_one_list_is_python_s(lists: Given) -> None:
    python = from_candidates(lists.mixed)
    documents = request(schemas.DocumentsRequest, query="She left .", documents=lists.mixed)
    (from_documents,) = read(documents)
    assert as_read(from_documents) == as_read(python)
    assert good(python, lists) == good(from_candidates([one.text for one in lists.good]), lists)


@EXAMPLES
@given(st.lists(given_lists(), min_size=1, max_size=3), st.booleans())
def test_sentences_are_python_s(lists: list[Given], are_told: bool) -> None:
    told = [list(each.words) if are_told else None for each in lists]
    entries = [
        {"tokens": words, "candidates": each.mixed} for words, each in zip(told, lists, strict=True)
    ]
    found = read(request(schemas.SentencesRequest, sentences=entries))
    for nbest, words, each in zip(found, told, lists, strict=True):
        sentence = Sentence.of(words) if words else None
        assert as_read(nbest) == as_read(from_candidates(each.mixed, sentence=sentence))


@EXAMPLES
@given(st.lists(given_lists(), min_size=1, max_size=3))
def test_trees_to_score_are_python_s(lists: list[Given]) -> None:
    trees = [text for each in lists for text in each.mixed]
    found = read_trees(request(schemas.ScoreRequest, trees=trees), LIMITS)
    assert list(map(as_read, found)) == [as_read(from_candidates([tree])) for tree in trees]


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("place", [0, 1])
def test_a_broken_document_leaves_the_good_one_its_tags(broken: str, place: int) -> None:
    documents: Sequence[str] = [broken, TREE] if place else [TREE, broken]
    body = request(schemas.DocumentsRequest, query="She left .", documents=documents)
    (nbest,) = read(body)
    (candidate,) = [one for one in nbest.candidates if one.index == place]
    assert candidate.tree.to_string() == TREE
    assert " ".join(candidate.tokens) == "(S (NP She )NP (VP left )VP . )S"
