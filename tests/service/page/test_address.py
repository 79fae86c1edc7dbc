"""The address holds what is shown; reload, Back and links show it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.reranker.ensembles import CANDIDATES
from tests.service.page.browsing import (
    PATIENCE,
    move_slider,
    open_page,
    paste,
    text_of,
    use_example,
    wait_for_all,
)

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.slow

SECRET = "Bananarama"
NBEST = (
    "".join(
        f"3\tsentence-{number}\n"
        + "".join(f"{-9 - place}\n{tree}\n" for place, tree in enumerate(CANDIDATES[:3]))
        + "\n"
        for number in (1, 2)
    )
    + f"2\tlast\n-9\n(S1 (NP (NNP {SECRET})))\n-10\n(S1 (FRAG (NNP {SECRET})))\n"
)


def change_weight(page: Page, weight: float) -> None:
    move_slider(page, weight)
    page.dispatch_event("#weight", "change")  # as when the slider is let go


def shown(page: Page) -> list[str]:
    """Return the visible state."""
    selected = page.locator("[aria-selected=true]").evaluate_all("all => all.map(one => one.id)")
    parts = ("#summary", "#sentence", "#verdict", "#weight-value", "#other-caption b")
    return [*(text_of(page, part) for part in parts), *selected]


def test_a_pasted_list_survives_a_reload_and_back(page: Page) -> None:
    paste(page, NBEST)
    page.click("#sentence-1")
    change_weight(page, 0.35)
    page.click("#candidate-2")
    before = shown(page)
    assert "0.35" in before
    page.reload()
    wait_for_all(page)
    assert shown(page) == before
    assert SECRET in page.input_value("#nbest")
    # Another page, and back again.
    page.goto("about:blank")
    page.go_back()
    wait_for_all(page)
    assert shown(page) == before


def test_back_and_forward_go_through_lists_and_sentences(page: Page) -> None:
    paste(page, NBEST)
    first = shown(page)
    page.click("#sentence-2")
    assert SECRET in text_of(page, "#sentence")
    page.keyboard.press("ArrowUp")  # replaces the address, so Back leads before the click
    page.go_back()
    assert shown(page) == first
    page.go_back()
    page.wait_for_selector("#results", state="hidden")
    assert page.locator("#input").is_visible()
    page.go_forward()
    page.wait_for_selector("#results:not([hidden])")
    assert shown(page) == first
    page.click("h1 a")
    page.wait_for_selector("#input:not([hidden])")


def test_a_link_to_the_example_can_be_shared(
    context: BrowserContext, page: Page, address: str
) -> None:
    use_example(page)
    page.click("#sentence-2")
    change_weight(page, 0.5)
    page.click("#candidate-4")
    page.check("#stacked")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#share")
    page.locator("#share", has_text="Copied").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url
    assert link.startswith(f"{address}/#list=example&sentence=3&weight=0.5&tree=5")
    other = context.browser.new_context() if context.browser else None
    assert other
    elsewhere = other.new_page()
    elsewhere.set_viewport_size({"width": 1440, "height": 900})
    open_page(elsewhere, link)
    wait_for_all(elsewhere)
    elsewhere.locator("#candidate-4[aria-selected=true]").wait_for(timeout=PATIENCE)
    assert shown(elsewhere) == shown(page)
    assert elsewhere.is_checked("#stacked")
    other.close()


def test_nothing_of_a_list_is_in_an_address(page: Page) -> None:
    fetched: list[tuple[str, str]] = []
    page.on("request", lambda request: fetched.append((request.method, request.url)))
    paste(page, NBEST)
    page.click("#sentence-2")
    page.reload()
    wait_for_all(page)
    assert ("POST", page.url.partition("#")[0] + "rerank") in fetched
    for _, url in [*fetched, ("", page.url)]:
        assert SECRET not in url and "last" not in url
        assert "?" not in url
    # No link to it is offered either: it would not work elsewhere.
    assert page.locator("#share").is_hidden()


def test_a_list_of_another_tab_is_missed_politely(page: Page, address: str) -> None:
    paste(page, NBEST)
    link = page.url
    browser = page.context.browser
    assert browser
    other = browser.new_context()
    elsewhere = other.new_page()
    open_page(elsewhere, link)
    elsewhere.locator("#message", has_text="give this one again").wait_for()
    assert elsewhere.locator("#input").is_visible()
    other.close()


@pytest.mark.parametrize(
    "fragment",
    [
        "list=example&sentence=99&weight=7&tree=0&stacked=maybe",
        "list=example&sentence=-1&weight=0.333&tree=9999",
        "list=example&sentence=%00&weight=NaN",
    ],
)
def test_nonsense_in_the_address_is_ignored(page: Page, address: str, fragment: str) -> None:
    page.goto("about:blank")
    open_page(page, f"{address}/#{fragment}")
    wait_for_all(page)
    assert page.locator("#candidates > li").count() == 50
    assert text_of(page, "#weight-value") == "1.00"


def test_a_list_too_long_to_be_kept_is_shown_all_the_same(page: Page) -> None:
    """More than a browser keeps: 6 million characters, of which most is white space."""
    drop_text = NBEST + " " * 6_000_000 + "\n"
    page.evaluate("text => (document.querySelector('#nbest').value = text)", drop_text)
    page.click("#submit")
    wait_for_all(page)
    assert page.locator("#sentences > li").count() == 3
    page.reload()
    page.locator("#message", has_text="give this one again").wait_for()
