"""``Reranker``: the one path from candidates to rankings, which the command line and the service
share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from reranker.checkpoint import Checkpoint, load_checkpoint
from reranker.errors import RerankError, TreeError
from reranker.linearize import is_word
from reranker.memory import keep_freed_memory
from reranker.nbest import NBest
from reranker.nbest.data import RawCandidate, RawList
from reranker.nbest.faithful import Source, accept
from reranker.nbest.notation import Notation
from reranker.ranking import (
    TOKEN_SCORE_DECIMALS,
    Criterion,
    Ranking,
    Scored,
    Weighing,
    perplexity,
    rank,
)
from reranker.scoring import Trie, edge_log_probabilities
from reranker.trees import Tree
from reranker.vocab import EOS

if TYPE_CHECKING:
    import nltk

Combination = Literal["sum", "average"]

# Distinct tokens of the lists that are scored together; a longer list is scored by itself.
BATCH_TOKENS = 60_000


class Reranker:
    """An ensemble of language models that orders the candidates of a sentence.

    >>> reranker = Reranker.load(["ckpt/a.pt", "ckpt/b.pt"])  # doctest: +SKIP
    >>> reranker.rerank(["(S (NP (PRP It)) (VP (VBZ runs)))", "(NP (PRP It) (VBZ runs))"]).tree
    ... # doctest: +SKIP
    '(S (NP (PRP It)) (VP (VBZ runs)))'
    """

    def __init__(self, members: Sequence[Checkpoint], combination: Combination = "sum") -> None:
        """``sum`` adds the members' log-probabilities, each with its own vocabulary; ``average``
        averages their probabilities token by token. Raises RerankError if that is impossible."""
        if not members:
            raise RerankError("an ensemble needs at least one checkpoint")
        if combination == "average":
            for member in members[1:]:
                if member.vocabulary != members[0].vocabulary:
                    raise RerankError(
                        f"{member.name} and {members[0].name} have different vocabularies, so "
                        "their probabilities cannot be averaged; combine them by sum"
                    )
        self.members = tuple(members)
        self.combination = combination

    @classmethod
    def load(
        cls,
        paths: Iterable[str | os.PathLike[str]],
        combination: Combination = "sum",
        device: str = "cpu",
    ) -> Reranker:
        """Load checkpoints; raises CheckpointError naming the file that is none."""
        keep_freed_memory()
        return cls([load_checkpoint(Path(path), device) for path in paths], combination)

    def rerank(
        self,
        candidates: Iterable[str | Tree | nltk.Tree],
        parser_scores: Sequence[float] | None = None,
        weighing: Weighing = Weighing(),  # noqa: B008 - immutable
    ) -> Ranking:
        """Rank the candidates of one sentence: bracketed strings, ``Tree`` or ``nltk.Tree``.

        ``parser_scores`` are the parser's natural-log probabilities, one for each candidate. What
        is not a tree, or has other words than the first that is, stands in the answer's
        ``rejected``; the others are ranked all the same.
        """
        found: list[RawCandidate] = []
        for index, given in enumerate(candidates):
            try:
                tree = given if isinstance(given, str | Tree) else Tree.from_nltk(given)
                text = tree if isinstance(tree, str) else tree.to_string()
                found.append(RawCandidate(index + 1, text))
            except TreeError as error:
                found.append(RawCandidate(index + 1, "", problem=(error.code, str(error))))
        if parser_scores is not None:
            if len(parser_scores) != len(found):
                raise RerankError(f"{len(parser_scores)} parser scores for {len(found)} candidates")
            found = [
                one._replace(score=score) for one, score in zip(found, parser_scores, strict=True)
            ]
        nbest = accept(RawList("0", 1, found), Source("candidates", Notation.BRACKETS, False))
        return next(self.rerank_lists([nbest], weighing))

    def rerank_lists(
        self,
        lists: Iterable[NBest],
        weighing: Weighing = Weighing(),  # noqa: B008 - immutable
        token_scores: bool = False,
    ) -> Iterator[Ranking]:
        """A ranking for each list, in order; reads ahead only as far as one batch."""
        for nbest, scores in self.score_lists(lists, weighing.criterion, token_scores):
            yield rank(nbest, scores, weighing)

    def score_lists(
        self,
        lists: Iterable[NBest],
        criterion: Criterion = "perplexity",
        token_scores: bool = False,
    ) -> Iterator[tuple[NBest, list[Scored]]]:
        """The language models' part alone: score once, then ``rank`` with as many weights as
        wanted."""
        batch: list[_Sentence] = []
        size = 0

        def score() -> Iterator[tuple[NBest, list[Scored]]]:
            scores = iter(self._token_log_probabilities([s for one in batch for s in one.distinct]))
            for sentence in batch:
                mine = [next(scores) for _ in sentence.distinct]
                yield sentence.nbest, self._scored(sentence, mine, criterion, token_scores)

        for nbest in lists:
            sentence = _Sentence(nbest)
            if batch and size + sentence.size > BATCH_TOKENS:
                yield from score()
                batch, size = [], 0
            batch.append(sentence)
            size += sentence.size
        yield from score()

    def _token_log_probabilities(
        self, sequences: Sequence[Sequence[str]]
    ) -> list[NDArray[np.float64]]:
        """The ensemble's log-probability of each token of each sequence, ``<eos>`` included, in
        nats: a sum over members, or that of the averaged distribution."""
        totals = [np.zeros(len(tokens) + 1) for tokens in sequences]
        trie: Trie | None = None
        averaged: NDArray[np.float64] | None = None
        for number, member in enumerate(self.members):
            if trie is None or member.vocabulary != self.members[number - 1].vocabulary:
                vocabulary = member.vocabulary
                trie = Trie([vocabulary.encode(tokens) for tokens in sequences], vocabulary.eos)
            edges = edge_log_probabilities(member.model, trie)
            if self.combination == "sum":
                for total, path in zip(totals, trie.paths, strict=True):
                    total += edges[path]
            else:
                averaged = edges if averaged is None else np.logaddexp(averaged, edges)
        if trie is not None and averaged is not None:
            averaged = averaged - np.log(len(self.members))
            totals = [averaged[path] for path in trie.paths]
        return totals

    def _scored(
        self,
        sentence: _Sentence,
        log_probabilities: Sequence[NDArray[np.float64]],
        criterion: Criterion,
        token_scores: bool,
    ) -> list[Scored]:
        members = len(self.members) if self.combination == "sum" else 1
        first_tokens = sentence.distinct[0] if sentence.distinct else ()
        words = [token for token in first_tokens if is_word(token)]
        unknown = sum(
            any(member.vocabulary.is_unknown(word) for member in self.members) for word in words
        )
        result = []
        for which, first in zip(sentence.which, sentence.first, strict=True):
            values = log_probabilities[which]
            by_token = None
            if token_scores:
                rounded = values.round(TOKEN_SCORE_DECIMALS).tolist()
                by_token = tuple(zip((*sentence.distinct[which], EOS), rounded, strict=True))
            nll = -float(values.sum())
            result.append(
                Scored(
                    nll=nll,
                    perplexity=perplexity(nll, len(words), len(values), members, criterion),
                    tokens=len(values),
                    unknown_words=unknown,
                    duplicate_of=first,
                    token_scores=by_token,
                )
            )
        return result


class _Sentence:
    """A list with its candidates linearised and the duplicates among them found."""

    def __init__(self, nbest: NBest) -> None:
        self.nbest = nbest
        self.distinct: list[tuple[str, ...]] = []
        self.which: list[int] = []  # per candidate: its place in distinct
        self.first: list[int | None] = []  # per candidate: index of the one it repeats
        seen: dict[tuple[str, ...], tuple[int, int]] = {}
        for candidate in nbest.candidates:
            tokens = candidate.tokens
            place, index = seen.setdefault(tokens, (len(self.distinct), candidate.index))
            if index == candidate.index:
                self.distinct.append(tokens)
            self.which.append(place)
            self.first.append(None if index == candidate.index else index)
        self.size = sum(len(tokens) + 1 for tokens in self.distinct)
