"""Lists that begin with the number of their trees: BLLIP's and Choe & Charniak's, told apart list
by list, by whether the header has an id.

A score becomes a log-probability in nats; a Choe & Charniak loss is one already, but for its sign,
and a negative one is not usable. A score that is not usable is no reason to lose a tree: the
candidate then has the score None, as one without a score line has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from reranker.errors import InputError
from reranker.nbest.data import NBest, RawCandidate, RawList
from reranker.nbest.dialects.candidate_text import bracketed
from reranker.nbest.dialects.tree_lines import TreeLines
from reranker.nbest.faithful import printable
from reranker.nbest.guess import not_nbest
from reranker.nbest.lines import NumberedLines

# Rejected candidates reported one by one beyond the number a header promises.
MAX_SURPLUS = 1_000

HEADER = re.compile(r"([0-9]{1,9})(?:(\t)\s*(.+)| +(\S+))?")


def counted_text(nbest: NBest, header: str, convert: Callable[[float], float]) -> str:
    """The text of a list; ``convert`` makes the file's scores of nats."""
    lines = [f"{len(nbest.candidates)}{header}"]
    is_scored = any(candidate.parser_score is not None for candidate in nbest.candidates)
    for candidate in nbest.candidates:
        score = candidate.parser_score
        if is_scored:
            lines.append("nan" if score is None else f"{convert(score):.15g}")
        lines.append(bracketed(candidate))
    return "\n".join([*lines, "", ""])


def read_counted(file: NumberedLines) -> Iterator[RawList]:
    """The lists of a file, in order; one for every header. Lists without an id are counted from 0.

    ``file.warn`` gets the first score that cannot be used. Raises InputError if the file has no
    list or something else than lists.
    """
    current: _List | None = None
    lists = number = 0
    has_warned = False
    first_stray: tuple[int, str] | None = None

    def finish(last_line: int, damage: str | None = None) -> RawList:
        nonlocal has_warned
        assert current is not None
        raw = current.finish(last_line, damage)
        if not has_warned and (complaint := current.scores.complaint(file.name)):
            file.warn(complaint)
            has_warned = True
        return raw

    for number, line in file:
        text = line.strip()
        header = HEADER.fullmatch(text) if text[:1].isdigit() else None
        if header and (current is None or current.ends_before(header)):
            if current:
                yield finish(number - 1)
            current = _List(header, lists, number)
            lists += 1
        elif current:
            current.add(number, line, text)
            # Prose can look like a header ("12 monkeys"), but two more lines of it, with no tree
            # seen so far, cannot be an n-best list.
            if lists == 1 and not current.has_tree_line and text and not _numbers(text):
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


class _List:
    """The list being read: lines go in, a RawList comes out."""

    def __init__(self, header: re.Match[str], position: int, line: int) -> None:
        promised, _tab, tabbed_id, spaced_id = header.groups()
        self._id = tabbed_id or spaced_id
        self._name = str(position) if self._id is None else printable(self._id)
        self._line = line
        self._places = _Places(int(promised))
        self._tree = TreeLines()
        self._follows_blank = False
        self.scores = _Scores(has_id=self._id is not None)
        self.has_tree_line = False

    def ends_before(self, header: re.Match[str]) -> bool:
        """Whether what looks like a header is one, and not a score of this list."""
        _promised, tab, _tabbed_id, spaced_id = header.groups()
        if self._tree.is_open:
            if not tab and _has_bracket(header[0]):
                return False
            self._end_tree()
        if tab or self._places.are_full:
            return True
        if spaced_id:
            # A reranker's and a parser's score; the parser's is hardly ever a whole number and
            # never a positive one.
            return spaced_id.isdigit() or not _numbers(spaced_id)
        if self._id is not None:
            return False
        score_is_due = not self.scores.pending and (self.scores.are_given or self._places.are_empty)
        return self._follows_blank or not score_is_due

    def add(self, number: int, line: str, text: str) -> None:
        """Take in a line that is no header; ``text`` is the line without the space around it."""
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
        """The list as it stands, now that ``last_line`` was its last."""
        if self._tree.is_open:
            self._end_tree()
        if self.scores.pending and self._places.are_full:
            line, text, _ = self.scores.pending
            self._reject(line, "surplus", "a score without a tree", text)
        return RawList(self._name, self._line, self._places.finish(last_line, damage))

    def _end_tree(self) -> None:
        line, text = self._tree.start, self._tree.take()
        if self._places.are_full:
            message = f"the header promises {self._places.promised} candidates only"
            self._reject(line, "surplus", message, text)
        else:
            self._places.add(RawCandidate(line, text, self.scores.take()))

    def _add_other(self, number: int, text: str) -> None:
        """Take in a line that is neither tree nor header: a score, or a broken tree."""
        score = _Score(number, text, _numbers(text))
        pending = self.scores.pending
        if pending is None and (score.numbers or self.scores.are_given):
            self.scores.put(score)
        elif pending and score.numbers:
            if pending.numbers:
                self._reject(pending.line, "empty", "a score without a tree", pending.text)
            else:
                self.scores.note_unusable(pending)  # a stray line stood before the score
            self.scores.put(score)
        else:
            self._reject(number, "not-a-tree", "a tree starts with '('", text)

    def _reject(self, line: int, code: str, message: str, text: str) -> None:
        self._places.add(RawCandidate(line, text, problem=(code, message)))
        self.scores.pending = None


