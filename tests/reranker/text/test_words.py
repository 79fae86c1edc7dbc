"""Words as the treebanks have them, each where it is in the text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.text.conventions import Convention
from reranker.text.splitting import LONGEST
from reranker.text.words import (
    _ADDRESS,
    _ADDRESS_OR_NONE,
    fault,
    given_words,
    split_into_words,
)


def words(text: str, convention: Convention = "gum") -> str:
    return " ".join(word.text for word in split_into_words(text, convention))


@pytest.mark.parametrize(
    "text, gum, wsj",
    [
        ("He didn't go.", "He did n't go .", None),
        ("He didn\u2019t go.", "He did n\u2019t go .", "He did n't go ."),
        ('"Why?" she asked.', '" Why ? " she asked .', "`` Why ? '' she asked ."),
        ("\u201cWhy?\u201d she said.", "\u201c Why ? \u201d she said .", "`` Why ? '' she said ."),
        ("the well-known man", "the well - known man", "the well-known man"),
        ("a state-of-the-art thing", "a state - of - the - art thing", "a state-of-the-art thing"),
        ("non-profit re-use", "non-profit re-use", None),
        ("and/or 1/2", "and / or 1/2", "and/or 1/2"),
        ("See http://a.org/b-c/d?e=f.", "See http://a.org/b-c/d?e=f .", None),
        ("At http://a.org/b-c. It is.", "At http://a.org/b-c. It is .", None),
        ("(www.b-c.org/x)", "-LRB- www.b-c.org/x -RRB-", None),
        ("me@b-c.org, not @me", "me@b-c.org , not @ me", None),
        ("(a [b] {c})", "-LRB- a -LSB- b -RSB- -LCB- c -RCB- -RRB-", None),
        ("1990\u20131995", "1990 \u2013 1995", None),
        ("I cannot, at 5 p.m.", "I can not , at 5 p.m .", None),
        ("Well\u2026 he said\u2026 it cost £5.", "Well \u2026 he said \u2026 it cost £ 5 .", None),
        ("3\u00d74 (€6.50±2)", "3 \u00d7 4 -LRB- € 6.50 ± 2 -RRB-", None),
        ("U+1F600: \U0001f600!", "U+1F600 : \U0001f600 !", None),
        ("''odd'' ``quotes``", None, "'' odd '' `` quotes ``"),
    ],
)
def test_words_are_those_of_the_treebanks(text: str, gum: str | None, wsj: str | None) -> None:
    if gum is not None:
        assert words(text) == gum
    assert words(text, "wsj") == (wsj or gum)


@given(st.text(max_size=60), st.sampled_from(["gum", "wsj"]))
def test_every_character_but_white_space_is_in_one_word(text: str, convention: Convention) -> None:
    found = split_into_words(text, convention)
    ends = [0]
    for word in found:
        assert text[ends[-1] : word.start].strip() == ""
        assert word.start < word.end and word.text and not set(word.text) & set("() \n")
        ends.append(word.end)
    assert text[ends[-1] :].strip() == ""


@given(st.text(alphabet="\"'`(.-/ab \u2019\u201d\u201c", max_size=30))
def test_words_of_quotes_and_joints_keep_their_characters(text: str) -> None:
    for word in split_into_words(text, "gum"):
        if word.text[0] != "-":
            assert word.text == text[word.start : word.end]


ADDRESSES = [
    "a",
    "-",
    ".",
    "+",
    "@",
    "www.",
    "http://",
    "ftp://",
    "<",
    "!",
    "/",
    "b",
    "-www.",
    "é",
    "\n",
]


@given(st.lists(st.sampled_from(ADDRESSES), max_size=15).map("".join))
def test_what_is_passed_over_is_no_address(text: str) -> None:
    plain = [each.span() for each in _ADDRESS.finditer(text)]
    assert plain == [each.span() for each in _ADDRESS_OR_NONE.finditer(text) if each[1]]


@pytest.mark.parametrize("repeated", ["a-", "www.!", "a@b-"])
def test_the_longest_sentence_takes_no_longer_by_the_character(repeated: str) -> None:
    """Eight times as long takes eight times as long, and would take 64 times if by the square."""

    def seconds(characters: int) -> float:
        text = repeated * (characters // len(repeated)) + "@b"
        began = time.process_time()
        split_into_words(text)
        return time.process_time() - began

    short = min(seconds(LONGEST // 8) for _ in range(3))
    assert min(seconds(LONGEST) for _ in range(3)) < 24 * short


def test_given_words_are_kept() -> None:
    assert given_words(" a (b) well-known\t`` ") == [
        ("a", 1, 2),
        ("-LRB-b-RRB-", 3, 6),
        ("well-known", 7, 17),
        ("``", 18, 20),
    ]


def test_what_cannot_stand_in_a_tree_is_replaced_and_named() -> None:
    assert words("a\x1bb \udcff c") == "a\ufffdb \ufffd c"
    assert fault("a\x1bb") == "control character U+001B"
    assert fault("a \udcff") == "byte 0xff is not UTF-8"
    assert fault("fine\tas it\x0bis\n") is None
