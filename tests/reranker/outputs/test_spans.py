"""Words and constituents with their places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
from hypothesis import given, settings

from reranker.nbest.data import Certainty, Origin
from reranker.outputs.spans import to_dict
from reranker.ranking.sentence import ParsedSentence, with_words_only
from reranker.trees.tree import Tree
from tests.reranker.outputs.any_trees import TREES

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "sentence.schema.json").read_text())
TREE = Tree.from_string("(TOP (S (NP (PRP We)) (VP (VBD saw) (NP (PRP it))) (. !)))")


def test_every_constituent_with_its_characters() -> None:
    text = "We  saw it!"
    origin = Origin("t", 2, text, ((5, 7), (9, 12), (13, 15), (15, 16)))
    found = to_dict(ParsedSentence("3", TREE, -1.5, origin))
    jsonschema.validate(found, SCHEMA)
    rows = [
        (each["label"], each["parent"], each["words"], text[each["start"] - 5 : each["end"] - 5])
        for each in found["constituents"]
    ]
    assert rows == [
        ("TOP", None, [0, 4], "We  saw it!"),
        ("S", 0, [0, 4], "We  saw it!"),
        ("NP", 1, [0, 1], "We"),
        ("VP", 1, [1, 3], "saw it"),
        ("NP", 3, [2, 3], "it"),
    ]
    assert found["words"][3] == {"text": "!", "leaf": "!", "tag": ".", "start": 15, "end": 16}
    assert (found["text"], found["file"], found["line"], found["score"]) == (text, "t", 2, -1.5)


def test_every_bracket_has_its_probability() -> None:
    known = {(0, 4, "S"): 0.95, (0, 1, "NP"): 0.123456, (1, 3, "VP"): 1.0}
    certainty = Certainty(known, 0.31234567)
    sentence = to_dict(ParsedSentence("3", TREE, -1.5, confidence=0.5, certainty=certainty))
    jsonschema.validate(sentence, SCHEMA)
    assert [each["probability"] for each in sentence["constituents"]] == [
        None, 0.95, 0.1235, 1.0, 0.0,
    ]  # fmt: skip
    assert (sentence["confidence"], sentence["entropy"]) == (0.5, 0.3123)


def test_a_sentence_of_which_nothing_is_known() -> None:
    found = to_dict(ParsedSentence("3", None))
    jsonschema.validate(found, SCHEMA)
    assert found["tree"] is None and found["words"] == found["constituents"] == []


@settings(deadline=None, max_examples=30)
@given(TREES)
def test_parents_and_words_make_the_tree(tree: Tree) -> None:
    tree = with_words_only(tree)
    found = json.loads(json.dumps(to_dict(ParsedSentence("0", tree))))
    jsonschema.validate(found, SCHEMA)
    assert Tree.from_string(found["tree"]) == tree
    for each in found["constituents"]:
        assert each["words"][0] < each["words"][1]
        if each["parent"] is not None:
            parent = found["constituents"][each["parent"]]["words"]
            assert parent[0] <= each["words"][0] and each["words"][1] <= parent[1]
    assert _rebuilt(found) == tree.to_string()


def _rebuilt(found: dict[str, Any]) -> str:
    """Rebuild the tree from constituents and words alone."""
    spans = [each["words"] for each in found["constituents"]]
    words = [
        word["leaf"] if word["tag"] is None else Tree(word["tag"], (word["leaf"],)).to_string()
        for word in found["words"]
    ]
    if not spans:  # the tree is a word with its part of speech
        return words[0]
    owner = [
        max(c for c, (start, end) in enumerate(spans) if start <= place < end)
        for place in range(len(words))
    ]
    parents = [each["parent"] for each in found["constituents"]]

    def text(constituent: int) -> str:
        parts = [
            (spans[c][0], text(c)) for c, parent in enumerate(parents) if parent == constituent
        ]
        parts += [(place, words[place]) for place, of in enumerate(owner) if of == constituent]
        inside = [part for _, part in sorted(parts, key=lambda part: part[0])]
        line = "".join(f" {part}" for part in inside)
        label = found["constituents"][constituent]["label"]
        return f"({label}{line})".replace("\\)", "\\ )")

    return text(0)
