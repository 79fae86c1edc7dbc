"""``Content-Type`` says how a body is written, and is believed or refused."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from reranker.service.errors import RequestError
from reranker.service.http import arrival
from tests.service.requests.test_limits import error_of

TREE = "(S1 (S (NP (PRP It)) (VP (VBZ cafés)) (. .)))"


def post(http: httpx.Client, path: str, content: bytes, media: str) -> httpx.Response:
    return http.post(path, content=content, headers={"Content-Type": media})


def told(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return {name: value for name, value in answer.json().items() if name != "id"}


@pytest.mark.parametrize("charset", ["ISO-8859-1", "UTF-16", "utf-16le", '"UTF-8"', "windows-1252"])
@pytest.mark.parametrize(
    "path, body",
    [
        ("/rerank", {"sentences": [{"candidates": [TREE]}]}),
        ("/rerank", {"documents": [TREE]}),
        ("/v2/rerank", {"documents": [TREE]}),
        ("/rerank", {"nbest": f"{TREE}\n"}),
        ("/score", {"trees": [TREE]}),
        ("/validate", {"nbest": f"{TREE}\n"}),
    ],
)
def test_json_in_any_charset(http: httpx.Client, charset: str, path: str, body: Any) -> None:
    text = json.dumps(body, ensure_ascii=False)
    content, media = text.encode(charset.strip('"')), f"application/json; Charset={charset}"
    assert told(post(http, path, content, media)) == told(http.post(path, json=body))


@pytest.mark.parametrize("path", ["/rerank", "/validate"])
def test_texts_in_any_charset(http: httpx.Client, path: str) -> None:
    """JSON lines, too, are a text."""
    lines = json.dumps({"candidates": [TREE]}, ensure_ascii=False) + "\n"
    for text in (f"{TREE}\n", lines):
        expected = told(post(http, path, text.encode(), "text/plain"))
        assert "caf" in json.dumps(expected) or path == "/validate"
        for charset in ("iso-8859-15", "UTF-16", "UTF-8-SIG", "utf8"):
            media = f"text/plain;charset={charset}"
            assert told(post(http, path, text.encode(charset), media)) == expected
        for unsaid in ("utf-8-sig", "utf-16"):
            assert told(post(http, path, text.encode(unsaid), "text/plain")) == expected


def test_a_mark_before_json_is_skipped(http: httpx.Client) -> None:
    body = {"trees": [TREE]}
    content = json.dumps(body).encode("utf-8-sig")
    assert told(post(http, "/score", content, "application/json")) == told(
        http.post("/score", json=body)
    )


@pytest.mark.parametrize(
    "media, status, code",
    [
        ("application/json; charset=klingon", 415, "unsupported-charset"),
        ("application/json; charset=", 415, "unsupported-charset"),
        ("application/json; charset=utf-8; charset=utf-16", 415, "unsupported-charset"),
        ("text/plain; charset=us-ascii", 400, "undecodable"),
        ("text/plain; charset=utf-8", 400, "undecodable"),
    ],
)
def test_what_cannot_be_read_is_refused(
    http: httpx.Client, media: str, status: int, code: str
) -> None:
    answer = post(http, "/rerank", TREE.encode("latin-1"), media)
    error = error_of(answer)
    assert (answer.status_code, error["code"], error["param"]) == (status, code, "Content-Type")


def asking(*headers: tuple[str, str]) -> Request:
    raw = [(name.encode(), value.encode()) for name, value in headers]
    return Request({"type": "http", "headers": raw})


@pytest.mark.parametrize(
    "value, codec",
    [
        ("text/plain", None),
        ("text/plain;charset=utf-8", "utf_8"),
        ("text/plain; format=flowed; CHARSET = UTF-16 ", "utf_16"),
        ('text/plain; x="; charset=latin1"; charset="utf\\-8"', "utf_8"),
        ("text/plain; charset=utf8; charset=UTF-8", "utf_8"),
        ("text/plain; mycharset=latin1", None),
    ],
)
def test_parameters(value: str, codec: str | None) -> None:
    assert arrival.codec(asking(("content-type", value))) == codec


@pytest.mark.parametrize(
    "headers",
    [
        [("content-type", "application/json"), ("content-type", "text/plain")],
        [("content-type", "application/json; charset=utf-8"), ("content-type", "application/json")],
        [
            ("content-type", "text/plain"),
            ("content-encoding", "identity"),
            ("content-encoding", "gzip"),
        ],
        [("content-type", "text/plain; charset=utf-16"), ("content-encoding", "identity, br")],
    ],
)
def test_headers_that_contradict_each_other(headers: list[tuple[str, str]]) -> None:
    with pytest.raises(RequestError) as caught:
        arrival.check_media_type(asking(*headers), "application/json", "text/plain")
    assert caught.value.status == 415


@pytest.mark.parametrize("piece", [";", "; ", ' ;a="', '\\";', ";a", ";charset", " ", '"', ";a=\\"])
def test_a_long_header_is_read_at_once(piece: str) -> None:
    """The largest that arrives takes as long for each of its characters as a short one."""
    seconds = []
    for times in (1_000, 16_000):
        request = asking(("content-type", "text/plain" + piece * times))
        started = time.process_time()
        for _ in range(3):
            try:
                arrival.codec(request)
            except RequestError as error:
                assert len(error.message) < 200
        seconds.append(time.process_time() - started)
    assert seconds[1] < 100 * seconds[0] + 0.5
