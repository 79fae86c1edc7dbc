"""Candidates that are not in a file become the same lists as those of files."""

from __future__ import annotations

import json
import math
from typing import Any

import nltk
import numpy as np
import pytest

from reranker.errors import InputError
from reranker.nbest import NBest, Sentence, from_candidates
from reranker.nbest.faithful import ReadingRules
from reranker.nbest.notation import Notation
from reranker.trees.tree import Tree
from tests.reranker.nbest.summaries import Read, accepted, rejected, scores

RUNS = "(S (NP (PRP It)) (VP (VBZ runs)))"
FLAT = "(S (NP (PRP It) (VBZ runs)))"
RUNS_TOKENS = "(S (NP It )NP (VP runs )VP )S"
LINEARIZED = ReadingRules("beam", Notation.LINEARIZED)


def test_strings_trees_and_nltk_trees_in_one_list() -> None:
    nbest = from_candidates([RUNS, Tree.from_string(RUNS), nltk.Tree.fromstring(RUNS)])
    assert accepted(nbest) == [RUNS_TOKENS] * 3
    assert [candidate.text for candidate in nbest.candidates] == [RUNS] * 3
    assert [(candidate.index, candidate.line) for candidate in nbest.candidates] == [
        (0, 1),
        (1, 2),
        (2, 3),
    ]
    assert (nbest.id, nbest.line) == ("0", 1)


def test_what_is_not_a_tree_is_rejected_alone() -> None:
    bare_words: list[Any] = [None, 3, b"(S (A a))", ["S", "a"], nltk.Tree("S", [("It", "PRP")])]
    nbest = from_candidates([RUNS, "(S (", "", *bare_words, "(S (X We))", FLAT])
    assert [candidate.index for candidate in nbest.candidates] == [0, 9]
    assert rejected(nbest) == [
        (1, 2, "unbalanced"),
        (2, 3, "empty"),
        (3, 4, "not-a-tree"),
        (4, 5, "not-a-tree"),
        (5, 6, "not-a-tree"),
        (6, 7, "not-a-tree"),
        (7, 8, "not-a-tree"),
        (8, 9, "wrong-length"),
    ]


@pytest.mark.parametrize("kind", [str, Tree.from_string, nltk.Tree.fromstring])
def test_a_single_candidate_is_not_a_list(kind: Any) -> None:
    with pytest.raises(InputError, match=r"a list of candidates, not a single one: pass \["):
        from_candidates(kind(RUNS))


def test_scores_and_lists_among_the_candidates_are_explained() -> None:
    misplaced: list[Any] = [(RUNS, -1.0), {"tree": RUNS, "score": -1.0}, [RUNS, FLAT]]
    nbest = from_candidates([*misplaced, RUNS])
    assert [candidate.index for candidate in nbest.candidates] == [3]
    assert [rejected.message for rejected in nbest.rejected] == [
        "expected a tree, not a tuple: scores go in parser_scores",
        "expected a tree, not a dict: scores go in parser_scores",
        "expected a tree, not a list: rerank_lists takes several sentences",
    ]


def test_any_iterable_will_do() -> None:
    nbest = from_candidates((tree for tree in (RUNS, FLAT)), np.array([-1.5, -2.5]))
    assert scores(nbest) == [-1.5, -2.5]
    assert [type(score) for score in scores(nbest)] == [float, float]
    assert from_candidates([]).candidates == ()


def test_parser_scores() -> None:
    unusable = [math.nan, -math.inf, 10**400, None]
    nbest = from_candidates([RUNS] * 6, [-3, np.float32(-0.5), *unusable])
    assert scores(nbest) == [-3.0, -0.5, None, None, None, None]
    with pytest.raises(InputError, match="2 parser scores"):
        from_candidates([RUNS], [-1.0, -2.0])
    with pytest.raises(InputError, match="'-1'"):
        from_candidates([RUNS], ["-1"])  # type: ignore[list-item]


def test_the_given_sentence_names_the_words() -> None:
    sentence = Sentence.of(["It", "runs"], ["PRP", "VBZ"])
    nbest = from_candidates(
        ["(S (NP XX )NP (VP XX )VP )S", "(S XX XX XX )S"], sentence=sentence, rules=LINEARIZED
    )
    assert accepted(nbest) == [RUNS_TOKENS, "(S It runs )S"]
    assert nbest.candidates[0].tree == Tree.from_string(RUNS)
    # Seq2seq parsers' candidates are repaired unless that is switched off.
    assert [candidate.is_repaired for candidate in nbest.candidates] == [False, True]
    strict = LINEARIZED._replace(repair=False)
    nbest = from_candidates(["(S XX XX XX )S"], sentence=sentence, rules=strict)
    assert rejected(nbest) == [(0, 1, "wrong-length")]


def test_hidden_words_need_a_sentence() -> None:
    message = r"beam:3: the words are XX: give the sentences \(tokens\)"
    with pytest.raises(InputError, match=message):
        from_candidates(["(S XX )S"], line=3, rules=LINEARIZED)


def test_a_tree_over_several_lines_becomes_one_line() -> None:
    (candidate,) = from_candidates([RUNS.replace(" (VP", "\r\n\n  (VP")]).candidates
    assert candidate.text == "(S (NP (PRP It))   (VP (VBZ runs)))"


def test_a_sentence_of_words() -> None:
    assert Sentence.of(["(", "a"], ["(", "NN"]) == (("-LRB-", "a"), ("-LRB-", "NN"))
    assert Sentence.of([]) == ((), ())
    assert Sentence.of(["12\N{NO-BREAK SPACE}000"]).words == ("12\N{NO-BREAK SPACE}000",)
    for words, tags, message in (
        (["It runs"], [], "an entry of 'tokens' is not one word: 'It runs'"),
        ([""], [], "'tokens' is not one word: ''"),
        ([7], [], "'tokens' is not one word: 7"),
        (["\ud800"], [], "'tokens' is not one word"),
        (["It"], ["A B"], "'tags' is not one word: 'A B'"),
        (["It"], ["A", "B"], "2 tags for 1 tokens"),
    ):
        with pytest.raises(InputError, match=message):
            Sentence.of(words, tags)  # type: ignore[arg-type]


def test_duplicates_have_the_same_tokens() -> None:
    retagged = RUNS.replace("VBZ", "VBD")
    nbest = from_candidates(["(S (", RUNS, FLAT, retagged, FLAT, "(S1 " + RUNS + ")"])
    assert [candidate.index for candidate in nbest.candidates] == [1, 2, 3, 4, 5]
    assert nbest.duplicates() == [None, None, 1, 2, 1]
    assert from_candidates([]).duplicates() == []


def test_json_lines_are_read_as_the_same_candidates(read: Read) -> None:
    trees = [RUNS, "(S (", FLAT, "(S (NP (PRP We)))"]
    parser_scores = [-1.5, None, math.nan, -2]
    data = {
        "id": "s1",
        "tokens": ["It", "runs"],
        "candidates": [
            {"tree": tree, "score": score} for tree, score in zip(trees, parser_scores, strict=True)
        ],
    }
    (from_file,) = read(json.dumps(data), format="jsonl")
    file = from_file.candidates[0].file
    nbest: NBest = from_candidates(
        trees,
        parser_scores,
        id="s1",
        line=1,
        sentence=Sentence.of(["It", "runs"]),
        rules=ReadingRules(file, Notation.BRACKETS),
    )
    assert nbest == from_file
