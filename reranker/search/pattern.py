"""The text of a pattern -> ``Pattern``: tgrep2's language and most of tregex's (docs/search.md)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn, TypeVar

from reranker.errors import InputError
from reranker.search.relations import RELATIONS, Targets, nth_child, through
from reranker.trees.linearize import FUNCTION_TAG

MAX_LENGTH = 5_000
MAX_RELATIONS = 200
MAX_DEPTH = 50
REGEX_SECONDS = 0.5
"""For one label or word."""

_SHOWN = 60  # characters on both sides of a fault
_REMEMBERED = 65_536  # answers of a regular expression

_SPACE = re.compile(r"\s*+")
# The possessive pronouns are the only names of the Penn Treebank in which a $ is no relation.
_LITERAL = re.compile(r"(?:PRP|WP)\$|[^\s()\[\]<>|&!?:;=,.'\"`$%^@/*{}#]+")
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*+)"')
_REGEX = re.compile(r"/((?:[^/\\\n]|\\.)*+)/")
_NAME = re.compile(r"[A-Za-z0-9_]+")
_NTH = re.compile(r"([<>])(-?[1-9][0-9]{0,4})")
_OPERATOR = re.compile(
    "|".join(re.escape(name) for name in sorted(RELATIONS, key=len, reverse=True))
)
_THROUGH = re.compile(r"([<>])\+\(")

T = TypeVar("T")
Accepts = Callable[[str], bool]


class PatternError(InputError):
    """A text is not a pattern; the message shows where with a caret."""

    def __init__(self, text: str, place: int, reason: str) -> None:
        start = max(0, place - _SHOWN)
        shown = re.sub(r"\s", " ", text[start : place + _SHOWN])
        super().__init__(f"pattern: {reason}\n  {shown}\n  {' ' * (place - start)}^")
        self.place = place


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """Which nodes a pattern is about, words included."""

    labels: tuple[str, ...] = ()
    tests: tuple[Accepts, ...] = ()
    is_negated: bool = False
    reference: str | None = None
    """The node that an earlier ``=name`` was given to, and no other."""
    name: str | None = None
    """Given to the node that matches."""


@dataclass(frozen=True, slots=True, eq=False)
class Related:
    """There is a node that matches ``pattern`` in this relation to the one in question."""

    targets: Targets
    pattern: Pattern


@dataclass(frozen=True, slots=True, eq=False)
class Not:
    condition: Condition


@dataclass(frozen=True, slots=True, eq=False)
class All:
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    conditions: tuple[Condition, ...]


Condition = Related | Not | All | Some


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Nodes of a description that fulfil a condition."""

    description: Description
    condition: Condition | None = None
    has_names: bool = False
    """Whether it, or a part of it, gives or uses names, so that parts depend on each other."""


def compiled(text: str) -> Pattern:
    """The pattern that ``text`` spells. Raises PatternError."""
    if len(text) > MAX_LENGTH:
        raise PatternError(text, MAX_LENGTH, f"more than {MAX_LENGTH:,} characters")
    reader = _Reader(text)
    pattern = reader.whole()
    # Names that nothing refers to would only cost time.
    return pattern if reader.has_references else _Reader(text, keeps_names=False).whole()


