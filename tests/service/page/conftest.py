"""A browser and the real server, with untrained models, for all tests of the page.

They need Debian's ``chromium`` package and ``pip install playwright``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.reranker.ensembles import save, untrained
from tests.service.page.browsing import CHROMIUM, FLAGS, MARKUP, open_page, watched_page
from tests.service.servers import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("checkpoints")
    return [save(folder / f"model-{seed}.pt", untrained(seed, (MARKUP,))) for seed in (1, 2)]


@pytest.fixture(scope="session")
def address(checkpoints: list[str]) -> Iterator[str]:
    with serving(checkpoints) as server:
        yield server.url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api", reason="needs pip install playwright")
    if not CHROMIUM:
        pytest.skip("this machine has no browser: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, address: str) -> Iterator[Page]:
    """Yield the page as it opens. The test fails for anything that the browser complains of, and
    for anything fetched from elsewhere."""
    page, complaints, fetched = watched_page(context)
    open_page(page, address)
    yield page
    assert [url for url in fetched if not url.startswith((address, f"blob:{address}"))] == []
    # A refused request is the server's right, and the browser's console names it.
    assert [text for text in complaints if "status of 4" not in text] == []
