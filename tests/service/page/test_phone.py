"""The page on a phone: the verdict and the trees come first, and buttons are large enough."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.service.page.browsing import open_page, text_of, use_example
from tests.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.slow

WIDTH, HEIGHT = 390, 844


@pytest.fixture
def phone(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    open_page(page, address)
    yield page
    context.close()


def top(page: Page, selector: str) -> float:
    box = page.locator(selector).bounding_box()
    assert box is not None, selector
    return box["y"]


def test_the_verdict_and_the_trees_come_first(phone: Page) -> None:
    use_example(phone)
    order = ["#pager", "#verdict", "#sentence", "#chosen-canvas", "#other-canvas",
             "#candidates-scroll", "#toolbar", "#sentences-scroll"]  # fmt: skip
    tops = [top(phone, part) for part in order]
    assert tops == sorted(tops)
    assert top(phone, "#chosen-canvas") < HEIGHT, "the best tree is on the first screen"
    # The document has the same order, for the keyboard and for screen readers.
    in_document = phone.evaluate(
        """parts => parts.slice(1).every((part, place) =>
            document.querySelector(parts[place]).compareDocumentPosition(
                document.querySelector(part)) & Node.DOCUMENT_POSITION_FOLLOWING)""",
        order,
    )
    assert in_document
    phone.set_viewport_size({"width": 1440, "height": 900})
    assert top(phone, "#sentences-scroll") < top(phone, "#chosen-canvas")


def test_a_tree_that_is_too_wide_is_an_outline(phone: Page) -> None:
    use_example(phone)
    outline = phone.locator("#chosen-canvas .outline")
    assert outline.is_visible() and not phone.locator("#chosen-canvas svg").is_visible()
    words = " ".join(outline.locator("bdi").all_text_contents()).split()
    assert words == phone.locator("#chosen-canvas .word").all_text_contents()
    labels = phone.locator("#chosen-canvas .label").all_text_contents()
    assert outline.locator("b").all_text_contents() == labels
    with phone.expect_download() as download:  # the picture is still one of the tree
        phone.locator("#chosen [aria-label^='Save picture as SVG']").click()
    assert "path" in download.value.path().read_text(encoding="utf-8")
    phone.set_viewport_size({"width": 1440, "height": 900})
    assert outline.is_hidden()


def test_the_pager_goes_through_sentences(phone: Page) -> None:
    use_example(phone)
    assert text_of(phone, "#pager-place") == "Sentence 1 of 5"
    assert phone.is_disabled("#previous")
    first = text_of(phone, "#sentence")
    phone.tap("#next")
    assert text_of(phone, "#pager-place") == "Sentence 2 of 5"
    assert text_of(phone, "#sentence") != first
    phone.tap("#previous")
    assert text_of(phone, "#sentence") == first
    for _ in range(4):
        phone.tap("#next")
    assert phone.is_disabled("#next")


def test_targets_are_as_large_as_a_finger(phone: Page) -> None:
    use_example(phone)
    small: Any = phone.evaluate(
        """() => [...document.querySelectorAll(
            "button, select, input, summary, [role=option], h1 a"
        )].filter((one) => one.checkVisibility({contentVisibilityAuto: true}))
          .filter((one) => !one.closest(".visually-hidden"))
          .map((one) => [one.id || one.textContent, one.getBoundingClientRect()])
          .filter(([, box]) => box.height < 43.9 && box.width > 0)
          .map(([name, box]) => `${name}: ${box.width} x ${box.height}`)"""
    )
    assert small == []


def has_scrolled(scroller: Locator, place: float, sides: set[str]) -> bool:
    """Scroll; return whether the page then says that there is more on these sides."""
    more = "one => new Promise((done) => requestAnimationFrame(() => done(one.dataset.more)))"
    scroller.evaluate("(one, place) => one.scrollTo(0, place)", place)
    return {*scroller.evaluate(more).split()} == sides


def test_what_scrolls_says_so(phone: Page) -> None:
    use_example(phone)
    scroller = phone.locator("#candidates-scroll")
    for place, sides in ((0, {"down"}), (40, {"up", "down"}), (1e6, {"up"})):
        # Chromium can drop a scroll while the mask at the edges changes.
        until(partial(has_scrolled, scroller, place, sides))
    mask = scroller.evaluate("one => getComputedStyle(one).maskImage")
    assert "gradient" in mask


def test_motion_is_only_for_those_who_like_it(phone: Page) -> None:
    phone.emulate_media(reduced_motion="reduce")
    moving = """() => [...document.querySelectorAll("*")].filter((one) => {
        const style = getComputedStyle(one);
        return style.animationName !== "none" || style.transitionDuration !== "0s";
    }).length"""
    assert phone.evaluate(moving) == 0
    phone.emulate_media(reduced_motion="no-preference")
    assert phone.evaluate(moving) > 0
