"""The cost to a reader of each word of a typed sentence, shown below it on request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import reranker
from tests.reranker.span_models import save_spans
from tests.service.page.browsing import PATIENCE, open_page, parse, paste, text_of
from tests.service.page.test_axe import findings
from tests.service.servers import serving

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.slow

FIRST, SECOND = "We saw (the) otter.", "It is."
NAMES = ("surprisal", "syntactic", "lexical")


@pytest.fixture(scope="module")
def address(checkpoints: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    spans = save_spans(tmp_path_factory.mktemp("spans") / "spans.pt", 3)
    flags = ("--parser-model", spans, "--max-beam", "20")
    with serving(checkpoints, *flags, "--longest", "12") as server:
        yield server.url


def open_costs(page: Page) -> None:
    page.click("#costs summary")
    page.wait_for_selector("#costs-table td", timeout=PATIENCE)


def rows_of(page: Page) -> list[list[str]]:
    """Return the table as a screen reader has it, without the bars."""
    return [
        row.locator("th, td").all_text_contents()
        for row in page.locator("#costs-table tr:not([aria-hidden])").all()
    ]


def expected(checkpoints: list[str], text: str) -> list[list[str]]:
    read = reranker.surprisal(text, form="sentences", models=[checkpoints[0]], beam=20).rows()
    shown = [row["text"] + ("*" if row["unknown"] else "") for row in read]
    return [
        ["bits", *shown],
        *(
            ["total" if name == "surprisal" else name, *(f"{row[name]:.1f}" for row in read)]
            for name in NAMES
        ),
    ]


def test_they_are_asked_for_when_they_are_opened(page: Page, checkpoints: list[str]) -> None:
    asked: list[Any] = []
    page.on("request", lambda each: asked.append(each) if each.url.endswith("surprisal") else None)
    parse(page, f"{FIRST} {SECOND}")
    assert page.locator("#costs").is_visible() and asked == []
    open_costs(page)
    assert rows_of(page) == expected(checkpoints, FIRST)
    caption = page.locator("#costs-table caption")
    assert caption.text_content() == "Surprisal of each word, in bits"
    assert "model-1.pt" in text_of(page, "#costs-model")
    assert text_of(page, "#costs-model").endswith("beam 20")
    page.click("#sentence-1")
    page.locator("#costs-table th", has_text="It*").wait_for(timeout=PATIENCE)
    assert rows_of(page) == expected(checkpoints, SECOND)
    page.click("#sentence-0")
    assert rows_of(page) == expected(checkpoints, FIRST)
    assert len(asked) == 2
    assert findings(page) == []


def test_bars_are_as_high_as_the_numbers(page: Page, checkpoints: list[str]) -> None:
    parse(page, FIRST)
    open_costs(page)
    heights = page.locator(".cost").evaluate_all(
        "all => all.map((bar) => [...bar.children].map((part) => part.offsetHeight))"
    )
    read = reranker.surprisal(FIRST, form="sentences", models=[checkpoints[0]], beam=20).rows()
    scale = 56 / max(row["surprisal"] for row in read)
    for (syntactic, lexical), row in zip(heights, read, strict=True):
        assert syntactic == pytest.approx(row["syntactic"] * scale, abs=1.5)
        assert lexical == pytest.approx(row["lexical"] * scale, abs=1.5)


def test_a_refusal_is_said_and_can_be_tried_again(page: Page) -> None:
    parse(page, FIRST)

    def refuse(route: Route) -> None:
        route.fulfill(status=429, json={"error": {"message": "later"}})

    page.route("**/surprisal", refuse)
    page.click("#costs summary")
    page.locator("#costs-state", has_text="later").wait_for(timeout=PATIENCE)
    assert page.locator("#costs-scroll").is_hidden()
    page.unroute("**/surprisal")
    page.click("#costs summary")
    open_costs(page)
    assert page.locator("#costs-scroll").is_visible()


def test_a_sentence_that_is_too_long_is_said_to_be(page: Page) -> None:
    parse(page, "We saw the man and " + "the man and " * 3 + "the man.")
    page.click("#costs summary")
    page.locator("#costs-state", has_text="more than 12").wait_for(timeout=PATIENCE)
    assert text_of(page, "#costs-state") == "This sentence was not read: 17 words, more than 12."


def test_pasted_lists_have_none(page: Page) -> None:
    paste(page, "(S1 (S (NP (PRP We)) (VP (VBD saw))))\n")
    assert page.locator("#costs").is_hidden()


def test_on_a_phone_they_scroll(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, address)
    parse(page, "We saw the man with the eyes and the man.")
    open_costs(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert findings(page) == []
