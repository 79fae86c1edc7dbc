"""Typing a sentence or a text: its trees, with its words as they were written. The parser's model
is untrained, and some words make it fail or hang."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import jsonschema
import pytest

from reranker import Reranker
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser
from reranker.service.children.scoring_main import BROKEN
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.span_models import save_spans
from tests.service.http.test_rerank import metric
from tests.service.page.browsing import (
    MARKUP,
    PATIENCE,
    drop,
    move_slider,
    open_page,
    open_part,
    parse,
    paste,
    show_tree,
    text_of,
    wait_for_all,
)
from tests.service.servers import failing_parser, serving
from tests.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Route

pytestmark = pytest.mark.slow

SCHEMA = json.loads(
    (Path(__file__).parents[3] / "docs" / "ranked.schema.json").read_text(encoding="utf-8")
)
TEXT = f"\U0001f600 We saw (the)\tman.\n\nIt {MARKUP} is. We crash here. We saw the man."


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_spans(tmp_path_factory.mktemp("spans") / "spans.pt", 3)


@pytest.fixture(scope="module")
def address(
    checkpoints: list[str], parser: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    path = failing_parser(tmp_path_factory.mktemp("failing"))
    with serving(checkpoints, "--parser-model", parser, PYTHONPATH=path) as server:
        yield server.url


def spans(page: Page, which: str = "") -> list[str]:
    """Return the words of the text above the trees."""
    return page.locator(f"#sentence span{which}").all_text_contents()


def leaves(page: Page, side: str = "chosen", which: str = "") -> list[str]:
    return page.locator(f"#{side}-canvas .leaf{which} .word").all_text_contents()


@pytest.mark.filterwarnings("ignore:.*words are unknown")
def test_words_are_where_they_were_written(page: Page, checkpoints: list[str], parser: str) -> None:
    parse(page, TEXT)
    reranker = Reranker.load(checkpoints)
    expected = list(reranker.parse(TEXT, create_parser("chart", ParserSettings(model=parser))))
    assert page.locator("#sentences > li").count() == len(expected) >= 4
    for place, ranking in enumerate(expected):
        page.click(f"#sentence-{place}")
        assert ranking.origin is not None
        assert page.locator("#sentence").text_content() == ranking.origin.text
        assert spans(page) == [TEXT[start:end] for start, end in ranking.origin.offsets]
        if "crash" in ranking.origin.text:
            assert page.locator("#comparison").is_hidden()
            continue
        assert len(leaves(page)) == len(ranking.origin.offsets)
        shown = page.locator("#candidates > li").evaluate_all("all => all.map(x => x.dataset.key)")
        assert list(map(int, shown)) == [entry.index for entry in ranking]
    assert page.locator("img").count() == 0 and page.title() == "Parse reranker"


def test_text_and_trees_point_at_each_other(page: Page) -> None:
    parse(page, "We saw (the) man. It is here.")
    page.locator("#sentence span").nth(3).hover()
    for side in ("chosen", "other"):
        assert leaves(page, side, ".pointed") == ["the"]
    assert spans(page, ".pointed") == ["the"]
    page.locator("#chosen-canvas .leaf").nth(2).hover()
    assert spans(page, ".pointed") == ["("] and leaves(page, "chosen", ".pointed") == ["-LRB-"]
    page.locator("#chosen-canvas .node").first.hover()  # the root
    assert spans(page, ".pointed") == spans(page)
    page.hover("h1")
    assert spans(page, ".pointed") == []


def test_a_sentence_that_cannot_be_parsed_is_said_to_be_one(page: Page) -> None:
    show_tree(page, "We crash here.")
    assert text_of(page, "#sentence") == "We crash here."
    expected = f"This sentence could not be parsed: {BROKEN}."
    assert text_of(page, "#verdict") == expected
    summary = "1 sentence, 1 without a usable tree."
    assert text_of(page, "#summary").endswith(summary)
    assert page.locator("#rejected").is_hidden() and page.locator("#comparison").is_hidden()
    assert text_of(page, "#sentence-0 .mark") == "none"


def test_what_is_saved_is_what_the_command_writes(page: Page) -> None:
    parse(page, TEXT)
    with page.expect_download() as download:
        page.click("#save-ranked")
    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    for line in lines:
        row = json.loads(line)
        jsonschema.validate(row, SCHEMA)
        offsets = row["origin"]["offsets"]
        assert TEXT[offsets[0][0] : offsets[-1][1]] == row["origin"]["text"]
    with page.expect_download() as download:
        page.click("#save-trees")
    trees = download.value.path().read_text(encoding="utf-8").splitlines()
    assert len(trees) == len(lines)
    assert "(TOP (S (XX We) (XX crash) (XX here) (XX .)))" in trees


def test_the_address_keeps_a_text(page: Page) -> None:
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    parse(page, "We saw it. The man is here.")
    page.click("#sentence-1")
    page.click("#candidate-1")
    parts = ("#summary", "#sentence", "#verdict", "#other-caption")
    shown = [text_of(page, part) for part in parts]
    page.reload()
    wait_for_all(page)
    open_part(page, "#compare")
    page.locator("#sentence", has_text="The man").wait_for(timeout=PATIENCE)
    assert [text_of(page, part) for part in parts] == shown
    assert page.input_value("#text") == "We saw it. The man is here."
    page.go_back()  # the sentence before
    page.locator("#sentence", has_text="We saw it.").wait_for(timeout=PATIENCE)
    assert not [url for url in [*fetched, page.url] if "man" in url]


def test_lists_are_ranked_as_ever(page: Page) -> None:
    parse(page, "It is. It is.")
    assert page.locator("#alternatives").is_hidden()
    paste(page, "2\ts\n" + "".join(f"-9\n{tree}\n" for tree in CANDIDATES[:2]))
    assert page.locator("#sentences > li").count() == 1
    assert page.locator("#sentence").text_content() == "We saw the man with eyes ."
    assert spans(page) == []


def test_parsing_can_be_cancelled(page: Page, address: str) -> None:
    page.fill("#text", "We saw it. We hang here.")
    page.press("#text", "Control+Enter")
    page.locator("#progress").wait_for()
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        until(lambda: metric(client, "rerank_requests_in_flight") == 1)
        page.click("#cancel")
        page.wait_for_selector("#progress", state="hidden")
        until(lambda: metric(client, "rerank_requests_in_flight") == 0)
    parse(page, "We saw it.")
    assert text_of(page, "#sentence") == "We saw it."


def test_what_cannot_be_parsed_is_refused_in_words(page: Page) -> None:
    page.click("#parse")
    assert "Type a sentence" in text_of(page, "#message")
    page.fill("#text", "a " * 200_001)
    page.click("#parse")
    page.locator("#message", has_text="max_characters").wait_for(timeout=PATIENCE)
    assert page.locator("#results").is_hidden()


def test_without_a_parser_there_is_no_box(page: Page, address: str) -> None:
    assert page.locator("#text").is_visible()

    def without(route: Route) -> None:
        information = route.fetch().json()
        route.fulfill(json={**information, "parser": None})

    page.route("**/info", without)
    page.goto("about:blank")
    open_page(page, address)
    assert page.locator("#text").is_hidden() and page.locator("#nbest").is_visible()


def test_the_built_in_parser_parses(context: BrowserContext, checkpoints: list[str]) -> None:
    with serving(checkpoints) as server:
        page = context.new_page()
        open_page(page, server.url)
        parse(page, "When the last guests left the hotel closed its kitchen.")
        assert spans(page)[-2:] == ["kitchen", "."]
        assert page.locator("#candidates > li").count() == 20
        assert page.locator("#candidates > li").first.locator(".place").is_visible()
        assert not page.locator("#weight").is_disabled()  # it has scores of its own


def test_brackets_show_how_sure_they_are(context: BrowserContext, checkpoints: list[str]) -> None:
    text = "When the last guests left the hotel closed its kitchen."
    with serving(checkpoints, real_parser=True) as server:
        body = {"text": text, "lm_weight": 1, "criterion": "perplexity"}
        answer = httpx.post(f"{server.url}/parse", json=body, timeout=PATIENCE).json()
        (sentence,) = answer["sentences"]
        page = context.new_page()
        open_page(page, server.url)
        parse(page, text)
        share = round(100 * sentence["confidence"])
        assert f" {share}% " in text_of(page, "#certainty")
        assert "sure" not in text_of(page, "#verdict")
        # In the picture faint, and a number for who points at it.
        sure = [each["probability"] for each in sentence["constituents"][1:]]
        nodes = page.locator("#chosen-canvas .node:has(title)")
        assert nodes.count() == len(sure) > 5
        drawn = nodes.evaluate_all(
            """nodes => nodes.map((node) => [
                Number(node.querySelector(".label").getAttribute("opacity") ?? 1),
                node.querySelector("title").textContent,
            ])"""
        )
        for (opacity, title), probability in zip(drawn, sure, strict=True):
            assert opacity == pytest.approx(0.62 + 0.38 * probability, abs=0.01)
            if 0.01 <= probability <= 0.99:
                assert title.endswith(f": {round(100 * probability)}% sure")
        # In words, the least sure first, for a keyboard and for a screen reader.
        assert page.locator("#bracket-list button").first.is_hidden()
        page.locator("#brackets summary").press("Enter")
        page.keyboard.press("Tab")
        least = min(sentence["constituents"][1:], key=lambda each: each["probability"])
        words = text[least["start"] : least["end"]]
        focused = page.locator("#bracket-list button:focus")
        assert (
            text_of(page, "#bracket-list button:focus")
            .replace(" .", ".")
            .startswith(f"{least['label']} {words} ")
        )
        assert focused.count() == 1
        pointed = "#chosen-canvas .node.pointed"
        assert text_of(page, pointed).startswith(least["label"])
        # Another tree on top has a confidence of its own.
        move_slider(page, 0)
        assert text_of(page, "#certainty").endswith("brackets should be right.")


def test_a_dropped_text_is_parsed(page: Page) -> None:
    text = "We saw it (the man).\nIt is here.\n"
    drop(page, "notes.txt", text.encode())
    assert text_of(page, "#summary") == "notes.txt: 2 sentences."
    assert page.input_value("#text") == text
    drop(page, "trees.txt", "".join(f"{tree}\n" for tree in CANDIDATES[:2]).encode())
    assert text_of(page, "#summary").startswith("trees.txt: 2 sentences, with one tree each")


def test_other_parsers_cannot_tell(page: Page) -> None:
    paste(page, "2\ts\n" + "".join(f"-9\n{tree}\n" for tree in CANDIDATES[:2]))
    assert page.locator("#brackets").is_hidden() and page.locator("#legend-sure").is_hidden()
    assert text_of(page, "#certainty") == ""
    assert page.locator("#chosen-canvas [opacity]").count() == 0


def test_on_a_phone(browser: Browser, address: str) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    open_page(page, address)
    page.fill("#text", "We saw the man. It is here.")
    for part in ("#parse", "#submit"):
        box: Any = page.locator(part).bounding_box()
        assert box["height"] >= 44
    page.tap("#parse")
    wait_for_all(page)
    page.tap("#next")
    assert text_of(page, "#sentence") == "It is here."
    page.locator("#sentence span").nth(1).tap()
    assert leaves(page, "chosen", ".pointed") == ["is"]
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    context.close()


def test_a_link_to_a_typed_text_opens_elsewhere(
    context: BrowserContext, page: Page, address: str
) -> None:
    text = "We saw it (50 % & more). The man is here."
    parse(page, text)
    page.click("#sentence-1")
    page.click("#candidate-1")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#share")
    page.locator("#share", has_text="Copied").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{address}/#text=We+saw") and "saw" not in page.url
    assert context.browser
    other = context.browser.new_context()
    elsewhere = other.new_page()
    fetched: list[str] = []
    elsewhere.on("request", lambda request: fetched.append(request.url))
    open_page(elsewhere, link)
    wait_for_all(elsewhere)
    elsewhere.locator("#sentence", has_text="The man").wait_for(timeout=PATIENCE)
    assert text_of(elsewhere, "#verdict") == text_of(page, "#verdict")
    assert elsewhere.input_value("#text") == text
    assert not any("saw" in url for url in [*fetched, elsewhere.url])
    other.close()
    # A long text would make a link that other programs cut.
    parse(page, "It is. " * 300)
    assert page.locator("#share").is_hidden()


def test_brackets_that_are_typed_are_trees(page: Page) -> None:
    first, second = CANDIDATES[:2]
    parse(page, f"{first}\n{second}\n")
    assert text_of(page, "#summary").startswith("Your trees: 2 sentences")
    for text, place, message in (
        (first[:-2], 0, "is not closed; \u201c))\u201d is missing."),
        (f"{first})", len(first), "closes nothing."),
    ):
        page.fill("#text", text)
        page.click("#parse")
        page.locator("#message", has_text=message).wait_for()
        selected = "({selectionStart: start, selectionEnd: end}) => [start, end]"
        chosen = page.locator("#text").evaluate(selected)
        assert chosen == [place, place + 1]
        assert page.locator("#text").evaluate("box => box === document.activeElement")
    # Words in brackets are words.
    parse(page, "(We saw it.)")
    assert text_of(page, "#summary").startswith("Your text: 1 sentence")
