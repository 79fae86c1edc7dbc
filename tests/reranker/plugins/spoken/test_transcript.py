"""Lines become sentences: sure ends, offsets, limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest

from reranker.files.text import TextInMemory
from reranker.plugins.spoken import transcript
from reranker.plugins.spoken.scores import Scores
from reranker.plugins.spoken.segmentation import Values
from reranker.plugins.spoken.transcript import SpokenOrigin, sentences
from reranker.text.reading import Text, TextSentence


class Pairs:
    """Every sentence has two words; if one must have another number, it is the last."""

    def __init__(self) -> None:
        self.read: list[int] = []  # words of each window

    def of(self, words: tuple[str, ...], longest: int) -> Values:
        self.read.append(len(words))
        scores = np.full((len(words), longest + 1), -5.0)
        scores[:, 1] += np.arange(len(words)) / 1_000
        scores[:, 2] = 5.0
        return scores


def read(text: str, longest: int = 60) -> list[TextSentence]:
    return list(stream(text, longest, Pairs()))


def stream(
    text: str, longest: int, scores: Pairs, said: list[str] | None = None
) -> Iterator[TextSentence]:
    found: list[str] = [] if said is None else said
    lines = Text([TextInMemory(text.encode(), "talk")], "sentences", "gum", 1 << 30)
    return sentences(lines, cast(Scores, scores), longest, found.append)


def words(found: list[TextSentence]) -> list[str]:
    return [" ".join(each.sentence.words) for each in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("uh i mean\nyou know\n", ["uh i", "mean you", "know"]),
        ("uh i mean\n\nyou know\n", ["uh i", "mean", "you know"]),
        ("uh i mean\n   \n you know", ["uh i", "mean", "you know"]),
        ("A: yeah well no\nMr. B: it is\nspeaker 2: oh", ["yeah well", "no", "it is", "oh"]),
        ("A:\nyeah well", ["yeah well"]),
        ("it is 5:30 am", ["it is", "5:30 am"]),
        ("so he left.\ni did it ?no", ["so he", "left .", "i did", "it ?", "no"]),
        ("i saw 3.5 (uh) dogs", ["i saw", "3.5 -LRB-", "uh -RRB-", "dogs"]),
        ("don't go", ["do n't", "go"]),
    ],
)
def test_sentences_and_sure_ends(text: str, expected: list[str]) -> None:
    assert words(read(text)) == expected


def test_offsets_are_into_the_text_as_it_is_given() -> None:
    text = "A: uh  i\r\n  me\N{LATIN SMALL LETTER A WITH ACUTE}n (you)\nknow"
    found = read(text)
    assert [each.origin.line for each in found] == [1, 2, 2, 3]
    for each in found:
        start, end = each.origin.offsets[0][0], each.origin.offsets[-1][1]
        assert len(each.origin.text) == end - start
        assert each.origin.text.split() == text[start:end].split()
    assert [text[start:end] for start, end in found[2].origin.offsets] == ["you", ")"]
    assert isinstance(found[0].origin, SpokenOrigin)
    # Of the four places for the one sentence of one word, three are behind this end.
    assert found[0].origin.end_probability == pytest.approx(0.75, abs=1e-3)


def test_time_and_memory_are_bounded_on_a_long_line() -> None:
    """A line of 20,000 words is longer than what is read as one line."""
    text = "".join(f"word{number} " for number in range(20_000))
    scores, found = Pairs(), 0
    for each in stream(text, 10, scores):
        start, end = each.origin.offsets[0][0], each.origin.offsets[-1][1]
        assert each.problem is None and each.origin.text == text[start:end]
        found += len(each.sentence.words)
    assert found == 20_000 and max(scores.read) == 50
    assert sum(scores.read) < 20_000 * 2.2


def test_a_window_gives_the_same_sentences_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"w{number}" for number in range(301))
    found = words(read(text, 10))
    monkeypatch.setattr(transcript, "_AHEAD", 1_000)
    assert words(read(text, 10)) == found and len(found) == 151


def test_text_with_punctuation_is_named_once() -> None:
    said: list[str] = []
    list(stream("It was so. He left. " * 50, 60, Pairs(), said))
    list(stream("it was so he left " * 50, 60, Pairs(), said))
    assert said == ["talk: has punctuation"]
