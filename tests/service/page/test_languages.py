"""The page in three scripts: what follows the language of the text. Models that come along are used
where they exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from reranker.checkpoints.installed import user_folder
from tests.reranker.languages import EXAMPLES, install
from tests.service.page.browsing import parse, text_of, wait_for_all
from tests.service.servers import serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=EXAMPLES)
def language(request: pytest.FixtureRequest) -> str:
    if request.param == "zh":
        pytest.importorskip("jieba")
    return str(request.param)


@pytest.fixture(scope="module")
def address(language: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(folder))
        install(language, user_folder() / "mine")
        with serving([], "--language", language) as server:
            yield server.url


def test_typed_text_is_parsed_and_its_words_say_their_language(page: Page, language: str) -> None:
    example = EXAMPLES[language]
    parse(page, example.text)
    direction = "rtl" if language == "ar" else "ltr"
    for selector in ("#sentence", "#sentences li:first-child .text"):
        assert page.locator(selector).get_attribute("lang") == language
        assert page.locator(selector).get_attribute("dir") == direction
    words = page.locator("#chosen-canvas .word")
    assert " ".join(words.all_text_contents()) == example.words[0]
    assert page.locator("#chosen-canvas .words").get_attribute("lang") == language
    places = [float(word.get_attribute("x") or "") for word in words.all()]
    assert places == sorted(places, reverse=direction == "rtl")
    assert page.locator("html").get_attribute("lang") == "en"


def test_there_is_something_to_try_in_the_parsers_language(page: Page, language: str) -> None:
    placeholder = page.locator("#text").get_attribute("placeholder") or ""
    assert page.locator("#text").get_attribute("lang") == language
    name = {"id": "Indonesian", "zh": "Chinese", "ar": "Arabic"}[language]
    assert text_of(page, "label[for=text]") == f"A sentence, or a text in {name}"
    if language == "ar":
        assert placeholder == "A sentence in Arabic"
        assert page.locator("#try").is_hidden()
        return
    page.click("#try")
    wait_for_all(page)
    assert text_of(page, "#sentence") == placeholder
    assert page.locator("#sentences > li").count() == 2
