"""The choice of sentences, worked by hand."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence

import pytest

from reranker.plugins.selecting import choosing
from reranker.plugins.selecting.choosing import Budget, Chosen, Overlap, Uncertain, choose


def chosen(
    sentences: Iterable[tuple[float, str]],
    number: int | None = None,
    words: int | None = None,
    annotated: Sequence[str] = (),
) -> Chosen:
    given = (Uncertain("f", n, value, text, text, "") for n, (value, text) in enumerate(sentences))
    return choose(given, Budget(number, words), annotated)


def lines(found: Chosen) -> list[int]:
    return [each.line for each in found.sentences]


def test_entropy_a_word_decides_and_ties_stay_in_order() -> None:
    # 4 / 4 words, 6 / 3, 1 / 1, 3 / 1.
    sentences = [(4.0, "a b c d"), (6.0, "e f g"), (1.0, "h"), (3.0, "i")]
    assert lines(chosen(sentences)) == [3, 1, 0, 2]
    assert lines(chosen(sentences, 2)) == [3, 1]
    assert chosen([]).sentences == []


def test_a_budget_of_words_passes_over_what_no_longer_fits() -> None:
    sentences = [(9.0, "a b c"), (8.0, "d e f g"), (1.0, "h i"), (0.1, "j")]
    found = chosen(sentences, words=5)
    assert (lines(found), found.words) == ([0, 2], 5)
    assert lines(chosen(sentences, 1, 5)) == [0]
    assert lines(chosen(sentences, words=2)) == [2]


def test_near_duplicates_of_each_other_and_of_annotated_sentences() -> None:
    old = "we saw the man on the hill ."  # 9 pairs with those at both ends
    near = old.replace("hill", "roof")  # shares 7 of 11
    far = "we saw a man at the hill ."  # shares we-saw, the-hill, hill-., and the ends: 5 of 13
    found = chosen([(8.0, old), (7.0, near), (6.0, far), (5.0, old.upper()), (1.0, "it ran .")])
    assert lines(found) == [0, 2, 4]
    assert (found.same, found.near_chosen, found.near_annotated) == (1, 1, 0)
    found = chosen([(8.0, old), (6.0, far)], annotated=[near, "nothing else"])
    assert (lines(found), found.near_annotated) == ([1], 1)
    # Digits are alike; the first of the greatest entropy stays.
    assert lines(chosen([(1.0, "page 1 of 20"), (2.0, "page 3 of 75"), (2.0, "page 4 of 11")])) == [
        1
    ]


def test_a_sentence_like_one_that_was_left_out_is_taken() -> None:
    first, second, third = "a b c d e f", "a b c d x y", "a b w v x y"
    assert lines(chosen([(9.0, first), (8.0, second), (7.0, third)])) == [0, 1, 2]
    first, second, third = "a b c d e f", "a b c d e y", "a b c v e y"
    found = chosen([(9.0, first), (8.0, second), (7.0, third)])
    assert lines(found) == [0, 2]


def test_near_duplicates_are_those_of_comparing_all() -> None:
    rng = random.Random(1)
    texts = [" ".join(rng.choices("abc", k=rng.randint(1, 6))) for _ in range(80)]

    def pairs(text: str) -> set[tuple[str, str]]:
        words = ["", *text.split(), ""]
        return set(itertools.pairwise(words))

    overlap = Overlap(texts)
    for text in [*texts, "d", "d a b", "a d"]:
        own = pairs(text)
        expected = {
            number
            for number, other in enumerate(texts)
            if 2 * len(own & pairs(other)) >= len(own | pairs(other))
        }
        assert overlap.near(text, set()) == expected


@pytest.mark.parametrize("limit", [3, 5])
def test_memory_is_bounded_by_the_pool(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(choosing, "POOL", limit)
    values = [float(n * 7 % 31) for n in range(31)]
    sentences = [(value, f"w{chr(97 + n)}" * 2) for n, value in enumerate(values)]
    found = chosen(sentences, limit + 1)
    best = sorted(range(31), key=lambda n: -values[n])[:limit]
    assert (lines(found), found.is_pool_used_up) == (best, True)
    assert not chosen(sentences, limit).is_pool_used_up


@pytest.mark.parametrize("most, expected", [(99, [0, 1, 2]), (12, [0, 1, 2]), (11, [0, 1, 2, 3])])
def test_the_search_for_near_duplicates_is_bounded(
    monkeypatch: pytest.MonkeyPatch, most: int, expected: list[int]
) -> None:
    """Of its four pairs of words, the two of "a b c" that no other sentence has and one of the
    others are looked up: in 1, 1 and 3 sentences; those of "a b d" in 2, 2 and 3, of "a b e" in
    1, 1 and 3. Only "a b d d" is like another one."""
    monkeypatch.setattr(choosing, "MOST_LOOKED_AT", most)
    found = chosen([(9.0, "a b c"), (8.0, "a b d"), (7.0, "a b e"), (4.0, "a b d d")])
    assert lines(found) == expected
    assert found.near_chosen == 4 - len(expected)
    assert found.is_search_cut == (most < 5 + 7 + 5)
