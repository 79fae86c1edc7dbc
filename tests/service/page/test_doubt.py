"""The tree comes first: what the page shows of a sentence before anybody compares candidates, by
the models that come along."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.service.page.browsing import PATIENCE, parse, show_tree, text_of, wait_for_all
from tests.service.page.test_axe import findings
from tests.service.servers import serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

SENTENCE = "I saw the man with the telescope."
PAGE = Path(__file__).parents[3] / "service" / "page"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving([]) as server:
        yield server.url


def answer(address: str, text: str) -> Any:
    body = {"text": text, "lm_weight": 1, "criterion": "perplexity", "return_brackets": True}
    (sentence,) = httpx.post(f"{address}/parse", json=body, timeout=PATIENCE).json()["sentences"]
    return sentence


def test_one_tree_is_shown_and_how_sure_it_is(page: Page, address: str) -> None:
    show_tree(page, SENTENCE)
    sentence = answer(address, SENTENCE)
    share = round(100 * sentence["confidence"])
    assert f" {share}% " in text_of(page, "#certainty")
    for part in ("#other", "#verdict", "#candidates", "#weight", "#side", "#summary"):
        assert page.locator(part).is_hidden(), part
    assert page.locator("#text").is_visible() and page.input_value("#text") == SENTENCE
    box = page.locator("#chosen-canvas").bounding_box()
    assert box is not None and box["y"] < 400 and box["width"] > 1000
    # The number of the doubtful bracket is beside its label.
    least = min(each[3] for each in sentence["brackets"] if each[3] > 0.5)
    number = page.locator("#chosen-canvas .share").text_content() or ""
    assert float(number.rstrip("%")) == pytest.approx(100 * least, abs=0.51)
    assert findings(page) == []


def test_a_doubtful_bracket_is_named_and_its_other_reading_shown(page: Page, address: str) -> None:
    show_tree(page, SENTENCE)
    shown = text_of(page, "#doubt")
    probability = min(each[3] for each in answer(address, SENTENCE)["brackets"] if each[3] > 0.5)
    assert shown.startswith("“with the telescope” goes with “the man” (")
    shares = [int(share) for share in re.findall(r"(\d+)%", shown)]
    assert shares[0] == pytest.approx(100 * probability, abs=0.51)
    assert "“saw”" in shown and 0 < shares[1] <= 100 - shares[0]
    page.keyboard.press("Tab")  # the keyboard is enough
    page.focus("#other-reading")
    page.keyboard.press("Enter")
    page.locator("#other").wait_for()
    assert page.locator("#chosen-canvas .own .label").all_text_contents() == ["NP"]
    assert text_of(page, "#other-caption") == "The other reading"
    assert findings(page) == []
    page.keyboard.press("Enter")  # the focus has stayed
    page.locator("#other").wait_for(state="hidden")


FOCUS = """() => {
    const {activeElement: element} = document;
    const style = getComputedStyle(element.closest(".scroller") ?? element);
    const {bottom, top} = element.getBoundingClientRect();
    const isOutlined = parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== "none";
    const isInView = bottom > 0 && top < innerHeight;
    return element !== document.body && element.matches(":focus-visible") && isOutlined && isInView;
}"""


def tab_to(page: Page, selector: str, key: str = "Tab") -> None:
    """Press Tab until an element has the focus, which must be seen at every step."""
    for _ in range(60):
        page.keyboard.press(key)
        where = page.evaluate("document.activeElement.outerHTML.slice(0, 80)")
        assert page.evaluate(FOCUS), where
        if page.evaluate("what => document.activeElement.matches(what)", selector):
            return
    raise AssertionError(f"Tab does not lead to {selector}")


def test_the_keyboard_is_enough_from_the_sentence_to_the_help(page: Page, address: str) -> None:
    page.goto(address)
    page.locator("#about[title]").wait_for(state="attached", timeout=PATIENCE)
    keys = page.keyboard
    tab_to(page, "#text")
    keys.type(SENTENCE)
    keys.press("Control+Enter")
    wait_for_all(page)
    tab_to(page, "#other-reading")
    keys.press("Enter")
    page.locator("#other").wait_for()
    assert page.evaluate(FOCUS) and text_of(page, "#other-caption") == "The other reading"
    tab_to(page, "#brackets summary")
    keys.press("Enter")
    tab_to(page, "#bracket-list button")  # the least sure comes first
    assert (page.locator("#bracket-list :focus").text_content() or "").startswith("NP the man with")
    tab_to(page, "#compare summary")
    keys.press("Enter")
    page.locator("#verdict").wait_for()  # which moves what is below it
    tab_to(page, "#candidates")
    selected = "#candidates [aria-selected=true]"
    before = text_of(page, selected)  # the other reading
    keys.press("ArrowDown")
    assert text_of(page, selected) != before and page.evaluate(FOCUS)
    tab_to(page, "nav a[href=help]", "Shift+Tab")
    keys.press("Enter")
    page.wait_for_url(f"{address}/help")
    tab_to(page, "a[href]")


def test_the_text_box_stays_and_sends_again(page: Page) -> None:
    show_tree(page, SENTENCE)
    page.fill("#text", "They left. We saw it.")
    page.press("#text", "Control+Enter")
    page.locator("#sentence-1").wait_for(timeout=PATIENCE)
    assert page.evaluate("document.activeElement.id") == "text"
    assert page.locator("#sentences .id").all_text_contents() == ["1", "2"]
    marks = page.locator("#sentences .mark").all_text_contents()
    assert all(mark.endswith("%") for mark in marks)
    assert page.locator("#compare").get_attribute("open") is None


@pytest.mark.parametrize(
    "text", ["Der alte Mann sitzt auf der Bank und liest.", "これは日本語の文です。"]
)
def test_a_text_in_another_language_has_no_percentage(page: Page, text: str) -> None:
    parse(page, text)
    expected = "How much of this is right is not known: the parser reads English."
    assert text_of(page, "#certainty") == expected
    assert "%" not in page.locator("#reading").inner_text()
    assert page.locator("#doubt").is_hidden() and page.locator("#brackets").is_hidden()


TEXTS = {
    "We saw it (the man and his dog).": True,
    "1. First\n2. Second, see below\n": True,
    "(S (NP (PRP We)) (VP (VBD left)))": False,
    "2\ts\n-9\n(S1 (NP (NN rain)))\n": False,
    '{"id": "x", "candidates": []}': False,
    "x ||| -1 ||| (S (NP We )NP left )S": False,
    "S-0\tWe left\nH-0\t-0.1\t(S We left )S": False,
    "1\tWe\twe\tPRP": False,
}


def test_texts_are_told_from_lists() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node.js")
    program = """
        const [source, texts] = JSON.parse(require("fs").readFileSync(0));
        import("data:text/javascript," + encodeURIComponent(source)).then(({looksLikeText}) =>
            console.log(JSON.stringify(texts.map(looksLikeText))));
    """
    given = json.dumps([(PAGE / "typed.js").read_text(encoding="utf-8"), list(TEXTS)])
    done = subprocess.run([node, "-e", program], input=given, capture_output=True, text=True)
    assert json.loads(done.stdout) == list(TEXTS.values()), done.stderr
