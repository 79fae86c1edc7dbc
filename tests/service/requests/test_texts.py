"""Bodies for ``/parse`` as sentences, with the place of every word."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from reranker.process.cancellation import Cancellation, Stopped
from reranker.service.errors import RequestError
from reranker.service.limits import Limits
from reranker.service.requests.reading import Body, Contents
from reranker.service.requests.reading import read as read_body
from reranker.service.requests.schemas import AnyToParse, ParseQuery
from reranker.service.settings import load_settings


def read(given: Any, media: str = "application/json", **settings: Any) -> Contents:
    content = given if isinstance(given, bytes) else json.dumps(given).encode()
    query = ParseQuery.model_validate({"lm_weight": 0.25, "top_n": 3})
    body = Body("/parse", content, media, query)
    return read_body(body, Limits.from_settings(load_settings(settings)), Cancellation())


def asked(reading: Contents) -> AnyToParse:
    return cast(AnyToParse, reading.asked)


def spelled(reading: Contents, texts: list[str]) -> list[list[str]]:
    """Return the words by their offsets; ``texts`` has each sentence's text."""
    return [
        [text[start:end] for start, end in sentence.origin.offsets]
        for text, sentence in zip(texts, reading.sentences, strict=True)
    ]


@pytest.mark.parametrize("first", ["", "\ufeff", "\U0001f600 "])
def test_offsets_are_characters_of_the_text(first: str) -> None:
    text = f"{first}We saw it. The man (with eyes) isn't\r\nwell-known!\n\n It runs."
    reading = read({"text": text})
    first_words, *others = spelled(reading, [text] * len(reading.sentences))
    assert first_words[-4:] == ["We", "saw", "it", "."]
    assert others == [
        ["The", "man", "(", "with", "eyes", ")", "is", "n't", "well", "-", "known", "!"],
        ["It", "runs", "."],
    ]
    assert reading.sentences[1].sentence.words[2] == "-LRB-"
    assert [sentence.origin.line for sentence in reading.sentences] == [1, 1, 4]
    assert reading.sentences[2].origin.text == "It runs."


def test_plain_text_and_options_of_the_query() -> None:
    reading = read(b"We saw \xff it.\nIt runs\x07.", "text/plain")
    assert (asked(reading).lm_weight, asked(reading).top_n) == (0.25, 3)
    assert reading.warnings == [
        "line 1: byte 0xff is not UTF-8; U+FFFD is in its place",
        "line 2: control character U+0007; U+FFFD is in its place",
    ]
    assert reading.sentences[0].sentence.words == ("We", "saw", "\ufffd", "it", ".")
    # The body has the last word.
    assert asked(read({"text": "It runs.", "top_n": 1})).top_n == 1
    assert asked(read({"text": "It runs.", "top_n": None})).top_n is None


def test_each_sentence_is_answered() -> None:
    texts = ["We saw it. It runs\nfar.", "", "  x\u2028y ", "a " * 20_000]
    reading = read({"sentences": texts})
    assert [sentence.origin.line for sentence in reading.sentences] == [1, 2, 3, 4]
    found = spelled(reading, texts)
    assert found[0] == ["We", "saw", "it.", "It", "runs", "far", "."]
    assert reading.sentences[0].problem is None
    assert (found[1], reading.sentences[1].problem) == ([], "no words")
    assert found[3] == ["a"] * 20_000
    assert "32,768 characters" in str(reading.sentences[3].problem)
    assert reading.sentences[3].origin.text == texts[3].strip()


def test_words_stay_as_they_are() -> None:
    tokens = [["It", "isn't", "(", "well-known", "\x07"], ["New York"], [], ["", "x"], ["a\u00a0b"]]
    reading = read({"tokens": tokens})
    words = [sentence.sentence.words for sentence in reading.sentences]
    assert words[0] == ("It", "isn't", "-LRB-", "well-known", "\ufffd")
    assert words[4] == ("a\u00a0b",)
    problems = [sentence.problem for sentence in reading.sentences]
    assert problems[0] is None is problems[4]
    assert problems[1] == "an entry of 'tokens' is not one word: 'New York'"
    assert problems[2] == "no words" and "''" in str(problems[3])
    assert words[1] == ("New", "York")  # nothing is lost, all the same
    joined = list(map(" ".join, tokens))
    assert spelled(reading, joined)[0] == tokens[0]


@pytest.mark.parametrize(
    "body, settings, code, param, message",
    [
        ({"text": "It runs. " * 4}, {"max_sentences": 3}, "over-limit", "text", "3 sentences"),
        ({"sentences": ["a"] * 4}, {"max_sentences": 3}, "over-limit", "sentences", "3 sent"),
        ({"tokens": [["a"]] * 4}, {"max_sentences": 3}, "over-limit", "tokens", "3 sent"),
        ({"text": "a b"}, {"max_characters": 2}, "over-limit", "text", "3 characters"),
        ({"tokens": [["a"] * 500_000]}, {}, "over-limit", None, "max_values = 500000"),
        ({"text": " \n\t"}, {}, "unreadable", "text", "no words"),
        ({"sentences": ["", " "]}, {}, "unreadable", "sentences", "no words"),
        ({"text": ""}, {}, "invalid", "text", ""),
        ({}, {}, "invalid", "text", ""),
        ([], {}, "invalid", None, ""),
        ({"text": 1}, {}, "invalid", "text", ""),
        ({"text": "a", "sentences": ["a"]}, {}, "invalid", "text", ""),
        ({"tokens": ["a b"]}, {}, "invalid", "tokens.0", ""),
        ({"tokens": [["a", 1]]}, {}, "invalid", "tokens.0.1", ""),
        ({"text": "a", "lm_weight": 2}, {}, "invalid", "lm_weight", ""),
        (b'{"text": "\\ud800"}', {}, "malformed-json", None, ""),
        (b"{", {}, "malformed-json", None, ""),
    ],
)  # fmt: skip
def test_what_is_refused(
    body: Any, settings: dict[str, Any], code: str, param: str | None, message: str
) -> None:
    with pytest.raises(RequestError) as caught:
        read(body, **settings)
    error = caught.value
    assert (error.code, error.param) == (code, param)
    assert message in error.message


def test_long_sentences_are_not_for_parsers_and_warnings_are_counted() -> None:
    reading = read({"sentences": ["a b c d", "a b c"]}, longest=3)
    assert [each.problem for each in reading.sentences] == ["4 words, more than 3", None]
    warnings = read({"sentences": ["It is \x07 all right, here and now."] * 50}).warnings
    assert len(warnings) == 21 and warnings[-1] == "30 more sentences have such characters"


def test_reading_stops_when_nobody_waits() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    body = Body("/parse", b"It runs.", "text/plain", ParseQuery.model_validate({}))
    with pytest.raises(Stopped):
        read_body(body, Limits.from_settings(load_settings({})), cancellation)


def test_a_body_in_windows_1252_is_read_with_a_warning() -> None:
    for media, body in (
        ("text/plain", "Krak\u00f3w \u201cis\u201d big."),
        ("application/json", '{"text": "Krak\u00f3w \u201cis\u201d big."}'),
    ):
        contents = read(body.encode("cp1252"), media)
        (sentence,) = contents.sentences
        assert sentence.sentence.words[0] == "Krak\u00f3w"
        assert "Windows-1252" in contents.warnings[0]
