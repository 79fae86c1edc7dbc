"""Every output of a ranking, by name."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest

from reranker.errors import InputError
from reranker.nbest import from_candidates
from reranker.nbest.data import NBest, Sentence
from reranker.outputs.conllu import from_conllu
from reranker.outputs.registry import OUTPUTS, format_ranking
from reranker.ranking import Ranking, Scored, Weighing, rank
from reranker.trees.tree import Tree

TREES = ["(S (NP (DT a) (NN b)) (-NONE- *) (VP (VB c)))", "(S (DT a) (NN b) (VB c))"]


def ranking_of(nbest: NBest) -> Ranking:
    """Return a ranking whose second candidate is the better one."""
    scores = [Scored(5.0 - i, 1.5, 9, 0, None) for i, _ in enumerate(nbest.candidates)]
    return rank(nbest, scores, Weighing())


def test_every_output_has_the_best_tree() -> None:
    ranking = ranking_of(from_candidates(TREES[::-1]))
    assert format_ranking(ranking, "best") == TREES[0]
    assert json.loads(format_ranking(ranking, "ranked"))["ranking"][0]["tree"] == TREES[0]
    best = Tree.from_string("(S (NP (DT a) (NN b)) (VP (VB c)))")
    assert Tree.from_string(format_ranking(ranking, "pretty")) == best
    conllu = format_ranking(ranking, "conllu")
    assert list(from_conllu(conllu.split("\n"))) == [best] and conllu.endswith("*))\n")
    assert Tree.from_string(json.loads(format_ranking(ranking, "json"))["tree"]) == best
    drawing = ElementTree.fromstring(format_ranking(ranking, "svg"))
    texts = [element.text for element in drawing.iter() if element.tag.endswith("text")]
    assert sorted(filter(None, texts)) == sorted(["S", "NP", "VP", "DT", "NN", "VB", "a", "b", "c"])


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_sentence_without_candidates(output: str) -> None:
    words = format_ranking(ranking_of(NBest("0", (), (), 1, Sentence(("a", "b")))), output)
    nothing = format_ranking(ranking_of(NBest("0", (), (), 1)), output)
    assert ">a</text>" in words if output == "svg" else "a" in words
    for text in (words, nothing):
        if output == "svg":
            assert ElementTree.fromstring(text).tag.endswith("svg")
        elif output in ("json", "ranked"):
            assert json.loads(text)["id"] == "0"
        elif output not in ("conllu", "brackets"):
            assert text in ("(TOP (S (XX a) (XX b)))", "(TOP )")


def test_another_name() -> None:
    with pytest.raises(InputError, match="no output 'xml'; there are best, ranked, pretty"):
        format_ranking(ranking_of(from_candidates(TREES)), "xml")
