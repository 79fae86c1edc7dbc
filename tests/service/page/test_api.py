"""/docs shows all of openapi.json, and sends requests; /help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from tests.service.page.browsing import PATIENCE
from tests.service.servers import Server

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def address(server: Server) -> str:
    """Return a server's address; its models do not matter here."""
    return server.url


def test_every_path_and_example_is_shown(page: Page, address: str) -> None:
    page.goto(f"{address}/docs")
    page.wait_for_selector("h2 >> text=GET /metrics")
    paths = httpx.get(f"{address}/openapi.json").json()["paths"]
    titles = page.locator("h2").all_inner_texts()
    assert [title.partition(" ")[2] for title in titles] == list(paths)
    assert titles[0] == "POST /parse" and "`" not in page.inner_text("main")
    examples = page.locator("pre").all_inner_texts()
    assert sum(f"{address}/rerank " in example for example in examples) == 4
    assert sum(f"{address}/parse " in example for example in examples) == 4
    assert "number of candidates to return per ranking" in page.inner_text("body")


def test_a_request_can_be_tried(page: Page, address: str) -> None:
    page.goto(f"{address}/docs")
    part = page.locator("details", has=page.locator("[aria-label='Body of /rerank']")).first
    part.locator("summary").press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # Send
    answer = part.locator("[role=status]")
    answer.wait_for(timeout=PATIENCE)
    assert (answer.text_content() or "").startswith("200 ")
    part.locator("textarea").fill('{"sentences": 1}')
    part.locator("button").click()
    answer.filter(has_text="422 ").wait_for(timeout=PATIENCE)


def test_nothing_is_wider_than_a_phone(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for path, last in (("docs", "GET /metrics"), ("help", "Keys, links")):
        page.goto(f"{address}/{path}")
        page.locator("h2", has_text=last).wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") == 390
