"""The direction of writing on the page."""

from __future__ import annotations

import sys
import unicodedata
from typing import TYPE_CHECKING

import pytest

from reranker.languages import is_right_to_left
from tests.service.page.browsing import paste

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


def test_the_first_word_of_hebrew_is_at_the_right(page: Page) -> None:
    paste(page, "(TOP (S (NP (NN נער) (-LRB- -LRB-) (NN עמרם) (-RRB- -RRB-)) (VP (VB רץ))))\n")
    assert page.locator("#sentence").get_attribute("dir") == "rtl"
    words = page.locator("#chosen-canvas .word")
    assert words.all_text_contents() == ["נער", "-LRB-", "עמרם", "-RRB-", "רץ"]
    places = [float(word.get_attribute("x") or "") for word in words.all()]
    assert places == sorted(places, reverse=True)


def test_every_letter_has_the_direction_that_python_knows(page: Page) -> None:
    letters = [
        letter
        for letter in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(letter).startswith("L")
        and unicodedata.bidirectional(letter) in ("L", "R", "AL")
    ]
    seen = page.evaluate(
        """async (letters) => {
            const { directionOf } = await import("/page/language.js");
            return [...letters].filter((letter) => directionOf(letter) === "rtl").join("");
        }""",
        "".join(letters),
    )
    assert seen == "".join(letter for letter in letters if is_right_to_left([letter]))
