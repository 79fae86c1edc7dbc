"""A pattern of trees, from its text: tgrep2's language and most of tregex's (docs/grep.md).

Every part of a pattern becomes a function that gives a set of nodes, computed once for a tree, so
that no pattern takes long. The candidates of ``=name`` are tried out, one node after another.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NoReturn, TypeVar

from reranker.errors import InputError, TreeError
from reranker.plugins.grep.relations import (
    RELATIONS,
    Nodes,
    Targets,
    nth_child,
    nth_leaf,
    through,
    with_children,
)
from reranker.plugins.grep.table import Table, members
from reranker.trees.linearize import FUNCTION_TAG

MAX_LENGTH = 5_000
MAX_RELATIONS = 200
MAX_DEPTH = 50
MAX_WAYS = 20_000
"""For the nodes that ``=name`` can refer to, in one tree: a second or so."""
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
_NTH_LEAF = re.compile(r"(<<<|>>>)(-?[1-9][0-9]{0,4})")
_EXACTLY = re.compile(r"<\.\.\.\s*+\{")
_THROUGH = re.compile(r"([<>])\+\(")
_SIGN = re.compile("|".join(map(re.escape, sorted(RELATIONS, key=len, reverse=True))))

T = TypeVar("T")
Condition = Callable[[Table, int], int]
"""Those of a set of nodes that fulfil it."""
Accepts = Callable[[str], bool]


class PatternError(InputError):
    """A text is not a pattern; the message shows where with a caret."""

    def __init__(self, text: str, place: int, reason: str) -> None:
        start = max(0, place - _SHOWN)
        shown = re.sub(r"\s", " ", text[start : place + _SHOWN])
        super().__init__(f"pattern: {reason}\n  {shown}\n  {' ' * (place - start)}^")


class Pattern:
    """A pattern to look for in trees."""

    def __init__(self, text: str) -> None:
        """Read a pattern. Raises PatternError."""
        if len(text) > MAX_LENGTH:
            raise PatternError(text, MAX_LENGTH, f"more than {MAX_LENGTH:,} characters")
        reader = _Reader(text)
        self._nodes = reader.whole()
        self._named = reader.named
        self._referred = sorted(reader.references)
        self.names = tuple(reader.named)
        """Of nodes, as they are printed."""

    def matching(self, table: Table) -> int:
        """Return the set of nodes that match. Raises TreeError (``too-long``) if names can stand
        for nodes in more than ``MAX_WAYS``, InputError if a regular expression takes too long."""
        if not self._referred:
            return self._nodes(table)
        found = 0
        for _, matching in self._tried(table, self._referred):
            found |= matching
        return found

    def standing_for(self, name: str, table: Table) -> dict[int, int]:
        """Return the nodes that a name can stand for, each with the set of nodes that match then.
        Raises the errors of ``matching``."""
        found: dict[int, int] = {}
        for chosen, matching in self._tried(table, sorted({*self._referred, name})):
            if matching:
                found[chosen[name]] = found.get(chosen[name], 0) | matching
        return found

    def _tried(self, table: Table, names: list[str]) -> Iterator[tuple[dict[str, int], int]]:
        """Yield nodes for these names, and what matches with them; then forget them."""
        choices = [list(members(self._named[name](table))) for name in names]
        if math.prod(map(len, choices)) > MAX_WAYS:
            raise TreeError("too-long", "there are too many nodes that names can stand for")
        for chosen in itertools.product(*choices):
            table.chosen = dict(zip(names, chosen, strict=True))
            table.known = {}
            yield table.chosen, self._nodes(table)
        table.chosen, table.known = {}, {}


class _Reader:
    """A reader of a pattern from left to right; each method takes what its name says."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._depth = self._relations = self._negations = 0
        self.named: dict[str, Nodes] = {}
        self.references: set[str] = set()

    def whole(self) -> Nodes:
        nodes = self._pattern()
        while self._take(":"):
            # Another node, anywhere in the tree; mostly it begins with =name.
            nodes = _fulfilling(nodes, _related(_everything, self._pattern()))
        if rest := self._text[self._ahead() : self._ahead() + 1]:
            closes = rest in ")]"
            self._fail(f"nothing is open for {rest!r}" if closes else f"{rest!r} is not expected")
        return nodes

    def _pattern(self) -> Nodes:
        """Read a node and its relations."""
        nodes = self._node()
        return _fulfilling(nodes, self._some()) if self._at_relation() else nodes

    def _node(self) -> Nodes:
        """Read a node alone; in parentheses, with its relations."""
        if self._take("("):
            nodes = self._nested(self._pattern, ")")
            # Its other references are unknown while its own candidates are looked for.
            return self._with_name(nodes, lambda table: table.everything)
        is_negated = self._take("!")
        self._take("'")  # tgrep2's mark of the node to print
        is_reference = self._peek("=")
        nodes = self._reference() if is_reference else _described(self._alternatives())
        if is_negated:
            nodes = _others(nodes)
        return nodes if is_reference else self._with_name(nodes, nodes)

    def _reference(self) -> Nodes:
        self._take("=")
        start = self._place
        name = self._word(_NAME, "a name")
        if name not in self.named:
            self._fail(f"no node before this is called ={name}, outside of negations", start)
        self.references.add(name)
        return lambda table: 1 << table.chosen[name]

    def _alternatives(self) -> list[str | Accepts]:
        alternatives = [self._alternative()]
        while self._take("|", unless=self._at_relation):
            alternatives.append(self._alternative())
        return alternatives

    def _alternative(self) -> str | Accepts:
        """Read a label, or a test of labels."""
        if self._take("__") or self._take("*"):
            return lambda label: True
        if self._take("i@"):
            if self._peek("/"):
                return self._regex(ignores_case=True)
            lower = _unescaped(self._word(_QUOTED, 'i@/.../ or i@"..."')).lower()
            return lambda label: label.lower() == lower
        if self._take("@"):  # tregex's basic category: without function tags
            category = self._word(_LITERAL, "a category")
            return lambda label: FUNCTION_TAG.sub("", label) == category
        if self._peek('"'):
            return _unescaped(self._word(_QUOTED, "a closing '\"'"))
        if self._peek("/"):
            return self._regex()
        return self._word(_LITERAL, 'a node, such as NP, /^NP/, "." or __')

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

    def _with_name(self, nodes: Nodes, candidates: Nodes) -> Nodes:
        """Return the nodes; if a name that is referred to follows, only the node that is tried
        out."""
        follows = self._text.startswith("=", self._place)  # without a space before it
        if not follows or self._text.startswith("==", self._place):
            return nodes
        self._place += 1
        start = self._place
        name = self._word(_NAME, "a name")
        if name in self.named:
            self._fail(f"two nodes are called ={name}", start)
        if not self._negations:  # in a negation it names no node
            self.named[name] = candidates

        def named(table: Table) -> int:
            chosen = table.chosen.get(name)
            return nodes(table) if chosen is None else nodes(table) & 1 << chosen

        return named

    def _some(self) -> Condition:
        conditions = [self._all()]
        while self._take("|"):
            conditions.append(self._all())
        return conditions[0] if len(conditions) == 1 else _any_of(conditions)

    def _all(self) -> Condition:
        condition = self._relation()
        while self._take("&") or self._at_relation():
            condition = _both(condition, self._relation())
        return condition

    def _relation(self) -> Condition:
        self._count_relation()
        if self._take("!"):
            self._negations += 1
            negated = self._relation()
            self._negations -= 1
            return lambda table, nodes: nodes & ~negated(table, nodes)
        if self._take("?"):
            before = {*self.named}
            return _optional(self._relation(), {*self.named} - before)
        if self._take("["):
            return self._nested(self._some, "]")
        if self._match(_EXACTLY):
            return self._nested(self._exactly, "}")
        return _related(self._targets(), self._node())

    def _exactly(self) -> Condition:
        """Read the only children of a node, from first to last."""
        condition, count = _related(nth_child(1, goes_down=True), self._node()), 1
        while self._take(";") and not self._peek("}"):
            count += 1
            self._count_relation()
            condition = _both(condition, _related(nth_child(count, goes_down=True), self._node()))
        return _both(condition, with_children(count))

    def _targets(self) -> Targets:
        if match := self._match(_THROUGH):
            return through(self._nested(self._node, ")"), goes_down=match[1] == "<")
        if match := self._match(_NTH_LEAF):
            return nth_leaf(int(match[2]), goes_down=match[1] == "<<<")
        if match := self._match(_NTH):
            return nth_child(int(match[2]), goes_down=match[1] == "<")
        return RELATIONS[self._word(_SIGN, "a relation, such as <, <<, > or $.")]

    def _count_relation(self) -> None:
        self._relations += 1
        if self._relations > MAX_RELATIONS:
            self._fail(f"more than {MAX_RELATIONS} relations")

    def _at_relation(self) -> bool:
        place = self._ahead()
        while self._text.startswith(("!", "?"), place):
            place = self._ahead(place + 1)
        signs = (_SIGN, _NTH, _NTH_LEAF, _THROUGH, _EXACTLY)
        return self._text.startswith("[", place) or any(
            sign.match(self._text, place) for sign in signs
        )

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

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._ahead())
        self._place = match.end() if match else self._place
        return match

    def _word(self, pattern: re.Pattern[str], expected: str) -> str:
        match = self._match(pattern)
        if match is None:
            self._fail(f"expected {expected}")
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
        """Return the place behind the white space at a place, by default where the last token
        ends."""
        match = _SPACE.match(self._text, self._place if place is None else place)
        assert match is not None
        return match.end()

    def _fail(self, reason: str, place: int | None = None) -> NoReturn:
        raise PatternError(self._text, self._ahead() if place is None else place, reason)


