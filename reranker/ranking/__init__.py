"""Orders of candidates from their scores, and trees aligned with their text."""

from reranker.ranking.ranking import (
    OUTPUT_VERSION,
    SCORE_DECIMALS,
    TOKEN_SCORE_DECIMALS,
    Criterion,
    Ranked,
    Ranking,
    Scored,
    Weighing,
    mixed_score,
    rank,
    repeating,
    span_limit,
)

__all__ = [
    "OUTPUT_VERSION",
    "SCORE_DECIMALS",
    "TOKEN_SCORE_DECIMALS",
    "Criterion",
    "Ranked",
    "Ranking",
    "Scored",
    "Weighing",
    "mixed_score",
    "rank",
    "repeating",
    "span_limit",
]
