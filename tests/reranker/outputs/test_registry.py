"""Every output of a ranking, by name."""

from __future__ import annotations

import json

import pytest

from reranker import registry
from reranker.errors import InputError
from reranker.nbest import from_candidates
from reranker.nbest.data import NBest, Sentence
from reranker.outputs.conllu import from_conllu
from reranker.outputs.output import output_of
from reranker.ranking import Ranking, Scored, Weighing, rank
from reranker.trees.tree import Tree

TREES = ["(S (NP (DT a) (NN b)) (-NONE- *) (VP (VB c)))", "(S (DT a) (NN b) (VB c))"]


def ranking_of(nbest: NBest) -> Ranking:
    """Return a ranking whose second candidate is the better one."""
    scores = [Scored(5.0 - i, 1.5, 9, 0, None) for i, _ in enumerate(nbest.candidates)]
    return rank(nbest, scores, Weighing())


def text_of(ranking: Ranking, output: str) -> str:
    """Return the text of a ranking in the output of that name."""
    return output_of(output).line(ranking, 1)


def test_every_output_has_the_best_tree() -> None:
    ranking = ranking_of(from_candidates(TREES[::-1]))
    assert text_of(ranking, "best") == TREES[0]
    assert json.loads(text_of(ranking, "ranked"))["ranking"][0]["tree"] == TREES[0]
    best = Tree.from_string("(S (NP (DT a) (NN b)) (VP (VB c)))")
    assert Tree.from_string(text_of(ranking, "pretty")) == best
    conllu = text_of(ranking, "conllu")
    assert list(from_conllu(conllu.split("\n"))) == [best] and conllu.endswith("*))\n")
    assert Tree.from_string(json.loads(text_of(ranking, "json"))["tree"]) == best


def without_candidates(output: str) -> tuple[str, str]:
    """Return the texts of two sentences without candidates: of known words, and of unknown ones."""
    words = ranking_of(NBest("0", (), (), 1, Sentence(("a", "b"))))
    return text_of(words, output), text_of(ranking_of(NBest("0", (), (), 1)), output)


@pytest.mark.parametrize("output", registry.built_in("outputs"))
def test_a_sentence_without_candidates_has_a_text(output: str) -> None:
    words, nothing = without_candidates(output)
    assert words and words != nothing


@pytest.mark.parametrize("output", ["best", "pretty"])
def test_a_sentence_without_candidates_is_a_flat_tree(output: str) -> None:
    assert without_candidates(output) == ("(TOP (S (XX a) (XX b)))", "(TOP )")


@pytest.mark.parametrize("output", ["json", "ranked"])
def test_a_sentence_without_candidates_keeps_its_id(output: str) -> None:
    assert [json.loads(text)["id"] for text in without_candidates(output)] == ["0", "0"]


def test_another_name() -> None:
    with pytest.raises(InputError, match=r"'xml'.* best, brackets, conllu"):
        text_of(ranking_of(from_candidates(TREES)), "xml")
