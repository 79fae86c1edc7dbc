"""Our own JSON lines: what convert writes, and what ``--output ranked`` writes."""

import gzip
import json
from typing import Any

import pytest

from reranker.nbest import NBest
from tests.reranker.nbest.summaries import Read, accepted, rejected, scores, trees

RUNS = "(S (NP (PRP It)) (VP (VBZ runs)))"
FLAT = "(S (NP (PRP It) (VBZ runs)))"
RUNS_TOKENS = "(S (NP It )NP (VP runs )VP )S"
FLAT_TOKENS = "(S (NP It runs )NP )S"


def read_one(read: Read, data: Any) -> NBest:
    (nbest,) = read(json.dumps(data) + "\n", format="jsonl")
    return nbest


def test_a_sentence(read: Read) -> None:
    nbest = read_one(
        read,
        {
            "id": "s1",
            "tokens": ["It", "runs"],
            "tags": ["PRP", "VBZ"],
            "candidates": [{"tree": RUNS, "score": -30.5}, {"tree": FLAT, "score": None}, FLAT],
        },
    )
    assert nbest.id == "s1"
    assert accepted(nbest) == [RUNS_TOKENS, FLAT_TOKENS, FLAT_TOKENS]
    assert scores(nbest) == [-30.5, None, None]  # nats already
    assert [one.index for one in nbest.candidates] == [0, 1, 2]
    assert nbest.sentence is not None
    assert nbest.sentence.words == ("It", "runs")


def test_lists_without_an_id_are_counted_and_blank_lines_are_not(read: Read) -> None:
    line = json.dumps({"candidates": [RUNS]})
    named = json.dumps({"id": 7, "candidates": []})
    null = json.dumps({"id": None, "candidates": [RUNS]})
    lists = read(f"{line}\n\n{named}\n{null}\n")
    assert [(one.id, one.line) for one in lists] == [("0", 1), ("7", 3), ("2", 4)]


def test_what_rerank_writes_comes_back_in_the_parser_s_order(read: Read) -> None:
    ranking = [
        {"index": 2, "score": -9.0, "parser_score": -31.5, "tree": FLAT},
        {"index": 0, "score": -9.5, "parser_score": None, "tree": RUNS},
    ]
    nbest = read_one(read, {"id": "s1", "best_index": 2, "ranking": ranking, "rejected": []})
    assert accepted(nbest) == [RUNS_TOKENS, FLAT_TOKENS]
    assert scores(nbest) == [None, -31.5]


def test_trees_without_words_or_parts_of_speech(read: Read) -> None:
    nbest = read_one(
        read, {"tokens": ["It", "runs"], "candidates": ["(S (NP XX )NP (VP XX )VP )S"]}
    )
    assert accepted(nbest) == [RUNS_TOKENS]
    nbest = read_one(
        read,
        {"tokens": ["It", "runs"], "tags": ["PRP", "VBZ"], "candidates": ["(S (NP It UNK-LC-s))"]},
    )
    assert trees(nbest) == ["(S (NP (PRP It) (VBZ runs)))"]


def test_a_tree_over_several_lines(read: Read) -> None:
    nbest = read_one(read, {"candidates": [RUNS.replace(" (VP", "\n  (VP")]})
    assert nbest.candidates[0].text == "(S (NP (PRP It))   (VP (VBZ runs)))"


@pytest.mark.parametrize(
    "score", ["-1e999", "9" * 400, "NaN", "-Infinity", '"-3"', "true", "null", "[]"]
)
def test_a_score_that_is_no_number_does_not_cost_the_tree(read: Read, score: str) -> None:
    (nbest,) = read(f'{{"candidates": [{{"tree": "{RUNS}", "score": {score}}}]}}')
    assert scores(nbest) == [None]