def _described(alternatives: list[str | Accepts]) -> Nodes:
    labels = [each for each in alternatives if isinstance(each, str)]
    tests = [each for each in alternatives if not isinstance(each, str)]

    def nodes(table: Table) -> int:
        found = 0
        for label in labels:
            found |= table.places.get(label, 0)
        for accepts in tests:
            for label, places in table.places.items():
                if accepts(label):
                    found |= places
        return found

    return nodes


def _others(nodes: Nodes) -> Nodes:
    return lambda table: table.everything & ~nodes(table)


def _fulfilling(nodes: Nodes, condition: Condition) -> Nodes:
    def fulfilling(table: Table) -> int:
        if fulfilling not in table.known:
            table.known[fulfilling] = condition(table, nodes(table))
        return table.known[fulfilling]

    return fulfilling


def _everything(table: Table, node: int) -> int:
    return table.everything


def _related(targets: Targets, others: Nodes) -> Condition:
    def related(table: Table, nodes: int) -> int:
        wanted = others(table) if nodes else 0
        if not wanted:
            return 0
        return sum(1 << node for node in members(nodes) if targets(table, node) & wanted)

    return related


def _optional(condition: Condition, names: set[str]) -> Condition:
    """Return a condition that always holds, unless one of the ``names`` in it stands for a node."""

    def optional(table: Table, nodes: int) -> int:
        return nodes if names.isdisjoint(table.chosen) else condition(table, nodes)

    return optional


def _both(first: Condition, second: Condition) -> Condition:
    return lambda table, nodes: second(table, first(table, nodes))


def _any_of(conditions: list[Condition]) -> Condition:
    def fulfilling(table: Table, nodes: int) -> int:
        found = 0
        for condition in conditions:
            found |= condition(table, nodes & ~found)
        return found

    return fulfilling


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _searching(expression: str, ignores_case: bool) -> Accepts:
    """Return a test whether a label contains a match of a regular expression. Raises ValueError."""
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
