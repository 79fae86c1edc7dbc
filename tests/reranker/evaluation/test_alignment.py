"""The alignment of gold and test sentences, and the message if none fits."""

from __future__ import annotations

import pytest

from reranker.errors import InputError
from reranker.evaluation.alignment import complaints, paired, shift
from reranker.evaluation.parameters import Parameters
from reranker.evaluation.sentence import score_pair
from reranker.trees.treebank import TreeText

WORDS = ["tea", "milk", "", "rice", "salt"]  # one sentence has no tree


def places(file: str, *words: str) -> list[TreeText]:
    texts = [f"(TOP (NP (NN {word}) (. .)))" if word else "" for word in words]
    return [TreeText(file, number, text) for number, text in enumerate(texts, 1)]


def explained(gold: list[TreeText], test: list[TreeText]) -> list[str]:
    collins = Parameters.collins()
    pairs = zip(gold, test, strict=True)
    scores = [score_pair(one.text, other.text, collins) for one, other in pairs]
    return list(complaints(gold, test, scores))


def test_blank_lines_count_unless_the_numbers_agree_without_them() -> None:
    whole, trees = places("g", *WORDS), places("g", *filter(None, WORDS))
    assert paired(whole, whole, "g", "t") == (whole, whole)  # as EVALB
    assert [len(each) for each in paired(whole, trees, "g", "t")] == [4, 4]
    assert [len(each) for each in paired(trees, whole, "g", "t")] == [4, 4]
    # A blank line in TEST is a sentence that was not parsed.
    gold, test = places("g", "tea", "milk"), places("t", "tea", "")
    assert paired(gold, test, "g", "t") == (gold, test)


def test_numbers_that_do_not_agree() -> None:
    gold, test = places("g", "tea", "milk", "rice"), places("t", "tea", "rice")
    with pytest.raises(InputError) as raised:
        paired(gold, test, "g", "t")
    assert str(raised.value) == (
        "g has 3 sentences but t has 2; t:2 has the words of g:3: is one of the files shifted?"
    )
    with pytest.raises(InputError, match=r"g .*3 .*t .*1"):
        paired(gold, places("t", "tea"), "g", "t")


def test_the_first_ten_the_rest_counted_and_a_guess() -> None:
    words = [f"word{number}" for number in range(1_200)]
    found = explained(places("gold", *words), places("test", words[-1], *words[:-1]))
    assert len(found) == 12
    assert found[0] == "test:1: error: gold word 'word0', test word 'word1199'"
    assert found[9].startswith("test:10: error: ")
    assert found[10:] == [
        "... and 1,190 more of 1,200 sentences",
        "test:2 has the words of gold:1: is one of the files shifted?",
    ]


def test_nothing_is_guessed_where_words_differ_otherwise() -> None:
    gold, test = places("gold", "tea", "milk", "tea"), places("test", "tea", "oil", "tea")
    assert explained(gold, test) == ["test:2: error: gold word 'milk', test word 'oil'"]
    assert explained(gold, gold) == list(shift(gold, test)) == []


def test_traces_are_no_words() -> None:
    trace = TreeText("gold", 7, "( (S (NP (-NONE- *)) (NP (NN milk) (. .))))")
    assert list(shift([*places("gold", "tea"), trace], places("test", "milk", "cake"))) == [
        "test:1 has the words of gold:7: is one of the files shifted?"
    ]
