"""Pools several parsers' candidates for the same sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reranker.nbest import Candidate, NBest, Rejected
from reranker.nbest.data import Sentence
from reranker.parsers.parser import Parser, root_of


class PooledParsers:
    """Asks each of several parsers; a sentence is lost only if none of them can parse it."""

    def __init__(self, parsers: Mapping[str, Parser]) -> None:
        """``parsers`` by name, the first one's candidates first."""
        self._parsers = parsers
        self.root = root_of(next(iter(parsers.values())))
        sizes = [parser.batch_sizes for parser in parsers.values()]
        steps = range(max(map(len, sizes)))
        self.batch_sizes = [max(each[min(step, len(each) - 1)] for each in sizes) for step in steps]

    def parse(self, sentences: Sequence[Sentence]) -> list[NBest | str]:
        """For each sentence the candidates of all parsers, or why none has any."""
        answers = [parser.parse(sentences) for parser in self._parsers.values()]
        return [pooled(list(self._parsers), each) for each in zip(*answers, strict=True)]

    def stop(self) -> None:
        for parser in self._parsers.values():
            parser.stop()


def pooled(names: Sequence[str], answers: Sequence[NBest | str]) -> NBest | str:
    """The parsers' lists for one sentence as one list, or why there is none.

    A tree that an earlier parser has proposed, ignoring part-of-speech tags, is left out: it counts
    as that parser's, with the first score there is. If a parser has no list, ``rejected`` says why
    (``missing``).
    """
    reasons = [
        f"{name}: {answer}"
        for name, answer in zip(names, answers, strict=True)
        if isinstance(answer, str)
    ]
    if len(reasons) == len(answers):
        return "; ".join(reasons)
    candidates: list[Candidate] = []
    rejected: list[Rejected] = []
    places: dict[tuple[str, ...], int] = {}  # in ``candidates``, of the trees of earlier parsers
    begin = 0
    for answer in answers:
        if isinstance(answer, str):
            rejected.append(Rejected(begin, 0, "missing", reasons.pop(0), ""))
            begin += 1
            continue
        earlier = dict(places)
        for candidate in answer.candidates:
            place = earlier.get(candidate.tokens)
            if place is None:
                places.setdefault(candidate.tokens, len(candidates))
                candidates.append(replace(candidate, index=begin + candidate.index))
            elif candidates[place].parser_score is None:
                candidates[place] = replace(candidates[place], parser_score=candidate.parser_score)
        rejected += [replace(entry, index=begin + entry.index) for entry in answer.rejected]
        begin += len(answer.candidates) + len(answer.rejected)
    first = next(answer for answer in answers if isinstance(answer, NBest))
    certain = (answer.certainty for answer in answers if isinstance(answer, NBest))
    return replace(
        first,
        candidates=tuple(candidates),
        rejected=tuple(rejected),
        certainty=next(filter(None, certain), None),
    )
