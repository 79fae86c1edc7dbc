"""Real spaCy, a blank pipeline, and benepar's attributes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reranker
from reranker.trees.tree import Tree
from tests.checkout import TOY_PARSER
from tests.reranker.plugins.pipelines.parsing import its_trees

spacy = pytest.importorskip("spacy", reason="the package spacy is not installed")

from spacy.tokens import Doc, DocBin, Span  # noqa: E402

from reranker.plugins.pipelines.spacy_component import (  # noqa: E402
    NonConstituentError,
    ParseReranker,
)

TEXTS = [
    "We saw (it). The man isn't here!",
    "",
    " \n ",
    "We crash here.\n\nIt  is.",
    "One",
]


@pytest.fixture(scope="module")
def nlp(models: list[str]) -> Iterator[Any]:
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    config = {"models": models, "parser_command": TOY_PARSER, "threads": 1, "jobs": 1}
    pipeline.add_pipe("parse_reranker", config=config)
    yield pipeline
    pipeline.get_pipe("parse_reranker").close()


def with_tree(text: str, words: list[str] | None = None) -> Span:
    """Return a sentence that has been given this tree."""
    tree = Tree.from_string(text)
    doc = Doc(spacy.blank("en").vocab, words=words or tree.leaves())
    doc._.parse_reranker = [(0, len(doc), tree.to_string(), -1.5, None)]
    return doc[:]


def test_a_document(nlp: Any) -> None:
    first, second = nlp(TEXTS[0]).sents
    assert first._.tree.label() in ("S", "S1")
    assert f"(S1 {first._.parse_string})" in its_trees("We", "saw", "-LRB-", "it", "-RRB-", ".")
    assert f"(S1 {second._.parse_string})" in its_trees("The", "man", "is", "n't", "here", "!")
    assert first._.tree.leaves() == ["We", "saw", "-LRB-", "it", "-RRB-", "."]
    assert first._.parse_problem is None and first._.parse_score < 0


def test_documents_in_batches_are_the_same_as_alone(nlp: Any) -> None:
    together = list(nlp.pipe(TEXTS * 3, batch_size=2))
    assert [doc.text for doc in together] == TEXTS * 3
    for doc, text in zip(together, TEXTS * 3, strict=True):
        assert doc._.parse_reranker == nlp(text)._.parse_reranker
    assert [len(doc._.parse_reranker) for doc in together[:5]] == [2, 0, 0, 2, 1]


def test_a_sentence_that_cannot_be_parsed_is_flat_and_says_why(nlp: Any) -> None:
    flat, good = (sent for sent in nlp(TEXTS[3]).sents)
    assert flat._.parse_string == "(S (XX We) (XX crash) (XX here) (XX .))"
    assert "status 1" in flat._.parse_problem and flat._.parse_score is None
    assert [token.text for token in good] == ["\n\n", "It", " ", "is", "."]
    assert good._.tree.leaves() == ["It", "is", "."]


def test_attributes_are_those_of_benepar() -> None:
    span = with_tree("(TOP (S (NP (PRP We)) (VP (VBD saw) (S (VP (VB it)))) (. .)))")
    doc = span.doc
    assert span._.labels == ("S",)
    assert [child.text for child in span._.children] == ["We", "saw it", "."]
    inner = ["We saw it .", "We", "saw it", "saw", "it", "."]
    assert [each.text for each in span._.constituents] == inner
    assert doc[0]._.labels == ("NP",) and doc[1]._.labels == ()
    assert doc[2]._.labels == ("S", "VP") and doc[2]._.parse_string == "(S (VP (VB it)))"
    assert doc[0]._.parse_string == "(NP (PRP We))" and doc[1]._.parse_string == "(VBD saw)"
    assert doc[2]._.parent.text == "saw it" and doc[1:3]._.parent.text == "We saw it ."
    assert span._.parent is None and doc[3]._.parent == span
    assert doc[1:3]._.tree.label() == "VP"
    with pytest.raises(NonConstituentError, match="not a constituent: 'We saw'"):
        doc[0:2]._.labels  # noqa: B018
    with pytest.raises(NonConstituentError, match="has not been parsed"):
        spacy.blank("en")("a")[:]._.labels  # noqa: B018


def test_white_space_belongs_to_no_constituent() -> None:
    span = with_tree("(S (NP (DT a) (NN b)) (VP (VB c)))", ["a", " ", "b", "c", "\n"])
    doc = span.doc
    assert span._.labels == ("S",) and doc[:3]._.labels == ("NP",)
    assert [child.text for child in span._.children] == ["a   b", "c"]
    assert doc[:4]._.parse_string == span._.parse_string
    with pytest.raises(NonConstituentError, match="not a constituent"):
        doc[1]._.labels  # noqa: B018


def test_trees_of_a_saved_document_and_a_saved_pipeline(nlp: Any, tmp_path: Path) -> None:
    doc = nlp(TEXTS[0])
    saved = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (again,) = DocBin().from_bytes(saved).get_docs(nlp.vocab)
    strings = [sent._.parse_string for sent in doc.sents]
    assert [sent._.parse_string for sent in again.sents] == strings
    nlp.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline")
    assert isinstance(loaded.get_pipe("parse_reranker"), ParseReranker)
    assert [sent._.parse_string for sent in loaded(TEXTS[0]).sents] == strings
    loaded.get_pipe("parse_reranker").close()


def test_a_document_without_sentences(nlp: Any) -> None:
    with pytest.raises(ValueError, match="E030"):
        nlp.get_pipe("parse_reranker")(spacy.blank("en")("We saw it."))


def test_tokens_that_were_joined_after_parsing() -> None:
    span = with_tree("(S (NP (DT a) (NN b)) (VP (VB c)))")
    with span.doc.retokenize() as retokenizer:
        retokenizer.merge(span.doc[:2])
    with pytest.raises(NonConstituentError, match="other tokens after"):
        span.doc[:1]._.labels  # noqa: B018


def test_brackets_have_their_probabilities() -> None:
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.add_pipe("parse_reranker")
    text = "I saw the man with the telescope."
    doc = pipeline(text)
    (ranking,) = reranker.parse(text, top=1)
    known = {
        (each.start, each.end, each.label): each.probability for each in ranking[0].constituents
    }
    for span in doc[:]._.constituents:
        labels, found = span._.labels, span._.probabilities
        assert found == tuple(known[span.start, span.end, label] for label in labels)
        assert span._.probability == (found[0] if found else None)
    assert 0.7 < doc[2:7]._.probability < 0.9 and doc[0]._.probability > 0.99
    copy = Doc(pipeline.vocab).from_bytes(doc.to_bytes())
    assert copy[2:7]._.probability == doc[2:7]._.probability
