"""Sentences of running text, of lines, and of what never ends."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.text.ends import end_table
from reranker.text.splitting import LONGEST, TextForm, stretches

TEXT = """A Title

Dr. Smith went to
Washington. He didn't like it
(much). "Why?" she asked.

The end"""


def test_sentences_of_running_text_and_where_they_are() -> None:
    found = list(stretches(TEXT.splitlines(keepends=True), "text"))
    assert [(each.text, each.line) for each in found] == [
        ("A Title", 1),
        ("Dr. Smith went to\nWashington.", 3),
        ("He didn't like it\n(much).", 4),
        ('"Why?" she asked.', 5),
        ("The end", 7),
    ]
    for each in found:
        assert TEXT[each.start :].startswith(each.text)


def test_a_word_broken_at_the_end_of_a_line_moves_no_boundary() -> None:
    text = "It is a well-\nknown and so-\nlong word. It runs. So do they.\n"
    found = [each.text for each in stretches(text.splitlines(keepends=True), "text")]
    assert found == ["It is a well-\nknown and so-\nlong word.", "It runs.", "So do they."]


@given(st.text("aB\u00e9\u65e5\u06401_ \t\n\r\u2028\u00a0,:'\"/-"))
def test_signs_that_end_no_sentence_of_syntok(text: str) -> None:
    from syntok import segmenter

    sentences = [each for paragraph in segmenter.analyze(text) for each in paragraph]
    assert len(sentences) <= 1 or re.search(r"\n\s*\n", text)


@pytest.mark.parametrize(
    "text",
    [
        "We met at 5 p.m.|They left at 6 p.m.|It was late.",
        "He moved to the U.S.|She stayed (at Smith Inc.)|But not for long.",
        "It was at 4 °C.|After an hour it rose to 12.5.|Then it fell.",
        "We used mice; Rats were not used.",
        # Abbreviations before what belongs to them end no sentence.
        "On Oct. 3rd we left.|On Jan. 5th it snowed, and by Dec. 21st it was over.",
        "We met on Fri. Oct. 3rd, on Tues. 4 May and on Nov. 21.|They left in Dec.",
        "It closed in Sept.|They left.|In Oct. 2001 it\nopened.",
        "I saw Dr. Who, Mr. No and Mrs. So here.|Prof. All spoke to Rev. King and Gen. De Wolf.",
        "Messrs. Smith and De Niro met Mme. La Fontaine, Lt. Col. By and Sgt. Most of St. Louis.",
        "See No. 5, Figs. 3 and 4, Eq. 5, Ch. 7, pp. 12-15 of Vol. II, vol. 3 and Fig. A1.|I did.",
        "It was Smith vs. Jones, e.g. The Great Ape, i.e. The Boss, cf. In Time, or approx. 50.",
        "At Martin Luther King Jr. Square he met John Smith Jr.|They left Warner Bros. Pictures.",
        "Then J. R. R. Tolkien, E. A. Poe and Robert A. De Niro came.|A. A. Milne did not.",
        "The U.S. Senate met in the U.S.|In 1990 it was the U.S. No. 1 hit, by a Ph.D. student.",
        "We arrived at 9 a.m. on Monday, Fla. time.|We left at 9 p.m.|It's late.|However, we left.",
        "Yahoo! Inc. said so.|Yahoo! said it.|Stop!|“I will.”|He did.|“Why?” she asked.",
        "Smith et al. (2005) and Brown et al. 2006 found it (see above) Early, too.|So did we.",
        "He lives on Main St. in Rome.|She lives on Elm St.|They moved to Mt. Vernon.",
    ],
)
def test_ends_behind_abbreviations_and_none_behind_semicolons(text: str) -> None:
    lines = [text.replace("|", " ")]
    assert [each.text for each in stretches(lines, "text")] == text.split("|")


def test_a_blank_line_ends_a_sentence_behind_any_abbreviation() -> None:
    found = stretches(["Yours, J.\n", "\n", "Smith, Dr.\n", "\n", "Who\n"], "text")
    assert [each.text for each in found] == ["Yours, J.", "Smith, Dr.", "Who"]


@pytest.mark.parametrize(
    "piece", ["A.", "Dr. ", "e.", ". ", "Fig.  ", '."', "( ) ", "Oct.\n ", "1. a ", "1\n"]
)
def test_time_grows_as_the_text_does(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    ends = [*end_table().ends(text)]
    assert all(0 < end <= len(text) for end in ends)


def test_a_sentence_a_line() -> None:
    found = list(stretches(["One. Two.\n", " \n", "Three\r\n"], "sentences"))
    assert [(each.text, each.start, each.line) for each in found] == [
        ("One. Two.", 0, 1),
        ("Three", 12, 3),
    ]


@pytest.mark.parametrize("form", ["text", "sentences"])
def test_what_never_ends_is_cut_at_white_space_and_nothing_is_lost(form: TextForm) -> None:
    text = "word " * 30_000 + "x" * 2 * LONGEST
    found = list(stretches((text[at : at + 8192] for at in range(0, len(text), 8192)), form))
    assert all(each.is_cut for each in found)
    assert all(len(each.text) <= LONGEST for each in found)
    assert "".join("".join(each.text for each in found).split()) == text.replace(" ", "")
    assert {word for each in found[:3] for word in each.text.split()} == {"word"}


@pytest.mark.parametrize("form", ["text", "sentences", "tokens"])
def test_the_rest_of_what_is_cut_is_no_sentence_but_the_next_one_is(form: TextForm) -> None:
    long, end = "a " * (LONGEST // 2), "b c d.\n"
    lines = [long, end, "\n", "It is.\n"] if form == "text" else [long, end, "It is.\n"]
    found = [(each.text[-6:], each.is_cut) for each in stretches(lines, form)]
    assert found == [(" a a a", True), ("b c d.", True), ("It is.", False)]


@pytest.mark.parametrize(
    "form, text, expected",
    [
        ("tokens", " \xa0 \n", ["\xa0"]),
        ("tokens", "It \xa0\n\u2003It\n \n", ["It \xa0", "\u2003It"]),
        ("sentences", " \xa0 \n\xa0It is.\u2028 \n", ["It is."]),
        ("sentences", "\x1cab\x85\n\x1f\n", ["\x1cab\x85", "\x1f"]),
        ("text", "\x1cab.\n\xa0\nIt is.\x1d\n\n \u3000", ["\x1cab.", "It is.\x1d"]),
    ],
)
def test_white_space_that_is_a_word_is_kept(form: TextForm, text: str, expected: list[str]) -> None:
    found = list(stretches(io.StringIO(text, newline="\n"), form))
    assert [each.text for each in found] == expected
    assert all(text.startswith(each.text, each.start) for each in found)


@pytest.mark.parametrize("form", ["text", "sentences", "tokens"])
def test_the_mark_before_the_second_of_two_files_belongs_to_no_word(form: TextForm) -> None:
    text = "It is.\n\ufeffIt is.\n\ufeff\n"
    found = list(stretches(io.StringIO(text, newline="\n"), form))
    assert [(each.text, each.start) for each in found] == [("It is.", 0), ("It is.", 8)]


def test_a_long_paragraph_is_split_as_it_is_read() -> None:
    text = "This is sentence one. " * 10_000

    def pieces() -> Iterator[str]:
        for at in itertools.count(0, 8192):
            assert at < 5 * LONGEST
            yield text[at : at + 8192]

    found = list(itertools.islice(stretches(pieces(), "text"), 2_000))
    assert {each.text for each in found} == {"This is sentence one."}


@given(st.text(alphabet="ab. \n!\"'\t(\x1c\u2028é?", max_size=80))
def test_no_character_is_lost(text: str) -> None:
    end = 0
    for each in stretches(io.StringIO(text, newline="\n"), "text"):
        assert text[end : each.start].strip(" \t\n\u2028") == ""
        assert text[each.start :].startswith(each.text) and each.text
        end = each.start + len(each.text)
    assert text[end:].strip(" \t\n\u2028") == ""
