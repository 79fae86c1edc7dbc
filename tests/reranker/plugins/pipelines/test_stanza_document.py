"""A document of Stanza's, without Stanza, and with it where it is installed."""

from __future__ import annotations

import pytest

from reranker.pipeline import Reranker
from reranker.plugins.pipelines.stanza_document import Document
from reranker.trees.tree import Tree
from tests.reranker.ensembles import untrained
from tests.reranker.plugins.pipelines.parsing import its_trees, toy_parser

TEXT = "  We saw\nit. (He met her.)\n\nWe crash."


@pytest.fixture(scope="module")
def document() -> Document:
    rankings = Reranker([untrained(1)], threads=1).parse(TEXT, toy_parser())
    return Document.from_rankings(rankings, TEXT)


def test_words_with_their_characters(document: Document) -> None:
    assert [[word.text for word in sentence.words] for sentence in document.sentences] == [
        ["We", "saw", "it", "."],
        ["(", "He", "met", "her", ".", ")"],
        ["We", "crash", "."],
    ]
    for sentence in document.sentences:
        assert [word.id for word in sentence.tokens] == list(range(1, len(sentence.words) + 1))
        for word in sentence.words:
            assert TEXT[word.start_char : word.end_char] == word.text
    assert document.sentences[0].text == "We saw\nit."


def test_trees_and_plain_data(document: Document) -> None:
    first, second, third = document.sentences
    assert str(first.constituency and first.constituency.to_string()) in its_trees(
        "We", "saw", "it", "."
    )
    assert second.constituency and second.constituency.leaves()[0] == "-LRB-"
    assert third.constituency == Tree.from_string("(TOP (S (XX We) (XX crash) (XX .)))")
    assert document.to_dict()[0][1] == {
        "id": 2,
        "text": "saw",
        "xpos": "NN",
        "start_char": 5,
        "end_char": 8,
    }
    assert document.comments[2] == [
        "# sent_id = 2",
        "# text = We crash.",
        "# constituency = (TOP (S (XX We) (XX crash) (XX .)))",
    ]


def test_stanza_takes_it(document: Document) -> None:
    stanza = pytest.importorskip("stanza", reason="the package stanza is not installed")
    theirs = stanza.Document(document.to_dict(), document.text, document.comments)
    assert theirs.text == TEXT
    for sentence, own in zip(theirs.sentences, document.sentences, strict=True):
        assert own.constituency is not None
        assert str(sentence.constituency) == own.constituency.to_string()
        for word, own_word in zip(sentence.words, own.words, strict=True):
            assert (word.text, word.xpos) == (own_word.text, own_word.xpos)
            assert (word.start_char, word.end_char) == (own_word.start_char, own_word.end_char)
