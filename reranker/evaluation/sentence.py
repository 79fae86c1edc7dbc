"""The figures of one sentence, computed by PYEVALB's scorer from trees prepared as in EVALB.

PYEVALB alone counts differently: it reads no parameter file, keeps roots, punctuation and traces,
and treats repeated brackets as one. Its ``Scorer.score_trees`` is sound once the trees are read and
cleaned here; docs/evalb.md lists every step.
"""

from __future__ import annotations

import importlib
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from reranker.errors import InputError
from reranker.evaluation.lines import EvalbLine, read_line, repair_quotes
from reranker.evaluation.parameters import Parameters
from reranker.trees.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

Numbers = TypeVar("Numbers", float, "NDArray[Any]")


class _Span(NamedTuple):
    s: int  # PYEVALB's names for the start and the end of a half-open span
    e: int


class _Bracket(NamedTuple):
    span: _Span
    label: str
    repetition: int  # 0 for the first bracket with this label and span, 1 for the second, ...


# PYEVALB compares every bracket with every other: four seconds for this many pairs. EVALB accepts
# 200 brackets a tree.
_MAX_PAIRS = 40_000_000
_IN_GOLD, _IN_TEST = "gold tree: ", "test tree: "

# PYEVALB divides by the number of brackets. This bracket is in every tree, crosses no other, and is
# subtracted from every count.
_SENTINEL = _Bracket(_Span(-1, -1), "", 0)


class _Prepared(NamedTuple):
    """The parts of a tree that PYEVALB's scorer reads, under its names."""

    non_terminal_labels: list[_Bracket]
    poss: list[str]
    sentence: list[str]


class BracketCounts:
    """Figures that follow from the numbers of matched, gold and test brackets."""

    __slots__ = ()

    matched: int
    gold: int
    test: int

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of matched, gold and test brackets."""
        return self.matched, self.gold, self.test

    @property
    def recall(self) -> float:
        """Return the percentage of gold brackets found; 0 without gold brackets, as EVALB prints
        it."""
        return percentage(self.matched, self.gold)

    @property
    def precision(self) -> float:
        """Return the percentage of test brackets that are right; 0 without test brackets."""
        return percentage(self.matched, self.test)


@dataclass(frozen=True, slots=True)
class SentenceScore(BracketCounts):
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
    def f1(self) -> float:
        """Return F1 in percent; 100 for a valid sentence in which neither tree has a bracket."""
        return _sentence_f1(self.matched, self.gold, self.test) if self.status == "valid" else 0.0

    @property
    def blames_gold(self) -> bool:
        """Return whether only the gold tree is at fault."""
        return self.reason.startswith(_IN_GOLD) and _IN_TEST not in self.reason


class Gold:
    """A gold tree, read once, to compare with any number of trees or lines."""

    def __init__(self, line: str, parameters: Parameters) -> None:
        self._parameters = parameters
        self._line = read_line(line, parameters)
        self._prepared = _prepare(self._line, parameters)

    def score(self, tree: str | Tree) -> SentenceScore:
        """Return all figures of EVALB's row for this pair of trees."""
        pair = self._pair(tree)
        if isinstance(pair, SentenceScore):
            return pair
        result = _scorer().score_trees(*pair)
        return SentenceScore(
            status="valid",
            length=self._line.length,
            matched=result.matched_brackets - 1,
            gold=result.gold_brackets - 1,
            test=result.test_brackets - 1,
            crossing=result.cross_brackets,
            words=result.words,
            correct_tags=result.correct_tags,
        )

    def f1(self, tree: str | Tree) -> float | None:
        """Return the F1 of ``score``, without the other figures; None if the pair is not
        ``valid``."""
        pair = self._pair(tree)
        if isinstance(pair, SentenceScore):
            return None
        gold, test = (prepared.non_terminal_labels for prepared in pair)
        return _sentence_f1(len(set(gold) & set(test)) - 1, len(gold) - 1, len(test) - 1)

    def oracle(self, trees: Iterable[str | Tree]) -> int:
        """Return the index of the tree with the best F1; ties go to the first; 0 if none is valid.

        Raises InputError when there are no trees to choose from.
        """
        scores = [-1.0 if score is None else score for score in map(self.f1, trees)]
        if not scores:
            raise InputError("the oracle needs at least one tree")
        return scores.index(max(scores))

    def _text(self, tree: str | Tree) -> str:
        return tree if isinstance(tree, str) else tree.to_string()

    def _pair(self, tree: str | Tree) -> tuple[_Prepared, _Prepared] | SentenceScore:
        """Return both trees prepared, or a score with the reason why they cannot be compared."""
        gold, test = self._line, read_line(self._text(tree), self._parameters)
        prepared = self._prepared
        if not test.words:
            return self._unscored("skip", "no words left in the test tree", test.problem)
        if gold.problem or test.problem:
            return self._unscored(
                "error",
                gold.problem and _IN_GOLD + gold.problem,
                test.problem and _IN_TEST + test.problem,
            )
        if len(gold.words) != len(test.words):
            gold, test = repair_quotes(gold, test, self._parameters)
            prepared = _prepare(gold, self._parameters)
            if len(gold.words) != len(test.words):
                counts = f"{len(gold.words)} gold words, {len(test.words)} test words"
                if gold.length == test.length:
                    counts += ": one is punctuation in only one tree (see --gold-tags)"
                return self._unscored("error", counts)
        candidate = _prepare(test, self._parameters)
        if prepared.sentence != candidate.sentence:
            standard = zip(prepared.sentence, candidate.sentence, strict=True)
            place = next(i for i, (word, other) in enumerate(standard) if word != other)
            word, other = gold.words[place], test.words[place]
            words = f"gold word {word!r}, test word {other!r}"
            if unicodedata.normalize("NFC", word) == unicodedata.normalize("NFC", other):
                words += ", which is the same in another Unicode form: convert one file (NFC, NFD)"
            return self._unscored("error", words)
        brackets = len(prepared.non_terminal_labels), len(candidate.non_terminal_labels)
        if prod(brackets) > _MAX_PAIRS:
            return self._unscored("error", f"{max(brackets)} brackets are too many to compare")
        return prepared, candidate

    def _unscored(self, status: Literal["skip", "error"], *reasons: str | None) -> SentenceScore:
        return SentenceScore(status, self._line.length, "; ".join(filter(None, reasons)))


