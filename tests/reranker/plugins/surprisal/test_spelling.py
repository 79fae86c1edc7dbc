from __future__ import annotations

import math

import pytest

from reranker.checkpoints.vocabulary import Vocabulary
from reranker.plugins.surprisal import spelling
from reranker.plugins.surprisal.spelling import Spelling

WORDS = ["baba", "abba", "babas", "abbas"]
VOCABULARY = Vocabulary.build([[*WORDS, *WORDS, "foxes"]], minimum_count=2)


def test_words_of_the_vocabulary_cost_nothing() -> None:
    assert [Spelling(VOCABULARY).log_probability(word) for word in ("baba", "BABAS")] == [0, 0]


def test_letters_of_a_word_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """With single letters alone: the four words have 8 a, 8 b, 2 s and 4 ends, of 4 kinds."""
    monkeypatch.setattr(spelling, "_ORDER", 1)
    counts = {"a": 8, "b": 8, "x": 0, "s": 2, "end": 4}
    letters = math.prod((count + 4 / 150_000) / (22 + 4) for count in counts.values())
    # Two of the four are of its class, <unks>, and one is added to each: 3 of 4 + 2 + 1.
    assert VOCABULARY.symbol("abxs") == "<unks>"
    log_probability = Spelling(VOCABULARY).log_probability("abxs")
    assert log_probability == pytest.approx(math.log(letters / (3 / 7)))


def test_letters_after_any_context_are_a_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling, "_CHARACTERS", 5)  # a, b, c, s and the end: nothing else is there
    model = Spelling(VOCABULARY)
    for context in ("", "a", "ba", "\nba", "cc", "\n"):
        assert sum(model._letter(context, each) for each in "abcs\n") == pytest.approx(1)


def test_letters_are_in_lower_case_and_long_words_take_no_time() -> None:
    model = Spelling(VOCABULARY)
    assert model.log_probability("Abab") == model.log_probability("abab") < 0
    long, longer = model.log_probability("ab" * 100), model.log_probability("ab" * 100_000)
    assert longer == pytest.approx(1000 * long, rel=0.01)


def test_a_word_in_a_numbered_class_is_one_of_its_list() -> None:
    classes = {"otter": 3, "beaver": 3, "ferret": 3, "fern": 4}
    words = ["otter", "beaver", "ferret", "fern"]
    vocabulary = Vocabulary.build([[*WORDS, *WORDS, *words]], minimum_count=2, classes=classes)
    assert vocabulary.symbol("beaver") == "<unkER/3>"
    assert Spelling(vocabulary).log_probability("beaver") == pytest.approx(-math.log(3))


def test_classes_are_those_of_the_language() -> None:
    known = ["bacakan", "tuliskan", "makankan", "jalankan", "kirimkan", "beli", "jual"]
    seen = [*known, *known, "lihatkan", "x"]
    vocabulary = Vocabulary.build([seen], minimum_count=2, is_english=False)
    assert vocabulary.symbol("sebutkan") == "<latin-kan>"
    model, same = Spelling(vocabulary), Spelling(vocabulary)
    same._shares = dict.fromkeys(same._shares, 1.0)
    difference = model.log_probability("sebutkan") - same.log_probability("sebutkan")
    # Five of the seven end so; one is added to each of the two classes, and to <unk>.
    assert difference == pytest.approx(-math.log((5 + 1) / (7 + 2 + 1)))
