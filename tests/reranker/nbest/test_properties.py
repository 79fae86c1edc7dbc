"""Any text, in any format: lists or an InputError; an accepted candidate is a tree of its words."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from reranker.errors import InputError
from reranker.nbest import FORMATS, Candidate, NBest, ReadOptions, Rejected, read_nbest
from reranker.trees.linearize import linearize

PIECES = [
    *("(S (NP (PRP It)) (VP (VBZ runs)))", "(S (NP It) (VP runs) .)", "(S (NP XX )NP XX )S"),
    *("(TOP", "(S1 ", "( ", "(S", "(NP-SBJ", "(NN a)", "(-NONE- *)", "(NN \\()", "(())", "\\"),
    *(")", " )", ")NP", " )_S", " XX", " .", " `` ", " It runs ", " _NN_", "<s> ", " </s>"),
    *("\n", "\n", "\n\n", "\t", " ", "2\t0", "1", "1 x", "-3.5", "-3.5 -2", "-Infinity\t"),
    *("0 ||| -1 ||| ", "2 ||| ", "1|||-1|||", "S-0\tIt runs", "H-0\t-1\t", "D-1\t", "P-0\t-1"),
    *("\n# Parse 1 with score -1\n", "\n# Parse 2 with score ", "SENTENCE_SKIPPED_OR_UNPARSABLE\n"),
    *("\nSentence #1 (2 tokens):\nIt runs\n", "\n[Text=It]\n", "\n# constituency = (S (NN a))\n"),
    *('{"candidates": ["', '"]}', '"score": 1e999', '"ranking": [', "[" * 9, "\ufeff", "\0"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), min_size=1, max_size=25)

# The parts of candidates, in each notation.
OPENING = ["(S ", "(NP ", "(NP-SBJ ", "( ", "(TOP ", "(S1 ", "(-X "]
BRACKETS = [")", ")", ") ", "(NN a) ", "(PRP It) ", "(-NONE- *) ", "(XX \\)) ", " runs "]
BARE = [")", ")", " )", " It ", " runs ", " UNK-LC-s "]
LINEARIZED = [" )NP ", " )_NP ", " )S ", " ) ", " XX ", " . ", " _VB_ ", " a ", "<s> "]

SENTENCES = st.none() | st.sampled_from(
    ["It runs\nIt .\n", "It/PRP runs/VBZ\n", "It\tPRP\nruns\tVBZ\n\na\tNN\n", "\n\n", "a b c ."]
)
OPTIONS = st.builds(
    ReadOptions,
    format=st.sampled_from(["auto", *FORMATS]),
    repair=st.sampled_from([None, True, False]),
    beam=st.just(3),
    restore=st.booleans(),
)


@st.composite
def candidates(draw: st.DrawFn) -> list[str]:
    """Draw a few candidates in one notation, which are nearly trees."""
    pieces = st.sampled_from(OPENING + draw(st.sampled_from([BRACKETS, BARE, LINEARIZED])))
    broken = st.lists(pieces, min_size=1, max_size=12).map("".join)
    return draw(st.lists(broken, min_size=1, max_size=4))


def read(text: str, sentences: str | None, options: ReadOptions) -> list[NBest]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lists")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        if sentences is not None:
            tokens = Path(folder, "sentences")
            tokens.write_text(sentences)
            options = replace(options, tokens=tokens)
        lists = read_nbest(path, options=options, warn=lambda _: None)
        with contextlib.closing(lists):
            return list(lists)


def assert_sound(lists: Sequence[NBest]) -> None:
    for nbest in lists:
        entries: list[Candidate | Rejected] = [*nbest.candidates, *nbest.rejected]
        assert sorted(one.index for one in entries) == list(range(len(entries)))
        words = {tuple(one.words) for one in nbest.candidates}
        assert len(words) <= 1
        if nbest.sentence:
            assert words <= {nbest.sentence.words}
        for one in nbest.candidates:
            assert one.words
            assert linearize(one.tree) == one.tokens
        texts = [nbest.id, *(one.text for one in entries), *(one.message for one in nbest.rejected)]
        "".join(texts).encode()  # all can be written


@settings(deadline=None, max_examples=50)
@given(TEXTS.map("".join), SENTENCES, OPTIONS)
def test_any_text(text: str, sentences: str | None, options: ReadOptions) -> None:
    try:
        lists = read(text, sentences, options)
    except InputError:
        return
    assert_sound(lists)


@settings(deadline=None, max_examples=50)
@given(candidates(), SENTENCES, OPTIONS)
def test_broken_candidates(broken: list[str], sentences: str | None, options: ReadOptions) -> None:
    prefix = {"rnng": "0 ||| -1 ||| ", "fairseq": "H-0\t-1\t", "bllip": "-1\n"}
    text = "".join(f"{prefix.get(options.format, '')}{one}\n" for one in broken)
    if options.format == "bllip":
        text = f"{len(broken)}\t0\n{text}"
    if options.format == "jsonl":
        text = json.dumps({"candidates": broken})
    try:
        lists = read(text, sentences, options)
    except InputError:
        return
    assert_sound(lists)
