"""Actions in the browser for the tests of the page."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 60_000  # milliseconds for an answer
MARKUP = "<img/src=x/onerror=document.title='owned'>"


def watched_page(context: BrowserContext) -> tuple[Page, list[str], list[str]]:
    """Return a new page, and lists of the browser's complaints and of the addresses fetched, which
    grow."""
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    return page, complaints, fetched


def open_page(page: Page, address: str) -> None:
    """Open it and wait until it knows its server."""
    page.goto(address)
    page.locator("#about[title]").wait_for(state="attached", timeout=PATIENCE)
    open_part(page, "#lists-part")


def open_part(page: Page, part: str) -> None:
    """Open a part of the page that may be closed."""
    page.locator(part).evaluate("part => (part.open = true)")


def wait_for_all(page: Page) -> None:
    """Wait for the whole of an answer."""
    page.wait_for_selector("#results:not([hidden])", timeout=PATIENCE)
    page.wait_for_selector("#progress", state="hidden", timeout=PATIENCE)


def paste(page: Page, text: str) -> None:
    open_part(page, "#lists-part")
    page.fill("#nbest", text)
    page.click("#submit")
    wait_for_all(page)


def show_tree(page: Page, text: str) -> None:
    """Parse a text; the comparison of its candidates stays closed."""
    page.fill("#text", text)
    page.click("#parse")
    wait_for_all(page)


def parse(page: Page, text: str) -> None:
    """Parse a text, and open the comparison of its candidates."""
    show_tree(page, text)
    open_part(page, "#compare")


def use_example(page: Page) -> None:
    open_part(page, "#lists-part")
    page.click("#example")
    wait_for_all(page)


def text_of(page: Page, selector: str) -> str:
    """Return the visible text, with white space as it is shown."""
    return " ".join((page.locator(selector).text_content() or "").split())


def drop(page: Page, name: str, content: bytes) -> None:
    """Drop a file on the page and wait for the answer."""
    hand_over(page, name, content)
    wait_for_all(page)


def hand_over(page: Page, name: str, content: bytes) -> None:
    """Drop a file on the page."""
    transfer = page.evaluate_handle(
        """([name, bytes]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(bytes)], name));
            return transfer;
        }""",
        [name, list(content)],
    )
    page.dispatch_event("body", "dragover", {"dataTransfer": transfer})
    page.dispatch_event("body", "drop", {"dataTransfer": transfer})


def move_slider(page: Page, weight: float) -> None:
    page.evaluate(
        """async (weight) => {
            const slider = document.querySelector("#weight");
            slider.value = weight;
            slider.dispatchEvent(new Event("input", {bubbles: true}));
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        }""",
        weight,
    )
