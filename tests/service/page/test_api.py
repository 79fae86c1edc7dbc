"""/docs shows all of openapi.json."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

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
    examples = page.locator("pre").all_inner_texts()
    assert sum(f"{address}/rerank " in example for example in examples) == 4
    assert sum(f"{address}/parse " in example for example in examples) == 4
    assert "number of candidates to return per ranking" in page.inner_text("body")
