"""A raw list -> an NBest: every candidate that is a tree of its sentence, the others rejected.

The words of a sentence are the user's, else the file's own, else those of the list's first
candidate that hides none. Words are put into a candidate by position.
"""

from __future__ import annotations

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
from reranker.nbest.words import SURROGATE, check_words, is_placeholder, wrong_word
from reranker.trees.linearize import is_word, linearize_text


class Source(NamedTuple):
    """Where a list comes from, how its candidates are written, and how to treat them."""

    name: str
    notation: Notation
    repair: bool | None = None
    """Repair broken candidates; None: those of seq2seq parsers only."""
    restore: bool = False
    """Rewrite candidates as bracketed trees with the sentence's words and tags."""

    @property
    def repairs(self) -> bool:
        return self.notation is Notation.LINEARIZED if self.repair is None else self.repair


class _Parsed(NamedTuple):
    """A candidate whose brackets are balanced."""

    place: int
    raw: RawCandidate
    tokens: tuple[str, ...]
    words: tuple[str, ...]
    skeleton: Skeleton | None = None
    """None if the text has part-of-speech nodes and needed no repair."""


def accept(
    raw: RawList, source: Source, sentence: Sentence | None = None, first_index: int = 0
) -> NBest:
    """Sort a list's candidates into usable ones and rejected ones, with indices from
    ``first_index``.

    Raises InputError if the candidates hide their words and there is no ``sentence``.
    """
    sentence = sentence or raw.sentence
    rejected: list[Rejected] = []
    parsed: list[_Parsed] = []
    for index, candidate in enumerate(raw.candidates, first_index):
        try:
            parsed.append(_parse(index, candidate, source))
        except TreeError as error:
            rejected.append(_rejected(index, candidate, error, source))
    words = sentence.words if sentence else _words_of_list(parsed, source)
    candidates: list[Candidate] = []
    for entry in parsed:
        try:
            candidates.append(_candidate(_with_words(entry, words, source), sentence, source))
        except TreeError as error:
            rejected.append(_rejected(entry.place, entry.raw, error, source))
    rejected.sort(key=lambda entry: (entry.index, entry.line))
    return NBest(raw.id, tuple(candidates), tuple(rejected), raw.line, sentence)


def _rejected(index: int, raw: RawCandidate, error: TreeError, source: Source) -> Rejected:
    text = raw.text if len(raw.text) <= MAX_LINE else raw.text[:200]
    return Rejected(index, raw.line, error.code, str(error), printable(text), source.name)


def _parse(index: int, raw: RawCandidate, source: Source) -> _Parsed:
    if raw.problem:
        raise TreeError(*raw.problem)
    _check_characters(raw.text)
    fault: TreeError | None = None
    if source.notation is Notation.BRACKETS:
        try:
            tokens = linearize_text(raw.text)
        except TreeError as error:
            if not source.repairs:
                raise
            fault = error
        else:
            return _Parsed(index, raw, tokens, _words(tokens))
    skeleton = read_skeleton(raw.text, source.notation)
    if fault and not skeleton.faults:
        skeleton.faults.append(fault)  # in a trace, for example, which the skeleton leaves out
    if skeleton.faults and not source.repairs:
        raise skeleton.faults[0]
    return _Parsed(index, raw, tuple(skeleton.tokens), tuple(skeleton.words), skeleton)


def _check_characters(text: str) -> None:
    if len(text) > MAX_LINE:
        raise TreeError("too-long", f"more than {MAX_LINE} characters")
    if not text.isascii() and (surrogate := SURROGATE.search(text)):
        byte = ord(surrogate[0]) - 0xDC00
        message = f"byte 0x{byte:02x} is not UTF-8" if byte >= 0x80 else "half a surrogate pair"
        raise TreeError("encoding", message)


def _words(tokens: Sequence[str]) -> tuple[str, ...]:
    words = tuple(token for token in tokens if token[0] not in "()")
    if not words:
        raise TreeError("empty", "the tree has no words but traces")
    return words


