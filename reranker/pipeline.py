"""``Reranker``: the one path from candidates to rankings, which the command line and the service
share."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from importlib.metadata import version
from typing import TYPE_CHECKING, Generic, TypeVar

from reranker.checkpoints.checkpoint import Checkpoint, load_checkpoint
from reranker.checkpoints.devices import Precision, devices, placed
from reranker.checkpoints.ensemble_file import named_models
from reranker.checkpoints.memory import keep_freed_memory
from reranker.errors import RerankError, TreeError
from reranker.nbest import NBest
from reranker.nbest.data import RawCandidate, RawList
from reranker.nbest.faithful import Source, accept
from reranker.nbest.notation import Notation
from reranker.ranking import Criterion, Ranking, Scored, Weighing, rank
from reranker.scoring.distinct import Sentence, batches
from reranker.scoring.ensemble import Combination, Ensemble
from reranker.scoring.judging import Judge
from reranker.scoring.lanes import Call, Lanes, available_cores
from reranker.trees.tree import Tree

if TYPE_CHECKING:
    import nltk

T = TypeVar("T")

# Distinct tokens of the lists that are scored together; a longer list is scored by itself.
BATCH_TOKENS = 60_000
# Batches that are made of what is read ahead: the more, the more alike in length their sentences.
POOL_BATCHES = 4


class Reranker:
    """An ensemble of language models that orders the candidates of a sentence.

    >>> reranker = Reranker.load(["ckpt/a.pt", "ckpt/b.pt"])  # doctest: +SKIP
    >>> reranker.rerank(["(S (NP (PRP It)) (VP (VBZ runs)))", "(NP (PRP It) (VBZ runs))"]).tree
    ... # doctest: +SKIP
    '(S (NP (PRP It)) (VP (VBZ runs)))'
    """

    def __init__(
        self,
        members: Sequence[Checkpoint],
        combination: Combination = "sum",
        threads: int | None = None,
        weighing: Weighing = Weighing(),
    ) -> None:
        """``sum`` adds the members' log-probabilities, each with its own vocabulary; ``average``
        averages their probabilities token by token. ``threads`` are those to compute with, by
        default one for each core. ``weighing`` is that of rankings that are not told another.
        Raises RerankError if that is impossible."""
        self.weighing = weighing
        self._lanes = Lanes(threads or available_cores())
        self._ensemble = Ensemble(members, combination, self._lanes)

    @property
    def members(self) -> tuple[Checkpoint, ...]:
        return self._ensemble.members

    @property
    def combination(self) -> Combination:
        return self._ensemble.combination

    @property
    def device(self) -> str:
        """Where the members are: ``cpu``, or ``cuda:0,cuda:1``."""
        where = (str(member.model.embedding.device) for member in self.members)
        return ",".join(dict.fromkeys(where))

    @property
    def precision(self) -> str:
        """The numbers that are computed with: ``float32``, or ``bfloat16`` if that was chosen."""
        return str(self.members[0].model.embedding.dtype).removeprefix("torch.")

    def signature(self, weighing: Weighing) -> str:
        """What a figure depends on, on a line."""
        members = ",".join(f"{one.name}:{one.sha256[:8]}" for one in self.members)
        return (
            f"version={version('parse-reranker')} models={members} combine={self.combination} "
            f"{weighing.signature()} precision={self.precision} device={self.device}"
        )

    @classmethod
    def load(
        cls,
        paths: Iterable[str | os.PathLike[str]],
        combination: Combination = "sum",
        device: str = "auto",
        threads: int | None = None,
        precision: Precision = "exact",
        weighing: Weighing | None = None,
    ) -> Reranker:
        """Load checkpoints, or those of an ``ensemble.toml``, for the devices, each member on one
        of them. The weighing is by default the ensemble file's.

        Raises CheckpointError naming the file that is none, InputError for names that match
        nothing, an ensemble file that does not fit and a wrong device.
        """
        named = named_models([os.fspath(path) for path in paths], combination)
        keep_freed_memory()
        where = devices(device)
        members = placed([load_checkpoint(path) for path in named.paths], where, precision)
        if all(one.type != "cpu" for one in where):
            threads = len(where)
        return cls(members, combination, threads, weighing or named.weighing)

    def rerank(
        self,
        candidates: Iterable[str | Tree | nltk.Tree],
        parser_scores: Sequence[float] | None = None,
        weighing: Weighing | None = None,
    ) -> Ranking:
        """Rank the candidates of one sentence: bracketed strings, ``Tree`` or ``nltk.Tree``.

        ``parser_scores`` are the parser's natural-log probabilities, one for each candidate;
        ``weighing`` says how they count, else ``self.weighing`` does. What is not a tree, or has
        other words than the first that is, stands in the answer's ``rejected``; the others are
        ranked all the same.
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
                one._replace(parser_score=score)
                for one, score in zip(found, parser_scores, strict=True)
            ]
        nbest = accept(RawList("0", 1, found), Source("candidates", Notation.BRACKETS, False))
        return next(self.rerank_lists([nbest], weighing))

    def rerank_lists(
        self,
        lists: Iterable[NBest],
        weighing: Weighing | None = None,
        token_scores: bool = False,
        top: int | None = None,
    ) -> Iterator[Ranking]:
        """A ranking for each list, in order, while the next ones are read and scored; weighed as
        ``weighing`` says, else ``self.weighing``.

        Where only the ``top`` best are wanted, the rankings hold these alone, and most of the
        others are never scored exactly (reranker.scoring.winner).
        """
        weighing = weighing or self.weighing
        judge = Judge(self._ensemble, weighing.criterion, token_scores)
        if top is None or not self._ensemble.has_cheap_bounds:
            for nbest, everything in self._in_order(lists, judge.all, BATCH_TOKENS):
                yield rank(nbest, everything, weighing, top)
            return

        def best(batch: Sequence[Sentence], call: Call) -> list[list[Scored | None]]:
            return judge.best(batch, call, weighing, top)

        tokens = min(BATCH_TOKENS, self._ensemble.survey_tokens)
        for nbest, scores in self._in_order(lists, best, tokens):
            yield rank(nbest, scores, weighing, top)

    def score_lists(
        self,
        lists: Iterable[NBest],
        criterion: Criterion = "perplexity",
        token_scores: bool = False,
    ) -> Iterator[tuple[NBest, list[Scored]]]:
        """The language models' part alone: score once, then ``rank`` with as many weights as
        wanted."""
        judge = Judge(self._ensemble, criterion, token_scores)
        return self._in_order(lists, judge.all, BATCH_TOKENS)

    def _in_order(
        self,
        lists: Iterable[NBest],
        job: Callable[[Sequence[Sentence], Call], list[T]],
        tokens: int,
    ) -> Iterator[tuple[NBest, T]]:
        """What ``job`` makes of each list, in order; it is given batches of about ``tokens``. Two
        pools of lists are under way at a time: one is read while the other is scored."""
        call = Call()
        lanes, under_way = self._lanes, deque[_Pool[T]]()
        try:
            for sentences in _pools(lists, tokens * max(POOL_BATCHES, lanes.count)):
                made = batches(sentences, tokens, lanes.count)
                under_way.append(
                    _Pool(sentences, [(one, lanes.direct(job, one, call)) for one in made])
                )
                if len(under_way) > 1:
                    yield from under_way.popleft().results()
            while under_way:
                yield from under_way.popleft().results()
        finally:
            call.end()
            for pool in under_way:
                pool.cancel()


class _Pool(Generic[T]):
    """Sentences that were read together and the batches they are scored in."""

    def __init__(
        self,
        sentences: Sequence[Sentence],
        batches: Sequence[tuple[Sequence[Sentence], Future[list[T]]]],
    ) -> None:
        self._sentences, self._batches = sentences, batches

    def results(self) -> Iterator[tuple[NBest, T]]:
        """When all of them are done, so that a batch's failure leaves no half of a pool behind."""
        found = {
            id(sentence): result
            for batch, future in self._batches
            for sentence, result in zip(batch, future.result(), strict=True)
        }
        for sentence in self._sentences:
            yield sentence.nbest, found[id(sentence)]

    def cancel(self) -> None:
        for _, future in self._batches:
            future.cancel()


def _pools(lists: Iterable[NBest], tokens: int) -> Iterator[list[Sentence]]:
    """Sentences as they come, ``tokens`` at a time."""
    pool: list[Sentence] = []
    size = 0
    for nbest in lists:
        pool.append(Sentence(nbest))
        size += pool[-1].size
        if size > tokens:
            yield pool
            pool, size = [], 0
    if pool:
        yield pool
