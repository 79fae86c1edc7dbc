"""The three ways candidates are written, and what can be repaired in them.

``BRACKETS``    ``(S (NP (DT the) ...))``, parts of speech included: linearised by
                ``reranker.trees.linearize.linearize_text``, not here.
``BARE``        ``(S (NP the ...) ...)``: no parts of speech (RNNG).
``LINEARIZED``  ``(S (NP XX ... )NP ... )S``, closers also ``)_NP`` or ``)``; every other token is a
                word or stands for one: ``XX``, punctuation, ``_DT_`` (seq2seq parsers).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from reranker.errors import TreeError
from reranker.trees.linearize import FUNCTION_TAG, is_word
from reranker.trees.tree import BRACKET_TOKEN, MAX_DEPTH, MAX_WORDS, ROOT_LABELS, TRACE

PLACEHOLDER = "XX"
PUNCTUATION = frozenset({".", ",", ":", "''", "``"})

_LINEARIZED = re.compile(r"[()]?[^()\s]++|[()]", re.ASCII)
_TAG_TOKEN = re.compile(r"_(\S+)_")
_WRAPPERS = frozenset({"<s>", "</s>", "<pad>", "<eos>"})


class Notation(Enum):
    BRACKETS = "brackets"
    BARE = "bare"
    LINEARIZED = "linearized"


class _Piece(NamedTuple):
    kind: str  # "(", ")" or "word"
    text: str  # a label, "" for a closer without one, or a word
    tag: str = ""


@dataclass(slots=True)
class Skeleton:
    """A candidate's brackets with what stood in the places of words, and all that was amiss."""

    tokens: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)  # "" where the notation tells none
    faults: list[TreeError] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        return [token for token in self.tokens if is_word(token)]

    def fit(self, count: int) -> None:
        """Make it hold ``count`` words: missing ones are added at the end of the root constituent,
        surplus ones are dropped with the constituents that held nothing else (Suzuki et al.).

        Raises TreeError (``wrong-length``) for a ``count`` of 0, which no tree has."""
        found = len(self.tags)
        if found == count:
            return
        fault = TreeError("wrong-length", f"{found} words where the list has {count}")
        if count == 0:
            raise fault
        self.faults.append(fault)
        if found < count:
            end = len(self.tokens)
            if end and self.tokens[-1][0] == ")":
                end -= 1
            self.tokens[end:end] = [PLACEHOLDER] * (count - found)
        else:
            kept: list[str] = []
            position = 0
            for token in self.tokens:
                if is_word(token):
                    position += 1
                    if position > count:
                        continue
                _append(kept, token)
            self.tokens = kept
            _strip_root(self.tokens)
        self.tags = (self.tags + [""] * count)[:count]

    def to_text(self, notation: Notation, like: str) -> str:
        """Written again, in the notation and with the closers of ``like``."""
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
                text.append(f"({next(tags) or PLACEHOLDER} {token})")
        return " ".join(text)


def with_root(tokens: Sequence[str]) -> Sequence[str]:
    """The tokens as they can be written: under ``TOP`` if they would not be read as one tree, or
    lose an outermost bracket that looks like a root."""
    if _is_constituent(tokens) and tokens[0][1:] not in ROOT_LABELS:
        return tokens
    return ["(TOP", *tokens, ")TOP"]


def read_skeleton(text: str, notation: Notation) -> Skeleton:
    """The skeleton of a candidate, mended where it has to be.

    Its ``faults`` say what was wrong: without any, it is a tree. Too few closing brackets are added
    and too many wrap all that came before; a closer with another label than its opener closes the
    constituents in between or, if there is no such opener, the innermost. Raises TreeError if there
    is nothing to mend: ``empty``, ``not-a-tree`` (no brackets), ``too-deep`` or ``too-long``.
    """
    pieces = _linearized(text) if notation is Notation.LINEARIZED else _bracketed(text, notation)
    skeleton = _assemble(pieces)
    if not skeleton.tags:
        raise TreeError("empty", "the tree has no words")
    if len(skeleton.tags) > MAX_WORDS:
        raise TreeError("too-long", f"{len(skeleton.tags)} words, more than {MAX_WORDS}")
    if "(" not in text and ")" not in text:
        raise TreeError("not-a-tree", "words without brackets")
    return skeleton


