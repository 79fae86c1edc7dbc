"""The three notations of candidates, and the repair of broken ones.

``BRACKETS``    ``(S (NP (DT the) ...))``, parts of speech included: linearised by
                ``reranker.trees.linearize.linearize_text``, not here.
``BARE``        ``(S (NP the ...) ...)``: no parts of speech (RNNG).
``LINEARIZED``  ``(S (NP XX ... )NP ... )S``, closers also ``)_NP`` or ``)``; every other token is a
                word or stands for one: ``XX``, punctuation, ``_DT_`` (seq2seq parsers).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from reranker.errors import TreeError
from reranker.trees.linearize import FUNCTION_TAG, is_word
from reranker.trees.tree import (
    MAX_DEPTH,
    MAX_WORDS,
    ROOT_LABELS,
    TRACE,
    Tree,
    bracket_tokens,
    lost_word,
)

PLACEHOLDER = "XX"
PUNCTUATION = frozenset({".", ",", ":", "''", "``"})

LABELLED_CLOSER = re.compile(r"(?:^|\s)\)_*+([^\s()]++)")
# A backslash keeps a bracket in its word.
_LINEARIZED = re.compile(r"[()]?(?:[^()\s\\]++|\\[()]?+)++|[()]", re.ASCII)
_TAG_TOKEN = re.compile(r"_(\S+)_")
_WRAPPERS = frozenset({"<s>", "</s>", "<pad>", "<eos>"})


class Notation(Enum):
    BRACKETS = "brackets"
    BARE = "bare"
    LINEARIZED = "linearized"


@dataclass(slots=True)
class Skeleton:
    """A candidate's brackets, its words or their placeholders, and its first fault. It is built
    piece by piece, and repairs brackets on the way."""

    tokens: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)  # "" where the notation has none
    fault: TreeError | None = None
    _open: list[str] = field(default_factory=list)  # labels of the constituents that are open
    _open_labels: Counter[str] = field(default_factory=Counter)  # their counts
    _roots: int = 0  # nodes side by side at the top
    _wraps: int = 0  # surplus closing brackets
    _wrappers: list[str] = field(default_factory=list)  # the openers they need, innermost first

    def add_word(self, word: str, tag: str) -> None:
        if not self._open:
            self._roots += 1
            self._fault("not-a-tree", f"{word[:40]!r} is outside brackets")
        self.tokens.append(word)
        self.tags.append(tag)

    def lose_word(self, label: str) -> None:
        """Note a fault for an empty bracket whose label may be a word."""
        if reason := lost_word(label, self._open[-1] if self._open else ""):
            self._fault("not-a-tree", reason)

    def open(self, label: str) -> None:
        self._roots += not self._open
        label = FUNCTION_TAG.sub("", label)
        self._open.append(label)
        self._open_labels[label] += 1
        self.tokens.append("(" + label)
        if len(self._open) + self._wraps > MAX_DEPTH:
            raise TreeError("too-deep", f"more than {MAX_DEPTH} brackets are open")

    def close(self, label: str) -> None:
        """Close the innermost constituent with the label; without a label, the innermost
        constituent; if none is open, everything so far."""
        label = FUNCTION_TAG.sub("", label)
        if not self._open:
            self._wrap(label or "TOP")
            return
        innermost = self._open[-1]
        if label and label != innermost:
            self._fault("unbalanced", f"')' + {label[:40]!r} closes '(' + {innermost[:40]!r}")
            while self._open_labels[label] and label != self._open[-1]:
                self._close_innermost()
        self._close_innermost()

    def finish(self) -> None:
        """Close the open constituents after the last piece, and remove the root wrapper."""
        if self._open:
            self._fault("unbalanced", f"{len(self._open)} bracket(s) left open at the end")
        while self._open:
            self._close_innermost()
        self.tokens[:0] = reversed(self._wrappers)
        if self._roots > 1:
            self._fault("unbalanced", "text after the tree's last bracket")
        _strip_root(self.tokens)

    def fit(self, count: int) -> None:
        """Adjust the skeleton to ``count`` words: add missing words at the end of the root
        constituent, or drop surplus words with the constituents that held nothing else (Suzuki et
        al.).

        Raises TreeError (``wrong-length``) for a ``count`` of 0, which no tree has.
        """
        missing = count - len(self.tags)
        if missing == 0:
            return
        fault = TreeError("wrong-length", f"{len(self.tags)} words where the list has {count}")
        if count == 0:
            raise fault
        self.fault = self.fault or fault
        self.tags = (self.tags + [""] * count)[:count]
        if missing > 0:
            closes_root = bool(self.tokens) and self.tokens[-1][0] == ")"
            end = len(self.tokens) - closes_root
            self.tokens[end:end] = [PLACEHOLDER] * missing
            return
        tokens, self.tokens = self.tokens, []
        words = 0
        for token in tokens:
            words += is_word(token)
            if words <= count or not is_word(token):
                _append(self.tokens, token)
        _strip_root(self.tokens)

    def to_text(self, notation: Notation, like: str) -> str:
        """Return the skeleton in ``notation``, with closing brackets written as in ``like``."""
        tokens = with_root(self.tokens)
        if notation is Notation.LINEARIZED:
            closer = ")_" if ")_" in like else ")"
            return " ".join(closer + t[1:] if t[0] == ")" else t for t in tokens)
        tags = iter(self.tags)
        text = []
        for token in tokens:
            if not is_word(token):
                text.append(token if token[0] == "(" else ")")
            elif notation is Notation.BARE:
                text.append(token)
            else:
                text.append(Tree(next(tags) or PLACEHOLDER, (token,)).to_string())
        return " ".join(text)

    def _close_innermost(self) -> None:
        label = self._open.pop()
        self._open_labels[label] -= 1
        _append(self.tokens, ")" + label)

    def _wrap(self, label: str) -> None:
        self._fault("unbalanced", "more brackets are closed than opened")
        self._wraps += 1
        if self._wraps > MAX_DEPTH:
            raise TreeError("too-deep", f"more than {MAX_DEPTH} brackets are missing")
        if self.tokens:  # else the constituent is empty
            self._wrappers.append("(" + label)
            self.tokens.append(")" + label)
        self._roots = 1

    def _fault(self, code: str, message: str) -> None:
        self.fault = self.fault or TreeError(code, message)


def may_be_tree(text: str) -> bool:
    """Return whether a line can be a tree, the beginning of one, or a failed parse like ``(())``:
    it has brackets and no words outside them."""
    depth = 0
    has_words = False
    labels = set()
    for token in bracket_tokens(text):
        if token == ")":
            depth = max(0, depth - 1)
        elif token[0] == "(":
            depth += 1
            labels.add(token[1:].strip())
        elif depth == 0:
            return False
        else:
            has_words = True
    return bool(labels) and (has_words or depth > 0 or labels <= ROOT_LABELS)


def with_root(tokens: Sequence[str]) -> Sequence[str]:
    """Return the tokens to write: under ``TOP`` if they would not be read as a single tree, or
    would lose an outermost bracket that looks like a root."""
    if _is_constituent(tokens) and tokens[0][1:] not in ROOT_LABELS:
        return tokens
    return ["(TOP", *tokens, ")TOP"]


def read_skeleton(text: str, notation: Notation) -> Skeleton:
    """Return the skeleton of a candidate, repaired where necessary.

    Its ``fault`` names the first error; without any, the candidate is a tree. Missing closing
    brackets are added. A surplus one wraps everything before it. A closing bracket with another
    label than its opening one closes the constituents in between or, if no constituent with its
    label is open, the innermost. Raises TreeError if nothing can be repaired: ``empty``,
    ``not-a-tree`` (no brackets), ``too-deep`` or ``too-long``.
    """
    skeleton = Skeleton()
    if notation is Notation.LINEARIZED:
        _read_linearized(text, skeleton)
    else:
        _read_bracketed(text, notation, skeleton)
    skeleton.finish()
    check_length(skeleton)
    if "(" not in text and ")" not in text:
        raise TreeError("not-a-tree", "words without brackets")
    return skeleton


def check_length(skeleton: Skeleton) -> None:
    """Raise TreeError (``empty``, ``too-long``) for a number of words that no tree has."""
    if not skeleton.tags:
        raise TreeError("empty", "the tree has no words")
    if len(skeleton.tags) > MAX_WORDS:
        raise TreeError("too-long", f"{len(skeleton.tags)} words, more than {MAX_WORDS}")


def _read_linearized(text: str, skeleton: Skeleton) -> None:
    for token in linearized(text):
        if token[0] == "(":
            skeleton.open(token[1:])
        elif token[0] == ")":
            skeleton.close(token[1:].lstrip("_"))
        else:
            skeleton.add_word(token, own_tag(token))


def linearized(text: str) -> list[str]:
    """Return the tokens of a linearised candidate."""
    return [token for token in _LINEARIZED.findall(text) if token not in _WRAPPERS]


def own_tag(word: str) -> str:
    """Return the tag in a word of a linearised candidate: ``DT`` for ``_DT_``; "" without one."""
    if match := _TAG_TOKEN.fullmatch(word):
        return match[1]
    return word if word in PUNCTUATION else ""


def is_stand_in(word: str) -> bool:
    """Return whether a seq2seq parser wrote ``word`` in place of a word: ``XX`` or ``_DT_``."""
    return word == PLACEHOLDER or _TAG_TOKEN.fullmatch(word) is not None


def _read_bracketed(text: str, notation: Notation, skeleton: Skeleton) -> None:
    tokens = bracket_tokens(text)
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token == ")":
            skeleton.close("")
        elif token[0] != "(":
            skeleton.add_word(token, "")
        elif notation is Notation.BRACKETS and _is_preterminal(tokens, position):
            tag = token[1:].strip()
            if tag != TRACE:
                skeleton.add_word(tokens[position + 1], tag)
            position += 2
        else:
            label = token[1:].strip()
            if tokens[position + 1 : position + 2] == [")"]:
                skeleton.lose_word(label)
            skeleton.open(label)
        position += 1


def _is_preterminal(tokens: Sequence[str], position: int) -> bool:
    following = tokens[position + 1 : position + 3]
    # At the end of a text that was cut off, the closing bracket may be missing.
    return bool(following) and is_word(following[0]) and following[1:] in ([")"], [])


def _append(tokens: list[str], token: str) -> None:
    """Add a token; a closing bracket removes its opening one if nothing is between them."""
    if token[0] == ")" and tokens and tokens[-1] == "(" + token[1:]:
        tokens.pop()
    else:
        tokens.append(token)


def _strip_root(tokens: list[str]) -> None:
    """Remove the root wrapper, as linearising does, and any other directly below it."""
    closing: dict[int, int] = {}  # from the place of an opening bracket to its closing one
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if token[0] == "(":
            opened.append(place)
        elif token[0] == ")" and opened:
            closing[opened.pop()] = place
    roots, last = 0, len(tokens) - 1
    while closing.get(roots) == last - roots and tokens[roots][1:] in ROOT_LABELS:
        roots += 1
    tokens[:] = tokens[roots : len(tokens) - roots]


def _is_constituent(tokens: Sequence[str]) -> bool:
    """Return whether the first token opens the bracket that the last token closes."""
    depth = 0
    for position, token in enumerate(tokens, 1):
        depth += (token[0] == "(") - (token[0] == ")")
        if depth == 0:
            return position == len(tokens) > 1
    return False