def score_pair(gold_line: str, test_line: str, parameters: Parameters) -> SentenceScore:
    """Score one test tree; to score several against the same gold tree, keep a ``Gold``.

    >>> score_pair("(NP (DT a) (NN cat))", "(NP (DT a) (NN cat))", Parameters.collins()).f1
    100.0
    """
    return Gold(gold_line, parameters).score(test_line)


def _prepare(line: EvalbLine, parameters: Parameters) -> _Prepared:
    brackets = [_SENTINEL]
    seen: Counter[tuple[int, int, str]] = Counter()
    for start, end, label in line.brackets:
        if label is None or start == end:
            continue
        standard = parameters.bracket_label(label)
        if standard is not None:
            key = start, end, standard
            brackets.append(_Bracket(_Span(start, end), standard, seen[key]))
            seen[key] += 1
    labels, words = parameters.standard_labels, parameters.standard_words
    return _Prepared(
        brackets,
        [labels.get(tag, tag) for tag in line.tags],
        [words.get(word, word) for word in line.words],
    )


def percentage(part: int, whole: int) -> float:
    """Return a percentage; 0 if the whole is 0, as in EVALB."""
    return 100 * part / whole if whole else 0.0


def f1(matched: Numbers, gold: Numbers, test: Numbers) -> Numbers:
    """Return F1 in percent from numbers of brackets, or arrays of such numbers; 0 without brackets.

    >>> f1(3, 4, 3)
    85.71428571428571
    """
    brackets = gold + test
    percent: Numbers = 200 * matched / (brackets + (brackets == 0))
    return percent


def _sentence_f1(matched: int, gold: int, test: int) -> float:
    return f1(matched, gold, test) if gold + test else 100.0


class _StandIn(ModuleType):
    """A stand-in for a module, imported as soon as one of its attributes is used."""

    def __getattr__(self, item: str) -> Any:
        return getattr(importlib.import_module(self.__name__), item)


@cache
def _scorer() -> Any:
    """Return PYEVALB's scorer, loaded when the first sentence is scored.

    PYEVALB imports pytablewriter, some 260 modules, for a table that is not needed here.
    """
    name = "pytablewriter"
    if name in sys.modules:
        from PYEVALB.scorer import Scorer

        return Scorer()
    sys.modules[name] = _StandIn(name)
    try:
        from PYEVALB.scorer import Scorer
    finally:
        del sys.modules[name]
    return Scorer()