def _linearized(text: str) -> Iterator[_Piece]:
    for token in _LINEARIZED.findall(text):
        if token in _WRAPPERS:
            continue
        if token[0] == "(":
            yield _Piece("(", token[1:])
        elif token[0] == ")":
            yield _Piece(")", token[1:].lstrip("_"))
        elif match := _TAG_TOKEN.fullmatch(token):
            yield _Piece("word", token, match[1])
        else:
            yield _Piece("word", token, token if token in PUNCTUATION else "")


def _bracketed(text: str, notation: Notation) -> Iterator[_Piece]:
    tokens = BRACKET_TOKEN.findall(text)
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token == ")":
            yield _Piece(")", "")
        elif token[0] != "(":
            yield _Piece("word", token)
        elif notation is Notation.BRACKETS and _is_preterminal(tokens, position):
            tag = token[1:].strip()
            if tag != TRACE:
                yield _Piece("word", tokens[position + 1], tag)
            position += 2
        else:
            yield _Piece("(", token[1:].strip())
        position += 1


def _is_preterminal(tokens: Sequence[str], position: int) -> bool:
    following = tokens[position + 1 : position + 3]
    # At the end of a text that was cut off, the closing bracket may be missing.
    return bool(following) and is_word(following[0]) and following[1:] in ([")"], [])


def _assemble(pieces: Iterator[_Piece]) -> Skeleton:
    skeleton = Skeleton()
    tokens, faults = skeleton.tokens, skeleton.faults
    open_labels: list[str] = []
    roots = 0
    wraps = 0
    for piece in pieces:
        if not open_labels:
            roots += 1
        if piece.kind == "(":
            label = FUNCTION_TAG.sub("", piece.text)
            open_labels.append(label)
            tokens.append("(" + label)
            if len(open_labels) + wraps > MAX_DEPTH:
                raise TreeError("too-deep", f"more than {MAX_DEPTH} brackets are open")
        elif piece.kind == "word":
            if not open_labels:
                faults.append(TreeError("not-a-tree", f"{piece.text[:40]!r} is outside brackets"))
            tokens.append(piece.text)
            skeleton.tags.append(piece.tag)
        elif not open_labels:
            faults.append(TreeError("unbalanced", "more brackets are closed than opened"))
            label = FUNCTION_TAG.sub("", piece.text) or "TOP"
            wraps += 1
            if wraps > MAX_DEPTH:
                raise TreeError("too-deep", f"more than {MAX_DEPTH} brackets are missing")
            tokens.append(")" + label)
            roots = 1
        else:
            label = FUNCTION_TAG.sub("", piece.text)
            if piece.text and label != open_labels[-1]:
                message = f"')' + {label[:40]!r} closes '(' + {open_labels[-1][:40]!r}"
                faults.append(TreeError("unbalanced", message))
                while label in open_labels and label != open_labels[-1]:
                    _append(tokens, ")" + open_labels.pop())
            _append(tokens, ")" + open_labels.pop())
    if open_labels:
        message = f"{len(open_labels)} bracket(s) left open at the end"
        faults.append(TreeError("unbalanced", message))
        while open_labels:
            _append(tokens, ")" + open_labels.pop())
    if roots > 1:
        faults.append(TreeError("unbalanced", "text after the tree's last bracket"))
    if wraps:
        skeleton.tokens = _wrapped(tokens)
    _strip_root(skeleton.tokens)
    return skeleton


def _append(tokens: list[str], token: str) -> None:
    """Add a token; a closing one takes its opening one back if nothing stands between."""
    if token[0] == ")" and tokens and tokens[-1] == "(" + token[1:]:
        tokens.pop()
    else:
        tokens.append(token)


def _wrapped(tokens: list[str]) -> list[str]:
    """The tokens with an opening one in front for every closing one that lacks it."""
    depth = 0
    fronts: list[str] = []
    for token in tokens:
        if token[0] == "(":
            depth += 1
        elif token[0] == ")":
            if depth:
                depth -= 1
            else:
                fronts.append("(" + token[1:])
    wrapped: list[str] = []
    for token in (*reversed(fronts), *tokens):
        _append(wrapped, token)  # what was closed first may have been empty
    return wrapped


def _strip_root(tokens: list[str]) -> None:
    """Take the root wrapper off, as linearising does, and any other right below it."""
    while _is_constituent(tokens) and tokens[0][1:] in ROOT_LABELS:
        del tokens[-1], tokens[0]


def _is_constituent(tokens: Sequence[str]) -> bool:
    """Whether the first token opens what the last one closes."""
    depth = 0
    for position, token in enumerate(tokens, 1):
        depth += (token[0] == "(") - (token[0] == ")")
        if depth == 0:
            return position == len(tokens) > 1
    return False
