"""``reranker.spoken``: a transcript given from Python."""

from __future__ import annotations

import logging

from reranker.checkpoints.ensemble_file import ModelNames
from reranker.defaults import kept
from reranker.errors import InputError
from reranker.parsers.running import ParsedLists
from reranker.plugins.spoken.scores import Scores
from reranker.plugins.spoken.transcript import LONGEST, MOST_LONGEST, sentences
from reranker.process.machine import available_cores
from reranker.ranking.rankings import Rankings
from reranker.text import given

logger = logging.getLogger(__name__)


def spoken(
    text: str,
    *,
    longest: int = LONGEST,
    models: ModelNames | None = None,
    parser_model: str = "",
    lm_weight: float | None = None,
    top: int | None = None,
    jobs: int | None = None,
) -> Rankings:
    """Return a ranking for each sentence of a transcript without punctuation and capitals, none of
    more than ``longest`` words, as ``reranker.parse`` does for text;
    ``.origin.end_probability`` is the probability that the sentence ends there. ``models``,
    ``parser_model``, ``lm_weight``, ``top`` and ``jobs`` are those of ``reranker.parse``. A text
    with punctuation is logged.

    >>> reranker.spoken("i think so do you")[0].tree  # doctest: +SKIP
    '(TOP (S (NP (PRP i)) (VP (VBP think) (ADVP (RB so)))))'

    Raises InputError for another limit than 1 to 200, a model of another language, and as
    ``reranker.parse`` does.
    """
    if not isinstance(text, str):
        raise InputError(f"expected a transcript as a string, got {text!r:.60}")
    if not 1 <= longest <= MOST_LONGEST:
        raise InputError(f"longest must be from 1 to {MOST_LONGEST}, got {longest}")
    loaded, parser, _ = kept(models, "chart", parser_model=parser_model)
    lines = given.sentences(text, "sentences", longest=1 << 30)
    found = sentences(lines, Scores(parser_model), longest, logger.warning)
    lists = ParsedLists(parser, found, jobs or available_cores())
    return Rankings(loaded.rerank_lists(lists, top=top, lm_weight=lm_weight))
