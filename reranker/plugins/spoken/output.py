"""The JSON of a transcript's sentence."""

from __future__ import annotations

import json

from reranker.outputs.spans import to_dict
from reranker.ranking import Ranking
from reranker.ranking.sentence import ParsedSentence


def to_json(ranking: Ranking) -> str:
    """Return what ``--output json`` of `rerank parse` writes, and ``end_probability``."""
    known = {"end_probability": getattr(ranking.origin, "end_probability", None)}
    sentence = to_dict(ParsedSentence.from_ranking(ranking)) | known
    return json.dumps(sentence, ensure_ascii=False, allow_nan=False)
