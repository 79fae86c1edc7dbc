"""Kinds of files; the beginning of a file, prepared for their recognisers; recognisers of lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

Recognise = Callable[["Start"], bool]


class Kind(NamedTuple):
    """A kind of file that is neither text nor trees in brackets."""

    name: str
    text: str = ""
    """The advice to a user who wants text."""
    trees: str = ""
    """The advice to a user who wants trees, if it differs."""
    treebank: str = ""
    """The reader of its trees in ``reranker.registry``, if there is one."""

    def described(self, wanted: str) -> str:
        """Return the kind's name and the advice to a user who wants ``"text"`` or ``"trees"``."""
        advice = (self.trees if wanted == "trees" else "") or self.text
        return f"{self.name}: {advice}" if advice else self.name


LONGEST_LINE = 2_000
_TAIL = 8  # lines
_REMARK = re.compile(r"#|%%|;;|//")
_NESTED = re.compile(r"\([^\s()]*\s*\(\s*[^\s()]+[\s(]")
# The words before a tree in n-best lists: its place, and scores with letters.
BEFORE_TREES = r"<s>|[A-Z]-[0-9]++|[-+]?(?:(?i:nan|inf(?:inity)?)|[0-9.]++(?:[eE][-+]?[0-9]++)?)"
TREE_LINE = re.compile(
    rf"^[^\S\n]*+(?:(?:{BEFORE_TREES})[^\S\n]++)*+[^A-Za-z(\n]*+\(", re.MULTILINE
)
# A word alone with its label, or a label of Penn's: capital letters in brackets have neither.
_LABELLED = re.compile(
    r"\([^\s()]+\s+[^\s()]+\s*\)|"
    r"\([^\s()]*\s*\((?:ADJP|ADVP|FRAG|INTJ|NML|NP|PP|QP|S|SBAR|SBARQ|SINV|SQ|UCP|VP|WHNP|X)\b"
)
_NO_BRACKETS = re.compile(r"[^\s()]+")


def nested_tree(text: str) -> int | None:
    """Return the place of a tree with nested brackets that reaches the end of a text; None if
    there is none."""
    match = _NESTED.search(text)
    if match is None:
        return None
    tree = text[match.start() :]
    is_tree = 4 * tree.count("(") >= len(_NO_BRACKETS.findall(tree)) and _LABELLED.search(tree)
    return match.start() if is_tree else None


def _are_trees(text: str) -> bool:
    return (
        4 * text.count("(") >= len(_NO_BRACKETS.findall(text))
        and 4 * len(TREE_LINE.findall(text)) > text.count("\n")
        and _NESTED.search(text) is not None
        and _LABELLED.search(text) is not None
    )


class Start:
    """The beginning of a file, or a later part of it."""

    def __init__(self, text: str, is_first: bool = True) -> None:
        self.is_first = is_first
        self.text = _without_fenced(text) if "```" in text or "~~~" in text else text

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines that are not blank, without surrounding space; long lines are cut."""
        lines = (line[:LONGEST_LINE].strip() for line in self.text.splitlines())
        return [line for line in lines if line]

    @cached_property
    def unremarked(self) -> list[str]:
        """Return the lines without remarks."""
        return [line for line in self.lines if not _REMARK.match(line)]

    @cached_property
    def has_trees(self) -> bool:
        """Return whether the text looks like trees: lines begin with brackets, there is a bracket
        to four words, some brackets are nested, and one holds a word and its label or has a label
        of Penn's.

        Not even prose with many remarks has all of this. If a licence comes first, the latter half
        of the lines counts.
        """
        half = len(self.lines) // 2 if len(self.lines) > _TAIL else 0
        return "(" in self.text and any(map(_are_trees, {self.text, "\n".join(self.lines[half:])}))

    def parts(self, share: float) -> Iterator[tuple[Sequence[str], float]]:
        """Yield all lines and, since a licence or a remark may come first, the last ones. Each
        comes with the share of lines that must look like a kind of file if ``share`` of the whole
        must."""
        yield self.lines, share
        if self.is_first and share <= 0.5 and len(self.lines) > _TAIL:
            yield self.lines[len(self.lines) // 2 :], max(share, 0.8)
            yield self.lines[-_TAIL:], 1.0


def _without_fenced(text: str) -> str:
    """Return a text without Markdown's blocks of code, which show other kinds of files."""
    kept: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = line.lstrip(" ")[:3]
        if fence:
            fence = "" if mark == fence else fence
        elif mark in ("```", "~~~"):
            fence = mark
        else:
            kept.append(line)
    return "".join(kept)


def begins(pattern: str) -> Recognise:
    """Return a recogniser of files that begin with the pattern, after white space."""
    compiled = re.compile(pattern)
    return lambda start: start.is_first and bool(compiled.match(start.text.lstrip()[:LONGEST_LINE]))


def rows(row: str, *, mark: str = "", share: float = 0.5) -> Recognise:
    """Return a recogniser of files in which this share of lines match ``row``, if a line somewhere
    matches ``mark``."""
    compiled, marking = re.compile(row), re.compile(mark)

    def recognise(start: Start) -> bool:
        if mark and not any(map(marking.match, start.lines)):
            return False
        return any(
            lines and sum(map(bool, map(compiled.match, lines))) >= least * len(lines)
            for lines, least in start.parts(share)
        )

    return recognise


def either(*recognisers: Recognise) -> Recognise:
    """Return a recogniser of files that any of these recognises."""
    return lambda start: any(recognise(start) for recognise in recognisers)


def within(kind: Recognise, pattern: str) -> Recognise:
    """Return a recogniser of files of a wider kind in which the pattern occurs."""
    compiled = re.compile(pattern)
    return lambda start: compiled.search(start.text) is not None and kind(start)
