"""The page and /docs behind a path of a proxy: nginx's ``location /nlp/``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.answering import Answers, answering
from tests.service.page.browsing import open_page, use_example, watched_page
from tests.service.servers import Server
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

PREFIX = "/nlp/"
_OF_A_CONNECTION = {"connection", "transfer-encoding", "content-length", "content-encoding"}


@pytest.fixture
def proxied(server: Server) -> Iterator[str]:
    """Yield the address of the service behind a proxy, which has other things at other paths."""

    class Proxy(Answers):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            if not self.path.startswith(PREFIX):
                self.send_error(404)
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            url = f"{server.url}/{self.path.removeprefix(PREFIX)}"
            answer = httpx.request(
                self.command, url, headers=dict(self.headers), content=body, timeout=PATIENCE
            )
            headers = {
                name: value
                for name, value in answer.headers.items()
                if name.lower() not in _OF_A_CONNECTION
            }
            self.answer(answer.content, answer.status_code, headers)

        do_GET = do_POST = _pass_on

    with answering(Proxy) as port:
        yield f"http://127.0.0.1:{port}{PREFIX}"


def test_everything_is_asked_for_below_the_path(context: BrowserContext, proxied: str) -> None:
    page, complaints, fetched = watched_page(context)
    open_page(page, proxied)
    use_example(page)
    assert page.evaluate("getComputedStyle(document.body).margin") != "8px"  # it has its style
    page.click("text=API")
    page.wait_for_selector("h2 >> text=GET /metrics")
    assert page.url == f"{proxied}docs"
    assert f"curl -s {proxied}info" in page.locator("pre").all_inner_texts()
    page.click("text=Help")
    page.wait_for_selector("h1 >> text=Help")
    assert page.url == f"{proxied}help"
    page.click("text=The page")
    page.wait_for_selector("#submit", state="attached")
    assert page.url == proxied
    assert len(fetched) > 20
    assert [url for url in fetched if not url.startswith((proxied, f"blob:{proxied[:20]}"))] == []
    assert complaints == []
