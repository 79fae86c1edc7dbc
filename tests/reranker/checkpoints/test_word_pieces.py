"""Words cut as BERT cuts them."""

from __future__ import annotations

import pytest

from reranker.checkpoints.word_pieces import WordPieces

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
KNOWN = [
    "un",
    "##aff",
    "##able",
    "able",
    "cafe",
    "-",
    "(",
    '"',
    "un-",
    "a",
    "##b",
    "##c",
    "中",
    "$",
]
PIECES = WordPieces([*SPECIAL, *KNOWN], per_word=4)


def pieces(word: str) -> list[str]:
    rows = PIECES.rows(word)
    assert len(rows) == 4 and -1 not in rows[: 4 - rows.count(-1)]
    return [PIECES.pieces[row] for row in rows if row >= 0]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("unaffable", ["un", "##aff", "##able"]),  # of Wu et al. 2016's kind: the longest first
        ("UNAFFABLE", ["un", "##aff", "##able"]),
        ("Café", ["cafe"]),
        ("Cafe\u0301", ["cafe"]),
        ("un-able", ["un", "-", "able"]),  # punctuation is apart, although `un-` is known
        ("-LRB-", ["("]),
        ("``", ['"']),
        ("''", ['"']),
        ("$", ["$"]),
        ("中中", ["中", "中"]),
        ("xyz", ["[UNK]"]),
        ("ax", ["[UNK]"]),  # a part with an unknown end is unknown as a whole
        ("able-x", ["able", "-", "[UNK]"]),
        ("abcbcbc", ["a", "##b", "##c", "##b"]),  # the rest is not read
        ("\u200b", ["[UNK]"]),  # nothing is left of it
        ("a" + "b" * 500, ["a", "##b", "##b", "##b"]),
    ],
)
def test_a_words_pieces(word: str, expected: list[str]) -> None:
    assert pieces(word) == expected


def test_special_pieces_and_whole_words() -> None:
    assert PIECES.special("[CLS]") == [2, -1, -1, -1]
    assert [word for word in ("Able", "un", "unaffable", "xyz") if PIECES.is_whole(word)] == [
        "Able",
        "un",
    ]
    assert PIECES.whole_words() == {piece for piece in KNOWN if not piece.startswith("##")}


def test_lists_that_are_no_pieces() -> None:
    with pytest.raises(ValueError, match="twice"):
        WordPieces([*SPECIAL, "a", "a"], 4)
    with pytest.raises(ValueError, match=r"lack \[CLS\]"):
        WordPieces(["[UNK]", "a"], 4)
