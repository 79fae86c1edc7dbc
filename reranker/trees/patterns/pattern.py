"""A pattern of trees, from its text: tgrep2's language and most of tregex's (docs/grep.md).

Every part of a pattern becomes a function that gives a set of nodes, computed once for a tree, so
that no pattern takes long. The candidates of ``=name`` are tried out, one node after another.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from typing import NoReturn, TypeVar

from reranker.errors import InputError, TreeError
from reranker.trees.linearize import FUNCTION_TAG
from reranker.trees.patterns.conditions import (
    Condition,
    Group,
    accepted,
    any_of,
    both,
    either,
    everything,
    fulfilling,
    labelled,
    linked,
    optional,
    others,
    related,
    searching,
    texts,
    with_texts,
    within,
)
from reranker.trees.patterns.relations import (
    RELATIONS,
    Nodes,
    Targets,
    nth_child,
    nth_leaf,
    through,
    with_children,
)
from reranker.trees.patterns.table import Table, members

MAX_LENGTH = 5_000
MAX_RELATIONS = 200
MAX_DEPTH = 50
MAX_WAYS = 20_000
"""The most choices of nodes for ``=name`` in one tree: a second or so."""
MAX_STEPS = 10_000_000
"""Ways times nodes of the tree, since each way looks at them all: some seconds."""

_SHOWN = 60  # characters on both sides of a fault

_SPACE = re.compile(r"\s*+")
# The possessive pronouns are the only names of the Penn Treebank in which a $ is no relation.
_LITERAL = re.compile(r"(?:PRP|WP)\$|(?!~)[^\s()\[\]<>|&!?:;=,.'\"`$%^@/*{}#]+")
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*+)"')
_REGEX = re.compile(r"/((?:[^/\\\n]|\\.)*+)/")
_NAME = re.compile(r"[A-Za-z0-9_]+")
_GROUP = re.compile(r"#([0-9]{1,3})%([A-Za-z0-9_]+)")
_ROOT = re.compile(r"_ROOT_(?![\w-])")
_NTH = re.compile(r"([<>])(-?[1-9][0-9]{0,4})")
_NTH_LEAF = re.compile(r"(<<<|>>>)(-?[1-9][0-9]{0,4})")
_EXACTLY = re.compile(r"<\.\.\.\s*+\{")
_THROUGH = re.compile(r"([<>.,])\+\(")
_SIGN = re.compile("|".join(map(re.escape, sorted(RELATIONS, key=len, reverse=True))))

T = TypeVar("T")


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
        self._texts = reader.texts
        self._referred = sorted(reader.references)
        self.names = tuple(reader.named)
        """Of nodes, as they are printed."""

    def matching(self, table: Table) -> int:
        """Return the set of nodes that match. Raises TreeError (``too-long``) if names can stand
        for nodes in more than ``MAX_WAYS`` or these take more than ``MAX_STEPS``, InputError if a
        regular expression takes too long."""
        if not self._referred and not self._texts:
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
            node = chosen[name]
            if matching and node is not None:
                found[node] = found.get(node, 0) | matching
        return found

    def _tried(self, table: Table, names: list[str]) -> Iterator[tuple[dict[str, int | None], int]]:
        """Yield nodes for these names, and what matches with them and some texts of the variables;
        then forget them. Where there are alternatives, a name may stand for no node."""
        nodes = [[*members(self._named[name](table)), None] for name in names]
        known = [
            sorted({text for of in uses for text in of(table)}) for uses in self._texts.values()
        ]
        ways = math.prod(map(len, nodes)) * math.prod(map(len, known))
        if ways > MAX_WAYS or ways * len(table.nodes) > MAX_STEPS:
            reason = "there are too many nodes that names can stand for; name nodes of rarer labels"
            raise TreeError("too-long", reason)
        for chosen in itertools.product(*nodes):
            for found in itertools.product(*known):
                table.chosen = dict(zip(names, chosen, strict=True))
                table.texts = dict(zip(self._texts, found, strict=True))
                table.known = {}
                yield table.chosen, self._nodes(table)
        table.chosen, table.texts, table.known = {}, {}, {}


class _Reader:
    """A reader of a pattern from left to right; each method reads the part that it is named
    after."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._depth = self._relations = self._negations = 0
        self._bar: int | None = None
        self._visible: set[str] = set()  # names to which =name may refer here
        self.named: dict[str, Nodes] = {}
        self.references: set[str] = set()
        self.texts: dict[str, list[Callable[[Table], set[str]]]] = {}

    def whole(self) -> Nodes:
        patterns, names = [self._segments()], [{*self._visible}]
        while self._take("|"):
            before = {*self._visible}
            patterns.append(self._segments())
            names.append(self._visible - before)
        if rest := self._text[self._ahead() : self._ahead() + 1]:
            closes = rest in ")]"
            self._fail(f"nothing is open for {rest!r}" if closes else f"{rest!r} is not expected")
        if self._bar is not None and self._relations:
            self._fail(
                "this joins labels in tgrep2 and patterns in tregex: write A|B, or (A) | (B)",
                self._bar,
            )
        condition = any_of([*map(within, patterns)], names)
        return lambda table: condition(table, table.everything)

    def _segments(self) -> Nodes:
        nodes = self._pattern()
        while self._take(":"):
            # Another node, anywhere in the tree; mostly it begins with =name.
            self._count_relation()
            nodes = fulfilling(nodes, related(everything, self._pattern()))
        return nodes

    def _pattern(self) -> Nodes:
        """Read a node and its relations."""
        nodes = self._node()
        return fulfilling(nodes, self._some()) if self._at_relation() else nodes

    def _node(self) -> Nodes:
        """Read a node alone; in parentheses, with its relations."""
        if self._take("("):
            nodes = self._nested(self._segments, ")")
            # Its other references are unknown while its own candidates are looked for.
            return self._with_name(nodes, lambda table: table.everything)
        is_negated = self._take("!")
        self._take("'")  # tgrep2's mark of the node to print
        if self._take("="):
            name = self._reference()
            return _negated(is_negated, lambda table: _bit(table.chosen[name]))
        if self._take("~"):
            nodes = _negated(is_negated, linked(self._reference()))
            return self._with_name(nodes, lambda table: table.everything)
        nodes = _negated(is_negated, self._alternatives())
        return self._with_name(nodes, nodes)

    def _reference(self) -> str:
        start = self._place
        name = self._word(_NAME, "a name")
        if name not in self._visible:
            reason = f"no node before this is called ={name}, outside of negations"
            if name in self.named:
                reason = f"={name} is in another alternative"
            self._fail(reason, start)
        self.references.add(name)
        return name

    def _alternatives(self) -> Nodes:
        is_category = self._take("@")  # tregex's: without function tags, of all alternatives
        alternatives = [self._alternative(is_category)]
        while self._take("|", unless=self._joins_patterns):
            is_category = self._take("@") or is_category
            alternatives.append(self._alternative(is_category))
        return either(alternatives)

    def _joins_patterns(self) -> bool:
        """Tell whether the bar just read is none between labels."""
        if self._peek("(") or self._at_relation():
            return True
        bar = self._place - 1
        if self._depth == 0 and (self._ahead() > bar + 1 or self._text[bar - 1].isspace()):
            self._bar = bar if self._bar is None else self._bar
        return False

    def _alternative(self, is_category: bool) -> Nodes:
        """Read a label, or a test of labels."""

        def cut(label: str) -> str:
            return FUNCTION_TAG.sub("", label) if is_category else label

        if self._match(_ROOT):
            return lambda table: 1
        if self._take("__") or self._take("*"):
            return lambda table: table.everything
        if self._take("i@"):
            if self._peek("/"):
                return self._regex(cut, ignores_case=True)
            lower = _unescaped(self._word(_QUOTED, 'i@/.../ or i@"..."')).lower()
            return accepted(lambda label: cut(label).lower() == lower)
        if self._peek("/"):
            return self._regex(cut)
        if self._peek('"'):
            wanted = _unescaped(self._word(_QUOTED, "a closing '\"'"))
        else:
            wanted = self._word(_LITERAL, 'a node, such as NP, /^NP/, "." or __')
        return accepted(lambda label: cut(label) == wanted) if is_category else labelled(wanted)

    def _regex(self, cut: Callable[[str], str], ignores_case: bool = False) -> Nodes:
        start = self._ahead()
        expression = self._word(_REGEX, "a closing '/'").replace("\\/", "/")
        if not ignores_case and self._text.startswith("i", self._place):
            self._place += 1
            ignores_case = True
        try:
            found, count = searching(expression, ignores_case)
        except ValueError as error:
            self._fail(f"not a regular expression: {error}", start)

        def search(label: str) -> re.Match[str] | None:
            return found(cut(label))

        groups = []
        while match := _GROUP.match(self._text, self._place):
            group = Group(int(match[1]), match[2])
            if group.number > count:
                self._fail(f"the regular expression has {count} groups", self._place)
            if self._negations and group.variable not in self.texts:
                self._fail(f"nothing before this is called %{group.variable}", self._place)
            self._place = match.end()
            self.texts.setdefault(group.variable, []).append(texts(search, group.number))
            groups.append(group)
        return with_texts(search, groups) if groups else accepted(lambda each: bool(search(each)))

    def _with_name(self, nodes: Nodes, candidates: Nodes) -> Nodes:
        """Return the nodes; if a name that is referred to follows, only the node that is tried
        out."""
        follows = self._text.startswith("=", self._place)  # without a space before it
        if not follows or self._text.startswith("==", self._place):
            return nodes
        self._place += 1
        start = self._place
        name = self._word(_NAME, "a name")
        if name in self._visible:
            self._fail(f"two nodes are called ={name}", start)
        if not self._negations:  # in a negation it names no node
            self._visible.add(name)
            known = [self.named[name]] if name in self.named else []
            self.named[name] = either([*known, candidates])

        def named(table: Table) -> int:
            if name not in table.chosen:
                return nodes(table)
            return nodes(table) & _bit(table.chosen[name])

        return named

    def _some(self) -> Condition:
        before = {*self._visible}
        conditions, names = [self._all()], [self._visible - before]
        while self._take("|"):
            visible, self._visible = self._visible, {*before}
            conditions.append(self._all())
            names.append(self._visible - before)
            self._visible |= visible
        return any_of(conditions, names)

    def _all(self) -> Condition:
        condition = self._relation()
        while self._take("&") or self._at_relation():
            condition = both(condition, self._relation())
        return condition

    def _relation(self) -> Condition:
        self._count_relation()
        if self._take("!"):
            self._refuse("?")
            self._negations += 1
            negated = self._relation()
            self._negations -= 1
            return lambda table, nodes: nodes & ~negated(table, nodes)
        if self._take("?"):
            self._refuse("!")
            before = {*self.named}
            return optional(self._relation(), {*self.named} - before)
        for opening, closing in ("[]", "()"):
            if self._take(opening):
                return self._nested(self._some, closing)
        if self._match(_EXACTLY):
            return self._nested(self._exactly, "}")
        return related(self._targets(), self._node())

    def _refuse(self, sign: str) -> None:
        if self._peek(sign):
            self._fail("a relation cannot be denied and optional")

    def _exactly(self) -> Condition:
        """Read the only children of a node, from first to last."""
        condition, count = related(nth_child(1, goes_down=True), self._node()), 1
        while self._take(";") and not self._peek("}"):
            count += 1
            self._count_relation()
            condition = both(condition, related(nth_child(count, goes_down=True), self._node()))
        return both(condition, with_children(count))

    def _targets(self) -> Targets:
        if match := self._match(_THROUGH):
            return through(self._nested(self._node, ")"), match[1])
        if match := self._match(_NTH_LEAF):
            return nth_leaf(int(match[2]), goes_down=match[1] == "<<<")
        if match := self._match(_NTH):
            return nth_child(int(match[2]), goes_down=match[1] == "<")
        sign = self._word(_SIGN, "a relation, such as <, <<, > or $.")
        name = _NAME.match(self._text, self._place) if sign == "<=" else None
        if name and name[0] in self._visible:
            reason = f"write '< ={name[0]}' for the node of this name, '<= {name[0]}' for the label"
            self._fail(reason, self._place - 1)
        return RELATIONS[sign]

    def _count_relation(self) -> None:
        self._relations += 1
        if self._relations > MAX_RELATIONS:
            self._fail(f"more than {MAX_RELATIONS} relations")

    def _at_relation(self) -> bool:
        place = self._ahead()
        while self._text.startswith(("!", "?", "("), place):
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


def _negated(is_negated: bool, nodes: Nodes) -> Nodes:
    return others(nodes) if is_negated else nodes


def _bit(node: int | None) -> int:
    """Return the set of a node, or of none."""
    return 0 if node is None else 1 << node


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
