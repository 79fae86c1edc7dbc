"""The forms of matches: lines, a table for a spreadsheet, JSON, and counts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from reranker.errors import InputError
from reranker.files.table import delimited, one_line
from reranker.files.visible import visible
from reranker.outputs.form import Form
from reranker.plugins.grep.many import PLACE, Found
from reranker.trees.tree import Tree
from reranker.work.matches import Match, Words
from reranker.work.parses import Parses

_MATCH, _PLACE, _PLAIN = "\033[1;31m", "\033[35m", "\033[0m"


class LikelyMatches(Form[Found]):
    """Text about matches whose probability is at least ``least`` or not known. Subclasses define
    ``kept``."""

    is_table = True
    has_names = False
    """True if the text has the nodes for which names in a pattern stand."""

    def __init__(self, least: float) -> None:
        self.least = least
        self.left_out = 0
        """The number of less probable matches."""

    def is_likely(self, match: Match) -> bool:
        return match.probability is None or match.probability >= self.least

    def plain(self, answer: Found) -> tuple[Any, int]:
        """Return plain data about a sentence's likely matches, and the number of the others."""
        likely, left_out = [], 0
        for name, found in answer.matches:
            likely.append((name, [*filter(self.is_likely, found)]))
            left_out += len(found) - len(likely[-1][1])
        return self.kept(answer, likely), left_out

    def kept(self, answer: Found, likely: list[tuple[str, list[Match]]]) -> Any:
        """Return plain data about the likely matches of each pattern."""
        raise AssertionError(f"{type(self).__name__} has no kept")

    def line(self, answer: tuple[Any, int], number: int) -> str:
        """Count the matches that are left out; return the text of a sentence."""
        kept, left_out = answer
        self.left_out += left_out
        return self.text(kept)

    def text(self, kept: Any) -> str:
        """Return the text of the data that ``kept`` has returned."""
        rows: str = kept
        return rows


class Counts(LikelyMatches):
    """The numbers of sentences, matches and expected matches of each file, and their sums if there
    are several files."""

    def __init__(self, least: float, *, has_commas: bool) -> None:
        super().__init__(least)
        self._has_commas = has_commas
        self._file = ""
        self._rows: list[list[float]] = []  # sentences, matches and expected ones of each file

    def begin(self) -> str:
        return self._row("file", "sentences", "matches", "expected")

    def kept(self, answer: Found, likely: list[tuple[str, list[Match]]]) -> tuple[str, int, float]:
        """Return the numbers of a sentence."""
        ((_, found),) = answer.matches
        expected = sum(1.0 if each.probability is None else each.probability for each in found)
        return answer.parses.file, len(likely[0][1]), expected

    def text(self, kept: tuple[str, int, float]) -> str:
        """Add a sentence. If it begins a file, return the row of the file before."""
        file, likely, expected = kept
        finished = ""
        if not self._rows or file != self._file:
            finished = self._last()
            self._file = file
            self._rows.append([0, 0, 0.0])
        last = self._rows[-1]
        last[:] = last[0] + 1, last[1] + likely, last[2] + expected
        return finished

    def end(self) -> str:
        """Return the row of the last file, and the sums of several."""
        last = self._last()
        if len(self._rows) > 1:
            sentences, likely, expected = map(sum, zip(*self._rows, strict=True))
            last += self._row("all", sentences, likely, f"{expected:.2f}")
        return last

    def _last(self) -> str:
        if not self._rows:
            return ""
        sentences, likely, expected = self._rows[-1]
        return self._row(self._file, sentences, likely, f"{expected:.2f}")

    def _row(self, *cells: object) -> str:
        return delimited([cells], with_commas=self._has_commas)


class Matrix(LikelyMatches):
    """A table of the number of matches of each pattern in each sentence."""

    def __init__(self, least: float, names: Iterable[str], *, has_commas: bool) -> None:
        super().__init__(least)
        self._names, self._has_commas = names, has_commas

    def begin(self) -> str:
        return delimited([[*PLACE, *self._names]], with_commas=self._has_commas)

    def kept(self, answer: Found, likely: list[tuple[str, list[Match]]]) -> str:
        """Return the row of a sentence."""
        parses = answer.parses
        row = [parses.file, parses.line, parses.id, *(len(found) for _, found in likely)]
        return delimited([row], with_commas=self._has_commas)


