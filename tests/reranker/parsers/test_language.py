"""A warning for a text that the parser has not learned to read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers.language import LanguageCheck
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser

ENGLISH, GERMAN, INDONESIAN = map(
    str.split,
    (
        "The guests of the old hotel met in its kitchen , and they left it on Monday .",
        "Zwei junge M\u00e4nner sind im Freien in der N\u00e4he vieler B\u00fcsche .",
        "Presiden mengatakan bahwa pemerintah akan membangun jalan baru di daerah itu .",
    ),
)


class Silent:
    """A parser that cannot name its language."""

    batch_sizes = (1,)

    def parse(self, sentences: Sequence[Sentence]) -> list[NBest | str]:
        return ["no" for _ in sentences]

    def stop(self) -> None:
        return


@pytest.fixture(scope="module")
def check() -> LanguageCheck:
    return LanguageCheck.of(create_parser("chart", ParserSettings()))


def test_one_warning_for_each_file_that_is_not_english(check: LanguageCheck) -> None:
    assert check.add("en.txt", ENGLISH) is None
    assert check.add("de.txt", GERMAN) is None, "English was English; German has just begun"
    warning = check.add("id.txt", INDONESIAN)
    assert warning and warning.startswith("de.txt: ") and "not English" in warning
    warnings = [check.add("id.txt", INDONESIAN) for _ in range(40)]
    (told,) = filter(None, warnings)
    assert told.startswith("id.txt: ")
    assert check.end() is None


def test_chinese_has_words_without_spaces(check: LanguageCheck) -> None:
    assert check.add("zh.txt", ["我妹妹在图书馆看书。"]) is None
    warning = check.end()
    assert warning and "first 9 words" in warning and "not English" in warning


def test_too_few_words_to_tell(check: LanguageCheck) -> None:
    check.add("a.txt", ["Guten", "Tag", "!", "42"])
    assert check.end() is None


def test_a_parser_that_cannot_tell() -> None:
    check = LanguageCheck.of(Silent())
    assert check.add("de.txt", GERMAN * 50) is None and check.end() is None
