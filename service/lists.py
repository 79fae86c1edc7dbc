"""Requests in -> n-best lists out, by the same readers as the command's.

A candidate that is no tree is rejected and a list that is none fails, each by itself; only a limit,
or a text that is not n-best lists at all, ends the request.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator

from reranker.errors import InputError
from reranker.files.text import TextInMemory
from reranker.nbest import NBest, ReadOptions, Rejected, read_nbest
from reranker.nbest.data import RawList
from reranker.nbest.data import Sentence as Words
from reranker.nbest.detect import detect_notation
from reranker.nbest.dialects.json_lines import raw_list
from reranker.nbest.faithful import Source, accept
from reranker.nbest.lines import HEAD_LINES
from reranker.nbest.notation import Notation
from reranker.nbest.words import escaped, split_words
from reranker.service.errors import ServiceError, over_limit
from reranker.service.schemas import (
    AnyRequest,
    Candidate,
    DocumentsRequest,
    ScoreRequest,
    SentencesRequest,
    TextRequest,
)
from reranker.service.settings import Settings

# Dialects that say how a tree is written; the others leave it to the trees.
_TREE_FORMATS = {
    "ptb", "bllip", "choe-charniak", "berkeley", "fairseq", "seq2seq", "opennmt"
}  # fmt: skip
_FLAG = re.compile(r"--([a-z]+)(?: (?:FILE|K)\b)?")


def read_lists(
    body: AnyRequest,
    settings: Settings,
    warn: Callable[[str], None],
    describe: Callable[[dict[str, str]], None] = lambda _: None,
) -> list[NBest]:
    """The lists of a request for ``/rerank`` or ``/validate``; raises ServiceError.

    ``warn`` is told of scores that cannot be used, ``describe`` a text's format.
    """
    if isinstance(body, TextRequest):
        return _within_limits(_text(body, warn, describe), settings, "nbest")
    if isinstance(body, SentencesRequest):
        return _within_limits(_sentences(body), settings, "sentences")
    if isinstance(body, DocumentsRequest):
        documents = [
            Candidate(tree=one)
            if isinstance(one, str)
            else Candidate(tree=one.text, score=one.score)
            for one in body.documents
        ]
        return _within_limits([_one_list(documents, body.query)], settings, "documents")
    texts = [Candidate(tree=text) for text in body.texts]
    return _within_limits([_one_list(texts, body.query)], settings, "texts")


def read_trees(body: ScoreRequest, settings: Settings) -> list[NBest]:
    """A list of its own for each tree; raises ServiceError."""
    notation = _notation(body.format, body.trees)
    lists = (
        _accept(raw_list({"candidates": [tree]}, place, place + 1), notation)
        for place, tree in enumerate(body.trees)
    )
    return _within_limits(lists, settings, "trees")


def _text(
    body: TextRequest, warn: Callable[[str], None], describe: Callable[[dict[str, str]], None]
) -> Iterator[NBest]:
    options = ReadOptions(
        format="auto" if body.format == "ptb" else body.format,
        tokens=None if body.tokens is None else TextInMemory(body.tokens.encode(), "tokens"),
        repair=body.repair,
        beam=body.beam,
    )
    try:
        # A text that came as bytes may hold some that are not UTF-8.
        text = TextInMemory(body.nbest.encode("utf-8", "surrogateescape"), "nbest")
        lists = read_nbest(text, options=options, warn=warn)
        for file in lists.files:
            describe({"name": file.name, "format": file.description})
        yield from lists
    except InputError as error:
        raise ServiceError(422, "unreadable", _FLAG.sub(r"'\1'", str(error)), "nbest") from error


def _sentences(body: SentencesRequest) -> Iterator[NBest]:
    head = (sentence.candidates for sentence in body.sentences[:HEAD_LINES])
    texts = [one if isinstance(one, str) else one.tree for one in itertools.chain(*head)]
    notation = _notation(body.format, texts)
    for position, sentence in enumerate(body.sentences):
        data = sentence.model_dump(exclude_none=True)
        try:
            raw = raw_list(data, position, position + 1)
        except (ValueError, OverflowError) as error:  # words with a space in them and the like
            raw = RawList(str(data.get("id", position)), position + 1, [])
            yield _failed(raw, "bad-list", str(error))
        else:
            yield _accept(raw, notation, repair=body.repair)


def _one_list(candidates: list[Candidate], query: str | None) -> NBest:
    raw = raw_list({"candidates": [one.model_dump() for one in candidates]}, 0, 1)
    words = Words(tuple(map(escaped, split_words(query or ""))))
    return _accept(raw, _notation("auto", (one.tree for one in candidates)), hidden=words)


def _accept(
    raw: RawList, notation: Notation, hidden: Words | None = None, repair: bool | None = None
) -> NBest:
    """``hidden`` are the words if the candidates do not tell them."""
    is_repaired = notation is Notation.LINEARIZED if repair is None else repair
    source = Source("the request", notation, is_repaired)
    try:
        return accept(raw, source)
    except InputError as error:
        if hidden and hidden.words:
            return accept(raw, source, hidden)
        return _failed(raw, "hidden-words", str(error))


def _failed(raw: RawList, code: str, message: str) -> NBest:
    message = _FLAG.sub(r"'\1'", message)
    return NBest(raw.id, (), (Rejected(0, raw.line, code, message, ""),), raw.line, raw.sentence)


def _notation(format_name: str, texts: Iterable[str]) -> Notation:
    name = format_name if format_name in _TREE_FORMATS else "trees"
    return detect_notation("bllip" if name == "ptb" else name, texts)


def _within_limits(lists: Iterable[NBest], settings: Settings, param: str) -> list[NBest]:
    accepted: list[NBest] = []
    for nbest in lists:
        if len(accepted) == settings.max_sentences:
            many = f"more than {len(accepted)} sentences"
            raise over_limit("max_sentences", settings.max_sentences, many, param)
        candidates = len(nbest.candidates) + len(nbest.rejected)
        if candidates > settings.max_candidates:
            many = f"list {nbest.id} with {candidates} candidates"
            raise over_limit("max_candidates", settings.max_candidates, many, param)
        _check_trees(nbest, settings, param)
        accepted.append(nbest)
    return accepted


def _check_trees(nbest: NBest, settings: Settings, param: str) -> None:
    for candidate in nbest.candidates:
        tokens = len(candidate.tokens) + 1  # <eos>
        if tokens > settings.max_tree_tokens:
            many = f"a tree of {tokens} tokens in list {nbest.id}"
            raise over_limit("max_tree_tokens", settings.max_tree_tokens, many, param)
    texts = [one.text for one in nbest.candidates] + [one.text for one in nbest.rejected]
    for text in texts:
        depth = _depth(text) if text.count("(") > settings.max_depth else 0
        if depth > settings.max_depth:
            many = f"a tree nested {depth} deep in list {nbest.id}"
            raise over_limit("max_depth", settings.max_depth, many, param)
    for rejected in nbest.rejected:
        # The readers have bounds of their own, which are wider.
        if rejected.code == "too-deep":
            raise over_limit("max_depth", settings.max_depth, rejected.message, param)
        if rejected.code == "too-long":
            raise over_limit("max_tree_tokens", settings.max_tree_tokens, rejected.message, param)


def _depth(text: str) -> int:
    steps = (1 if character == "(" else -1 for character in text if character in "()")
    return max(itertools.accumulate(steps), default=0)
