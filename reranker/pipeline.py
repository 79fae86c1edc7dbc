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
from reranker.ranking import Criterion, Ranking, Scored, Weighing, perplexity, rank
from reranker.scoring import Trie, edge_log_probabilities
from reranker.trees import Tree

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
    ) -> Iterator[Ranking]:
        """A ranking for each list, in order; reads ahead only as far as one batch."""
        for nbest, scores in self.score_lists(lists, weighing.criterion):
            yield rank(nbest, scores, weighing)

    def score_lists(
        self, lists: Iterable[NBest], criterion: Criterion = "perplexity"
    ) -> Iterator[tuple[NBest, list[Scored]]]:
        """The language models' part alone: score once, then ``rank`` with as many weights as
        wanted."""
        batch: list[_Sentence] = []
        size = 0
        for nbest in lists:
            sentence = _Sentence(nbest)
            if batch and size + sentence.size > BATCH_TOKENS:
                yield from self._score_batch(batch, criterion)
                batch, size = [], 0
            batch.append(sentence)
            size += sentence.size
        yield from self._score_batch(batch, criterion)

    def _score_batch(
        self, batch: Sequence[_Sentence], criterion: Criterion
    ) -> Iterator[tuple[NBest, list[Scored]]]:
        sequences = [tokens for sentence in batch for tokens in sentence.distinct]
        nlls = -self._log_probabilities(sequences)
        position = 0
        for sentence in batch:
            mine = nlls[position : position + len(sentence.distinct)]
            position += len(sentence.distinct)
            yield sentence.nbest, self._scored(sentence, mine, criterion)

    def _log_probabilities(self, sequences: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """The ensemble's log-probability of each sequence in nats: a sum over members, or that of
        the averaged distribution."""
        total = np.zeros(len(sequences))
        trie: Trie | None = None
        averaged: NDArray[np.float64] | None = None
        for number, member in enumerate(self.members):
            if trie is None or member.vocabulary != self.members[number - 1].vocabulary:
                vocabulary = member.vocabulary
                trie = Trie([vocabulary.encode(tokens) for tokens in sequences], vocabulary.eos)
            edges = edge_log_probabilities(member.model, trie)
            if self.combination == "sum":
                total += trie.totals(edges)
            else:
                averaged = edges if averaged is None else np.logaddexp(averaged, edges)
        if trie is not None and averaged is not None:
            total = trie.totals(averaged - np.log(len(self.members)))
        return total

    def _scored(
        self, sentence: _Sentence, nlls: NDArray[np.float64], criterion: Criterion
    ) -> list[Scored]:
        members = len(self.members) if self.combination == "sum" else 1
        words = [token for token in sentence.distinct[0] if is_word(token)] if len(nlls) else []
        unknown = sum(
            any(member.vocabulary.is_unknown(word) for member in self.members) for word in words
        )
        result = []
        for which, first in zip(sentence.which, sentence.first, strict=True):
            nll, tokens = float(nlls[which]), len(sentence.distinct[which]) + 1
            result.append(
                Scored(
                    nll=nll,
                    perplexity=perplexity(nll, len(words), tokens, members, criterion),
                    tokens=tokens,
                    unknown_words=unknown,
                    duplicate_of=first,
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
