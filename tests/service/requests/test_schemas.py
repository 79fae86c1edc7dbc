"""The form that a body has, by its fields."""

from __future__ import annotations

import json

import pytest

from reranker.service.errors import RequestError
from reranker.service.requests import bodies, schemas


@pytest.mark.parametrize(
    "path, body, form",
    [
        ("/rerank", {"nbest": "x"}, schemas.TextRequest),
        ("/rerank", {"documents": ["x"]}, schemas.DocumentsRequest),
        ("/v2/rerank", {"documents": ["x"]}, schemas.CohereRequest),
        ("/parse", {"text": "x"}, schemas.TextToParse),
        ("/parse", {"sentences": ["x"]}, schemas.SentencesToParse),
        ("/parse", {"tokens": [["x"]]}, schemas.TokensToParse),
        ("/score", {"trees": ["x"]}, schemas.ScoreRequest),
    ],
)
def test_a_body_has_the_form_of_its_field(path: str, body: object, form: type) -> None:
    assert type(bodies.parse(path, json.dumps(body).encode(), "application/json", None)) is form


@pytest.mark.parametrize(
    "path, body, param",
    [
        ("/rerank", {"nbest": "x", "documents": ["x"]}, "nbest"),
        ("/rerank", {"sentences": [], "nbest": "x"}, "sentences"),
        ("/parse", {"sentences": ["x"], "tokens": [["x"]]}, "tokens"),
        ("/parse", {"text": "x", "tokens": [["x"]]}, "text"),
    ],
)
def test_of_two_fields_one_is_refused(path: str, body: object, param: str) -> None:
    """Documents come before an n-best text, sentences before words."""
    with pytest.raises(RequestError) as caught:
        bodies.parse(path, json.dumps(body).encode(), "application/json", None)
    assert (caught.value.status, caught.value.param) == (422, param)


@pytest.mark.parametrize(
    "path, form",
    [
        ("/validate", schemas.TextRequest),
        ("/parse", schemas.TextToParse),
    ],
)
def test_a_plain_text_is_a_form_too(path: str, form: type) -> None:
    assert type(bodies.parse(path, b"x", "text/plain", None)) is form
    assert schemas.FORMS[path].media == ("application/json", "text/plain")
