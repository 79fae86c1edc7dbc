"""Sentences appear as they are scored; cancelling and a lost server leave what is there."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.reranker.ensembles import CANDIDATES
from tests.service.page.browsing import PATIENCE, open_page, paste, text_of, wait_for_all
from tests.service.servers import serving

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Route

pytestmark = pytest.mark.slow

SENTENCES = 400


def long_list() -> str:
    """Return hundreds of lists of 20 trees of 12 words, all different: seconds of work."""
    draw = random.Random(1)
    lists = []
    for number in range(SENTENCES):
        words = [f"w{draw.randrange(10**6)}" for _ in range(12)]
        trees = []
        for split in range(1, 11):
            for label in ("NP", "VP"):
                nodes = [f"(NN {word})" for word in words]
                left, right = " ".join(nodes[:split]), " ".join(nodes[split:])
                trees.append(f"-9\n(S1 ({label} (NP {left}) (VP {right})))\n")
        lists.append(f"{len(trees)}\tlong-{number}\n" + "".join(trees))
    return "\n".join(lists)


def start(page: Page) -> None:
    """Send the long list and wait for its first sentence."""
    page.evaluate("text => (document.querySelector('#nbest').value = text)", long_list())
    page.click("#submit")
    page.wait_for_selector("#sentence-0", timeout=PATIENCE)


def counts(page: Page) -> tuple[int, int]:
    """Return the numbers of sentences listed, and stated in the summary."""
    listed = page.locator("#sentences > li").count()
    found = re.search(rf"(\d+) of {SENTENCES} sentences", text_of(page, "#summary"))
    return listed, int(found[1]) if found else -1


def test_a_long_list_shows_progress_and_can_be_cancelled(page: Page, address: str) -> None:
    start(page)
    # The first sentence is there to be read while the others are scored.
    assert page.locator("#chosen-canvas text.word").count() == 12
    assert page.locator("#progress").is_visible()
    assert re.match(rf"\d+ of {SENTENCES} sentences", text_of(page, "#progress-text"))
    bar: Any = page.locator("#progress-bar").evaluate("bar => [bar.value, bar.max]")
    assert bar[1] == SENTENCES and 0 < bar[0] < SENTENCES
    page.click("#cancel")
    page.wait_for_selector("#progress", state="hidden")
    listed, announced = counts(page)
    assert 0 < listed == announced < SENTENCES
    page.click(f"#sentence-{listed - 1}")
    assert text_of(page, "#verdict-statement")
    # The server is free for the next list.
    page.goto("about:blank")  # in the field, Chromium takes half a minute to replace such a text
    open_page(page, address)
    paste(page, f"{CANDIDATES[0]}\n")
    assert page.locator("#sentences > li").count() == 1


def test_a_server_that_ends_on_the_way_is_reported(
    context: BrowserContext, checkpoints: list[str]
) -> None:
    with serving(checkpoints) as server:
        page = context.new_page()
        open_page(page, server.url)
        start(page)
        server.process.kill()
        page.locator("#message", has_text="broke off").wait_for(timeout=PATIENCE)
        listed, announced = counts(page)
        assert 0 < listed == announced < SENTENCES
        assert text_of(page, "#verdict-statement")


def test_an_answer_in_one_piece_is_shown_as_well(page: Page) -> None:
    """The server is asked for plain JSON, as if it knew no lines."""
    kinds = []

    def plainly(route: Route) -> None:
        route.continue_(headers={**route.request.headers, "accept": "application/json"})

    page.on("response", lambda answer: kinds.append(answer.headers.get("content-type", "")))
    page.route("**/rerank", plainly)
    text = "2\ts\n" + "".join(f"-9\n{tree}\n" for tree in CANDIDATES[:2])
    paste(page, text)
    assert "application/json" in kinds
    assert "application/x-ndjson" not in kinds
    shown = [text_of(page, part) for part in ("#summary", "#verdict", "#candidates")]
    page.unroute("**/rerank")
    paste(page, text)
    assert "application/x-ndjson" in kinds
    assert [text_of(page, part) for part in ("#summary", "#verdict", "#candidates")] == shown


def test_a_long_list_is_complete_in_the_end(page: Page) -> None:
    start(page)
    page.click("#sentence-0")
    page.wait_for_selector("#progress", state="hidden", timeout=3 * PATIENCE)
    wait_for_all(page)
    assert page.locator("#sentences > li").count() == SENTENCES
    assert text_of(page, "#summary").startswith(f"Pasted list: {SENTENCES} sentences. ")
