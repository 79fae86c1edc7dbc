"""BLLIP's and Choe & Charniak's lists, which begin with the number of their trees.

BLLIP's header also has an id. ``parseIt -N50`` prints a tab before the id and a blank line after
each list, with ``-P`` trees over several lines; the Python interface prints a space and no blank
line::

    2   0                                   number of candidates, sentence id
    -14.5159                                base-2 log-probability, after a reranker its score first
    (S1 (NP (NN Introduction)))
    -22.7244
    (S1 (INTJ (NN Introduction)))

Choe & Charniak's header has no id. In scored output the line before each tree has the negative
log-likelihood of the linearised tree under a language model, in nats.

A candidate whose score cannot be used keeps its tree and has the score None, like one without a
score line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from reranker.errors import InputError
from reranker.nbest.data import NBest, RawCandidate, RawList
from reranker.nbest.dialects.recognition import COUNTED_HEADER, numbers
from reranker.nbest.dialects.registry import Dialect
from reranker.nbest.guess import not_nbest
from reranker.nbest.lines import NumberedLines
from reranker.nbest.words import printable
from reranker.trees.splitting import TreeLines

# Surplus candidates reported one by one beyond the number in a header.
MAX_SURPLUS = 1_000


def read_counted(file: NumberedLines) -> Iterator[RawList]:
    """Yield the lists of a file, one for every header. Lists without an id are counted from 0.

    The first unusable score is reported. Raises InputError if the file has no list, or has lines
    that are not part of a list.
    """
    current: _List | None = None
    lists = number = 0
    first_stray: tuple[int, str] | None = None

    def finish(last_line: int, damage: str | None = None) -> RawList:
        assert current is not None
        raw = current.finish(last_line, damage)
        if score := current.unusable:
            file.report_score(score.line, score.text, current.expected_score)
        return raw

    for number, line in file:
        text = line.strip()
        header = COUNTED_HEADER.fullmatch(text) if text[:1].isdigit() else None
        if header and (current is None or current.ends_before(header)):
            if current:
                yield finish(number - 1)
            current = _List(header, lists, number)
            lists += 1
        elif current:
            current.add(number, line, text)
            # Prose can look like a header ("12 monkeys"), but two more lines of it, with no tree
            # seen so far, cannot be an n-best list.
            if lists == 1 and not current.has_tree_line and text and not numbers(text):
                if first_stray:
                    raise not_nbest(file.name, file.head, *first_stray, "a score or a tree")
                first_stray = number, text
        elif text:
            expected = "'N<TAB>id' or 'N' before N trees"
            raise not_nbest(file.name, file.head, number, text, expected)
    if current is None:
        reason = f" ({file.damage})" if file.damage else ""
        raise InputError(f"{file.name} has no n-best lists{reason}")
    yield finish(number, file.damage)


class _Score(NamedTuple):
    """A line in the place of a score."""

    line: int
    text: str
    numbers: list[float]


class _List:
    """The list being read; it takes lines and returns a RawList."""

    def __init__(self, header: re.Match[str], position: int, line: int) -> None:
        promised, _tab, tabbed_id, spaced_id = header.groups()
        self._id = tabbed_id or spaced_id
        self._name = str(position) if self._id is None else printable(self._id)
        self._line = line
        self._promised = int(promised)
        self._candidates: list[RawCandidate] = []
        self._unlisted = 0
        self._tree = TreeLines()
        self._follows_blank = False
        self._score: _Score | None = None  # of the next tree
        # A line before a tree is then a score, whatever it looks like.
        self._has_scores = self._id is not None
        self.unusable: _Score | None = None  # the first score that cannot be used
        self.has_tree_line = False

    @property
    def _is_full(self) -> bool:
        return len(self._candidates) >= self._promised

    def ends_before(self, header: re.Match[str]) -> bool:
        """Return whether a line that looks like a header is one, and not a score of this list."""
        _promised, tab, _tabbed_id, spaced_id = header.groups()
        if self._tree.is_open:
            if not tab and _has_bracket(header[0]):
                return False
            self._end_tree()
        if tab or self._is_full:
            return True
        if spaced_id:
            # It may be a reranker's and a parser's score, but a parser's score is hardly ever a
            # whole number and never positive.
            return spaced_id.isdigit() or not numbers(spaced_id)
        if self._id is not None:
            return False
        score_is_due = not self._score and (self._has_scores or not self._candidates)
        return self._follows_blank or not score_is_due

    def add(self, number: int, line: str, text: str) -> None:
        """Add a line that is not a header; ``text`` is the line without surrounding space."""
        if self._tree.is_open and not (_has_bracket(text) and not self._tree.ends_before(line)):
            self._end_tree()
        if self._tree.is_open or text[:1] == "(":
            self.has_tree_line = True
            if self._tree.add(number, text):
                self._end_tree()
        elif text:
            self._add_other(number, text)
        self._follows_blank = not text

    def finish(self, last_line: int, damage: str | None = None) -> RawList:
        """Return the list up to ``last_line``; its last entries report missing and unlisted
        candidates."""
        if self._tree.is_open:
            self._end_tree()
        if self._score and self._is_full:
            self._reject(self._score.line, "surplus", "a score without a tree", self._score.text)
        candidates, count = self._candidates, len(self._candidates)
        if self._unlisted:
            message = f"{self._unlisted} more beyond the {self._promised} candidates promised"
            candidates.append(RawCandidate(last_line, "", problem=("surplus", message)))
        reasons = [damage] if damage else []
        if count < self._promised:
            reasons.append(f"{count} of {self._promised} candidates are there")
        if reasons:
            message = "the list is cut short: " + "; ".join(reasons)
            candidates.append(RawCandidate(last_line, "", problem=("truncated", message)))
        return RawList(self._name, self._line, candidates)

    @property
    def expected_score(self) -> str:
        """Return the format's name and the content of its score lines."""
        if self._id is None:
            return "choe-charniak a score line has one number, 0 or more"
        return "bllip a score line has one or two numbers"

    def _end_tree(self) -> None:
        line, text = self._tree.take()
        if self._is_full:
            message = f"the header promises {self._promised} candidates only"
            self._reject(line, "surplus", message, text)
            return
        score, self._score = self._score, None
        nats = self._nats(score.numbers) if score else None
        if score and nats is None:
            self.unusable = self.unusable or score
        self._put(RawCandidate(line, text, nats))

    def _nats(self, numbers: list[float]) -> float | None:
        """Return the log-probability on a score line, or None if the score is unusable."""
        if not numbers or not math.isfinite(numbers[-1]):
            return None
        if self._id is not None:
            return numbers[-1] * math.log(2)
        return 0.0 - numbers[0] if len(numbers) == 1 and numbers[0] >= 0 else None

    def _add_other(self, number: int, text: str) -> None:
        """Add a line that is neither tree nor header: a score, or a broken tree."""
        score, previous = _Score(number, text, numbers(text)), self._score
        if not score.numbers and (previous or not self._has_scores):
            self._reject(number, "not-a-tree", "a tree starts with '('", text)
            return
        if previous and previous.numbers:
            self._reject(previous.line, "empty", "a score without a tree", previous.text)
        elif previous:
            self.unusable = self.unusable or previous  # a stray line stood before the score
        self._score, self._has_scores = score, True

    def _reject(self, line: int, code: str, message: str, text: str) -> None:
        self._put(RawCandidate(line, text, problem=(code, message)))
        self._score = None

    def _put(self, candidate: RawCandidate) -> None:
        if len(self._candidates) < self._promised + MAX_SURPLUS:
            self._candidates.append(candidate)
        else:
            self._unlisted += 1


def _has_bracket(text: str) -> bool:
    return "(" in text or ")" in text


def _text(nbest: NBest, header: str, convert: Callable[[float], float]) -> str:
    """Return the text of a list; ``convert`` turns nats into the file's scores."""
    lines = [f"{len(nbest.candidates)}{header}"]
    is_scored = any(candidate.parser_score is not None for candidate in nbest.candidates)
    for candidate in nbest.candidates:
        score = candidate.parser_score
        if is_scored:
            lines.append("nan" if score is None else f"{convert(score):.15g}")
        lines.append(candidate.bracketed)
    return "\n".join([*lines, "", ""])


def _write_bllip(nbest: NBest, position: int) -> str:
    name = "_".join(nbest.id.split()) or "x"
    return _text(nbest, f"\t{name}", lambda score: score / math.log(2))


BLLIP = Dialect(
    read=read_counted,
    write=_write_bllip,
)
CHOE_CHARNIAK = Dialect(
    read=read_counted,
    write=lambda nbest, position: _text(nbest, "", lambda score: 0.0 - score),
)