class _Reader:
    """Reads a pattern from left to right; each method takes what it is called after."""

    def __init__(self, text: str, keeps_names: bool = True) -> None:
        self._text, self._keeps_names = text, keeps_names
        self.has_references = False
        self._place = 0
        self._depth = self._relations = 0
        self._names: set[str] = set()

    def whole(self) -> Pattern:
        pattern = self._pattern()
        while self._take(":"):
            # Another node, anywhere in the tree; mostly it begins with =name.
            related = Related(lambda table, node: table.everything, self._pattern())
            pattern = _joined(pattern, related)
        if rest := self._text[self._ahead() : self._ahead() + 1]:
            closes = rest in ")]"
            self._fail(f"nothing is open for {rest!r}" if closes else f"{rest!r} is not expected")
        return pattern

    def _pattern(self) -> Pattern:
        """A node and its relations."""
        pattern = self._node()
        condition = self._some() if self._at_relation() else None
        return _joined(pattern, condition)

    def _node(self) -> Pattern:
        """A node alone; in parentheses, with its relations."""
        if self._take("("):
            pattern = self._nested(self._pattern, ")")
            name = self._given_name()
            if name is None:
                return pattern
            # The name is that of the node which the whole of the parentheses matches.
            every = Description(tests=(_anything,), name=name)
            same = Related(lambda table, node: 1 << node, pattern)
            return Pattern(every, same, has_names=True)
        is_negated = self._take("!")
        self._take("'")  # tgrep2's mark of the node to print
        labels: list[str] = []
        tests: list[Accepts] = []
        if self._take("="):
            start = self._ahead()
            reference = self._word(_NAME, "a name")
            if reference not in self._names:
                self._fail(f"no node before this is called ={reference}", start)
            self.has_references = True
            return Pattern(Description((), (), is_negated, reference), None, has_names=True)
        self._alternative(labels, tests)
        while self._take("|", unless=self._at_relation):
            self._alternative(labels, tests)
        name = self._given_name()
        description = Description(tuple(labels), tuple(tests), is_negated, None, name)
        return Pattern(description, None, has_names=name is not None)

    def _alternative(self, labels: list[str], tests: list[Accepts]) -> None:
        if self._take("__") or self._take("*"):
            tests.append(_anything)
        elif self._take("i@"):
            if self._peek("/"):
                tests.append(self._regex(ignores_case=True))
            else:
                tests.append(_lower_case(_unescaped(self._word(_QUOTED, '/.../ or "..."'))))
        elif self._take("@"):
            tests.append(_category(self._word(_LITERAL, "a category")))
        elif self._peek('"'):
            labels.append(_unescaped(self._word(_QUOTED, "a closing '\"'")))
        elif self._peek("/"):
            tests.append(self._regex())
        else:
            labels.append(self._word(_LITERAL, 'a node, such as NP, /^NP/, "PRP$" or __'))

    def _regex(self, ignores_case: bool = False) -> Accepts:
        start = self._ahead()
        expression = self._word(_REGEX, "a closing '/'").replace("\\/", "/")
        if not ignores_case and self._text.startswith("i", self._place):
            self._place += 1
            ignores_case = True
        try:
            return _searching(expression, ignores_case)
        except ValueError as error:
            self._fail(f"not a regular expression: {error}", start)

    def _given_name(self) -> str | None:
        is_name = self._text.startswith("=", self._place)  # without a space before it
        if not is_name or self._text.startswith("==", self._place):
            return None
        self._place += 1
        name = self._word(_NAME, "a name")
        self._names.add(name)
        return name if self._keeps_names else None

    def _some(self) -> Condition:
        conditions = [self._all()]
        while self._take("|"):
            conditions.append(self._all())
        return conditions[0] if len(conditions) == 1 else Some(tuple(conditions))

    def _all(self) -> Condition:
        conditions = [self._relation()]
        while self._take("&") or self._at_relation():
            conditions.append(self._relation())
        return conditions[0] if len(conditions) == 1 else All(tuple(conditions))

    def _relation(self) -> Condition:
        self._relations += 1
        if self._relations > MAX_RELATIONS:
            self._fail(f"more than {MAX_RELATIONS} relations")
        if self._take("!"):
            return Not(self._relation())
        if self._take("["):
            return self._nested(self._some, "]")
        return Related(self._targets(), self._node())

    def _targets(self) -> Targets:
        if match := _THROUGH.match(self._text, self._ahead()):
            self._place = match.end()
            return through(self._nested(self._node, ")"), goes_down=match[1] == "<")
        if match := _NTH.match(self._text, self._ahead()):
            self._place = match.end()
            return nth_child(int(match[2]), goes_down=match[1] == "<")
        return RELATIONS[self._word(_OPERATOR, "a relation, such as <, <<, > or $.")]

    def _at_relation(self) -> bool:
        place = self._ahead()
        while self._text.startswith("!", place):
            place = self._ahead(place + 1)
        if self._text.startswith("[", place):
            return True
        patterns = (_OPERATOR, _NTH, _THROUGH)
        return any(pattern.match(self._text, place) for pattern in patterns)

    def _nested(self, read: Callable[[], T], closing: str) -> T:
        start = self._place - 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(f"more than {MAX_DEPTH} brackets are open")
        inside = read()
        self._depth -= 1
        if not self._take(closing):
            if self._ahead() < len(self._text):
                self._fail(f"expected {closing!r}, or a relation")
            self._fail(f"{self._text[start]!r} is not closed", start)
        return inside

    def _word(self, pattern: re.Pattern[str], expected: str) -> str:
        match = pattern.match(self._text, self._ahead())
        if match is None:
            self._fail(f"expected {expected}")
        self._place = match.end()
        return match[match.lastindex or 0]

    def _peek(self, text: str) -> bool:
        return self._text.startswith(text, self._ahead())

    def _take(self, text: str, unless: Callable[[], bool] | None = None) -> bool:
        if not self._peek(text):
            return False
        before, self._place = self._place, self._ahead() + len(text)
        if unless is not None and unless():
            self._place = before
            return False
        return True

    def _ahead(self, place: int | None = None) -> int:
        """Behind the white space at a place, by default where the last token ends."""
        match = _SPACE.match(self._text, self._place if place is None else place)
        assert match is not None
        return match.end()

    def _fail(self, reason: str, place: int | None = None) -> NoReturn:
        raise PatternError(self._text, self._ahead() if place is None else place, reason)


def _joined(pattern: Pattern, condition: Condition | None) -> Pattern:
    """The pattern with one more condition."""
    if condition is None:
        return pattern
    has_names = pattern.has_names or uses_names(condition)
    if pattern.condition is not None:
        condition = All((pattern.condition, condition))
    return Pattern(pattern.description, condition, has_names)


def uses_names(condition: Condition) -> bool:
    """Whether a pattern in the condition gives or uses names."""
    if isinstance(condition, Related):
        return condition.pattern.has_names
    if isinstance(condition, Not):
        return uses_names(condition.condition)
    return any(map(uses_names, condition.conditions))


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _anything(label: str) -> bool:
    return True


def _lower_case(wanted: str) -> Accepts:
    wanted = wanted.lower()
    return lambda label: label.lower() == wanted


def _category(wanted: str) -> Accepts:
    """Labels without their function tags, which tregex calls basic categories."""
    return lambda label: FUNCTION_TAG.sub("", label) == wanted


def _searching(expression: str, ignores_case: bool) -> Accepts:
    """Whether a regular expression is found in a label. Raises ValueError."""
    from nltk import redos  # bounded in time and size; loading nltk takes a second

    try:
        searched = redos.compile(expression, re.IGNORECASE if ignores_case else 0)
    except redos.error as error:
        raise ValueError(error) from error

    @lru_cache(_REMEMBERED)
    def accepts(label: str) -> bool:
        try:
            return searched.search(label, timeout=REGEX_SECONDS) is not None
        except TimeoutError:
            raise InputError(
                f"pattern: /{expression}/ takes more than {REGEX_SECONDS} s for {label[:60]!r}"
            ) from None

    return accepts
