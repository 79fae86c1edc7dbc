"""Words as the treebanks have them, each where it is in the text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.languages import is_invisible
from reranker.text.conventions import Convention
from reranker.text.splitting import LONGEST
from reranker.text.words import fault, given_words, split_into_words


def is_empty(text: str) -> bool:
    return all(each.isspace() or is_invisible(each) for each in text)


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
        ("At http://a.org/b-c. It is.", "At http://a.org/b-c . It is .", None),
        ("(www.b-c.org/x)", "-LRB- www.b-c.org/x -RRB-", None),
        ("me@b-c.org, not @ me", "me@b-c.org , not @ me", None),
        ("(a [b] {c})", "-LRB- a -LSB- b -RSB- -LCB- c -RCB- -RRB-", None),
        ("1990\u20131995", "1990 \u2013 1995", None),
        ("I cannot, at 5 p.m.", "I can not , at 5 p.m .", None),
        ("Well\u2026 he said\u2026 it cost £5.", "Well \u2026 he said \u2026 it cost £ 5 .", None),
        ("3\u00d74 (€6.50±2)", "3 \u00d7 4 -LRB- € 6.50 ± 2 -RRB-", None),
        ("U+1F600: \U0001f600!", "U+1F600 : \U0001f600 !", None),
        ("AT&T-owned R&D/IT", "AT&T - owned R&D / IT", "AT&T-owned R&D/IT"),
        ("'em-all, '90s-era", "'em - all , '90s - era", "'em-all , '90s-era"),
        ("''odd'' ``quotes``", None, "'' odd '' `` quotes ``"),
    ],
)
def test_words_are_those_of_the_treebanks(text: str, gum: str | None, wsj: str | None) -> None:
    if gum is not None:
        assert words(text) == gum
    assert words(text, "wsj") == (wsj or gum)


@pytest.mark.parametrize(
    "text, expected",
    [
        # names with an ampersand
        ("The R&D team left AT&T.", "The R&D team left AT&T ."),
        ("Texas A&M sells M&Ms at B&B, r&b too.", "Texas A&M sells M&Ms at B&B , r&b too ."),
        ("Barnes & Noble play rock&roll.", "Barnes & Noble play rock & roll ."),
        # hashtags and accounts
        ("I ran it #marathon today.", "I ran it #marathon today ."),
        ("Go @runclub, @tom_k's #4life.", "Go @runclub , @tom_k 's #4life ."),
        ("C# is #1 @ home.", "C # is # 1 @ home ."),
        # years, and words without their beginnings or ends
        ("in the '90s, '80s and \u201968", "in the '90s , '80s and \u201968"),
        ("'Cause they get 'em 'til ten.", "'Cause they get 'em 'til ten ."),
        (
            "It's somethin' new, goin' nowhere, ol' man.",
            "It 's somethin' new , goin' nowhere , ol' man .",
        ),
        ("rock 'n' roll 'n sing", "rock 'n' roll 'n sing"),
        ("'Tis late, 'twas early.", "'T is late , 't was early ."),
        # whole words joined to others
        ("The #covid-19 tests met.", "The #covid - 19 tests met ."),
        ("'90s-style @bob-fan 'em-all #a/b", "'90s - style @bob - fan 'em - all #a / b"),
        ("pre-R&D Bob-AT&T/R&B-x", "pre - R&D Bob - AT&T / R&B - x"),
        ("x/y.com-z a@b.org/c", "x / y.com - z a@b.org / c"),
        # but quotations
        ("He said 'round one' and 'till'.", "He said ' round one ' and ' till ' ."),
        ("He put 'it within' it.", "He put ' it within ' it ."),
        ("begin' again, Martin' book", "begin ' again , Martin ' book"),
        ("the captain' hat, cabin' and raisin'", "the captain ' hat , cabin ' and raisin '"),
        ("hollerin', dyin', bein', chillin'", "hollerin' , dyin' , bein' , chillin'"),
        ("Berlin' and within' or Latin'", "Berlin ' and within ' or Latin '"),
        ("Somethin' is comin', rainin'.", "Somethin' is comin' , rainin' ."),
        ("'no' and '10s', 'yes' or '68'", "' no ' and ' 10s ' , ' yes ' or ' 68 '"),
        ("the '10s' end in '68", "the '10s ' end in '68"),
        ("the dogs' tails, James' book", "the dogs ' tails , James ' book"),
        # clitics before clitics, and y'
        ("She'd've gone; I'll've, who'd've?", "She 'd 've gone ; I 'll 've , who 'd 've ?"),
        ("They couldn't've, y'all'd've.", "They could n't 've , y' all 'd 've ."),
        ("y'know O'Brien's o'clock, ma'am", "y' know O'Brien 's o'clock , ma'am"),
        # other apostrophes
        ("Columbia\u02bcs crew don\u02bct.", "Columbia \u02bcs crew do n\u02bct ."),
        ("It isn\uff07t \u02bcTis", "It is n\uff07t \u02bcT is"),
        # faces
        ("We won :-) and lost :(", "We won :--RRB- and lost :-LRB-"),
        ("I <3 you ;) :D ^_^.", "I <3 you ;-RRB- :D ^_^ ."),
        ("great:) (see below:)", "great :-RRB- -LRB- see below : -RRB-"),
        ("a ratio of 1 :3, a <b", "a ratio of 1 :3 , a < b"),
        # addresses without a scheme
        ("Read example.org/x?y=1, bit.ly/a-b.", "Read example.org/x?y=1 , bit.ly/a-b ."),
        ("Is it jones-hall.com? x.org?a=b-c", "Is it jones-hall.com ? x.org?a=b-c"),
        ("and/or, e.g./i.e., yes/no.", "and / or , e.g./i.e. , yes / no ."),
        # signs and citations behind the last full stop
        ("He left.*", "He left . *"),
        ('"He left." [2]', '" He left . " -LSB- 2 -RSB-'),
        ("Don't go. [/quote] \u2020", "Do n't go . -LSB- /quote -RSB- \u2020"),
        ("At 5 a.m.?", "At 5 a.m. ?"),
        ("Acme Inc.: Foods etc. -", "Acme Inc. : Foods etc. -"),
        ("He left \u2026 *, at 5.30 *... *", "He left \u2026 * , at 5.30 * ... *"),
        # invisible characters
        ("Fa\u200bmily don\u200b't \u200b\u2060go\u00ad.", "Family do n't go ."),
    ],
)
def test_words_with_marks_that_are_words_elsewhere(text: str, expected: str) -> None:
    assert words(text) == expected


def test_the_places_of_words_with_invisible_characters() -> None:
    assert split_into_words("A\u200b do\u200bn't\u200b.") == [
        ("A", 0, 1),
        ("do", 3, 5),
        ("n't", 6, 9),
        (".", 10, 11),
    ]


@given(st.text(max_size=60), st.sampled_from(["gum", "wsj"]))
def test_every_character_but_white_space_is_in_one_word(text: str, convention: Convention) -> None:
    found = split_into_words(text, convention)
    ends = [0]
    for word in found:
        assert is_empty(text[ends[-1] : word.start])
        assert word.start < word.end and word.text and not set(word.text) & set("() \n")
        ends.append(word.end)
    assert is_empty(text[ends[-1] :])


ATOMS = ("AT&T", "#a", "@b", "'em", "'90s", "x.org", "a@b.org", "a", "1", "in'", ":)", "y'", "pre")
JOINTS = ("-", "/", "\u2010", "\u2013", "'s", ".", ",", "'", '"', "&", "\u200b", "", " ")


@given(
    st.lists(st.tuples(st.sampled_from(JOINTS), st.sampled_from(ATOMS)), max_size=6).map(
        lambda pairs: "".join(each for pair in pairs for each in pair)
    ),
    st.sampled_from(["gum", "wsj", "id"]),
)
def test_no_word_is_empty(text: str, convention: Convention) -> None:
    found = split_into_words(text, convention)
    assert all(word.text and word.start < word.end for word in found)
    assert [word.start for word in found[1:]] >= [word.end for word in found[:-1]]


@given(st.text(alphabet="\"'`(.-/ab \u2019\u201d\u201c", max_size=30))
def test_words_of_quotes_and_joints_keep_their_characters(text: str) -> None:
    for word in split_into_words(text, "gum"):
        if word.text[0] != "-":
            assert word.text == text[word.start : word.end]


@pytest.mark.parametrize(
    "repeated",
    [
        "a-",
        "www.!",
        "a@b-",
        "a.",
        "'em ",
        "in' ",
        ":) ",
        "a&",
        "#a",
        "I'd've",
        "(:)",
        "a?=",
        "\u200b",
    ],
)
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
