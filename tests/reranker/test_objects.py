"""Objects for users: candidates with words and constituents, short reprs, pictures, tables."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from dataclasses import replace

import pytest

import reranker
from reranker.errors import InputError, TreeError
from reranker.nbest import from_candidates
from reranker.nbest.data import Certainty, NBest, Origin, Sentence
from reranker.plugins.surprisal.sentence import SentenceMeasures, WordMeasures
from reranker.plugins.surprisal.surprisal import SentenceSurprisal, Surprisals
from reranker.ranking import Ranked, Ranking, Scored, Weighing, rank
from reranker.ranking.rankings import Rankings
from reranker.ranking.sentence import Constituent
from reranker.text.reading import TextSentence
from reranker.trees.tree import MAX_DEPTH, Tree, quoted

TEXT = "I  saw (it)."
TREES = [
    "(TOP (S (NP (PRP I)) (VP (VBD saw) (PRN (-LRB- -LRB-) (NP (PRP it)) (-RRB- -RRB-))) (. .)))",
    "(TOP (S (NP (PRP I)) (VP (VBD saw)) (-LRB- -LRB-) (NP (PRP it)) (-RRB- -RRB-) (. .)))",
]
ORIGIN = Origin("text", 1, TEXT, ((0, 1), (3, 6), (7, 8), (8, 10), (10, 11), (11, 12)))
CERTAINTY = Certainty({(0, 6, "S"): 0.9, (0, 1, "NP"): 0.99991, (1, 5, "VP"): 0.5}, 0.25)


def ranking(nbest: NBest | None = None) -> Ranking:
    given = nbest or replace(from_candidates(TREES), origin=ORIGIN, certainty=CERTAINTY)
    scores = [Scored(10.0 + index, 1.0, 8, 0, None) for index in range(len(given.candidates))]
    return rank(given, scores, Weighing())


def best() -> Ranked:
    best = ranking().best
    assert best is not None
    return best


def test_words_tags_and_their_places() -> None:
    assert best().tree == TREES[0]
    assert best().words == ["I", "saw", "(", "it", ")", "."]
    assert best().tags == ["PRP", "VBD", "-LRB-", "PRP", "-RRB-", "."]
    assert best().offsets == list(ORIGIN.offsets)


def test_constituents() -> None:
    assert best().constituents == [
        ("TOP", 0, 6, None, TEXT, (0, 12), None),
        ("S", 0, 6, 0.9, TEXT, (0, 12), 0),
        ("NP", 0, 1, 0.9999, "I", (0, 1), 1),
        ("VP", 1, 5, 0.5, "saw (it)", (3, 11), 1),
        ("PRN", 2, 5, 0.0, "(it)", (7, 11), 3),
        ("NP", 3, 4, 0.0, "it", (8, 10), 4),
    ]
    other = ranking()[1].constituents
    assert [(each.label, each.probability) for each in other][:3] == [
        ("TOP", None), ("S", 0.9), ("NP", 0.9999),
    ]  # fmt: skip


def test_candidates_of_no_text() -> None:
    alone = ranking(from_candidates(TREES))[0]
    assert alone.words[2] == "-LRB-" and alone.offsets is None
    assert alone.constituents[3] == ("VP", 1, 5, None, "saw -LRB- it -RRB-", None, 1)


def test_a_candidate_that_is_no_bracketed_tree() -> None:
    hidden = replace(best(), tree="(S (NP XX )NP (VP XX )VP )S")
    assert hidden._repr_svg_() is None
    with pytest.raises(TreeError):
        assert hidden.words


def test_plain_data_has_what_it_had() -> None:
    data = best().to_dict()
    assert data["tree"] == TREES[0] and not {"origin", "certainty"} & {*data}
    assert json.loads(best().to_json()) == data
    assert json.loads(ranking().to_json()) == json.loads(json.dumps(ranking().to_dict()))


def test_equality_and_pickles() -> None:
    assert ranking() == ranking() and hash(best()) == hash(best())
    assert pickle.loads(pickle.dumps(ranking())) == ranking()
    assert pickle.loads(pickle.dumps(best())).constituents == best().constituents
    deep = Tree("A", ("a",))
    for _ in range(MAX_DEPTH - 1):  # deeper than pickle may recurse
        deep = Tree("A", (deep, "b"))
    assert pickle.loads(pickle.dumps(deep)) == copy.deepcopy(deep) == deep
    assert pickle.loads(pickle.dumps(Tree("X", ()))).children == ()


def test_reprs_are_short() -> None:
    tree = "'(TOP (S (NP (PRP I)) (VP (VBD saw) (PRN (-LRB- -LRB-) (NP (…'"
    assert repr(best()) == f"Ranked(0, score=-10.0, tree={tree})"
    assert repr(ranking()) == f"Ranking('0', 2 candidates, tree={tree})"
    assert repr(Tree.from_string("(NN a)")) == "Tree.from_string('(NN a)')"
    assert repr(Tree.from_string(TREES[0])) == f"<Tree {tree[1:-1]}>"
    assert repr(from_candidates(TREES).candidates[0]) == f"Candidate(0, {tree})"
    assert repr(CERTAINTY) == "Certainty(3 brackets, entropy=0.25)"


def test_no_repr_is_long() -> None:
    """Whatever a text holds, nothing that a person holds fills the screen, or controls it."""
    long = "word\x1b[31m\U000e0001" * 4000
    origin = Origin(long, 1, long, tuple((i, i + 1) for i in range(4000)))
    measures = WordMeasures(1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, tree=long)
    read = SentenceMeasures((measures,) * 4000, 1.0, (((long,) * 9, -1.0),))
    text = TextSentence(Sentence((long,) * 9), origin, long)
    one = SentenceSurprisal(1, text, read, "bits")
    nbest = from_candidates([f"(S {long})"] * 100)
    held = [
        *(ranking(nbest), ranking(nbest)[0], Rankings([ranking()] * 99), *nbest.candidates, nbest),
        *(Constituent(long, 0, 1, None, long, None, None), origin, text, measures, read, one),
        *(Surprisals([one] * 99), Weighing(member_weights=(0.123456789,) * 99)),
        *(from_candidates(["(S"]).rejected[0], Tree("S", (long,)), Tree(long, ("a",))),
        replace(ranking(), id=long),
        *reranker.measure([Tree.from_string(TREES[0])]).sentences,
        reranker.measure([Tree.from_string(TREES[0])]),
    ]
    for each in held:
        shown = repr(each)
        assert len(shown) <= 200 and shown.isprintable(), (type(each), shown)
    assert repr(one) == f"SentenceSurprisal(1, {quoted(long)}, 4000 words)"
    assert repr(Rankings([ranking()])) == "<Rankings of 1 sentences>"


def test_notebooks_draw_trees() -> None:
    drawing = best()._repr_svg_()
    assert drawing is not None and drawing.startswith("<svg ") and ">saw</text>" in drawing
    assert drawing == best().to_svg() == Tree.from_string(TREES[0])._repr_svg_()
    sure = replace(ranking(), confidence=0.876)
    assert sure._repr_html_().startswith("<p>candidate 0, score -10.0, confidence 88%</p><svg ")
    none = ranking(from_candidates(["(S (NP"]))
    assert none._repr_html_() == "<p>no usable candidate</p><pre>(TOP )</pre>"
    assert Rankings([sure, none])._repr_html_() == sure._repr_html_() + none._repr_html_()


def test_tables() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    assert best().to_pandas()["text"][3] == "saw (it)"
    table = ranking().to_pandas()
    assert list(table["index"]) == [0, 1] and list(table["tree"]) == TREES
    both = Rankings([ranking(), ranking(from_candidates(["(S (NP"]))]).to_pandas()
    assert list(both["sentence"]) == ["0"] * 6
    assert list(both.columns)[:4] == ["sentence", "label", "start", "end"]
    assert list(Rankings().to_pandas()["label"]) == []


def test_tables_need_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pip install 'parse-reranker\[pandas\]'"):
        best().to_pandas()


def test_a_tree_is_a_string_with_the_methods_of_nltk(capsys: pytest.CaptureFixture[str]) -> None:
    for tree in (ranking().tree, best().tree):
        assert tree == TREES[0] and json.loads(json.dumps(tree)) == TREES[0]
        assert tree.leaves() == Tree.from_string(TREES[0]).leaves()  # type: ignore[attr-defined]
        tree.pretty_print()  # type: ignore[attr-defined]
        assert " S " in capsys.readouterr().out
        assert pickle.loads(pickle.dumps(tree)) == copy.deepcopy(tree) == tree
        with pytest.raises(AttributeError, match="frobnicate"):
            tree.frobnicate()  # type: ignore[attr-defined]
    none = ranking(from_candidates(["(S (NP"])).tree
    assert none == "(TOP )" and not hasattr(none, "dtype")
