"""The page's statements about a sentence: the verdict and its confidence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from reranker.checkpoints.ensemble_file import CONFIDENCE_FILE, WeighedModels, write_ensemble_file
from reranker.ranking import Weighing
from reranker.ranking.confidence import Calibration
from tests.reranker.ensembles import CANDIDATES
from tests.service.conftest import save_models
from tests.service.page.browsing import (
    drop,
    move_slider,
    open_page,
    paste,
    text_of,
    use_example,
    wait_for_all,
)
from tests.service.servers import serving

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.slow

HUGE = 1.7e308
ORDINALS = {0: "first", 1: "2nd", 2: "3rd", 3: "4th", 4: "5th", 5: "6th"}


def list_of(*candidates: tuple[float, str]) -> str:
    return f"{len(candidates)}\ts\n" + "".join(f"{score}\n{tree}\n" for score, tree in candidates)


def ranked(address: str, nbest: str) -> Any:
    body = {"nbest": nbest, "criterion": "perplexity", "lm_weight": 1}
    answer = httpx.post(f"{address}/rerank", json=body, timeout=60)
    return answer.json()["sentences"][0]


def test_the_runner_up_is_called_that(page: Page, address: str) -> None:
    nbest = list_of(*((-50 - place, tree) for place, tree in enumerate(CANDIDATES)))
    sentence = ranked(address, nbest)
    best, *others = [one for one in sentence["ranking"] if one["duplicate_of"] is None]
    paste(page, nbest)
    verdict = text_of(page, "#verdict")
    second = f"the runner-up, the parser\u2019s {ORDINALS[others[0]['index']]}"
    assert f"{sentence['margin']:.2f} nats ahead of {second}." in verdict
    page.click(f"#candidate-{others[0]['index']}")
    assert text_of(page, "#other-caption b").startswith("Runner-up, the parser\u2019s")
    page.click(f"#candidate-{others[1]['index']}")
    assert text_of(page, "#other-caption b").startswith("The parser\u2019s")
    assert text_of(page, "#chosen-caption b").startswith("Best, the parser\u2019s")
    assert best["index"] == sentence["best_index"]


def test_margins_beyond_numbers_are_said_in_words(page: Page) -> None:
    candidates = [
        {"tree": CANDIDATES[0], "score": -HUGE},
        {"tree": CANDIDATES[1], "score": HUGE},
        {"tree": CANDIDATES[2], "score": -HUGE},
    ]
    drop(page, "huge.jsonl", (json.dumps({"id": "x", "candidates": candidates}) + "\n").encode())
    move_slider(page, 0)
    assert "comes out on top, too far ahead of the runner-up" in text_of(page, "#verdict")
    assert text_of(page, "#candidate-0 .behind") == "∞"
    assert "∞ nats behind" in text_of(page, "#other-caption")
    for text in (page.locator("#results").text_content() or "", page.content()):
        assert not re.search("Infinity|NaN", text)


def test_one_candidate_is_no_contest(page: Page) -> None:
    paste(page, list_of((-9, CANDIDATES[0])))
    assert text_of(page, "#summary").endswith("1 sentence, with one tree each: nothing to compare.")
    assert text_of(page, "#verdict-statement") == "The parser gave one tree for this sentence:"
    assert text_of(page, "#sentence-0 .mark") == "1st"
    assert text_of(page, "#chosen-caption b") == "The parser\u2019s first"
    assert text_of(page, "#candidate-0 .behind") == ""
    for hidden in ("#other", "#weight-part", ".legend .two >> nth=0", "#pager"):
        assert not page.locator(hidden).is_visible(), hidden
    shown = page.locator("#results").inner_text()
    assert not re.search("runner-up|ahead|behind\\s*\\d|best tree:", shown)


def test_candidates_that_differ_in_tags_alone_have_no_runner_up(page: Page) -> None:
    retagged = CANDIDATES[0].replace("(NP", "(NP", 1).replace("(PRP ", "(NN ")
    assert retagged != CANDIDATES[0]
    paste(page, list_of((-9, CANDIDATES[0]), (-10, retagged)))
    expected = "The parser\u2019s first tree stays on top; the others differ from it in tags only."
    assert text_of(page, "#verdict").startswith(expected)


def test_alternatives_without_blank_lines_can_be_joined(page: Page, address: str) -> None:
    page.fill("#nbest", "\n".join(CANDIDATES[:3]) + "\n")
    page.click("#submit")
    wait_for_all(page)
    assert page.locator("#sentences > li").count() == 3
    assert "alternatives" in text_of(page, "#alternatives")
    page.click("#join")
    page.locator("#candidate-2").wait_for()
    wait_for_all(page)
    assert page.locator("#sentences > li").count() == 1
    assert page.locator("#candidates > li").count() == 3
    assert page.locator("#alternatives").is_hidden()
    best = ranked(address, list_of(*((-1, tree) for tree in CANDIDATES[:3])))["best_index"]
    assert page.locator("#candidates > li").first.get_attribute("data-key") == str(best)
    # Sentences that are different are none.
    paste(page, f"{CANDIDATES[0]}\n(S1 (NP (NN rain)))\n")
    assert page.locator("#alternatives").is_hidden()


@pytest.mark.parametrize(
    ("log_odds", "percent", "statement"),
    [(1.9, 87, "comes out on top"), (-0.2, 45, "leads, but not surely")],
)
def test_how_sure_it_is_is_said_where_the_server_knows(
    context: BrowserContext, tmp_path: Path, log_odds: float, percent: int, statement: str
) -> None:
    """A calibration that says the same of every choice."""
    models = save_models(tmp_path, 1, 2)
    calibration = Calibration(Weighing(), log_odds, (0.0, 0.0))
    known = WeighedModels(tuple(map(Path, models)), Weighing(), calibration)
    write_ensemble_file(tmp_path / CONFIDENCE_FILE, known)
    with serving([str(path) for path in models]) as server:
        page = context.new_page()
        open_page(page, server.url)
        use_example(page)
        changed = page.locator("#sentences .changed").first
        changed.click()
        sure = f"{percent}% sure that this is better than the parser\u2019s first."
        assert text_of(page, "#certainty") == sure
        assert text_of(page, "#verdict-statement").endswith(statement)
        # It was not fitted for other weights, and there is none in the parser's first itself.
        move_slider(page, 0.5)
        assert text_of(page, "#certainty") == ""
        assert not text_of(page, "#verdict-statement").endswith("surely")
        move_slider(page, 1)
        assert text_of(page, "#certainty") == sure


def test_without_a_calibration_nothing_is_said(page: Page) -> None:
    use_example(page)
    page.locator("#sentences .changed").first.click()
    assert text_of(page, "#certainty") == ""
    assert "sure" not in text_of(page, "#verdict")
