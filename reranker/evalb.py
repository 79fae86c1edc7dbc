"""EVALB's figures, computed by PYEVALB's scorer from trees prepared as EVALB prepares them.

PYEVALB alone counts otherwise: it knows no parameter file, keeps roots, punctuation and traces,
and treats repeated brackets as one. Its ``Scorer.score_trees`` is sound once the trees are read
and cleaned here; docs/evalb.md lists every step.
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, Literal, NamedTuple

from reranker.errors import InputError
from reranker.evalb_parameters import Parameters
from reranker.evalb_reader import Reading, read_line, repair_quotes, with_top_root

__all__ = [
    "Gold",
    "Parameters",
    "Report",
    "SentenceScore",
    "Summary",
    "evaluate",
    "score_pair",
    "with_top_root",
]


class _Span(NamedTuple):
    s: int  # PYEVALB's names for the start and the end of a half-open span
    e: int


class _Bracket(NamedTuple):
    span: _Span
    label: str
    repetition: int  # 0 for the first bracket with this label and span, 1 for the second, ...


# PYEVALB divides by the number of brackets. This one is in every tree and crosses none; it is
# subtracted from every count.
_SENTINEL = _Bracket(_Span(-1, -1), "", 0)


class _Prepared(NamedTuple):
    """What PYEVALB's scorer reads of a tree, under its names."""

    non_terminal_labels: list[_Bracket]
    poss: list[str]
    sentence: list[str]


@dataclass(frozen=True, slots=True)
class SentenceScore:
    """One sentence's counts; all but ``length`` are 0 unless ``status`` is ``valid``.

    ``skip`` is a test tree without words, ``error`` one that cannot be compared with its gold
    tree; ``reason`` says why. ``length`` counts gold words, for the cut-off.
    """

    status: Literal["valid", "skip", "error"]
    length: int
    reason: str = ""
    matched: int = 0
    gold: int = 0
    test: int = 0
    crossing: int = 0
    words: int = 0
    correct_tags: int = 0

    @property
    def recall(self) -> float:
        """Percentage of gold brackets found; 0 where there are none, as EVALB prints it."""
        return _percentage(self.matched, self.gold)

    @property
    def precision(self) -> float:
        """Percentage of test brackets that are right; 0 where there are none."""
        return _percentage(self.matched, self.test)

    @property
    def f1(self) -> float:
        """Percentage; of a valid sentence where neither tree has a bracket, 100."""
        return _f1(self.matched, self.gold, self.test) if self.status == "valid" else 0.0


class Gold:
    """A gold tree read once, for any number of test trees to be compared with it."""

    def __init__(self, line: str, parameters: Parameters) -> None:
        self._parameters = parameters
        self._reading = read_line(line, parameters)
        self._prepared = _prepare(self._reading, parameters)

    def score(self, test_line: str) -> SentenceScore:
        """Every figure of EVALB's row for this pair of trees."""
        pair = self._pair(test_line)
        if isinstance(pair, SentenceScore):
            return pair
        result = _scorer().score_trees(*pair)
        return SentenceScore(
            status="valid",
            length=self._reading.length,
            matched=result.matched_brackets - 1,
            gold=result.gold_brackets - 1,
            test=result.test_brackets - 1,
            crossing=result.cross_brackets,
            words=result.words,
            correct_tags=result.correct_tags,
        )

    def f1(self, test_line: str) -> float | None:
        """The same F1 as ``score`` finds, without the other figures; None if not ``valid``."""
        pair = self._pair(test_line)
        if isinstance(pair, SentenceScore):
            return None
        gold, test = (tree.non_terminal_labels for tree in pair)
        return _f1(len(set(gold) & set(test)) - 1, len(gold) - 1, len(test) - 1)

    def oracle(self, test_lines: Iterable[str]) -> int:
        """The place of the tree with the best F1, the first of equals; 0 if none is valid.

        Raises InputError when there are no trees to choose from.
        """
        found = [self.f1(line) for line in test_lines]
        if not found:
            raise InputError("there is no oracle among no trees")
        scores = [-1.0 if f1 is None else f1 for f1 in found]
        return scores.index(max(scores))

    def _pair(self, test_line: str) -> tuple[_Prepared, _Prepared] | SentenceScore:
        """Both trees prepared, or the score that says why they cannot be compared."""
        gold, test = self._reading, read_line(test_line, self._parameters)
        prepared = self._prepared
        if not test.words:
            return self._unscored("skip", "no words left in the test tree", test.problem)
        if gold.problem or test.problem:
            return self._unscored(
                "error",
                gold.problem and f"gold tree: {gold.problem}",
                test.problem and f"test tree: {test.problem}",
            )
        if len(gold.words) != len(test.words):
            gold, test = repair_quotes(gold, test, self._parameters)
            prepared = _prepare(gold, self._parameters)
            if len(gold.words) != len(test.words):
                counts = f"{len(gold.words)} gold words, {len(test.words)} test words"
                return self._unscored("error", counts)
        candidate = _prepare(test, self._parameters)
        if prepared.sentence != candidate.sentence:
            standard = zip(prepared.sentence, candidate.sentence, strict=True)
            place = next(i for i, (word, other) in enumerate(standard) if word != other)
            words = f"gold word {gold.words[place]!r}, test word {test.words[place]!r}"
            return self._unscored("error", words)
        return prepared, candidate

    def _unscored(self, status: Literal["skip", "error"], *reasons: str | None) -> SentenceScore:
        return SentenceScore(status, self._reading.length, "; ".join(filter(None, reasons)))