def test_broken_trees(read: Read) -> None:
    nbest = read_one(
        read,
        {
            "tokens": ["It", "runs"],
            "candidates": [RUNS[:-1], {"tree": 3}, "", "(S (PRP We))", "(S (A a) (B b))", RUNS],
        },
    )
    assert rejected(nbest) == [
        (0, 1, "unbalanced"),
        (1, 1, "not-a-tree"),
        (2, 1, "empty"),
        (3, 1, "wrong-length"),
        (4, 1, "wrong-words"),
    ]
    assert [one.index for one in nbest.candidates] == [5]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "Expecting"),
        ('{"candidates": ["(S', "Unterminated string"),
        ("[]", "not an object"),
        ("{}", "neither 'candidates' nor 'ranking'"),
        ('{"candidates": "(S (NN a))"}', "'candidates' is not a list"),
        ('{"candidates": [{"score": -1}]}', "no 'tree'"),
        ('{"candidates": [["(S (NN a))"]]}', "list indices"),
        ('{"ranking": [{"tree": "(S (NN a))"}]}', "no 'index'"),
        ('{"ranking": [{"tree": "(S (NN a))", "index": 1e999}]}', "cannot convert float infinity"),
        ('{"candidates": [], "tokens": "It runs"}', "'tokens' is not a list"),
        ('{"candidates": [], "tokens": ["It runs"]}', "not one word: 'It runs'"),
        ('{"candidates": [], "tokens": ["It", ""]}', "not one word: ''"),
        ('{"candidates": [], "tokens": [1]}', "not one word: 1"),
        ('{"candidates": [], "tokens": ["\\ud800"]}', "not one word"),
        ('{"candidates": [], "tokens": ["It"], "tags": ["A", "B"]}', "2 tags for 1 tokens"),
        ('{"candidates": [], "tokens": ["It"], "tags": ["A B"]}', "'tags' is not one word: 'A B'"),
        ('{"candidates": ["(S (NN a))"], "candidates": []}', "'candidates' is given twice"),
        ('{"candidates": [{"tree": "(S)", "tree": "(S (NN a))"}]}', "'tree' is given twice"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_a_broken_line_costs_only_its_sentence(read: Read, line: str, reason: str) -> None:
    first, broken, last = read(
        "\n".join([json.dumps({"candidates": [RUNS]}), line, json.dumps({"candidates": [FLAT]})])
    )
    assert (accepted(first), accepted(last)) == ([RUNS_TOKENS], [FLAT_TOKENS])
    assert (broken.id, rejected(broken)) == ("1", [(0, 2, "not-json")])
    assert reason in broken.rejected[0].message


def test_half_a_character(read: Read) -> None:
    # JSON can escape characters that no text can hold.
    (nbest,) = read('{"id": "\\ud800", "candidates": ["(S (A \\udc00))", "(S (A \\u00e9))"]}')
    assert nbest.id == "\ufffd"
    assert rejected(nbest) == [(0, 1, "encoding")]
    assert nbest.rejected[0].text == "(S (A \ufffd))"
    assert accepted(nbest) == ["(S é )S"]


def test_words_are_separated_by_ascii_space_only(read: Read) -> None:
    number = "12\N{NO-BREAK SPACE}000\N{LINE SEPARATOR}"
    nbest = read_one(read, {"tokens": [number], "candidates": [f"(NP (X (CD {number})))"]})
    assert nbest.candidates[0].words == [number]
    assert trees(nbest) == [f"(NP (X (CD {number})))"]


def test_brackets_are_escaped(read: Read) -> None:
    nbest = read_one(
        read,
        {
            "tokens": ["(", "a"],
            "tags": ["(", "NN"],
            "candidates": ["(S (NP (-LRB- -LRB-) (NN a)))"],
        },
    )
    assert nbest.sentence == (("-LRB-", "a"), ("-LRB-", "NN"))
    assert accepted(nbest) == ["(S (NP -LRB- a )NP )S"]


def test_a_damaged_file_ends_in_a_truncated_list(read: Read) -> None:
    lines = [json.dumps({"candidates": [f"(S (A a{n * 104729}))"]}) + "\n" for n in range(2000)]
    lists = read(gzip.compress("".join(lines).encode())[:-4])
    assert len(lists) == 2001
    assert rejected(lists[-1]) == [(0, 2000, "truncated")]
