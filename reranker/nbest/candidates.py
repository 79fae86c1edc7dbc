"""Candidates that are not in a file (strings, ``Tree``, ``nltk.Tree``, JSON) as an NBest.

Shared by ``Reranker.rerank``, JSON lines and the service.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsFloat, TypeVar

from reranker.errors import InputError, TreeError
from reranker.files.visible import counted
from reranker.nbest.data import NBest, RawCandidate, RawList, Rejected, Sentence
from reranker.nbest.faithful import ReadingRules, accept
from reranker.nbest.words import printable
from reranker.trees import psd
from reranker.trees.tree import Tree

if TYPE_CHECKING:
    import nltk

T = TypeVar("T")

_CANDIDATES = ReadingRules("candidates")
_ROUNDING = 1e-3  # nats that a sum of log-probabilities may be above 0
_LINE_BREAK = re.compile(r"[\r\n\f\v]+")


def from_candidates(
    candidates: Iterable[str | Tree | nltk.Tree],
    parser_scores: Iterable[SupportsFloat | None] | None = None,
    *,
    id: str = "0",
    line: int | None = None,
    sentence: Sentence | None = None,
    rules: ReadingRules = _CANDIDATES,
) -> NBest:
    """Return an NBest of one sentence: the candidates that are trees of it, and the others
    ``rejected``.

    ``parser_scores`` are natural-log probabilities, one for each candidate; None and numbers that
    are not finite mean that a candidate has no score. The words come from ``sentence``, else from
    the first tree. ``rules`` names the notation of strings; by default, each string shows its own
    (``accept``). Errors name ``line``, by default the candidate's place counted from 1.

    >>> nbest = from_candidates(["(S (NP (PRP It)) (VP (VBZ runs)))", "(S (NP"], [-30.4, -31.9])
    >>> nbest.candidates[0].parser_score, nbest.rejected[0].code
    (-30.4, 'unbalanced')

    Raises InputError for a single candidate, if the scores are not numbers or not one for each
    candidate, and for strings that hide their words if there is no ``sentence``; TypeError for
    candidates or scores that cannot be iterated over.
    """
    raw = raw_list(candidates, parser_scores, id=id, line=line, sentence=sentence)
    return accept(raw, rules)


def raw_list(
    candidates: Iterable[Any],
    parser_scores: Iterable[SupportsFloat | None] | None = None,
    *,
    id: str = "0",
    line: int | None = None,
    sentence: Sentence | None = None,
) -> RawList:
    """Return the list of ``from_candidates`` before its check against the words, for readers of
    files."""
    trees = listed(candidates)
    if parser_scores is None:
        parser_scores = [None] * len(trees)
    scores = list(map(_finite, parser_scores))
    if len(scores) != len(trees):
        raise InputError(f"{len(scores)} parser scores for {len(trees)} candidates")
    historical = [tree for tree in trees if isinstance(tree, str) and psd.is_historical(tree)]
    has_lemmas = psd.has_lemmas(historical)
    raw = [
        _raw_candidate(tree, score, place if line is None else line, has_lemmas)
        for place, (tree, score) in enumerate(zip(trees, scores, strict=True), 1)
    ]
    return RawList(printable(id), 1 if line is None else line, raw, sentence)


def listed(candidates: Iterable[T]) -> list[T]:
    """Return the candidates as a list. Raises InputError for a single candidate, whose parts would
    be taken for candidates, and TypeError for anything that cannot be iterated over."""
    if isinstance(candidates, str) or hasattr(candidates, "label"):
        raise InputError("expected a list of candidates, not a single one: pass [tree, ...]")
    return list(candidates)


def log_probabilities(scores: Iterable[SupportsFloat | None]) -> list[Any]:
    """Return a caller's scores; raise InputError for a score that cannot be a log-probability.
    Scores in files are not checked: they may be of other kinds."""
    numbers = list(scores)
    for place, score in enumerate(map(_finite, numbers)):
        if score is not None and score > _ROUNDING:
            raise InputError(
                f"parser_scores[{place}] is {score:g}: a log-probability is 0 or less; scores of "
                "another kind cannot be mixed in, leave them out"
            )
    return numbers


def score_warnings(nbest: NBest, warned: set[str]) -> list[str]:
    """Return, for each file with a score that cannot be a log-probability, a warning about the
    first such score. Add the file to ``warned``: it gets no second warning."""
    found: list[str] = []
    for each in nbest.candidates:
        score = each.parser_score
        if score is not None and score > _ROUNDING and each.file not in warned:
            warned.add(each.file)
            found.append(
                f"{each.file}:{each.line}: score {score:g} is no log-probability, which is 0 or "
                "less: scores of another kind make no sense here"
            )
    return found


def _raw_candidate(tree: Any, score: float | None, line: int, has_lemmas: bool) -> RawCandidate:
    try:
        if isinstance(tree, str):
            text = _LINE_BREAK.sub(" ", tree)
            if psd.is_historical(text):
                text = psd.plain(text, has_lemmas=has_lemmas) or ""
            return RawCandidate(line, text, score)
        if isinstance(tree, Mapping | tuple):
            message = f"expected a tree, not a {type(tree).__name__}: scores go in parser_scores"
            raise TreeError("not-a-tree", message)
        if isinstance(tree, list) and not hasattr(tree, "label"):
            message = "expected a tree, not a list: rerank_lists takes several sentences"
            raise TreeError("not-a-tree", message)
        tree = tree if isinstance(tree, Tree) else Tree.from_nltk(tree)
        return RawCandidate(line, tree.to_string(), score)
    except TreeError as error:
        return RawCandidate(line, "", score, (error.code, str(error)))


def _finite(score: SupportsFloat | None) -> float | None:
    if score is None:
        return None
    try:
        return float(score) if math.isfinite(score) else None
    except OverflowError:
        return None
    except TypeError:
        raise InputError(f"a parser score is not a number: {score!r}") from None


def warn_about_words(nbest: NBest) -> None:
    """Give a UserWarning if candidates of a call are trees of other words than the first one."""
    others = [each for each in nbest.rejected if each.code in ("wrong-length", "wrong-words")]
    if others:
        trees = counted(len(others), "candidate")
        warnings.warn(
            f"{trees} rejected, since a list has the trees of one sentence: {others[0].message}; "
            "rerank_lists takes a list for each of several sentences",
            stacklevel=3,
        )


def refuse(rejected: Sequence[Rejected], kind: str) -> None:
    """Raise InputError if none of the candidates can have been meant as a tree."""
    if not rejected:
        raise InputError(f"no candidates: expected a list of trees, got an empty {kind}")
    for entry in rejected:
        if entry.code == "not-a-tree" and os.path.isfile(entry.text):
            raise InputError(f"{entry.text} is a file, not a tree; use rerank_file")
    if all(entry.code == "not-a-tree" for entry in rejected):
        given = rejected[0].text or rejected[0].message
        raise InputError(f"none of the candidates is a tree; the first of this {kind}: {given:.60}")
