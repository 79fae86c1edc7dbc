"""An nltk parser: words in, ``nltk.Tree`` out, best first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from nltk.parse.api import ParserI
from nltk.tree import ProbabilisticTree

from reranker.parsers.parser import Parser
from reranker.pipeline import Reranker
from reranker.plugins.pipelines.tokens import LONGEST, rank_sentences
from reranker.ranking import Ranked
from reranker.trees.tree import Tree


class RerankingParser(ParserI):  # type: ignore[misc]  # nltk has no types
    """``parse``, ``parse_one``, ``parse_sents`` and the other methods of ``nltk.parse.ParserI``.

    >>> parser = RerankingParser(reranker)  # doctest: +SKIP
    >>> parser.parse_one("She met the man on Monday .".split())  # doctest: +SKIP
    """

    def __init__(
        self,
        reranker: Reranker,
        parser: Parser | str = "chart",
        *,
        lm_weight: float | None = None,
        top: int | None = None,
        longest: int = LONGEST,
        jobs: int = 1,
    ) -> None:
        """Take the ``parser``, an object or a name, which proposes the trees of ``jobs`` sentences
        at once. The ``top`` best trees are returned. Raises InputError for an unknown parser."""
        self._rankings = partial(
            rank_sentences,
            reranker,
            reranker.kept_parser(parser),
            lm_weight=lm_weight,
            top=top,
            longest=longest,
            jobs=jobs,
        )

    def parse(self, sent: Sequence[str]) -> Iterator[ProbabilisticTree]:
        """Yield the trees of a sentence, best first; none for a sentence that cannot be parsed.

        ``logprob()`` of a tree is its score, to the base 2 as everywhere in nltk. Words are spelled
        as in treebanks: ``-LRB-``. Raises InputError for a parser that does not work, and for a
        string in place of words.
        """
        return next(self.parse_sents([sent]))

    def parse_sents(self, sents: Iterable[Sequence[str]]) -> Iterator[Iterator[ProbabilisticTree]]:
        """Yield the result of ``parse`` for each of the sentences; the next ones are parsed in the
        background."""
        return (map(_probabilistic, ranking) for ranking in self._rankings(sents))


def _probabilistic(candidate: Ranked) -> ProbabilisticTree:
    tree = Tree.from_string(candidate.tree).to_nltk()
    return ProbabilisticTree(tree.label(), list(tree), logprob=candidate.score / math.log(2))
