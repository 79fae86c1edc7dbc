from __future__ import annotations

from collections import Counter

import pytest

from reranker.checkpoints.pieces import Pieces, joined

# "lo" 9 times, then "low" 7 times: the pairs are merged in that order.
WORDS = Counter({"low": 5, "lower": 2, "lot": 2})


def test_frequent_pairs_are_merged_first() -> None:
    one, two, three = (Pieces.learn(WORDS, merges) for merges in (1, 2, 3))
    assert one.split(["lower"]) == ["lo@@", "w@@", "e@@", "r"]
    assert one.split(["low"]) == ["lo@@", "w"]
    # The end of a word is part of its last letter: "w" inside a word is another symbol.
    assert two.split(["low", "lower"]) == ["low", "lo@@", "w@@", "e@@", "r"]
    assert three.split(["lot", "low"])[-1] == "low"


def test_the_order_of_words_does_not_matter(capfd: pytest.CaptureFixture[str]) -> None:
    turned = Counter(dict(reversed(WORDS.items())))
    assert Pieces.learn(WORDS, 50).merges == Pieces.learn(turned, 50).merges
    assert capfd.readouterr() == ("", ""), "no progress bar but on a terminal"


@pytest.mark.parametrize("merges", [0, 1, 3, 50])
def test_joined_pieces_are_the_words(merges: int) -> None:
    words = ["low", "slower", "x", "\N{NO-BREAK SPACE}low", "LOW", "été", "a\u2028b"]
    pieces = Pieces.learn(WORDS, merges)
    assert joined(pieces.split(words)) == words
    assert joined(Pieces(pieces.merges).split(words)) == words


def test_without_merges_words_are_whole() -> None:
    assert Pieces().split(["lower", "low"]) == ["lower", "low"]


def test_an_output_may_end_within_a_word_or_be_empty() -> None:
    assert joined(["lo@@", "w", "lo@@"]) == ["low", "lo"]
    assert joined([]) == []


@pytest.mark.parametrize("text", ["#version: 0.2\nl o\nthree of them\n", "#version: 0.2\nlow\n"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not pairs"):
        Pieces(text)
