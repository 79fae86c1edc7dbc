"""Lists that begin with the number of their trees, told apart list by list.

BLLIP/Charniak, from the command line (a tab, a blank line after each list, with ``-P`` trees over
several lines), from Python or from the reranker (a space, no blank line)::

    2   0                                   number of candidates, sentence id
    -14.5159                                base-2 log-probability, after a reranker its score first
    (S1 (NP (NN Introduction)))
    -22.7244
    (S1 (INTJ (NN Introduction)))

Choe & Charniak: a number of candidates without an id, their trees, and in scored output each
tree's negative log-likelihood on the line before it.

A score becomes a log-probability in nats; a Choe & Charniak loss is one already, but for its sign
(a language model's, of the linearised tree; a negative one cannot be a loss). A score that is not
usable is no reason to lose a tree: the candidate then has the score None, as one without a score
line has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from reranker.errors import InputError
from reranker.files.text import MAX_LINE
from reranker.nbest.data import RawCandidate, RawList
from reranker.nbest.faithful import printable
from reranker.nbest.lines import NumberedLines
from reranker.trees.splitting import open_brackets, starts_new_tree

# Rejected candidates reported one by one beyond the number a header promises.
MAX_SURPLUS = 1_000

HEADER = re.compile(r"([0-9]{1,9})(?:(\t)\s*(.+)| +(\S+))?")


def read_counted(file: NumberedLines, warn: Callable[[str], None]) -> Iterator[RawList]:
    """The lists of a file, in order; one for every header. Lists without an id are counted from 0.

    ``warn`` is told once if scores cannot be used. Raises InputError if the file holds no list or
    something else than lists.
    """
    current: _List | None = None
    lists = 0
    has_warned = False
    number = 0
    strange: tuple[int, str] | None = None
    for number, line in file:
        text = line.strip()
        header = HEADER.fullmatch(text) if text[:1].isdigit() else None
        if header and (current is None or current.ends_before(header)):
            if current:
                yield current.finish(number - 1)
                has_warned = has_warned or current.warn(file.name, warn)
            current = _List(header, lists, number)
            lists += 1
        elif current:
            current.add(number, line, text)
            # Prose can look like a header ("12 monkeys"), but two more lines of it, with no tree
            # seen so far, cannot be an n-best list.
            if lists == 1 and not current.has_tree_line and text and not _numbers(text):
                if strange:
                    raise _not_nbest(file.name, *strange, "a score or a tree")
                strange = number, text
        elif text:
            raise _not_nbest(file.name, number, text, "'N<TAB>id' or 'N' before N trees")
    if current is None:
        reason = f" ({file.damage})" if file.damage else ""
        raise InputError(f"{file.name} holds no n-best lists{reason}")
    yield current.finish(number, file.damage)
    if not has_warned:
        current.warn(file.name, warn)


def _not_nbest(name: str, line: int, text: str, expected: str) -> InputError:
    found = printable(text[:60])
    return InputError(f"{name}:{line}: not an n-best list: expected {expected}, found {found!r}")


class _List:
    """The list being read: lines go in, a RawList comes out."""

    def __init__(self, header: re.Match[str], position: int, line: int) -> None:
        promised, _tab, tabbed_id, spaced_id = header.groups()
        self._promised = int(promised)
        self._id = tabbed_id or spaced_id
        self._position = position
        self._line = line
        self._found: list[RawCandidate] = []
        self._unlisted = 0
        self._is_scored = self._id is not None
        self._score: tuple[int, str, list[float]] | None = None
        self._unusable_score: tuple[int, str] | None = None
        self._tree_lines: list[str] = []
        self._tree_size = 0
        self._tree_line = 0
        self._open_brackets = 0
        self._follows_blank = False
        self.has_tree_line = False

    def ends_before(self, header: re.Match[str]) -> bool:
        """Whether what looks like a header is one, and not a score of this list."""
        _promised, tab, _tabbed_id, spaced_id = header.groups()
        if self._tree_lines:
            if not tab and _has_bracket(header[0]):
                return False
            self._end_tree()
        if tab or len(self._found) >= self._promised:
            return True
        if spaced_id:
            # A reranker's and a parser's score; the parser's is hardly ever a whole number and
            # never a positive one.
            return spaced_id.isdigit() or not _numbers(spaced_id)
        if self._id is not None:
            return False
        score_is_due = self._score is None and (self._is_scored or not self._found)
        return self._follows_blank or not score_is_due

    def add(self, number: int, line: str, text: str) -> None:
        """Take in a line that is no header; ``text`` is the line without the space around it."""
        if self._tree_lines:
            if _has_bracket(text) and not starts_new_tree(line, self._tree_lines[0]):
                self._continue_tree(text)
                return
            self._end_tree()
        if text[:1] == "(":
            self.has_tree_line = True
            self._tree_line = number
            self._open_brackets = open_brackets(text)
            if self._open_brackets > 0:
                self._tree_lines, self._tree_size = [text], len(text)
            else:
                self._add_candidate(text)
        elif text:
            self._add_score(number, text)
        self._follows_blank = not text

    def finish(self, last_line: int, damage: str | None = None) -> RawList:
        """The list as it stands, now that ``last_line`` was its last."""
        if self._tree_lines:
            self._end_tree()
        there = len(self._found)
        missing = self._promised - there
        if self._score and missing <= 0:
            line, text, _ = self._score
            self._reject(line, "surplus", "a score without a tree", text)
        if self._unlisted:
            message = f"{self._unlisted} more beyond the {self._promised} candidates promised"
            self._found.append(RawCandidate(last_line, "", problem=("surplus", message)))
        if missing > 0 or damage:
            reasons = [damage] if damage else []
            if missing > 0:
                reasons.append(f"{there} of {self._promised} candidates are there")
            message = "the list is cut short: " + "; ".join(reasons)
            self._found.append(RawCandidate(last_line, "", problem=("truncated", message)))
        name = str(self._position) if self._id is None else printable(self._id)
        return RawList(name, self._line, self._found)

    def warn(self, file_name: str, warn: Callable[[str], None]) -> bool:
        """Report the list's first unusable score, if it has one; whether it had."""
        if self._unusable_score is None:
            return False
        line, text = self._unusable_score
        warn(
            f"{file_name}:{line}: not a usable score: {printable(text)[:60]!r}; "
            "candidates with such a score are kept without one"
        )
        return True

    def _continue_tree(self, text: str) -> None:
        self._open_brackets += open_brackets(text)
        # Beyond the limit, text is only counted.
        if self._tree_size <= MAX_LINE:
            self._tree_lines.append(text)
            self._tree_size += len(text) + 1
        if self._open_brackets <= 0:
            self._end_tree()

    def _end_tree(self) -> None:
        text = " ".join(self._tree_lines)
        self._tree_lines = []
        self._add_candidate(text)

    def _add_score(self, number: int, text: str) -> None:
        """Take in a line that is neither tree nor header: a score, or a broken tree."""
        numbers = _numbers(text)
        if self._score is None:
            if numbers or self._is_scored:
                self._score = number, text, numbers
                self._is_scored = True
                return
        elif numbers:
            line, score_text, is_usable = self._score
            if is_usable:
                self._reject(line, "empty", "a score without a tree", score_text)
            else:
                # A stray line stood before the score.
                self._unusable_score = self._unusable_score or (line, score_text)
            self._score = number, text, numbers
            return
        self._reject(number, "not-a-tree", "a tree starts with '('", text)

    def _add_candidate(self, text: str) -> None:
        line = self._tree_line
        if len(self._found) >= self._promised:
            self._reject(
                line, "surplus", f"the header promises {self._promised} candidates only", text
            )
            return
        score = self._nats(*self._score) if self._score else None
        self._found.append(RawCandidate(line, text, score))
        self._score = None

    def _nats(self, line: int, text: str, numbers: list[float]) -> float | None:
        """The log-probability in nats, or None where a number cannot be one."""
        if numbers and math.isfinite(numbers[-1]):
            if self._id is not None:
                return numbers[-1] * math.log(2)
            if len(numbers) == 1 and numbers[0] >= 0:
                return 0.0 - numbers[0]
        self._unusable_score = self._unusable_score or (line, text)
        return None

    def _reject(self, line: int, code: str, message: str, text: str) -> None:
        if len(self._found) < self._promised + MAX_SURPLUS:
            self._found.append(RawCandidate(line, text, problem=(code, message)))
        else:
            self._unlisted += 1
        self._score = None


def _numbers(text: str) -> list[float]:
    """The one or two numbers that make up a score line, or nothing."""
    columns = text.split(maxsplit=2)
    try:
        return [float(column) for column in columns] if len(columns) <= 2 else []
    except ValueError:
        return []


def _has_bracket(text: str) -> bool:
    return "(" in text or ")" in text
