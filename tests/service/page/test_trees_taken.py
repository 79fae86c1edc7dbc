"""Copying a tree's brackets, and saving its picture."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from reranker.trees.tree import Tree
from tests.reranker.ensembles import CANDIDATES
from tests.service.page.browsing import paste

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.slow

NBEST = "".join(f"{-50 - place}\n{tree}\n" for place, tree in enumerate(CANDIDATES[:3]))
SVG = "{http://www.w3.org/2000/svg}"


def rank(page: Page) -> int:
    """Rank the list on the page; return the index of its best tree."""
    paste(page, f"3\tone/two\n{NBEST}")
    return int(page.locator("#candidates > li").first.get_attribute("data-key") or "")


def saved(page: Page, side: str, button: str) -> tuple[str, bytes]:
    with page.expect_download() as download:
        page.locator(f"#{side} .actions button", has_text=button).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_brackets_are_copied_as_the_parser_wrote_them(
    context: BrowserContext, page: Page, address: str
) -> None:
    best = rank(page)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    page.locator("#chosen .actions button", has_text="Copy").click()
    page.locator("#chosen .actions button", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == CANDIDATES[best]


def test_brackets_are_copied_where_scripts_have_no_clipboard(
    context: BrowserContext, page: Page, address: str
) -> None:
    """Scripts have no clipboard over plain HTTP from another machine."""
    best = rank(page)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    page.evaluate(
        """() => {
            window.theirs = navigator.clipboard;
            Object.defineProperty(navigator, "clipboard", {value: undefined});
        }"""
    )
    page.locator("#chosen .actions button", has_text="Copy").click()
    page.locator("#chosen .actions button", has_text="Copied").wait_for()
    assert page.evaluate("window.theirs.readText()") == CANDIDATES[best]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_saved_picture_stands_by_itself(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    best = rank(page)
    name, content = saved(page, "chosen", "SVG")
    assert name == f"one_two-tree-{best + 1}.svg"
    root = ElementTree.fromstring(content)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    tree = Tree.from_string(CANDIDATES[best])
    spelled = [*tree.leaves(), *tree.tags()]
    assert sorted(text for text in texts if text in spelled) == sorted(spelled)
    # Every colour and font is there, and nothing of the page's style is needed.
    for shape in root.iter():
        assert "class" not in shape.attrib and "style" not in shape.attrib
        if shape.tag == f"{SVG}text":
            assert {"fill", "font-family", "font-size"} <= shape.attrib.keys()
    background = next(root.iter(f"{SVG}rect"))
    assert background.attrib["fill"] == "rgb(255, 255, 255)"  # for paper, in dark mode too

    name, content = saved(page, "chosen", "PNG")
    assert name == f"one_two-tree-{best + 1}.png"
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert picture.size == (2 * width, 2 * height)
    assert picture.getpixel((0, 0)) == (255, 255, 255)
    dark = picture.convert("L").point([255 if value < 100 else 0 for value in range(256)])
    assert dark.getbbox() is not None and dark.histogram()[255] > 500, "words are painted"
