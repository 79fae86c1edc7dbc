"""Formats and notations told from the head of a file."""

import pytest

from reranker.nbest.dialects.registry import load, recognise
from reranker.nbest.notation import Notation
from reranker.nbest.own_notation import most_shown

TREE = "(S (NP (PRP It)) (VP (VBZ runs)))"
OTHER = "(S (NP (PRP It) (VBZ runs)))"
BARE = "(S (NP It there) (VP runs))"
LINEARIZED = "(S (NP XX )NP (VP XX )VP )S"
UNDERSCORED = "<s> (S (NP XX )_NP (VP XX )_VP )_S </s>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"2\t0\n-30.5\n{TREE}\n-31\n{OTHER}\n\n", "bllip"),
        (f"2\tsome id of words\n-30.5\n{TREE}\n", "bllip"),
        (f"2 x\n-8.5 -30.5\n{TREE}\n", "bllip"),
        (f"0 x\n1 x\n-30.5\n{TREE}\n", "bllip"),
        (f"\n \n1\t0\n-30.5\n{TREE}\n", "bllip"),
        ("1\t0\n-30.5\n(S1 (S\n (NN Go)))\n", "bllip"),
        (f"2\n{TREE}\n{OTHER}\n", "choe-charniak"),
        (f"2\n30.5\n{TREE}\n31\n{OTHER}\n", "choe-charniak"),
        (f"-30.5\t( {TREE} )\n", "berkeley"),
        ("-Infinity\t(())\n\n", "berkeley"),
        (f"-40\t-30.5\t( {TREE} )\n", "berkeley"),
        (f"-30.5 -8.5 {TREE}\n", "berkeley"),
        (f"{TREE}\n{OTHER}\n\n{TREE}\n", "berkeley"),
        (f"0 ||| -1 ||| {BARE}\n", "rnng"),
        (f"17 ||| -1 |||{TREE}\n", "rnng"),
        (f"0|||-1|||{LINEARIZED}\n", "rnng"),
        (f"S-0\tIt runs\nH-0\t-1\t{LINEARIZED}\n", "fairseq"),
        (f"2026-01-01 | INFO | x\nNamespace()\nH-7\t-1\t{LINEARIZED}\n", "fairseq"),
        (f"{LINEARIZED}\n{LINEARIZED}\n", "seq2seq"),
        (f"{UNDERSCORED}\n\n{UNDERSCORED}\n", "seq2seq"),
        (f"1\n{LINEARIZED}\n1\n{LINEARIZED}\n", "seq2seq"),
        (f"1\n{UNDERSCORED}\n", "seq2seq"),
        (f"{LINEARIZED}\n(S (NP XX\n{LINEARIZED}\n", "seq2seq"),  # a broken beam among others
        (f"{TREE}\n", "trees"),
        (f"{TREE}\n{TREE}\n\n{OTHER}\n", "trees"),  # a sentence twice is no list
        (f"{BARE}\n", "trees"),
        ("(())\n", "trees"),
        ("(ROOT\n  (S\n    (NP (PRP It))\n    (VP (VBZ runs))))\n\n(ROOT\n", "trees"),
        ("( (S \n    (NP (PRP It) )\n", "trees"),
        ('{"candidates": []}\n', "jsonl"),
    ],
)
def test_formats(text: str, expected: str) -> None:
    assert recognise(text.splitlines(keepends=True)) == expected


# Names such as T-34 before a tab are no lines of fairseq's, in a text or in columns.
_TANK = "#FORMAT 4\n#BOS 1 0 0 0\nS-300\t--\tNN\t--\t--\t0\n#EOS 1\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("S-1\tShe met him.\nS-2\tHe left.\n", None),
        ("D-1\tA jet.\n", None),
        pytest.param(_TANK, "trees", marks=pytest.mark.plugins),
        pytest.param(
            _TANK.replace("S-300", "D-300").replace("NN", "$("), "trees", marks=pytest.mark.plugins
        ),
    ],
)
def test_names_like_fairseqs(text: str, expected: str | None) -> None:
    assert recognise(text.splitlines(keepends=True)) == expected


def test_a_line_of_brackets_is_no_slower_than_its_length() -> None:
    """A search from each of 200,000 brackets on would take minutes."""
    assert recognise([f"H-1\tx\t{'(' * 200_000}\ty\n"]) is None


@pytest.mark.parametrize("text", ["It was a dark night.\n", "", "\n", "()\n"[1:]])
def test_no_format(text: str) -> None:
    assert recognise(text.splitlines(keepends=True)) is None


@pytest.mark.parametrize(
    ("format_name", "lines", "expected"),
    [
        ("bllip", [TREE], Notation.BRACKETS),
        ("berkeley", [f"-1\t{BARE}"], Notation.BARE),
        ("rnng", [f"0 ||| -1 ||| {BARE}"], Notation.BARE),
        ("rnng", [f"0 ||| -1 |||{BARE} "], Notation.BARE),
        ("rnng", ["0 ||| -1 ||| (S (NP It ) (VP runs there ) ) "], Notation.BARE),
        ("rnng", [f"0 ||| -1 ||| {TREE}"], Notation.BRACKETS),
        ("rnng", ["0 ||| -1 ||| (S (NP (XX It)) (VP (XX runs)))"], Notation.BRACKETS),
        ("rnng", [f"0 ||| -1 ||| {LINEARIZED}"], Notation.LINEARIZED),
        ("rnng", [f"0 ||| -1 ||| {TREE}", f"0 ||| -1 ||| {TREE}", f"0 ||| -1 ||| {BARE}"],
         Notation.BRACKETS),
        # Trees of one word or of unary chains can be read both ways: the others decide.
        ("rnng", ["0 ||| -1 ||| (INTJ Yes)"] * 9 + [f"0 ||| -1 ||| {BARE}"], Notation.BARE),
        ("rnng", ["0 ||| -1 ||| (INTJ Yes)"] * 9 + [f"0 ||| -1 ||| {TREE}"], Notation.BRACKETS),
        ("trees", [BARE], Notation.BARE),
        ("trees", [TREE, "", OTHER], Notation.BRACKETS),
        ("trees", ["(ROOT", "  (S", "    (NP (PRP It))", "    (VP (VBZ runs))))"],
         Notation.BRACKETS),
        ("trees", ["( (S (NP (PRP It)) ) )"], Notation.BRACKETS),
        ("fairseq", [f"H-0\t-1\t{LINEARIZED}"], Notation.LINEARIZED),
        ("seq2seq", [LINEARIZED], Notation.LINEARIZED),
        ("opennmt", [LINEARIZED], Notation.LINEARIZED),
        ("jsonl", [f'{{"candidates": ["{BARE}"]}}'], Notation.BARE),
        ("jsonl", [f'{{"candidates": [{{"tree": "{LINEARIZED}"}}]}}'], Notation.LINEARIZED),
        ("jsonl", [f'{{"ranking": [{{"tree": "{TREE}"}}]}}'], Notation.BRACKETS),
        ("jsonl", ["{", "[]", '{"candidates": 3}', '{"candidates": [3]}', "[" * 100_000],
         Notation.BRACKETS),
    ],
)  # fmt: skip
def test_notations(format_name: str, lines: list[str], expected: Notation) -> None:
    dialect = load(format_name)
    assert (dialect.notation or most_shown(dialect.candidate_texts(lines))) is expected
