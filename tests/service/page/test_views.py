"""Trees are fitted, enlarged, sorted, saved and printed; a message replaces them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import httpx
import pytest

from reranker.files.encoding import as_utf8, is_windows
from reranker.files.table import delimited
from tests.checkout import ROOT
from tests.service.page.browsing import PATIENCE, drop, hand_over, show_tree, text_of
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


def test_a_transcript_shows_who_speaks(page: Page) -> None:
    show_tree(page, "ANNA: We saw it. It is here.\nBEN: Was it?\nANNA: It was.\n")
    texts = page.locator("#sentences .text").all_text_contents()
    assert texts == ["ANNA: We saw it.", "ANNA: It is here.", "BEN: Was it?", "ANNA: It was."]
    assert text_of(page, "#sentence") == "We saw it."
    warnings = text_of(page, "#warnings")
    assert warnings.startswith("a transcript: names such as 'ANNA'") and "--" not in warnings
    page.evaluate("window.print = () => {}")
    page.click("#print")
    assert page.locator("#sheets figcaption").all_text_contents() == texts


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


FILES = [
    b"",
    b"plain",
    "Krak\u00f3w \u2013 caf\u00e9".encode("cp1252"),
    "Caf\u00e9 caf\u00e9 ".encode() + b"\xe9 more",
    "Caf\u00e9 ".encode() + b"\xe9 \xe8 and more of it",
    b"caf\xe9 \x8d in no encoding",
    b"one \xff byte",
    b"\x00caf\xe9 in a file",
    "\u043a\u0430\u0444\u0435".encode("koi8-r"),
    b'<?xml version="1.0" encoding="ISO-8859-1"?><a>caf\xe9</a>',
    b"\xef\xbb\xbfcaf\xe9 after a mark",
    b"\xe9",
    b"cut \xe2\x82",
    b"cut \xf0\x9f\x98 here \xc0\xaf \xed\xa0\x80",
    *(
        bytes(Random(seed).choices(b"abcdefghijklm \xc3\xa9\xe2\x82\xac\xf3", k=12))
        for seed in range(80)
    ),
]


def test_a_file_is_read_by_the_page_as_by_the_commands(page: Page) -> None:
    read = page.evaluate(
        """async (files) => {
            const { decoded } = await import("/page/decoding.js");
            return files.map((bytes) => decoded(new Uint8Array(bytes)).text);
        }""",
        [[*content] for content in FILES],
    )
    expected = [as_utf8(content).decode("utf-8-sig", "replace") for content in FILES]
    assert read == expected
    assert sum(map(is_windows, FILES)) > 5


@pytest.mark.parametrize(
    ("content", "text", "warning"),
    [
        (
            "Krak\u00f3w.".encode("latin-1"),
            "Krak\u00f3w.",
            "t.txt is not UTF-8: read as Windows-1252.",
        ),
        ("Caf\u00e9 caf\u00e9 ".encode() + b"\xe9.", "Caf\u00e9 caf\u00e9 \ufffd.", ""),
        ("Caf\u00e9.".encode(), "Caf\u00e9.", ""),
    ],
)
def test_the_encoding_of_a_file_is_told(
    page: Page, content: bytes, text: str, warning: str
) -> None:
    drop(page, "t.txt", content)
    assert page.input_value("#text") == text
    assert text_of(page, "#warnings").startswith(warning)
    assert ("Windows" in text_of(page, "#warnings")) == bool(warning)


def test_a_file_in_no_encoding_is_refused(page: Page) -> None:
    for content in ("It is.".encode("utf-32"), "It is.".encode("utf-16") + b"\x00"):
        page.fill("#text", "")
        page.click("#parse")
        page.locator("#message", has_text="Type a sentence").wait_for()
        hand_over(page, "t.txt", content)
        page.locator("#message", has_text="t.txt cannot be read.").wait_for()


@pytest.mark.parametrize("text", ["=A1 runs.", "+1 more.", "-5 degrees here.", "@run, now."])
def test_a_spreadsheet_computes_no_cell(page: Page, address: str, text: str) -> None:
    show_tree(page, text)
    accept = {"Accept": "text/tab-separated-values"}
    body = {"text": text, "lm_weight": 1, "criterion": "perplexity"}
    table = httpx.post(f"{address}/parse", json=body, headers=accept, timeout=PATIENCE).text
    rows = [*csv.reader(io.StringIO(table), delimiter="\t")]
    found = saved(page, "#save-brackets")
    assert found == delimited(rows, with_commas=True)
    assert f"'{text[0]}" in found


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
