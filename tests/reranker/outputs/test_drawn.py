"""The candidates of a sentence drawn for a page."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from reranker.nbest import Candidate, from_candidates
from reranker.nbest.data import Certainty
from reranker.outputs.drawn import drawings
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree
from tests.reranker.ensembles import CANDIDATES

FLAT = "(TOP (S (NP (PRP We)) (VP (VBD saw) (NN it)) (. .)))"
DEEP = "(TOP (S (NP-SBJ (PRP We)) (VP (VBD saw) (NP (PRP it))) (. .)))"
SURE = {(0, 4, "S"): 1.0, (0, 1, "NP"): 0.95, (1, 3, "VP"): 0.5}
MARKUP = "<script>&'\x07"


class Drawing:
    """A drawing as a page reads it."""

    def __init__(self, svg: str) -> None:
        self.root = ElementTree.fromstring(svg)
        self.branches = self.of_class("branches")[0]
        self.nodes = self.of_class("node")
        self.words = self.of_class("word")

    def of_class(self, name: str) -> list[ElementTree.Element]:
        return [each for each in self.root.iter() if each.get("class") == name]

    def texts(self, name: str) -> list[str | None]:
        return [each.text for each in self.of_class(name)]

    def heights(self) -> list[int]:
        """Return how far each label is above the words, in rows of 28 pixels."""
        bottom = int(self.words[0].attrib["y"])
        labels = (int(each.attrib["y"]) for each in self.of_class("label"))
        return [(bottom - label) // 28 for label in labels]


def drawn(*trees: str, certainty: Certainty | None = None) -> list[Drawing]:
    nbest = from_candidates(trees)
    return list(map(Drawing, drawings(nbest.candidates, certainty)))


def test_words_are_below_each_other_and_brackets_above_their_highest_child() -> None:
    flat, deep = drawn(FLAT, DEEP)
    assert flat.texts("word") == deep.texts("word") == ["We", "saw", "it", "."]
    assert deep.texts("tag") == ["PRP", "VBD", "PRP", "."]
    assert [word.get("x") for word in flat.words] == [word.get("x") for word in deep.words]
    assert flat.root.get("width") == deep.root.get("width")
    assert deep.texts("label") == ["S", "NP", "VP", "NP"]
    spans = [node.get("data-words") for node in deep.nodes]
    assert spans == ["0 4", "0 1", "1 3", "2 3"]
    assert deep.heights() == [3, 1, 2, 1] and flat.heights() == [2, 1, 1]
    assert len(deep.branches) == len(deep.nodes)
    assert deep.texts("share") == [] and "opacity" not in ElementTree.tostring(deep.root).decode()


def test_an_improbable_bracket_is_pale_and_a_doubtful_one_has_its_number() -> None:
    (drawing,) = drawn(FLAT, certainty=Certainty(SURE, 0.1))
    assert [node.get("data-probability") for node in drawing.nodes] == ["1", "0.95", "0.5"]
    assert drawing.texts("share") == ["50%"]
    labels = [label.get("opacity") for label in drawing.of_class("label")]
    assert labels == [None, "0.98", "0.81"]  # 0.62 + 0.38 p
    assert [path.get("opacity") for path in drawing.branches] == [None, "0.96", "0.57"]


def test_labels_have_room() -> None:
    """Boxes of a row do not overlap, although labels are wider than their words."""
    tree = "(TOP (S (WHADVP-XXX (A a)) (WHADVP (B b)) (ADJPLONG (C c))))"
    (drawing,) = drawn(tree)
    boxes = [node[0].attrib for node in drawing.nodes[1:]]
    ends = [int(box["x"]) + int(box["width"]) for box in boxes]
    assert all(end < int(box["x"]) for end, box in zip(ends, boxes[1:], strict=False))
    assert int(boxes[0]["x"]) > 0 and ends[-1] < int(drawing.root.attrib["width"])


def test_the_first_word_of_hebrew_is_at_the_right() -> None:
    (drawing,) = drawn("(TOP (S (NN נער) (VB רץ)))")
    first, second = (int(word.attrib["x"]) for word in drawing.words)
    assert first > second


def test_text_is_never_markup() -> None:
    (drawing,) = drawn(f"(TOP (<b> (<i> {MARKUP})))")
    assert drawing.texts("word") == ["<script>&'\ufffd"]
    assert drawing.texts("label") == ["<b>"] and drawing.texts("tag") == ["<i>"]


@pytest.mark.parametrize("tokens", ["(S a )S (S b )S", "a b"])
def test_brackets_without_a_common_parent_get_one(tokens: str) -> None:
    candidate = Candidate(0, tokens, tuple(tokens.split()), None, 1, ("XX", "NN"))
    drawing = Drawing(drawings([candidate], None)[0])
    assert drawing.texts("label")[0] == "TOP" and drawing.nodes[0].get("data-words") == "0 2"
    assert drawing.texts("word") == ["a", "b"]
    assert drawing.texts("tag") == [None, "NN"], "XX says that the tag is not known"


def test_every_bracket_of_many_trees_is_there() -> None:
    for tree, drawing in zip(CANDIDATES, drawn(*CANDIDATES), strict=True):
        tokens = linearize(Tree.from_string(tree))
        labels = [token[1:] for token in tokens if token[0] == "("]
        assert drawing.texts("label") == labels
    assert drawings([], None) == []