class Lines(LikelyMatches):
    """A line for each match, for people and for other programs."""

    has_names = True

    def __init__(self, least: float, *, in_colour: bool) -> None:
        super().__init__(least)
        self.is_painted = in_colour

    def kept(self, answer: Found, likely: list[tuple[str, list[Match]]]) -> str:
        """Return the lines of a sentence."""
        ((_, found),) = likely
        words = Words.of(answer.parses) if found else None
        return "".join(self._line(answer.parses, words, each) for each in found if words)

    def _line(self, parses: Parses, words: Words, match: Match) -> str:
        before, inside, after = _cut(words, match)
        place, tree = one_line(f"{parses.file}:{parses.line}"), _text(match)
        for name, nodes in match.named.items():
            tree += f"\t{name}={_texts(filter(self.is_likely, nodes))}"
        if self.is_painted:
            place, before, inside, after, tree = map(visible, (place, before, inside, after, tree))
            place, inside = f"{_PLACE}{place}{_PLAIN}", f"{_MATCH}{inside}{_PLAIN}"
        probability = "-" if match.probability is None else f"{match.probability:.2f}"
        return "\t".join((place, probability, before, inside, after, tree)) + "\n"


class Spreadsheet(LikelyMatches):
    """A table with a row for each match, and commas between its columns."""

    has_names = True
    _COLUMNS = (*PLACE, "probability", "before", "match", "after", "tree")

    def __init__(self, least: float, names: Iterable[str]) -> None:
        """Take the names in the pattern. Raises InputError for the name of another column."""
        super().__init__(least)
        self._names = tuple(names)
        for name in self._names:
            if name in self._COLUMNS:
                raise InputError(f"={name} in the pattern would be a second column {name!r}")

    def begin(self) -> str:
        return delimited([(*self._COLUMNS, *self._names)], with_commas=True)

    def kept(self, answer: Found, likely: list[tuple[str, list[Match]]]) -> str:
        """Return the rows of a sentence."""
        parses = answer.parses
        ((_, found),) = likely
        words = Words.of(parses) if found else None
        rows = [
            (
                *(parses.file, parses.line, parses.id, _rounded(match), *_cut(words, match)),
                _text(match),
                *(
                    _texts(filter(self.is_likely, match.named.get(name, ())))
                    for name in self._names
                ),
            )
            for match in found
            if words
        ]
        return delimited(rows, with_commas=True)


class Objects(LikelyMatches):
    """A JSON object for each match."""

    has_names = True

    def kept(self, answer: Found, likely: list[tuple[str, list[Match]]]) -> str:
        """Return the lines of a sentence."""
        found = [(name, match) for name, each in likely for match in each]
        words = Words.of(answer.parses) if found else None
        return "".join(_object(answer.parses, words, each, name) for name, each in found if words)


def _cut(words: Words, match: Match) -> tuple[str, str, str]:
    """Return the sentence before the match, the match, and the sentence after it, on one line."""
    before, inside, after = (" ".join(part.split()) for part in words.cut(match))
    return before, inside, after


def _rounded(match: Match) -> float | None:
    return None if match.probability is None else round(match.probability, 4)


def _text(match: Match) -> str:
    return match.tree.to_string() if isinstance(match.tree, Tree) else match.tree


def _texts(nodes: Iterable[Match]) -> str:
    return " ".join(map(_text, nodes))


def _object(parses: Parses, words: Words, match: Match, pattern: str) -> str:
    start, end = words.span(match)
    first = words.first
    fields: dict[str, Any] = {"pattern": pattern} if pattern else {}
    fields |= {
        "file": parses.file,
        "line": parses.line,
        "id": parses.id or None,
        "sentence": words.text,
        "match": words.text[start:end],
        "start": match.start,
        "end": match.end,
        "characters": None if first is None else [first + start, first + end],
        "label": match.label,
        "tree": _text(match),
        "probability": _rounded(match),
    }
    if match.named:
        fields["named"] = {
            name: [
                {
                    "start": each.start,
                    "end": each.end,
                    "label": each.label,
                    "tree": _text(each),
                    "probability": _rounded(each),
                }
                for each in nodes
            ]
            for name, nodes in match.named.items()
        }
    return json.dumps(fields, ensure_ascii=False) + "\n"
