"""``doc._.clauses`` in real spaCy."""

from __future__ import annotations

import pytest

spacy = pytest.importorskip("spacy", reason="the package spacy is not installed")

from spacy.tokens import Doc  # noqa: E402

from reranker.plugins.clauses import spacy_component  # noqa: E402


def test_clauses_of_a_document() -> None:
    nlp = spacy.blank("en")
    Doc.set_extension("parse_reranker", default=None, force=True)  # as the component does
    assert nlp.add_pipe("clauses") is spacy_component.clauses_component
    first = "(S (NP (PRP We)) (VP (VBP say) (SBAR (S (NP (PRP it)) (VP (VBZ is))))) (. .))"
    second = "(S (NP (PRP He)) (VP (VBD left)))"
    flat = "(S (XX not) (XX parsed))"
    words = ["We", "say", "\n", "it", "is", ".", "He", "left", "no", "tree"]
    doc = nlp(Doc(nlp.vocab, words=words))
    assert doc._.clauses == []
    known = [(0, 5, "S", 0.9), (2, 4, "SBAR", 0.8), (2, 4, "S", 0.6), (0, 5, "TOP", None)]
    doc._.parse_reranker = [
        (0, 6, first, -1.0, None, known),
        (6, 8, second, -1.0, None, []),
        (8, 10, flat, None, "why", []),
    ]
    assert [
        (each.kind, each.span.text, [own.text for own in each.own], each.parent, each.probability)
        for each in doc._.clauses
    ] == [
        ("main", doc[:6].text, ["We say", "."], None, 0.9),
        ("complement", "it is", ["it is"], 0, 0.8),
        ("main", "He left", ["He left"], None, None),
    ]
    assert doc._.clauses[2].subject == doc[6:7] and doc._.clauses[1].predicate == (doc[4:5],)
