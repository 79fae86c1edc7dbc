"""Texts from Python: strings, lists of sentences, lists of words."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import pytest

from reranker.errors import InputError
from reranker.text.given import TextOrFile, sentences, warn_about_text


def words(text: TextOrFile, form: str = "text") -> list[tuple[str, ...]]:
    return [each.sentence.words for each in sentences(text, form)]  # type: ignore[arg-type]


def test_strings_and_lists() -> None:
    assert words("It runs. We saw.") == [("It", "runs", "."), ("We", "saw", ".")]
    assert words("It runs? We saw.", "sentences") == [("It", "runs", "?", "We", "saw", ".")]
    assert words(["It runs? It", "isn't\n(so)"]) == [
        ("It", "runs", "?", "It"), ("is", "n't", "-LRB-", "so", "-RRB-"),
    ]  # fmt: skip
    assert words(["It is n't"], "tokens") == [("It", "is", "n't")]
    assert words((["It", "isn't"], ("So", "."))) == [("It", "isn't"), ("So", ".")]
    assert words([]) == words("") == []


@pytest.mark.parametrize(
    "words", [["I", "saw", "it", "."], ["I", "saw", "it"], ["Mr.", "Smith", "left", "."]]
)
def test_the_words_of_a_sentence_are_told_from_sentences(words: list[str]) -> None:
    with pytest.warns(
        UserWarning, match=rf"{len(words)} strings are {len(words)} sentences.*\[words\]"
    ):
        warn_about_text(words)


@pytest.mark.parametrize(
    "text",
    [
        "I",
        ["Hello"],
        ["Yes.", "No."],
        ["I saw", "it"],
        [["I", "saw", "."]],
        ["我看见了", "他走了"],
        [],
    ],
)
def test_sentences_are_no_words(text: Any) -> None:
    warn_about_text(text)  # warnings are errors here


def test_the_reading_of_speakers_is_chosen_and_told(tmp_path: Path) -> None:
    talk = "Anna: It runs.\nBen: We saw.\nAnna: So?\n"
    path = tmp_path / "talk.txt"
    path.write_text(talk)
    for text in (talk, path):
        for speakers, names in ((None, "Anna Ben Anna"), (True, "Anna Ben Anna"), (False, "- - -")):
            told: list[str] = []
            found = [*sentences(text, speakers=speakers, report=told.append)]
            assert " ".join(each.origin.speaker or "-" for each in found) == names
            assert any("a transcript" in message for message in told) == (speakers is None)
    told = []
    found = [*sentences(["<b>It</b> runs.", "<i>We</i> saw."], report=told.append)]
    assert [each.sentence.words for each in found] == [("It", "runs", "."), ("We", "saw", ".")]
    assert told == ["text: mark-up such as <b> is left out"]
    with pytest.raises(InputError, match="speakers"):
        next(sentences(talk, speakers="no"))  # type: ignore[arg-type]


def test_a_path_stands_for_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "It runs. We saw.\n\nSo (did) they.\n"
    path = tmp_path / "text.txt"
    path.write_text(text)
    assert words(path) == words(text)
    assert words(path, "sentences") == words(text, "sentences")
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(text.encode()))
    read = [*sentences(path)]
    assert [each.sentence.words for each in read] == words(text)
    assert {each.origin.file for each in read} == {str(path)} and read[-1].origin.line == 3
    for none, reason in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError, match=reason):
            words(none)
    trees = tmp_path / "trees.mrg"
    trees.write_text("(TOP (S (NP (PRP It)) (VP (VBZ runs))))\n" * 3)
    with pytest.raises(InputError, match="looks like trees"):
        words(trees)
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match=r"'text.gz' is read as a sentence.* Path\('text.gz'\)"):
        warn_about_text("text.gz")
    warn_about_text("none.txt")  # warnings are errors here


def test_places_are_those_of_the_entry() -> None:
    first, second = sentences(["It runs.", " We  saw"])
    assert (first.origin.line, second.origin.line) == (1, 2)
    assert second.origin.offsets == ((1, 3), (5, 8)) and second.origin.text == "We  saw"
    (of_words,) = sentences([["It", "runs"]])
    assert of_words.origin.offsets == ((0, 2), (3, 7)) and of_words.origin.text == "It runs"


def test_one_sentence_that_cannot_be_read_costs_no_other() -> None:
    problems = [each.problem for each in sentences([["a b"], [], ["It"]])]
    assert problems == ["an entry of 'tokens' is not one word: 'a b'", "no words", None]


@pytest.mark.parametrize("rest", [[], ["It runs.", "It ran."]])
def test_half_a_surrogate_pair_is_a_word(rest: list[str]) -> None:
    """JSON can escape a half, and cutting a text to a length can leave one."""
    first, *_ = sentences(["It runs \ud83d", *rest])
    assert first.sentence.words == ("It", "runs", "\N{REPLACEMENT CHARACTER}")
    assert first.problem is None


@pytest.mark.parametrize(
    "text",
    [
        *(None, 3, b"It runs.", ["It runs.", ["It"]], [[1]], [b"It"], [None], ["It", math.nan]),
    ],
)
def test_what_is_no_text(text: Any) -> None:
    with pytest.raises(InputError, match="list of strings"):
        list(sentences(text))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "token"}, "form must be text or prose or sentences or tokens, got 'token'"),
        ({"convention": "penn"}, "words must be gum or wsj or .*, got 'penn'"),
        ({"longest": 0}, "longest must be a positive integer, got 0"),
        ({"longest": "60"}, "longest must be a positive integer, got '60'"),
    ],
)
def test_options_that_make_no_sense_say_what_is_wanted(options: Any, message: str) -> None:
    """A misspelt one would change the words."""
    with pytest.raises(InputError, match=f"^{message}$"):
        list(sentences("It runs.", **options))
