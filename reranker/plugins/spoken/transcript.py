"""The lines of a transcript become sentences, which may begin and end anywhere in them.

A sentence ends for sure before a speaker's name, at a blank line and behind a full stop. The words
between are read in windows, of which the last part is read again in the next one, so that time and
memory do not depend on how many words have no such end.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from reranker.commands.progress import message
from reranker.commands.text_files import ParsedText
from reranker.files.text import TextFile
from reranker.nbest.data import Origin, Sentence
from reranker.parsers.choice import ParserChoice
from reranker.plugins.spoken.scores import Scores
from reranker.plugins.spoken.segmentation import best_ends, end_probabilities
from reranker.plugins.spoken.weights import BONUS
from reranker.text.reading import CUT, TextSentence

LONGEST = 60
MOST_LONGEST = 200  # words of a sentence: memory grows with the square
_AHEAD = 40  # words of a window beyond the longest sentence
_UNSURE = 25  # words at the end of a window that are read again: what follows is not known
_FAR = 1_000  # characters between two words of a sentence
_SPEAKER = re.compile(r"[^\W\d_][\w.'-]{0,30}(?: [\w.'-]{1,30}){0,2}:(?=\s|$)")
_STOPS = (".", "?", "!")
_EXAMINED = 200  # words of a file in which full stops are counted
_FEWEST_WORDS = 30  # for each full stop


class SpokenOrigin(Origin):
    """The place of a sentence in a transcript."""

    end_probability: float
    """The probability that a sentence ends behind its last word."""

    @property
    def more(self) -> dict[str, Any]:
        return {"end_probability": self.end_probability}


class _Word(NamedTuple):
    text: str
    span: tuple[int, int]
    line: TextSentence
    begins: bool
    """True if a sentence certainly begins here."""


class Transcript(ParsedText):
    """The lists of a transcript's sentences, a source of answers.py."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        choice: ParserChoice,
        sources: Iterable[str | TextFile],
    ) -> None:
        """Open the text and load the parser. Raises InputError for a wrong file, parser or flag."""
        self._scores = Scores(choice.models.get("chart", ""), arguments.language or "")
        self._most = arguments.longest
        lines = argparse.Namespace(**{**vars(arguments), "longest": 1 << 30})
        super().__init__(lines, choice, sources, "sentences")

    def identity(self) -> dict[str, Any]:
        """Return everything on which the lists depend."""
        return {**super().identity(), "longest": self._most}

    def _named(self) -> Iterator[TextSentence]:
        def warn(text: str) -> None:
            message(f"rerank: {text}: `rerank parse` will find its sentences")

        return sentences(super()._named(), self._scores, self._most, warn)


def sentences(
    lines: Iterable[TextSentence], scores: Scores, longest: int, warn: Callable[[str], None]
) -> Iterator[TextSentence]:
    """Yield the sentences of a transcript's lines, none of more than ``longest`` words, each with a
    ``SpokenOrigin``. A line that has a ``problem`` is yielded as it is. Warn of a file with
    punctuation."""
    window: list[_Word] = []

    def read(*, is_whole: bool) -> Iterator[TextSentence]:
        """Yield the sentences at the beginning of the window, or all, and remove their words."""
        if not window:
            return
        table = scores.of(tuple(word.text for word in window), longest)
        probabilities = end_probabilities(table)
        start = 0
        for end in best_ends(table + BONUS):
            if start and not is_whole and end > len(window) - _UNSURE:
                break
            yield _sentence(window[start:end], float(probabilities[end]))
            start = end
        del window[:start]

    for word in _words(lines, warn):
        if isinstance(word, TextSentence):
            yield from read(is_whole=True)
            yield word
            continue
        if word.begins:
            yield from read(is_whole=True)
        window.append(word)
        if len(window) == longest + _AHEAD:
            yield from read(is_whole=False)
    yield from read(is_whole=True)


def _words(
    lines: Iterable[TextSentence], warn: Callable[[str], None]
) -> Iterator[_Word | TextSentence]:
    """Yield the words of all lines without speakers' names, and lines that have a problem. Warn of
    a file with punctuation."""
    before: _Word | None = None
    count = stops = 0
    for line in lines:
        if line.problem not in (None, CUT):
            before = None
            yield line
            continue
        file, number, text, offsets = line.origin
        last = before.line.origin if before else None
        if last is None or last.file != file:
            before, count, stops = None, 0, 0
        is_part = last is not None and (last.file, last.line) == (file, number)
        speaker = None if is_part else _SPEAKER.match(text)
        first = offsets[0][0] + (speaker.end() if speaker else 0)
        begins = speaker is not None
        for word, span in zip(line.sentence.words, offsets, strict=True):
            if span[0] < first:
                continue
            is_new = begins or before is None or _is_apart(before, number, span[0])
            before = _Word(word, span, line, is_new)
            begins = False
            yield before
            count, stops = count + 1, stops + (word[-1] in _STOPS)
            if count == _EXAMINED and stops * _FEWEST_WORDS > count:
                warn(f"{file}: has punctuation")


def _is_apart(before: _Word, line: int, start: int) -> bool:
    """Tell whether a sentence ends for sure between a word and the next one."""
    is_far = start - before.span[1] > _FAR or line - before.line.origin.line > 1
    return is_far or before.text in _STOPS


def _sentence(words: list[_Word], end_probability: float) -> TextSentence:
    """Return the sentence of these words."""
    text, before = "", words[0]
    for word in words:
        start = word.span[0]
        if word.line is before.line:
            start = min(start, before.span[1])
        else:
            text += "\n".ljust(gap := start - before.span[1])[:gap]
        text += _written(word.line.origin, (start, word.span[1]))
        before = word
    first = words[0].line
    offsets = tuple(word.span for word in words)
    place = SpokenOrigin(first.origin.file, first.origin.line, text, offsets)
    place.end_probability = round(end_probability, 4)
    sentence = Sentence(tuple(word.text for word in words))
    return TextSentence(sentence, place, position=words[-1].line.position)


def _written(origin: Origin, span: tuple[int, int]) -> str:
    """Return the characters of a line's text."""
    first = origin.offsets[0][0]
    return origin.text[span[0] - first : span[1] - first]
