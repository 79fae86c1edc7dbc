"""EVALB's figures for two files of trees: a row per sentence, and summaries of all and of the short
sentences.

docs/evalb.md explains the figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reranker.errors import InputError
from reranker.evaluation.parameters import Parameters
from reranker.evaluation.sentence import (
    BracketCounts,
    Gold,
    SentenceScore,
    f1,
    percentage,
    score_pair,
)

__all__ = ["CorpusScore", "Gold", "Parameters", "Summary", "evaluate"]

_COUNTS = ("matched", "gold", "test", "crossing", "words", "correct_tags")


@dataclass(frozen=True, slots=True)
class Summary(BracketCounts):
    """Counts over many sentences; all but the first three cover valid ones only. Rates are in %."""

    sentences: int
    errors: int
    skipped: int
    matched: int
    gold: int
    test: int
    crossing: int
    words: int
    correct_tags: int
    complete: int
    without_crossing: int
    with_two_or_less_crossing: int

    @classmethod
    def of(cls, scores: Sequence[SentenceScore]) -> Summary:
        """Add up the scores."""
        valid = [score for score in scores if score.status == "valid"]
        statuses = Counter(score.status for score in scores)
        return cls(
            sentences=len(scores),
            errors=statuses["error"],
            skipped=statuses["skip"],
            **{name: sum(getattr(score, name) for score in valid) for name in _COUNTS},
            complete=sum(score.matched == score.gold == score.test for score in valid),
            without_crossing=sum(score.crossing == 0 for score in valid),
            with_two_or_less_crossing=sum(score.crossing <= 2 for score in valid),
        )

    @property
    def valid(self) -> int:
        """Return the number of sentences that the figures cover."""
        return self.sentences - self.errors - self.skipped

    @property
    def f1(self) -> float:
        """Return the harmonic mean of recall and precision; 0 where EVALB prints ``nan``."""
        return f1(self.matched, self.gold, self.test)

    @property
    def complete_match(self) -> float:
        return percentage(self.complete, self.valid)

    @property
    def average_crossing(self) -> float:
        """Return the number of test brackets that cross a gold bracket, per sentence."""
        return self.crossing / (self.valid or 1)

    @property
    def no_crossing(self) -> float:
        return percentage(self.without_crossing, self.valid)

    @property
    def two_or_less_crossing(self) -> float:
        return percentage(self.with_two_or_less_crossing, self.valid)

    @property
    def tagging_accuracy(self) -> float:
        return percentage(self.correct_tags, self.words)


@dataclass(frozen=True, slots=True)
class CorpusScore:
    """A row for each sentence, and the summaries of all of them and of the short ones."""

    rows: tuple[SentenceScore, ...]
    all: Summary
    short: Summary
    parameters: Parameters
    max_error: int

    @property
    def too_many_errors(self) -> bool:
        """Return whether EVALB would have given up, because the figures cover too few sentences."""
        return self.all.errors > self.max_error


def evaluate(
    gold_lines: Iterable[str],
    test_lines: Iterable[str],
    parameters: Parameters,
    max_error: int | None = None,
) -> CorpusScore:
    """Score each test line against the gold line in the same place.

    ``max_error`` overrides the one in the parameters; errors never end the run. Raises InputError
    unless both have the same number of lines, at least one.
    """
    gold, test = list(gold_lines), list(test_lines)
    if len(gold) != len(test):
        raise InputError(f"{len(gold)} gold lines but {len(test)} test lines")
    if not gold:
        raise InputError("no gold lines and no test lines")
    rows = tuple(score_pair(*pair, parameters) for pair in zip(gold, test, strict=True))
    return CorpusScore(
        rows=rows,
        all=Summary.of(rows),
        short=Summary.of([row for row in rows if row.length <= parameters.cutoff_length]),
        parameters=parameters,
        max_error=parameters.max_error if max_error is None else max_error,
    )
