from __future__ import annotations

import pytest

from reranker.checkpoints.span_vocabulary import (
    END,
    RARE_LABEL,
    START,
    UNKNOWN,
    SpanVocabulary,
    spelling,
)
from reranker.checkpoints.word_pieces import WordPieces
from reranker.trees.linearize import TaggedTree

TOKENS = [
    ["(S", "(NP", "The", "dog", ")NP", "(VP", "sees", "(NP", "dogs", ")NP", ")VP", ")S"],
    ["(S", "(NP", "The", "dog", ")NP", "(VP", "sees", ")VP", ")S"],
    ["(FRAG", "(ADVP", "now", ")ADVP", ")FRAG"],
]
TREES = [TaggedTree(tuple(tokens)) for tokens in TOKENS]
VOCABULARY = SpanVocabulary.build(TREES, 2, ("the", "cat"), 1_000)


def test_what_is_seen_often_enough_is_known() -> None:
    assert VOCABULARY.words == ("The", "dog", "sees")
    assert VOCABULARY.labels == ("NP", "S", "VP")
    assert [VOCABULARY.label(each) for each in ("NP", "S", "FRAG ADVP")] == [2, 3, RARE_LABEL]
    assert len(VOCABULARY) == 4  # the, dog, sees, cat
    assert VOCABULARY.word_count == 6 and VOCABULARY.vector_count == 3
    unknown = [
        word for word in ("The", "the", "Cat", "Dog", "mouse") if VOCABULARY.is_unknown(word)
    ]
    assert unknown == ["Dog", "mouse"]


def test_sentences_have_a_start_and_an_end() -> None:
    rows, features = VOCABULARY.encode(["The", "mouse"])
    assert rows == [START, 3, UNKNOWN, END]
    assert [row[0] for row in features] == [0, 1, 0, 0]
    assert len({len(row) for row in features}) == 1
    assert features[0][1:] == [-1] * (len(features[0]) - 1)
    grams = [row for row in features[2][1:] if row >= 0]
    assert grams == spelling("mouse", 1_000)


def test_spelling_is_shared_by_similar_words() -> None:
    def common(one: str, other: str) -> int:
        return len({*spelling(one, 10**6)} & {*spelling(other, 10**6)})

    assert common("walking", "talking") > common("walking", "walks") > common("walking", "cat")
    assert common("1984", "2026") == common("Bob", "Tim") == 1  # the shape
    assert common("bob", "Tim") == 0
    assert spelling("x" * 5_000, 50) == spelling("x" * 40, 50)
    assert spelling("\ud800", 50)  # half a surrogate pair


def test_pieces_of_an_encoder_are_features_too() -> None:
    pieces = WordPieces(["[UNK]", "[CLS]", "[SEP]", "mo", "##use", "cow"], 2)
    vocabulary = SpanVocabulary.build(TREES, 2, ("the",), 1_000, pieces)
    _, features = vocabulary.encode(["mouse", "The"])
    assert [row[1:3] for row in features] == [[1, -1], [3, 4], [0, -1], [2, -1]]
    assert [row for row in features[1][3:] if row >= 0] == spelling("mouse", 1_000)
    unknown = [word for word in ("mouse", "Cow", "the", "dog", "x") if vocabulary.is_unknown(word)]
    assert unknown == ["mouse", "x"]
    assert len(vocabulary) == 5  # the, dog, sees, mo, cow


def test_nothing_is_there_twice() -> None:
    with pytest.raises(ValueError, match="twice"):
        SpanVocabulary(["a", "a"], [], [], 10)
