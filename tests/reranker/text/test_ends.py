"""Ends of sentences by the words on both sides of a mark."""

from __future__ import annotations

import itertools
import math

import pytest

from reranker.text.ends import (
    KINDS,
    EndTable,
    Left,
    Right,
    end_table,
    next_word,
    possible_ends,
)


def split(text: str, table: EndTable | None = None) -> list[str]:
    places = [0, *(table or end_table()).ends(text), len(text)]
    return [text[begin:end].strip() for begin, end in itertools.pairwise(places)]


@pytest.mark.parametrize(
    "text",
    [
        # units, and letters that are units behind a number
        "Bake at 180°C.|Remove it.|The line has 10 kV.|Stay away.|It needs 5 A.|Switch it off.",
        "Use 3 tbsp.|Stir well.|Add 20 ml.|Heat it.|It runs at 5 GHz.|Memory is fast.",
        "It weighs 3 kg.|Lift it.|Wait 10 sec.|Release it.|"
        "Cut 3 in.|Fold it.|We ran 5 mi.|Then we slept.",
        # abbreviations before a word that is common in lower case, not before a name
        "We bring etc.|Lunch is free.|We open at 8 p.m.|"
        "Tickets cost $5.|Rooms open at 9 a.m.|Breakfast is free.",
        "He works at Acme Inc.|Sales rose.|"
        "She left Smith & Co.|Profits fell.|He met Acme Inc. Chairman Smith.",
        "He has a Ph.D.|Students like him.|Acme Corp. Chairman Jones met Gov. Brown.",
        # addresses, names of files and of accounts
        "Visit example.com.|Go home.|Log in at foo.io.|Open it.|Read example.org/x?y=1.|Then stop.",
        "Write to info@example.org.|Thank you.|Mail bob@x.co.uk.|"
        "Ask him.|I met @tom_k.|Follow him.",
        "Follow #news.|Read it.|Run setup.exe.|"
        "Restart it.|See https://www.jones-hall.com.|People write there.",
        # a mark in a quotation before the speaker, or before a new sentence
        '"Where to?" I said.|"Why?" Tom whispered.|"Stop!" Mrs. Hall called.|"Yes!"|He left.',
        "“Who is it?” Mrs. Hall called.|“Now!” John Smith shouted.|“No!”|"
        "Anna ran away.|“Yes.”|He did.",
        '"Good evening?" Mara asked.|"Good evening!" Finn replied.|"What?" the man asked.|We left.',
        # units behind a number before a capital, and before what belongs to them
        "Use 3 oz.|Bake it.|Cut 3 ft.|Stop.|Wait 5 sec.|Done.|Use 5 lb.|Serve.",
        "Boil 2 qt.|Stir it.|Add 1 lb. flour and 3 oz. (85 g) butter.|It is 12 in. by 5 ft. wide.",
        # a common word that is an abbreviation before numbers only
        "No.|I do not.|Yes.|No.|Maybe.|He said no.|Mary left.|No.|[He left.]|See No. 5 and no. 7.",
        # a stop before a digit
        "He ran in 1990.|5 men died.|There were 30.|40 came.|I have $5.|10 more are due.",
        "Sales rose 10%.|5 shops closed.|See No. 5.|6 men came in Oct. 2001 and on Jan. 5.",
        # names before a letter that is a word
        "I am Bob.|Q: Why?|I saw Bob.|B is a letter.|We saw Ann.|X was there.|See Fig. C here.",
        # exclamations
        "Come!|I am here.|Dah!|Bye.|Oh!|I see.|Hurrah!|We won.|Yahoo! Inc. paid.",
        # whoever speaks, quoted or not, and a sentence that begins with a pronoun
        "Who is it? asked Mary.|Stop! cried Anna.|Is it late? said Tom.|We left.",
        '"Help!"|Nobody answered.|"Fire!"|Everyone ran.|"Now!" Mr. Lee cried.|"Why?" Tom asked.',
        # a title behind an abbreviation that may end a sentence
        "At 5 p.m. Mr. Smith came.|At 9 a.m. Dr. Who left.|At 3 p.m. Prof. Lee spoke.",
        # a subject behind an abbreviation, unless a phrase begins the sentence
        "I came on Mon.|I left early.|We met in Oct.|I'm sure.|We live on Elm St.|I'd move.",
        "On Mon. I left.|He moved to the U.S.|I did, too.|By 9 a.m. I had eaten.|He left at 9 a.m.|"
        "I slept.",
        # an ellipsis before a name, which is a sentence's subject or no sentence
        "He waited...|Paris was far.|It was... Paris.|We saw… Anna!|I slept…|Tom snored.",
        # identifiers with a dot
        "See System.Out now.|Call Math.Round here.|Use Window.Open or not.",
        # a sentence in lower case; no space; a citation; brackets
        "he went home.|then he slept.|is it true?|of course.",
        "It is so.[2]|Then it was not.[3][4]|We ran (so he said).|It rained.",
    ],
)
def test_kinds_of_ends(text: str) -> None:
    assert split(text.replace("|", " ")) == text.split("|")


def test_numbers_of_items_end_nothing_and_other_numbers_do() -> None:
    assert split("1. Lift it. 2. Turn it. How many? 3. Go.") == [
        "1. Lift it.",
        "2. Turn it.",
        "How many?",
        "3. Go.",
    ]
    assert split("It is so. How many? 300. The men went.") == [
        "It is so.",
        "How many?",
        "300.",
        "The men went.",
    ]


