"""Sentences that the shipped models must get right: garden paths, attachment, and Penn's labels for
relative and question pronouns."""

from __future__ import annotations

import pytest

from reranker.defaults import parse

SENTENCES = {
    "When the last guests left the hotel closed its kitchen.": (
        "(NP (DT the) (NN hotel)) (VP (VBD closed)"
    ),
    "When the dog scratched the vet took off the muzzle.": (
        "(VBD scratched)))) (NP (DT the) (NN vet))"
    ),
    "The horse raced past the barn fell.": "(NP (DT the) (NN barn))))) (VP (VBD fell))",
    "She met the man on Monday.": "(VP (VBD met) (NP (DT the) (NN man)) (PP (IN on)",
    "The man who left saw the woman that he knew.": (
        "(SBAR (WHNP (WDT that)) (S (NP (PRP he)) (VP (VBD knew))))"
    ),
    "I know which book she bought.": "(SBAR (WHNP (WDT which) (NN book)) (S (NP (PRP she))",
    "Who did you see?": "(SBARQ (WHNP (WP Who)) (SQ (VBD did)",
}


@pytest.fixture(scope="module")
def trees() -> dict[str, str]:
    rankings = parse("\n\n".join(SENTENCES))
    return dict(zip(SENTENCES, (each.tree for each in rankings), strict=True))


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_shipped_models_read_it_as_a_person_does(trees: dict[str, str], sentence: str) -> None:
    assert SENTENCES[sentence] in trees[sentence]
