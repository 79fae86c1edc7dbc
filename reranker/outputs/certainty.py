"""A sentence and the least sure bracket of its tree, on one line."""

from __future__ import annotations

from reranker.ranking import Ranking
from reranker.sentence import ParsedSentence
from reranker.trees.linearize import linearize

HEADING = "confidence\tplace\tbracket\tprobability\twords\tsentence"


def row(ranking: Ranking) -> str:
    """The columns of ``HEADING``; what is not known is ``-``. The confidence of a sentence that
    could not be parsed is 0.

    Raises TreeError as ``ParsedSentence.from_ranking``.
    """
    sentence = ParsedSentence.from_ranking(ranking)
    origin = ranking.origin
    place = f"{origin.file}:{origin.line}" if origin else ranking.id
    confidence = 0.0 if ranking.best is None else ranking.confidence
    label, probability, words = "-", "-", "-"
    brackets = []
    if ranking.certainty is not None and sentence.tree is not None:
        brackets = ranking.certainty.of(linearize(sentence.tree))
    if brackets:
        start, end, label, least = min(brackets, key=lambda each: each[3])
        probability = f"{least:.4f}"
        words = sentence.text_of(start, end)
    columns = (
        "-" if confidence is None else f"{confidence:.4f}",
        *(place, label, probability, words, sentence.text),
    )
    return "\t".join(" ".join(column.split()) for column in columns)