def _words_of_list(parsed: Sequence[_Parsed], source: Source) -> tuple[str, ...]:
    """The words of the first candidate that hides none of them, else of the first."""
    if not parsed:
        return ()
    first = parsed[0]
    hidden = [word for word in first.words if is_placeholder(word)]
    if not hidden:
        return first.words
    for other in parsed[1:]:
        if len(other.words) == len(first.words) and not any(map(is_placeholder, other.words)):
            return other.words
    if source.notation is Notation.LINEARIZED and PLACEHOLDER in hidden:
        raise InputError(
            f"{source.name}:{first.raw.line}: the words are {PLACEHOLDER}: "
            "give the sentences as 'tokens'"
        )
    return first.words


def _with_words(parsed: _Parsed, words: tuple[str, ...], source: Source) -> _Parsed:
    """The candidate with the list's words in the places of its own.

    Raises TreeError if it has other words, or another number of them that must not be repaired.
    """
    if source.repairs and len(parsed.words) != len(words):
        skeleton = parsed.skeleton or read_skeleton(parsed.raw.text, source.notation)
        skeleton.fit(len(words))
        parsed = parsed._replace(
            tokens=tuple(skeleton.tokens), words=tuple(skeleton.words), skeleton=skeleton
        )
    if parsed.words == words:
        return parsed
    check_words(_without_stand_ins(parsed, words, source), words)
    next_word = iter(words)
    tokens = tuple(next(next_word) if is_word(token) else token for token in parsed.tokens)
    return parsed._replace(tokens=tokens)


def _without_stand_ins(
    parsed: _Parsed, words: tuple[str, ...], source: Source
) -> tuple[str, ...] | list[str]:
    """The candidate's words, with a placeholder for each that may stand for any word.

    Those are tokens like ``_DT_`` of seq2seq parsers and their punctuation, which may stand for
    other punctuation. Punctuation in the place of a word is a fault (``wrong-words``).
    """
    skeleton, own_words = parsed.skeleton, list(parsed.words)
    if source.notation is not Notation.LINEARIZED or len(own_words) != len(words):
        return own_words
    assert skeleton is not None
    for place, (word, tag, wanted) in enumerate(
        zip(parsed.words, skeleton.tags, words, strict=True)
    ):
        if word in PUNCTUATION and word != wanted:
            if any(map(str.isalnum, wanted)):
                fault = wrong_word(place, word, wanted)
                if not source.repairs:
                    raise fault
                skeleton.faults.append(fault)
                skeleton.tags[place] = ""
            own_words[place] = PLACEHOLDER
        elif tag and word == f"_{tag}_":
            own_words[place] = PLACEHOLDER
    return own_words


def _candidate(parsed: _Parsed, sentence: Sentence | None, source: Source) -> Candidate:
    raw, skeleton = parsed.raw, parsed.skeleton
    tags: tuple[str, ...] | None = None
    if skeleton and source.notation is not Notation.BRACKETS:
        own_tags = tuple(tag or UNKNOWN_TAG for tag in skeleton.tags)
        tags = sentence.tags if sentence and sentence.tags else own_tags
    text, is_repaired = raw.text, False
    if skeleton and skeleton.faults:
        text, is_repaired = skeleton.to_text(source.notation, raw.text), True
    candidate = Candidate(
        parsed.place,
        text,
        parsed.tokens,
        raw.parser_score,
        raw.line,
        tags,
        is_repaired,
        source.name,
    )
    return _restored(candidate, sentence) if source.restore else candidate


def _restored(candidate: Candidate, sentence: Sentence | None) -> Candidate:
    """The candidate as a bracketed tree with the sentence's words and, where it has none of its
    own, the sentence's tags."""
    tree = candidate.tree
    if sentence and sentence.tags and set(tree.tags()) == {UNKNOWN_TAG}:
        tree = tree.with_tags(sentence.tags)
    return replace(candidate, text=tree.to_string(), tags=None)


def printable(text: str) -> str:
    """``text`` with the bytes that are not UTF-8 replaced, so that it can be written again."""
    return SURROGATE.sub("\ufffd", text)