def test_a_mark_without_a_space_behind_it() -> None:
    text = (
        "He left.|Then she came.|Stop!|Now go to Node.js or A.B.Smith or Call.System.Out.println."
    )
    assert split(text.replace(".|Then", ".Then").replace("|", " ")) == text.split("|")


@pytest.mark.parametrize(
    "text",
    [
        "Lopez et al. [2011] and Carter et al. secured it.",
        "A grain was seen [Fig. 19(a)] and in Figs. 3 and 4 of vol. 4.",
        "Spell out e.g. or i.e. in full, cf. The Great Ape.",
        'I shouted "Watch out!" right before "Stop?" and he fell.',
        "Send the form to J. Smith, A. B. Jones and A. McNeil's aide in St. Louis.",
        "Yahoo! Inc. paid Mr. Brown, Dr. Who and Prof. All on Jan. 5 at 5 p.m. Tuesday.",
        "He was the U.S. No. 1 in No. 10 Downing St. in the U.S. Senate.",
    ],
)
def test_no_ends(text: str) -> None:
    assert split(text) == [text]


def row(row: str, name: str, *counts: int) -> list[str]:
    return [row, name, *map(str, counts)]


TABLE = EndTable(
    [
        ["start", "", *("0.02", "0.7", "0.2", "0.02", "0.02", "0.01", "0.02", "0.01")],
        row("token", "Inc", 40, 50, 20, 0, 0, 0, 0, 0, 0),
        row("shape", "known", 900, 1, 9, 0, 0, 0, 0, 0, 0),
        row("shape", "name", 90, 1, 9, 0, 0, 0, 0, 0, 0),
        ["unknown", "-1.5"],
        ["word", "2", "Sales Home"],
        ["verb", "4", "said"],
    ]
)


def test_the_score_is_made_of_the_counts_of_both_words() -> None:
    inc = Left("Inc", "Short")
    # 40 ends, 20 others before a capital, of 70 not at an end; 0.7 of sentences begin so.
    odds = math.log(40.2 * 0.7 / (20 + 0.2 + 1))
    assert TABLE.score(inc, Right("Sales", "capital")) == pytest.approx(odds + 2)
    assert TABLE.score(inc, Right("Smith", "capital")) == pytest.approx(odds - 1.5)
    # A tenth of all is added before lower case.
    assert TABLE.score(inc, Right("said", "lower")) == pytest.approx(
        math.log(40.2 * 0.02 / (50 + 0.2 + 11))
    )
    known = math.log(901 * 0.7 / 9.5)
    assert TABLE.score(Left("home", "word"), Right("Smith", "capital")) == pytest.approx(
        known - 1.5
    )
    assert TABLE.score(Left("", '?"'), Right("I", "capital", "said")) == -4
    assert split("He left Foo Inc. Sales rose at Foo Inc. Smith left.", TABLE) == [
        "He left Foo Inc.",
        "Sales rose at Foo Inc. Smith left.",
    ]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Mrs. Hall called.", Right("Mrs.", "capital", "called")),
        ("home", Right("home", "lower")),
        ("5 men", Right("5", "digit")),
        ("II of", Right("II", "part")),
        ("A man", Right("A", "capital", "man")),
        ("A. Man", Right("A.", "part")),
        ("(so", Right("", "bracket")),
        ("\u201cSo", Right("So", "quote")),
        ("- x", Right("", "other")),
    ],
)
def test_the_next_word(text: str, expected: Right) -> None:
    assert next_word(text, 0) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("He met J. Smith", Left("J", "initial lower")),
        ("met by J. Smith", Left("J", "initial function")),
        ("We (J. Smith", Left("J", "initial mark")),
        ("He has 5 A. Then", Left("A", "initial number")),
        ("Then. 2. The", Left("2", "number first")),
        ("the U.S. Then", Left("U.S", "letters")),
        ("at x.org. Then", Left("x.org", "address")),
        ("(see Fig. Then", Left("Fig", "Short")),
        ('It is." Then', Left("", '."')),
        ("Is it?! Then", Left("", "?")),
        ("Yahoo! Inc", Left("Yahoo!", "!")),
        ("well\u2026 Then", Left("", "...")),
        ("So.[2] Then", Left("", ".]")),
    ],
)
def test_the_token_before_a_mark(text: str, expected: Left) -> None:
    assert [each.left for each in possible_ends(text)][-1] == expected


def test_every_shape_and_kind_has_odds() -> None:
    shapes: set[str] = set()
    for word in (
        "J",
        "j",
        "U.S",
        "5",
        "a@b",
        "a.bc",
        "x-y",
        "ABC",
        "kV",
        "Abc",
        "abc",
        "Abcde",
        "",
    ):
        for before in ("", "5 ", "the ", "The ", "It is. "):
            for mark in (".", "?", "!", "..."):
                for close in ("", '"', ")", "[2]"):
                    for end in possible_ends(f"{before}{word}{mark}{close} x"):
                        shapes.add(end.left.shape)
                        for kind in KINDS:
                            assert math.isfinite(end_table().score(end.left, Right("", kind)))
    assert len(shapes) > 30
