"""The places of matches: words are counted in one way, without traces."""

from __future__ import annotations

import pytest

from reranker.trees.patterns.pattern import Pattern
from reranker.trees.tree import Tree
from reranker.work.matches import Words, matches
from reranker.work.parses import Parses


@pytest.mark.parametrize(
    "text, expected",
    [
        ("(S (NP (-NONE- *) (-NONE- *T*)) (VP (V go)))", {"VP": "go", "NP": "", "*T*": ""}),
        ("(S (B b) (NP (-NONE- *)))", {"S": "b", "NP": ""}),
        # Constituents that only have a trace's label.
        ("(S (-NONE- (X a)) (B b))", {"-NONE-": "a", "X": "a", "B": "b", "S": "a b"}),
        ("(S (-NONE- a b) (C c))", {"-NONE-": "a b", "a": "a", "C": "c", "S": "a b c"}),
        ("(S (-NONE- (-NONE- *)) (B b))", {"-NONE-": "", "B": "b"}),
    ],
)
def test_the_words_of_a_match(text: str, expected: dict[str, str]) -> None:
    parses = Parses("f.mrg", 1, (Tree.from_string(text),))
    words = Words.of(parses)
    every = {each.label: words.cut(each) for each in matches(Pattern("__"), parses)}
    for label, match in expected.items():
        before, found, after = every[label]
        assert found == match and before + found + after == words.text, label
