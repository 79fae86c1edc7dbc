"""The pages and their files: what browsers may keep, and what the log says of them."""

from __future__ import annotations

import gzip
import re

import httpx

from reranker.service.http.pages import PAGES
from tests.service.servers import Server

FROM_PAGE = {"Sec-Fetch-Site": "same-origin"}


def test_each_page_needs_nothing_from_elsewhere(http: httpx.Client) -> None:
    for path in PAGES:
        page = http.get(path)
        assert page.status_code == 200 and page.headers["cache-control"] == "no-cache"
        assert "//" not in page.text.replace("<!doctype html>", ""), path
        linked = re.findall(r'(?:href|src)="([^"#]+)"', page.text)
        assert {f"/{link.removeprefix('./')}" for link in linked} & set(PAGES)
        for link in linked:
            assert http.get(f"/{link.removeprefix('./')}").status_code == 200, (path, link)


def test_files_are_compressed_kept_and_asked_about(http: httpx.Client) -> None:
    file = http.get("/page/page.js")
    assert file.headers["content-encoding"] == "gzip"
    assert file.headers["cache-control"] == "no-cache"
    again = http.get("/page/page.js", headers={"If-None-Match": file.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    with http.stream("GET", "/page/page.js") as raw:
        assert gzip.decompress(b"".join(raw.iter_raw())) == file.content
    plain = http.get("/page/page.js", headers={"Accept-Encoding": "identity"})
    assert plain.content == file.content and "content-encoding" not in plain.headers


def test_a_page_that_is_loaded_does_not_fill_the_log(server: Server, http: httpx.Client) -> None:
    before = len(server.log)
    for path in (*PAGES, "/page/page.js", "/page/page.css", "/info", "/openapi.json"):
        assert http.get(path, headers=FROM_PAGE).status_code == 200
    http.get("/page/nothing.js", headers={**FROM_PAGE, "X-Request-ID": "not-there"})
    server.logged("request", request_id="not-there")
    http.get("/info", headers={"X-Request-ID": "by-a-client"})
    server.logged("request", request_id="by-a-client")
    names = [line["request_id"] for line in server.log[before:]]
    assert names == ["not-there", "by-a-client"]
