"""Gold trees: counted as ``reranker.evaluation`` counts, marked and summed up on the page."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from reranker.evaluation.brackets import GoldTree, corpus_f1
from reranker.nbest import read_nbest
from tests.service.page.browsing import open_page, paste, text_of, use_example, wait_for_all

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "service" / "page"
EXAMPLE, EXAMPLE_GOLD = PAGE / "example.txt", PAGE / "example-gold.txt"
GOLD = "(TOP (S (NP (PRP We)) (VP (VBD saw) (NP (NNS eyes)) (ADVP (RB up))) (. .)))\n"
FIRST = "(S1 (S (NP (PRP We)) (VP (VBD saw) (NP (NNS eyes)) (PRT (RP up))) (. .)))\n"
SECOND = "(S1 (S (NP (PRP We)) (VP (VBD saw)) (NP (NNS eyes) (RB up)) (. .)))\n"
SCRIPT = """
const [modules, pairs] = JSON.parse(require("fs").readFileSync(0));
const load = (source) => import("data:text/javascript," + encodeURIComponent(source));
Promise.all(modules.map(load)).then(([{GoldStandard, judge, f1}, {treeFor}]) => {
    console.log(JSON.stringify(pairs.map(([gold, candidate]) => {
        const tree = treeFor(candidate);
        const standard = new GoldStandard(gold).of(tree);
        if (!standard) return null;
        const judged = judge(standard, tree);
        const {matched, test, missing} = judged;
        return [matched, judged.gold, test, f1(judged), missing.length];
    })));
});
"""


def scores_in_the_page(pairs: list[tuple[str, tuple[str, ...], str]]) -> list[Any]:
    """Return, for (gold line, tokens, tree): matched, gold and test brackets, F1, and missing
    ones."""
    modules = [(PAGE / name).read_text(encoding="utf-8") for name in ("gold.js", "trees.js")]
    given = [
        [gold, {"tree": tree, "token_scores": [[token, 0] for token in (*tokens, "<eos>")]}]
        for gold, tokens, tree in pairs
    ]
    command = ["node", "-e", SCRIPT]
    text = json.dumps([modules, given])
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(not shutil.which("node"), reason="this machine has no Node.js")
def test_brackets_are_counted_as_by_evalb() -> None:
    """Every candidate of the examples against its gold tree, and gold trees made odd."""
    lines = (ROOT / "examples" / "gold.mrg").read_text(encoding="utf-8").splitlines()
    draw = random.Random(3)
    changes = [
        ("(NP ", "(NP-SBJ=2 "), ("(PP ", "(PRT "), ("(ADVP ", "(PRT "), ("(TOP ", "(S1 "),
        ("(TOP ", "("), ("(VP ", "(VP (-NONE- *) "), (" (. .)", " (SYM .)"), ("(NP ", "(NP (NP "),
    ]  # fmt: skip
    pairs: list[tuple[str, tuple[str, ...], str]] = []
    for nbest, line in zip(read_nbest(ROOT / "examples" / "parses.txt"), lines, strict=True):
        for candidate in nbest.candidates[:20]:
            old, new = draw.choice([("", ""), *changes])
            gold = line.replace(old, new, 1) if old else line
            missing = gold.count("(") - gold.count(")")
            pairs.append((gold + ")" * missing, candidate.tokens, candidate.text))
    found = scores_in_the_page(pairs)
    for (gold, _, tree), in_page in zip(pairs, found, strict=True):
        score = GoldTree(gold, gold_tags=True).score(tree)
        assert score.status == "valid", (gold, score.reason)
        wanted = [*score.counts, pytest.approx(score.f1), score.gold - score.matched]
        assert in_page == wanted, (gold, tree)


@pytest.mark.slow
def test_right_and_wrong_are_marked(page: Page) -> None:
    """Gold calls "up" an ADVP, for COLLINS the same as PRT; the second tree has a VP too short and
    an NP too long, and lacks three constituents of gold: 2 of 4 right, F1 2 * 2 / (4 + 5)."""
    paste(page, f"2\ts\n-9\n{FIRST}-10\n{SECOND}")
    page.click("#open-gold")
    page.fill("#gold", GOLD)
    page.click("#use-gold")
    page.wait_for_selector("#legend-gold:not([hidden])")
    assert not page.locator("#gold-dialog").is_visible()
    marks = {}
    for index in (0, 1):
        page.click(f"#candidate-{index}")
        is_best = page.locator("#candidates > li").first.get_attribute("data-key") == str(index)
        side = "chosen" if is_best else "other"
        nodes = page.locator(f"#{side}-canvas .node").all_text_contents()
        marks[index] = sorted(nodes)
        f1 = {0: "100.0", 1: "44.4"}[index]
        assert text_of(page, f"#candidate-{index} .f1") == f1
        assert f"F1 {f1}" in text_of(page, f"#{side}-caption .judgement")
    assert marks[0] == ["NP✓", "NP✓", "PRT✓", "S✓", "VP✓"]
    assert marks[1] == ["NP✓", "NP✗", "S✓", "VP✗"]
    # Taken away again.
    page.click("#open-gold")
    page.click("#no-gold")
    page.wait_for_selector("#legend-gold", state="hidden")
    assert page.locator("#chosen-canvas .judged").count() == 0
    assert not page.locator("#candidate-0 .f1").is_visible()


@pytest.mark.slow
def test_what_is_no_gold_tree_is_said(page: Page) -> None:
    paste(page, f"2\ts\n-9\n{FIRST}-10\n{SECOND}")
    for text, message in (
        ("(TOP (S (NP We)\n", "not closed"),
        ("(TOP (S (NP (PRP We))))\n(TOP (S (NN x))) )\n", "Line 2: a closing bracket too many"),
        ("plain words", "Line 1: “plain”"),
        ("", "no tree"),
    ):
        page.click("#open-gold")
        page.fill("#gold", text)
        page.click("#use-gold")
        page.locator("#gold-problem", has_text=message).wait_for()
        page.keyboard.press("Escape")
    page.click("#open-gold")
    page.fill("#gold", "(TOP (S (NP (PRP They)) (VP (VBD left))))")
    page.click("#use-gold")
    page.locator("#gold-state", has_text="None of the 1 gold tree").wait_for()


@pytest.mark.slow
def test_the_example_has_gold_trees_and_a_link_shows_them(page: Page, address: str) -> None:
    use_example(page)
    page.click("#open-gold")
    page.click("#example-gold")
    page.locator("#gold-state", has_text="5 sentences").wait_for()
    golds = [
        GoldTree(line, gold_tags=True)
        for line in EXAMPLE_GOLD.read_text(encoding="utf-8").splitlines()
    ]
    firsts = [
        gold.score(nbest.candidates[0].text).counts
        for gold, nbest in zip(golds, read_nbest(EXAMPLE), strict=True)
    ]
    stated = text_of(page, "#gold-state")
    assert f"F1 of the parser\u2019s first trees {corpus_f1(np.array(firsts)):.2f}," in stated
    link = page.url
    assert "gold=example" in link
    page.goto("about:blank")
    open_page(page, link)
    wait_for_all(page)
    page.locator("#gold-state", has_text="5 sentences").wait_for()
    assert text_of(page, "#gold-state") == stated
