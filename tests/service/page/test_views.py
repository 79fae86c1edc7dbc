"""Trees are fitted, enlarged, sorted, saved and printed; a message replaces them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import httpx
import pytest

from tests.checkout import ROOT
from tests.service.page.browsing import PATIENCE, drop, show_tree, text_of
from tests.service.servers import serving

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.slow

TEXT = 'We saw "the man", (he said). \U0001f600 It is here. The man saw us on Monday.'
LONG = "The man saw " + "the man on Monday and " * 12 + "us."
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve the span model that comes along: it knows the words."""
    with serving([str(ROOT / "ckpt" / "spans.pt")]) as server:
        yield server.url


def saved(page: Page, button: str) -> str:
    """Return the text of the file that a button saves."""
    with page.expect_download() as download:
        page.click(button)
    return Path(download.value.path()).read_text("utf-8")


def test_the_brackets_are_those_of_the_service(page: Page, address: str) -> None:
    show_tree(page, TEXT)
    accept = {"Accept": "text/tab-separated-values"}
    body = {"text": TEXT, "lm_weight": 1, "criterion": "perplexity"}
    table = httpx.post(f"{address}/parse", json=body, headers=accept, timeout=PATIENCE).text
    expected = [*csv.reader(io.StringIO(table), delimiter="\t")]
    assert [*csv.reader(io.StringIO(saved(page, "#save-brackets")))] == expected
    assert {row[0] for row in expected[1:]} == {"1", "2", "3"}


def test_all_drawings_are_saved_and_printed(page: Page) -> None:
    show_tree(page, TEXT)
    sheet = ElementTree.fromstring(saved(page, "#save-drawings"))
    drawings = sheet.findall(f"{SVG}svg")
    words = [{text.text for text in each.iter(f"{SVG}text")} for each in drawings]
    assert len(drawings) == 3 and {"said"} <= words[0] and {"Monday"} <= words[2]
    places = [(float(each.get("y", 0)), float(each.get("height", 0))) for each in drawings]
    assert places[0][0] == 0 and places[1][0] > places[0][1] > 0
    assert float(sheet.get("height", 0)) == sum(places[2])
    page.evaluate("window.print = () => {}")
    page.emulate_media(media="print")
    page.click("#print", force=True)
    assert page.locator("#sheets svg").count() == 3 and page.locator("#sheets").is_visible()
    assert page.locator(".masthead").is_hidden() and "Monday" in text_of(page, "#sheets")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#sheets svg").count() == 0 and page.locator(".masthead").is_visible()


def test_the_least_certain_sentences_come_first_if_asked(page: Page) -> None:
    show_tree(page, "It is here. I saw the man with the telescope. They left.")
    marks = page.locator("#sentences .mark")
    certain = [float(mark.strip(">\xa0%")) for mark in marks.all_text_contents()]
    assert certain != sorted(certain), "the order of the text is another one"
    page.click("#sort")
    assert [float(mark.strip(">\xa0%")) for mark in marks.all_text_contents()] == sorted(certain)
    assert page.get_attribute("#sort", "aria-pressed") == "true"
    page.click("#sort")
    assert [float(mark.strip(">\xa0%")) for mark in marks.all_text_contents()] == certain


def test_a_long_tree_shows_its_root_and_fits_on_demand(page: Page) -> None:
    show_tree(page, LONG)
    canvas = page.locator("#chosen-canvas")
    frame = canvas.bounding_box()
    root = canvas.locator(".node .label").first.bounding_box()
    assert frame and root and frame["x"] < root["x"] < frame["x"] + frame["width"] - 20
    assert size(canvas) > frame["width"], "it scrolls"
    font = canvas.locator(".tag").first.evaluate("tag => tag.getBoundingClientRect().height")
    page.click("[aria-label='Show the whole tree: the best tree']")
    assert size(canvas) <= frame["width"]
    page.click("[aria-label='Larger: the best tree']")
    page.click("[aria-label='Larger: the best tree']")
    assert size(canvas) > 1.5 * frame["width"] - 3
    assert font >= 10


def size(canvas: Locator) -> float:
    """Return the width of a drawing on the screen."""
    width: float = canvas.evaluate(
        "canvas => canvas.firstElementChild.getBoundingClientRect().width"
    )
    return width


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-be", "utf-8-sig"])
def test_a_file_from_windows_is_read(page: Page, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    drop(page, "t.txt", f"{mark}It isn\u2019t here.\r\nWe saw the café.\r\n".encode(encoding))
    assert page.input_value("#text") == "It isn\u2019t here.\nWe saw the café.\n"
    assert page.locator("#sentences > li").count() == 2


def test_a_message_replaces_the_former_answer(page: Page) -> None:
    show_tree(page, TEXT)
    page.fill("#text", " ")
    page.click("#parse")
    assert text_of(page, "#message") == "Type a sentence in the box, then press Parse."
    assert page.locator("#results").is_hidden()
    assert page.evaluate("document.activeElement.id") == "text"
    show_tree(page, TEXT)
    page.route(
        "**/parse", lambda route: route.fulfill(status=422, json={"error": {"message": "x"}})
    )
    page.fill("#text", "It is here.")
    page.click("#parse")
    page.locator("#message", has_text="The server cannot use this text: x").wait_for()
    assert page.locator("#results").is_hidden()
    page.unroute("**/parse")
    show_tree(page, TEXT)
    assert page.locator("#message").is_hidden() and page.locator("#results").is_visible()