class _Places:
    """The candidates of a list so far, and those its header promises."""

    def __init__(self, promised: int) -> None:
        self.promised = promised
        self._candidates: list[RawCandidate] = []
        self._unlisted = 0

    @property
    def are_empty(self) -> bool:
        return not self._candidates

    @property
    def are_full(self) -> bool:
        return len(self._candidates) >= self.promised

    def add(self, candidate: RawCandidate) -> None:
        """Take in a candidate; far beyond the promised number, they are only counted."""
        if len(self._candidates) < self.promised + MAX_SURPLUS:
            self._candidates.append(candidate)
        else:
            self._unlisted += 1

    def finish(self, last_line: int, damage: str | None) -> list[RawCandidate]:
        """The candidates, the last of them saying what is missing or was not listed."""
        count = len(self._candidates)
        if self._unlisted:
            message = f"{self._unlisted} more beyond the {self.promised} candidates promised"
            self._candidates.append(RawCandidate(last_line, "", problem=("surplus", message)))
        if count < self.promised or damage:
            reasons = [damage] if damage else []
            if count < self.promised:
                reasons.append(f"{count} of {self.promised} candidates are there")
            message = "the list is cut short: " + "; ".join(reasons)
            self._candidates.append(RawCandidate(last_line, "", problem=("truncated", message)))
        return self._candidates


class _Score(NamedTuple):
    """A line where a score should be."""

    line: int
    text: str
    numbers: list[float]


class _Scores:
    """The score lines of a list, each waiting for its tree."""

    def __init__(self, has_id: bool) -> None:
        self._has_id = has_id
        self._unusable: _Score | None = None
        self.are_given = has_id
        """Whether a line before a tree is a score, whatever it looks like."""
        self.pending: _Score | None = None

    def put(self, score: _Score) -> None:
        """Keep the score of the next tree."""
        self.pending = score
        self.are_given = True

    def take(self) -> float | None:
        """The next tree's log-probability in nats, or None."""
        score, self.pending = self.pending, None
        if score is None:
            return None
        numbers = score.numbers
        if numbers and math.isfinite(numbers[-1]):
            if self._has_id:
                return numbers[-1] * math.log(2)
            if len(numbers) == 1 and numbers[0] >= 0:
                return 0.0 - numbers[0]
        self.note_unusable(score)
        return None

    def note_unusable(self, score: _Score) -> None:
        self._unusable = self._unusable or score

    def complaint(self, file_name: str) -> str | None:
        """What to say about the first score that cannot be used."""
        if self._unusable is None:
            return None
        expected = "one or two numbers" if self._has_id else "one number, 0 or more"
        return (
            f"{file_name}:{self._unusable.line}: not a usable score: "
            f"{printable(self._unusable.text)[:60]!r}; in format "
            f"{'bllip' if self._has_id else 'choe-charniak'} a score line has {expected}; "
            "candidates with such a score are kept without one"
        )


def _numbers(text: str) -> list[float]:
    """The one or two numbers that make up a score line, or nothing."""
    columns = text.split(maxsplit=2)
    try:
        return [float(column) for column in columns] if len(columns) <= 2 else []
    except ValueError:
        return []


def _has_bracket(text: str) -> bool:
    return "(" in text or ")" in text
