"""A raw list -> an NBest: every candidate that is a tree of its sentence, the others rejected.

The words of a sentence are the user's (``--tokens``), else the file's own, else those of the list's
first candidate that hides none. Words are put into a candidate by position.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from reranker.errors import InputError, TreeError
from reranker.files.text import MAX_LINE
from reranker.nbest.data import (
    UNKNOWN_TAG,
    Candidate,
    NBest,
    RawCandidate,
    RawList,
    Rejected,
    Sentence,
)
from reranker.nbest.notation import PLACEHOLDER, PUNCTUATION, Notation, Skeleton, read_skeleton
from reranker.nbest.words import check_words, is_placeholder
from reranker.trees.linearize import is_word, linearize_text

# Bytes that are not UTF-8 arrive as the upper ones; JSON can escape any.
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Read(NamedTuple):
    """A candidate whose brackets are in order."""

    place: int
    raw: RawCandidate
    words: tuple[str, ...]
    tokens: tuple[str, ...]  # with the words as they stand in the text
    skeleton: Skeleton | None  # None if the text has part-of-speech nodes and needed no mending


class Source(NamedTuple):
    """Where a list comes from and how its candidates are written."""

    name: str
    notation: Notation
    repair: bool
    restore: bool = False


def accept(
    raw: RawList, source: Source, sentence: Sentence | None = None, first_index: int = 0
) -> NBest:
    """Sort a list's candidates into usable ones and rejected ones, with indices from
    ``first_index``.

    Raises InputError if the words are hidden and ``sentence`` does not tell them.
    """
    sentence = sentence or raw.sentence
    rejected: list[Rejected] = []
    read: list[_Read] = []

    def reject(index: int, one: RawCandidate, code: str, message: str) -> None:
        text = printable(one.text if len(one.text) <= MAX_LINE else one.text[:200])
        rejected.append(Rejected(index, one.line, code, message, text, source.name))

    for index, one in enumerate(raw.candidates, first_index):
        try:
            if one.problem:
                raise TreeError(*one.problem)
            read.append(_read(index, one, source))
        except TreeError as error:
            reject(index, one, error.code, str(error))
    expected: Sequence[str] = ()
    if sentence:
        expected = sentence.words
    elif read:
        expected = _reference(read, source)
    candidates = []
    for found in read:
        try:
            candidates.append(_aligned(found, expected, sentence, source))
        except TreeError as error:
            reject(found.place, found.raw, error.code, str(error))
    rejected.sort(key=lambda one: (one.index, one.line))
    return NBest(raw.id, tuple(candidates), tuple(rejected), raw.line, sentence)


def _read(index: int, raw: RawCandidate, source: Source) -> _Read:
    text = raw.text
    if len(text) > MAX_LINE:
        raise TreeError("too-long", f"more than {MAX_LINE} characters")
    if not text.isascii() and (surrogate := _SURROGATE.search(text)):
        byte = ord(surrogate[0]) - 0xDC00
        message = f"byte 0x{byte:02x} is not UTF-8" if byte >= 0x80 else "half a surrogate pair"
        raise TreeError("encoding", message)
    fault: TreeError | None = None
    if source.notation is Notation.BRACKETS:
        try:
            tokens = linearize_text(text)
        except TreeError as error:
            if not source.repair:
                raise
            fault = error
        else:
            words = tuple(token for token in tokens if token[0] not in "()")
            if not words:
                raise TreeError("empty", "the tree has no words but traces")
            return _Read(index, raw, words, tokens, None)
    skeleton = read_skeleton(text, source.notation)
    if fault and not skeleton.faults:
        skeleton.faults.append(fault)  # in a trace, say, which the skeleton leaves out
    if skeleton.faults and not source.repair:
        raise skeleton.faults[0]
    return _Read(index, raw, tuple(skeleton.words), tuple(skeleton.tokens), skeleton)


def _reference(read: Sequence[_Read], source: Source) -> Sequence[str]:
    """The words of the first candidate that hides none of them, else of the first."""
    first = read[0]
    hidden = [word for word in first.words if is_placeholder(word)]
    if not hidden:
        return first.words
    for other in read[1:]:
        if len(other.words) == len(first.words) and not any(map(is_placeholder, other.words)):
            return other.words
    if source.notation is Notation.LINEARIZED and PLACEHOLDER in hidden:
        raise InputError(
            f"{source.name}:{first.raw.line}: the words are {PLACEHOLDER}: "
            "give the sentences with --tokens FILE"
        )
    return first.words


def _aligned(
    found: _Read, expected: Sequence[str], sentence: Sentence | None, source: Source
) -> Candidate:
    raw, skeleton = found.raw, found.skeleton
    tokens, words = found.tokens, found.words
    if source.repair and len(words) != len(expected):
        if skeleton is None:
            skeleton = read_skeleton(raw.text, source.notation)
        skeleton.fit(len(expected))
        tokens, words = tuple(skeleton.tokens), tuple(skeleton.words)
    if words != expected:
        _check(words, expected, skeleton, source)
        own = iter(expected)
        tokens = tuple(next(own) if is_word(token) else token for token in tokens)
    text = raw.text
    if skeleton and skeleton.faults:
        text = skeleton.to_text(source.notation, raw.text)
    tags: tuple[str, ...] | None = None
    if source.notation is not Notation.BRACKETS:
        assert skeleton is not None
        own_tags = tuple(tag or UNKNOWN_TAG for tag in skeleton.tags)
        tags = sentence.tags if sentence and sentence.tags else own_tags
    is_repaired = bool(skeleton and skeleton.faults)
    candidate = Candidate(
        found.place, text, tokens, raw.parser_score, raw.line, tags, is_repaired, source.name
    )
    if source.restore:
        tree = candidate.tree
        if sentence and sentence.tags and set(tree.tags()) == {UNKNOWN_TAG}:
            tree = tree.with_tags(sentence.tags)
        candidate = replace(candidate, text=tree.to_string(), tags=None)
    return candidate


def _check(
    words: Sequence[str], expected: Sequence[str], skeleton: Skeleton | None, source: Source
) -> None:
    """Seq2seq parsers keep punctuation: that may stand for any punctuation, and where it stands
    for a word, that is one more thing to repair. Tokens like ``_DT_`` stand for any word."""
    if source.notation is not Notation.LINEARIZED or skeleton is None:
        check_words(words, expected)
        return
    seen = list(words)
    if len(words) == len(expected):
        for place, (word, tag, wanted) in enumerate(
            zip(words, skeleton.tags, expected, strict=True)
        ):
            if word in PUNCTUATION and word != wanted:
                if any(map(str.isalnum, wanted)):
                    message = f"word {place + 1} is {word!r} where the list has {wanted[:40]!r}"
                    fault = TreeError("wrong-words", message)
                    if not source.repair:
                        raise fault
                    skeleton.faults.append(fault)
                    skeleton.tags[place] = ""
                seen[place] = PLACEHOLDER
            elif tag and word == f"_{tag}_":
                seen[place] = PLACEHOLDER
    check_words(seen, expected)


def printable(text: str) -> str:
    """``text`` with the bytes that are not UTF-8 replaced, so that it can be written again."""
    return _SURROGATE.sub("\ufffd", text)
