"""Any text, in any format: lists or an InputError, and nothing that is not a tree of its sentence."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from reranker.errors import InputError
from reranker.linearize import linearize
from reranker.nbest import FORMATS, NBest, ReadOptions, read_nbest

# What files of all dialects are made of, and what breaks them.
PIECES = st.sampled_from(
    [
        *("(S (NP (PRP It)) (VP (VBZ runs)))", "(S (NP It) (VP runs) .)", "(S (NP XX )NP XX )S"),
        *("(TOP", "(S1 ", "( ", "(S", "(NP-SBJ", "(NN a)", "(-NONE- *)", "(NN \\()", ")", " )", ")NP"),
        *(" )_S", " XX", " .", " `` ", " It runs ", " _NN_", "<s> ", " </s>", "UNK-LC-s", "(())"),
        *("\n", "\n", "\n\n", "\t", " ", "2\t0", "1", "1 x", "-3.5", "-3.5 -2", "-Infinity\t"),
        *("0 ||| -1.5 ||| ", "2 ||| ", "1|||-1|||", "S-0\tIt runs", "H-0\t-0.5\t", "D-1\t", "P-0\t-1 -2"),
        *('{"candidates": ["', '"]}', '"score": 1e999', '"ranking": [', "[" * 9, "\\", "\ufeff", "\0"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=5), min_size=1, max_size=25).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["It", "(S (X It))"]),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "tokens", "tags", "candidates", "ranking", "index", "tree"]),
            children,
            max_size=5,
        )
    ),
    max_leaves=12,
)
SENTENCES = st.none() | st.sampled_from(
    ["It runs\nIt runs .\n", "It/PRP runs/VBZ\n", "It\tPRP\nruns\tVBZ\n\na\tNN\n", "\n\n", "a b c d e"]
)


def read(text: str, options: ReadOptions, sentences: str | None) -> list[NBest]:
    with tempfile.TemporaryDirectory() as folder:
        path, tokens = Path(folder, "lists"), Path(folder, "tokens")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        if sentences is not None:
            tokens.write_text(sentences)
            options = ReadOptions(
                options.format, tokens, options.repair, options.beam, options.restore
            )
        return list(read_nbest(path, options=options, warn=lambda _: None))


def assert_sound(lists: list[NBest]) -> None:
    for nbest in lists:
        places = [one.index for one in (*nbest.candidates, *nbest.rejected)]
        assert sorted(places) == list(range(len(places)))
        words = {tuple(one.words) for one in nbest.candidates}
        assert len(words) <= 1
        if nbest.sentence:
            assert words <= {nbest.sentence.words}
        for one in nbest.candidates:
            assert one.words
            assert linearize(one.tree) == one.tokens
            str(one).encode()


@settings(deadline=None, max_examples=300)
@given(
    text=TEXTS,
    format_name=st.sampled_from(["auto", *FORMATS]),
    sentences=SENTENCES,
    repair=st.sampled_from([None, True, False]),
    restore=st.booleans(),
)
def test_any_text(
    text: str, format_name: str, sentences: str | None, repair: bool | None, restore: bool
) -> None:
    options = ReadOptions(format_name, None, repair, 2, restore)
    try:
        lists = read(text, options, sentences)
    except InputError:
        return
    assert_sound(lists)