def score_pair(gold_line: str, test_line: str, parameters: Parameters) -> SentenceScore:
    """Score one test tree; for several against the same gold tree keep a ``Gold``.

    >>> score_pair("(NP (DT a) (NN cat))", "(NP (DT a) (NN cat))", Parameters.collins()).f1
    100.0
    """
    return Gold(gold_line, parameters).score(test_line)


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts over many sentences; all but the first three are of valid ones. Rates are in %."""

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
            matched=sum(score.matched for score in valid),
            gold=sum(score.gold for score in valid),
            test=sum(score.test for score in valid),
            crossing=sum(score.crossing for score in valid),
            words=sum(score.words for score in valid),
            correct_tags=sum(score.correct_tags for score in valid),
            complete=sum(score.matched == score.gold == score.test for score in valid),
            without_crossing=sum(score.crossing == 0 for score in valid),
            with_two_or_less_crossing=sum(score.crossing <= 2 for score in valid),
        )

    @property
    def valid(self) -> int:
        """Sentences that the figures are about."""
        return self.sentences - self.errors - self.skipped

    @property
    def recall(self) -> float:
        return _percentage(self.matched, self.gold)

    @property
    def precision(self) -> float:
        return _percentage(self.matched, self.test)

    @property
    def f1(self) -> float:
        """Harmonic mean of recall and precision; 0 where EVALB prints ``nan``."""
        return 2 * self.recall * self.precision / (self.recall + self.precision or 1)

    @property
    def complete_match(self) -> float:
        return _percentage(self.complete, self.valid)

    @property
    def average_crossing(self) -> float:
        """Test brackets that cross a gold bracket, per sentence."""
        return self.crossing / (self.valid or 1)

    @property
    def no_crossing(self) -> float:
        return _percentage(self.without_crossing, self.valid)

    @property
    def two_or_less_crossing(self) -> float:
        return _percentage(self.with_two_or_less_crossing, self.valid)

    @property
    def tagging_accuracy(self) -> float:
        return _percentage(self.correct_tags, self.words)


@dataclass(frozen=True, slots=True)
class Report:
    """Everything one evaluation found: a row for each sentence, all of them and the short ones."""

    rows: tuple[SentenceScore, ...]
    all: Summary
    short: Summary
    parameters: Parameters
    max_error: int

    @property
    def too_many_errors(self) -> bool:
        """True where EVALB would have given up: the figures are about too few sentences."""
        return self.all.errors > self.max_error


def evaluate(
    gold_lines: Iterable[str],
    test_lines: Iterable[str],
    parameters: Parameters,
    max_error: int | None = None,
) -> Report:
    """Score each test line against the gold line in the same place.

    ``max_error`` overrides the parameters'; no number of errors ends the run. Raises InputError
    unless there is at least one line and the two have as many.
    """
    gold, test = list(gold_lines), list(test_lines)
    if len(gold) != len(test):
        raise InputError(f"{len(gold)} gold lines but {len(test)} test lines")
    if not gold:
        raise InputError("no gold lines and no test lines")
    rows = tuple(score_pair(*pair, parameters) for pair in zip(gold, test, strict=True))
    return Report(
        rows=rows,
        all=Summary.of(rows),
        short=Summary.of([row for row in rows if row.length <= parameters.cutoff_length]),
        parameters=parameters,
        max_error=parameters.max_error if max_error is None else max_error,
    )


def _prepare(reading: Reading, parameters: Parameters) -> _Prepared:
    brackets = [_SENTINEL]
    seen: Counter[tuple[int, int, str]] = Counter()
    for start, end, label in reading.brackets:
        standard = parameters.bracket_label(label) if start < end else None
        if standard is not None:
            key = start, end, standard
            brackets.append(_Bracket(_Span(start, end), standard, seen[key]))
            seen[key] += 1
    labels, words = parameters.standard_labels, parameters.standard_words
    return _Prepared(
        brackets,
        [labels.get(tag, tag) for tag in reading.tags],
        [words.get(word, word) for word in reading.words],
    )


def _percentage(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _f1(matched: int, gold: int, test: int) -> float:
    return 200 * matched / (gold + test) if gold + test else 100.0


@cache
def _scorer() -> Any:
    """PYEVALB's scorer, loaded when the first sentence is scored.

    PYEVALB imports pytablewriter, some 260 modules, for a table that nobody asks for here. While
    PYEVALB loads, a module stands in that imports the real one as soon as anything in it is used.
    """
    name = "pytablewriter"
    if name in sys.modules:
        from PYEVALB.scorer import Scorer

        return Scorer()
    stand_in = ModuleType(name)
    stand_in.__getattr__ = lambda item: getattr(  # type: ignore[method-assign]
        importlib.import_module(name), item
    )
    sys.modules[name] = stand_in
    try:
        from PYEVALB.scorer import Scorer
    finally:
        del sys.modules[name]
    return Scorer()
