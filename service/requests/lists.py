"""Requests -> n-best lists, read by the same functions as the command's files.

A candidate that is not a tree is rejected and a list that cannot be read fails, each by itself;
only a limit, or a text without n-best lists, fails the request.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

from reranker.errors import InputError, TreeError
from reranker.files.text import TextInMemory
from reranker.files.visible import shown_id
from reranker.nbest import NBest, ReadOptions, Rejected, Sentence, from_candidates, read_nbest
from reranker.nbest.dialects.registry import DIALECTS, load
from reranker.nbest.faithful import ReadingRules
from reranker.nbest.growth_limit import GrowthLimit
from reranker.nbest.notation import Notation
from reranker.nbest.words import split_words
from reranker.process.cancellation import Cancellation
from reranker.service.errors import RequestError
from reranker.service.limits import Limits
from reranker.service.requests import bodies, schemas

_Entries = Sequence[str | schemas.CandidateEntry | schemas.DocumentEntry]

# It takes some 50 ms to put words of this many characters into short trees.
_MOST_ADDED = 50_000


class _Bounds(GrowthLimit):
    """The limits of a request's lists, and the growth limit that the lists share. A request that
    exceeds a limit is refused with RequestError 422."""

    def __init__(self, limits: Limits, field: str) -> None:
        super().__init__(_MOST_ADDED)
        self.limits, self.field = limits, field

    def take(self, text: str, words: Sequence[str]) -> None:
        """Count a candidate before ``words`` are put into it."""
        self.check_words(words)
        try:
            super().take(text, words)
        except TreeError as error:
            raise RequestError(422, "over-limit", str(error), self.field) from error

    def check_words(self, words: Sequence[str]) -> None:
        """Check that a tree can have all these words."""
        self._check("max_tree_tokens", len(words), f"a sentence of {len(words)} words")

    def check_count(self, sentences: int) -> None:
        many = f"more than {self.limits.max_sentences} sentences"
        self._check("max_sentences", sentences, many)

    def check_entries(self, entries: _Entries, name: str = "0", number: int = 1) -> None:
        """Check number and length of entries before lists are made of them."""
        self.check_length(name, number, len(entries))
        self.check_strings(map(_tree, entries))

    def check_strings(self, strings: Iterable[str]) -> None:
        for string in strings:
            size = len(string.encode("utf-8", "surrogatepass"))
            self._check("max_tree_bytes", size, f"a string of {size} bytes")

    def check_length(self, name: str, number: int, candidates: int) -> None:
        where = f"list {shown_id(name, number)} with {candidates} candidates"
        self._check("max_candidates", candidates, where)

    def check_trees(self, nbest: NBest, number: int) -> None:
        name = shown_id(nbest.id, number)
        for candidate in nbest.candidates:
            tokens = len(candidate.tokens) + 1  # <eos>
            self._check("max_tree_tokens", tokens, f"a tree of {tokens} tokens in list {name}")
        texts = [candidate.text for candidate in nbest.candidates]
        texts += [rejected.text for rejected in nbest.rejected]
        for text in texts:
            depth = _depth(text) if text.count("(") > self.limits.max_depth else 0
            self._check("max_depth", depth, f"a tree nested {depth} deep in list {name}")
        for rejected in nbest.rejected:
            # The readers have limits of their own, which are wider.
            if limit := {"too-deep": "max_depth", "too-long": "max_tree_tokens"}.get(rejected.code):
                raise self.limits.exceeded(limit, rejected.message, self.field)

    def _check(self, name: str, value: int, shown: str) -> None:
        self.limits.check(name, value, shown, self.field)


def read_lists(
    body: schemas.AnyRequest,
    limits: Limits,
    warn: Callable[[str], None],
    describe: Callable[[dict[str, str]], None] = lambda _: None,
    cancellation: Cancellation | None = None,
) -> list[NBest]:
    """Return the lists of a request for ``/rerank`` or ``/validate``; raises RequestError, and
    Stopped if cancelled.

    ``warn`` gets messages about unusable scores, ``describe`` the name and format of a text.
    """
    lists: Iterable[NBest]
    if isinstance(body, schemas.TextRequest):
        bounds = _Bounds(limits, "nbest")
        bodies.check_lines(body.nbest.count("\n"), limits)
        lists = _from_text(body, warn, describe, bounds)
    elif isinstance(body, schemas.SentencesRequest):
        bounds = _Bounds(limits, "sentences")
        bounds.check_count(len(body.sentences))
        for number, given in enumerate(body.sentences, 1):
            bounds.check_entries(given.candidates, given.id or str(number), number)
            bounds.check_strings([*(given.tokens or ()), *(given.tags or ())])
        lists = _from_sentences(body, bounds)
    else:
        bounds = _Bounds(limits, "documents")
        bounds.check_entries(body.documents)
        lists = [_single_list(body.documents, body.query, bounds)]
    return _within(bounds, lists, cancellation)


def read_trees(
    body: schemas.ScoreRequest, limits: Limits, cancellation: Cancellation | None = None
) -> list[NBest]:
    """Return a list for each tree. Raises RequestError, and Stopped if cancelled."""
    bounds = _Bounds(limits, "trees")
    bounds.check_count(len(body.trees))
    bounds.check_strings(body.trees)
    rules = _rules(body.format, bounds)
    lists = (
        _from_entries([tree], rules, str(position), position)
        for position, tree in enumerate(body.trees)
    )
    return _within(bounds, lists, cancellation)


def _from_text(
    body: schemas.TextRequest,
    warn: Callable[[str], None],
    describe: Callable[[dict[str, str]], None],
    bounds: _Bounds,
) -> Iterator[NBest]:
    numbers = itertools.count(1)
    options = ReadOptions(
        format="auto" if body.format == "ptb" else body.format,
        tokens=None if body.tokens is None else TextInMemory(body.tokens.encode(), "tokens"),
        repair=body.repair,
        beam=body.beam,
        # Before each candidate takes its sentence's length.
        check=lambda raw: bounds.check_length(raw.id, next(numbers), len(raw.candidates)),
        growth_limit=bounds,
    )
    try:
        # A text/plain body may have bytes that are not UTF-8.
        text = TextInMemory(body.nbest.encode("utf-8", "surrogateescape"), "nbest")
        lists = read_nbest(text, options=options, warn=warn)
        for file in lists.files:
            describe({"name": file.name, "format": file.description})
        yield from lists
    except InputError as error:
        raise RequestError(422, "unreadable", str(error), "nbest") from error


def _from_sentences(body: schemas.SentencesRequest, growth_limit: GrowthLimit) -> Iterator[NBest]:
    rules = _rules(body.format, growth_limit, body.repair)
    for position, given in enumerate(body.sentences):
        name = str(position) if given.id is None else given.id
        try:
            sentence = Sentence.of(given.tokens, given.tags or ()) if given.tokens else None
        except InputError as error:
            yield _failed(name, position, "bad-list", error)
        else:
            yield _from_entries(given.candidates, rules, name, position, sentence)


def _single_list(entries: _Entries, query: str | None, bounds: _Bounds) -> NBest:
    rules = _rules("auto", bounds)
    nbest = _from_entries(entries, rules)
    are_hidden = any(rejected.code == "hidden-words" for rejected in nbest.rejected)
    if are_hidden and (words := split_words(query or "")):
        bounds.check_words(words)
        return _from_entries(entries, rules, sentence=Sentence.of(words))
    return nbest


def _from_entries(
    entries: _Entries,
    rules: ReadingRules,
    name: str = "0",
    position: int = 0,
    sentence: Sentence | None = None,
) -> NBest:
    trees = map(_tree, entries)
    scores = [None if isinstance(entry, str) else entry.score for entry in entries]
    try:
        return from_candidates(
            trees, scores, id=name, line=position + 1, sentence=sentence, rules=rules
        )
    except InputError as error:
        return _failed(name, position, "hidden-words", error)


def _failed(name: str, position: int, code: str, error: InputError) -> NBest:
    rejected = Rejected(0, position + 1, code, str(error), "")
    return NBest(name, (), (rejected,), rejected.line)


def _tree(entry: str | schemas.CandidateEntry | schemas.DocumentEntry) -> str:
    return entry if isinstance(entry, str) else entry.tree


def _rules(format_name: str, growth_limit: GrowthLimit, repair: bool | None = None) -> ReadingRules:
    """Return the rules for trees of a format; in many formats each tree shows its notation."""
    if format_name == "ptb":
        return ReadingRules("the request", Notation.BRACKETS, repair, growth_limit=growth_limit)
    notation = load(format_name).notation if format_name in DIALECTS else None
    return ReadingRules("the request", notation, repair, growth_limit=growth_limit)


def _within(
    bounds: _Bounds, lists: Iterable[NBest], cancellation: Cancellation | None
) -> list[NBest]:
    accepted: list[NBest] = []
    for number, nbest in enumerate((cancellation or Cancellation()).until_cancelled(lists), 1):
        bounds.check_count(number)
        bounds.check_length(nbest.id, number, len(nbest.candidates) + len(nbest.rejected))
        bounds.check_trees(nbest, number)
        accepted.append(nbest)
    return accepted


def _depth(text: str) -> int:
    steps = (1 if character == "(" else -1 for character in text if character in "()")
    return max(itertools.accumulate(steps), default=0)
