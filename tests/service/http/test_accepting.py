"""The form of an answer that a client accepts."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from reranker.service.errors import RequestError
from reranker.service.http.accepting import chosen

FORMS = ("application/json", "text/plain", "text/x-conllu", "application/x-ndjson")
JSON, PLAIN, CONLLU, LINES = FORMS


def asking(*accept: str) -> Request:
    headers = [(b"accept", value.encode()) for value in accept]
    return Request({"type": "http", "headers": headers})


@pytest.mark.parametrize(
    "accept, form",
    [
        ("*/*", JSON),
        ("", JSON),
        ("text/plain", PLAIN),
        ("text/*", PLAIN),
        ("TEXT/X-Conllu; charset=utf-8", CONLLU),
        ("text/*;q=0.5, text/x-conllu", CONLLU),
        ("text/plain;q=0, text/*", CONLLU),
        ("application/json, text/plain, */*", JSON),
        ("application/x-ndjson, */*", LINES),
        ("application/x-ndjson;q=0.1, application/json;q=0.2", JSON),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", JSON),
    ],
)
def test_what_is_preferred(accept: str, form: str) -> None:
    assert chosen(asking(accept), FORMS) == form


def test_nothing_said_is_the_first() -> None:
    assert chosen(asking(), FORMS) == JSON


@pytest.mark.parametrize("accept", ["image/png", "text/html, image/*", "*/*;q=0", "text/plain;q=x"])
def test_what_there_is_not_is_refused_with_what_there_is(accept: str) -> None:
    with pytest.raises(RequestError) as caught:
        chosen(asking(accept), FORMS)
    assert (caught.value.status, caught.value.param) == (406, "Accept")
    assert all(form in caught.value.message for form in FORMS)
