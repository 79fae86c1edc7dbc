"""benchmarks/growth.py: exponents, and what is measured."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from benchmarks.growth import Series, draw, sentences, shortened
from reranker.nbest import from_candidates


def test_the_exponent_is_of_the_two_largest_sizes() -> None:
    """From 10 to 100 the cost grows tenfold, whatever it was before, or a hundredfold."""
    linear = Series("words", (1, 10, 100), (5, 2, 20), "ms")
    square = Series("words", (1, 10, 100), (5, 2, 200), "ms")
    assert (round(linear.exponent, 9), round(square.exponent, 9)) == (1, 2)
    assert list(linear.rows()) == [
        ("words", "1", "5 ms", ""),
        ("words", "10", "2 ms", ""),
        ("words", "100", "20 ms", "1.00"),
    ]


def test_sentences_are_of_the_words_one_after_another() -> None:
    words = (f"w{number}" for number in count())
    first, second = sentences(words, 3, 2)
    assert (first.words, second.words) == (("w0", "w1", "w2"), ("w3", "w4", "w5"))


def test_a_shorter_list_has_the_first_candidates() -> None:
    trees = ["(S (NN a))", "(S (NP (NN a)))", "(NP (NN a))"]
    (some,) = shortened([from_candidates(trees)], 2)
    assert [each.index for each in some.candidates] == [0, 1]


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    draw([Series("words", (1, 10), (1, 20), "ms")], tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
