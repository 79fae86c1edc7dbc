"""Comparison of two spellings of a word."""

from typing import Literal

import pytest

from reranker.errors import TreeError
from reranker.languages import normalised
from reranker.nbest.words import check_words, escaped, is_placeholder, same_word, split_words


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("It", "It"),
        ("it", "It"),
        ("-LRB-", "("),
        ("-lrb-", "-LRB-"),
        ("\\(", "-LRB-"),
        ("(", "-LRB-"),
        ("-RRB-", "\\)"),
        ("[", "-LSB-"),
        ("-RSB-", "]"),
        ("{", "-LCB-"),
        ("-RCB-", "}"),
        ("1\\/2", "1/2"),
        ("\\*", "*"),
        ("``", '"'),
        ("''", '"'),
        ("``", "\N{LEFT DOUBLE QUOTATION MARK}"),
        ("'", "\N{RIGHT SINGLE QUOTATION MARK}"),
        ("`", "'"),
        ("n't", "n\N{RIGHT SINGLE QUOTATION MARK}t"),
        ("cafe\N{COMBINING ACUTE ACCENT}", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"),
        (":-RRB-", ":)"),
        ("UNK", "runs"),
        ("UNK-LC-s", "runs"),
        ("UNK-INITC-KNOWNLC", "Ms."),
        ("<unk>", "runs"),
        ("<cunks>", "Runs"),
        ("<uncunk>", "Unrun"),
        ("<unk->", "e-mail"),
        ("XX", "runs"),
    ],
)
def test_the_same_word(word: str, wanted: str) -> None:
    assert same_word(word, wanted)


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("It", "Its"),
        ("-LRB-", "-RRB-"),
        ("(", "["),
        ("\\n", "n"),
        ("1\\/2", "12"),
        ("''", ","),
        ("cafe", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"),
        ("UNKNOWN", "runs"),
        ("unk", "runs"),
        ("<s>", "runs"),
        ("XXX", "runs"),
        ("xx", "runs"),
        ("runs", "UNK"),  # nothing can be a word that the sentence hides
    ],
)
def test_another_word(word: str, wanted: str) -> None:
    assert not same_word(word, wanted)


def test_a_long_word_is_respelled_once_for_all_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A word of 190 kB took 0.15 s, once for each of a thousand candidates."""
    respelled: list[str] = []

    def noted(form: Literal["NFC"], word: str) -> str:
        respelled.append(word)
        return normalised(form, word)

    monkeypatch.setattr("reranker.nbest.words.normalised", noted)
    wanted = "b" * 300
    assert not any(same_word(word, wanted) for word in "acdefghijk")
    assert same_word("B" * 300, wanted)
    assert respelled.count(wanted) == 1


def test_placeholders() -> None:
    assert all(map(is_placeholder, ["XX", "UNK", "UNK-", "UNK-NUM", "<unk>", "<cunking>"]))
    assert not any(map(is_placeholder, ["X", "UN", "Unk-LC", "<", "U", "<unk", "UNKs"]))


@pytest.mark.parametrize(
    ("words", "expected", "code", "message"),
    [
        ("a b", "a b c", "wrong-length", "2 words where the list has 3"),
        ("a b", "", "wrong-length", "2 words where the list has 0"),
        ("a b", "b a", "wrong-words", "word 1 is 'a' where the list has 'b'"),
        ("a UNK b", "a x c", "wrong-words", "word 3 is 'b' where the list has 'c'"),
    ],
)
def test_check_words(words: str, expected: str, code: str, message: str) -> None:
    check_words(expected.split(), expected.split())
    with pytest.raises(TreeError) as caught:
        check_words(words.split(), expected.split())
    assert (caught.value.code, str(caught.value)) == (code, message)


def test_escaped() -> None:
    words = ["(", ")", "\\(", "\\)", "a(b)", "[", "-LRB-", "1\\/2", "\\"]
    expected = ["-LRB-", "-RRB-", "-LRB-", "-RRB-", "a-LRB-b-RRB-", "[", "-LRB-", "1\\/2", "\\"]
    assert [escaped(word) for word in words] == expected


def test_split_words() -> None:
    assert split_words(" a\tb\u00a0c\u2028d \r\n") == ["a", "b\u00a0c\u2028d"]
