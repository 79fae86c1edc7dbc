"""The least sure bracket of a best tree in words, and a candidate that reads it otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from reranker.nbest.data import Certainty
from reranker.ranking.sentence import Constituent, ParsedSentence, with_words_only
from reranker.trees.tree import Tree

SURE = 0.99  # a bracket that is more probable is not in doubt
_MOST_NAMED = 5  # the most words of the part that a phrase goes with
_MOST_QUOTED = 9
_LEAST = 1 / 3  # of the probability that the bracket leaves; else the doubt is about something else
_NAMES = {  # docs/labels.md
    "S": "clause",
    "SBAR": "subordinate clause",
    "SBARQ": "question",
    "SQ": "question",
    "SINV": "inverted clause",
    "FRAG": "fragment",
    "NP": "noun phrase",
    "VP": "verb phrase",
    "PP": "prepositional phrase",
    "ADJP": "adjective phrase",
    "ADVP": "adverb phrase",
    "NML": "part of a noun phrase",
    "QP": "number",
    "PRT": "particle",
    "CONJP": "conjunction",
    "UCP": "coordination",
    "PRN": "parenthesis",
    "INTJ": "interjection",
}

_Span = tuple[int, int]
CandidateTree = tuple[int, str, float | None]
"""The index of a candidate, its tree in brackets and the parser's score."""


class Doubt(NamedTuple):
    """The least sure bracket of a tree."""

    parts: tuple[str, ...]
    """The parts of ``text``; every second one is words of the sentence."""
    other: int | None
    """The ``index`` of a candidate without the bracket; None if there is none."""

    @property
    def text(self) -> str:
        """Return, for example, ``“with glasses” goes with “the man” (78%) or with “saw” (19%)``."""
        return "".join(self.parts)


class _Reading(NamedTuple):
    """A candidate's tree."""

    brackets: Sequence[Constituent]
    tags: Sequence[str | None]
    number: int = 0
    weight: float = 1.0

    @classmethod
    def of(cls, candidate: CandidateTree, certainty: Certainty | None) -> _Reading:
        number, text, score = candidate
        tree = with_words_only(Tree.from_string(text))
        sentence = ParsedSentence("", tree, certainty=certainty)
        weight = math.exp(min(score or 0.0, 700.0))
        return cls(sentence.constituents, _tags(sentence), number, weight)

    def children(self, place: int) -> Iterator[Constituent]:
        """Yield the brackets directly in a bracket."""
        return (each for each in self.brackets if each.parent == place)

    def head(self, place: int, part: Constituent) -> _Span | None:
        """Return a few words with which a part of a bracket goes: the verb of a verb phrase, else
        the words before the part."""
        label, start, end, *_ = self.brackets[place]
        if label.startswith("VP"):
            inner = {word for each in self.children(place) for word in range(each.start, each.end)}
            for word in range(start, end):
                if word not in inner and (self.tags[word] or "").startswith("V"):
                    return word, word + 1
        if label.startswith(("SBAR", "PP", "WH")):  # a word such as "that" says too little
            return None
        return (start, part.start) if 0 < part.start - start <= _MOST_NAMED else None


def doubt_of(sentence: ParsedSentence, candidates: Iterable[CandidateTree]) -> Doubt | None:
    """Return the doubt about the tree of ``sentence``, one of the candidates; None where no bracket
    is in doubt. Raises TreeError for a candidate that is not a bracketed tree."""
    best = _Reading(sentence.constituents, _tags(sentence))
    known = [place for place, each in enumerate(best.brackets) if each.probability is not None]
    place = min(known, key=lambda place: best.brackets[place].probability or 0.0, default=None)
    if place is None or (best.brackets[place].probability or 0.0) > SURE:
        return None
    node = best.brackets[place]
    readings = (_Reading.of(each, sentence.certainty) for each in candidates)
    others = [each for each in readings if _key(node) not in map(_key, each.brackets)]
    words = _quoted(sentence, (node.start, node.end))
    plain = ("“", words, f"”: {_named(node)}")
    return (
        _label(node, best, others, sentence)
        or _attachment(best, place, others, sentence)
        or Doubt(plain, others[0].number if others else None)
    )


def _label(
    node: Constituent, best: _Reading, others: Sequence[_Reading], sentence: ParsedSentence
) -> Doubt | None:
    """Return ``“ice cream”: noun phrase (82%) or clause (9%)``. A bracket that the best tree has,
    too, is no alternative."""
    other = max(others, key=lambda each: each.weight, default=None)
    span = (node.start, node.end)
    both = set(map(_key, best.brackets))
    brackets = other.brackets if other else ()
    here = [each for each in brackets if _key(each)[:2] == span and _key(each) not in both]
    if other is None or len(here) != 1:
        return None
    names = f"”: {_named(node)} or {_named(here[0])}"
    return Doubt(("“", _quoted(sentence, span), names), other.number)


def _attachment(
    best: _Reading, place: int, others: Iterable[_Reading], sentence: ParsedSentence
) -> Doubt | None:
    """Return ``“with glasses” goes with “the man” (81%) or with “saw” (11%)``. The candidates
    without the bracket share the probability that it leaves."""
    node = best.brackets[place]
    part = next((each for each in best.children(place) if each.end == node.end), None)
    here = best.head(place, part) if part else None
    if part is None or here is None:
        return None
    sums: dict[_Span, float] = {}
    first: dict[_Span, int] = {}  # the index of the first candidate that reads it so
    total = 0.0
    for other in others:
        total += other.weight
        same = (each for each in other.brackets if _key(each) == _key(part))
        parent = next((each.parent for each in same if each.parent is not None), None)
        head = None if parent is None else other.head(parent, part)
        if head not in (None, here):
            sums[head] = sums.get(head, 0.0) + other.weight
            first.setdefault(head, other.number)
    most = max(sums, key=sums.__getitem__, default=None)
    if most is None or sums[most] < _LEAST * total:
        return None
    left = (1 - (node.probability or 0.0)) * sums[most] / total
    what, this, that = (_quoted(sentence, each) for each in ((part.start, part.end), here, most))
    shares = f"” ({_percent(node)}) or with “", f"” ({percentage(left)})"
    return Doubt(("“", what, "” goes with “", this, shares[0], that, shares[1]), first[most])


def _tags(sentence: ParsedSentence) -> list[str | None]:
    return [word.tag for word in sentence.words]


def _key(node: Constituent) -> tuple[int, int, str]:
    return node.start, node.end, node.label


def _named(node: Constituent) -> str:
    """Return ``noun phrase (82%)``; for a label without a name here, the label."""
    label = node.label.partition("-")[0].partition("=")[0]
    return f"{_NAMES.get(label, node.label)} ({_percent(node)})"


def _percent(node: Constituent) -> str:
    return percentage(node.probability or 0.0)


def percentage(probability: float) -> str:
    """Return a probability in percent, such as ``78%`` or ``more than 99%``."""
    if probability > 0.99:
        return "more than 99%"
    return "less than 1%" if probability < 0.01 else f"{math.floor(100 * probability + 0.5)}%"


def _quoted(sentence: ParsedSentence, span: _Span) -> str:
    """Return the words of a span as written, on one line; of a long span only the first and the
    last ones."""
    start, end = span
    half = _MOST_QUOTED // 2
    ends = [(start, start + half), (end - half, end)] if end - start > _MOST_QUOTED else [span]
    return " … ".join(" ".join(sentence.text_of(*each).split()) for each in ends)
