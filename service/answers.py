"""Scores -> the JSON of an answer. Its figures are those ``rerank --output ranked`` writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from reranker import Ranking, Reranker, Weighing
from reranker.nbest import NBest
from reranker.ranking import Criterion, Scored, perplexity, rank
from reranker.service.schemas import (
    AnyRequest,
    DocumentsRequest,
    Options,
    ScoreRequest,
    SentencesRequest,
    TextRequest,
    TextsRequest,
)

VERSION = version("parse-reranker")

_FIGURES = ("nll", "perplexity", "tokens", "unknown_words")
_RANKED_FIELDS = (*_FIGURES, "parser_score", "duplicate_of", "repaired")


def rankings(
    reranker: Reranker,
    lists: Sequence[NBest],
    scores: Sequence[list[Scored]],
    weighing: Weighing,
) -> list[Ranking]:
    """Weigh as one request asks; what was scored together may be weighed differently."""
    return [
        rank(nbest, _by_criterion(reranker, nbest, mine, weighing.criterion), weighing)
        for nbest, mine in zip(lists, scores, strict=True)
    ]


def rerank_answer(
    request_id: str,
    reranker: Reranker,
    lists: Sequence[NBest],
    ranked: Sequence[Ranking],
    body: AnyRequest,
    weighing: Weighing,
    tokens: int,
    warnings: list[str],
) -> bytes:
    """The answer in the shape of the request. ``tokens`` are those that were scored."""
    head = {
        "id": request_id,
        "models": models(reranker),
        "signature": reranker.signature(weighing),
        "usage": _usage(lists, tokens),
    }
    if isinstance(body, SentencesRequest | TextRequest):
        sentences = [_sentence(one, body) for one in ranked]
        return _json({**head, "sentences": sentences, "warnings": warnings})
    (ranking,) = ranked
    best = ranking.ranking[: body.top_n]
    if isinstance(body, TextsRequest):
        return _json(
            [
                {"index": one.index, "score": one.score}
                | ({"text": one.tree} if body.return_text else {})
                for one in best
            ]
        )
    assert isinstance(body, DocumentsRequest)
    results = [
        {"index": one.index, "relevance_score": one.score}
        | ({"document": {"text": one.tree}} if body.return_documents else {})
        for one in best
    ]
    name = "+".join(member.name for member in reranker.members)
    return _json({**head, "model": name, "results": results, "rejected": _rejected(ranking)})


def score_answer(
    request_id: str,
    reranker: Reranker,
    lists: Sequence[NBest],
    scores: Sequence[list[Scored]],
    body: ScoreRequest,
    tokens: int,
) -> bytes:
    """An entry for each tree, in their order."""
    results: list[dict[str, Any]] = []
    for place, (nbest, mine) in enumerate(zip(lists, scores, strict=True)):
        entry: dict[str, Any] = dict.fromkeys(
            ("log_probability", "perplexity", "tokens", "unknown_words", "error")
        )
        ranking = rank(nbest, _by_criterion(reranker, nbest, mine, body.criterion), Weighing())
        if best := ranking.best:
            entry |= {
                "log_probability": -best.nll,
                "perplexity": best.to_dict()["perplexity"],
                "tokens": best.tokens,
                "unknown_words": best.unknown_words,
            }
            if best.token_scores is not None:
                entry["token_scores"] = best.token_scores
        else:
            (entry["error"],) = _rejected(ranking)
        results.append({"index": place, **entry})
    return _json(
        {
            "id": request_id,
            "models": models(reranker),
            "signature": reranker.signature(Weighing(criterion=body.criterion)),
            "usage": _usage(lists, tokens),
            "results": results,
        }
    )


def models(reranker: Reranker) -> list[dict[str, Any]]:
    """Names and hashes of the ensemble."""
    return [{"name": one.name, "sha256": one.sha256} for one in reranker.members]


def _by_criterion(
    reranker: Reranker, nbest: NBest, scores: list[Scored], criterion: Criterion
) -> list[Scored]:
    """Scoring gave the perplexities per word of the sentence."""
    if criterion == "perplexity":
        return scores
    members = len(reranker.members) if reranker.combination == "sum" else 1
    words = len(nbest.candidates[0].words) if nbest.candidates else 0
    return [
        replace(one, perplexity=perplexity(one.nll, words, one.tokens, members, criterion))
        for one in scores
    ]


def _sentence(ranking: Ranking, body: Options) -> dict[str, Any]:
    data = ranking.to_dict()
    entries = []
    for one in data["ranking"][: body.top_n]:
        entry = {"index": one["index"], "relevance_score": one["score"]}
        entry |= {name: one[name] for name in (*_RANKED_FIELDS, "member_nll") if name in one}
        if body.return_trees:
            entry["tree"] = one["tree"]
        if body.return_token_scores:
            entry["token_scores"] = one["token_scores"]
        entries.append(entry)
    return {
        "id": ranking.id,
        "status": ranking.status,
        "best_index": data["best_index"],
        "margin": data["margin"],
        "fallback": data["fallback"],
        "ranking": entries,
        "rejected": _rejected(ranking),
    }


def _rejected(ranking: Ranking) -> list[dict[str, Any]]:
    return [
        {"index": one.index, "line": one.line, "code": one.code, "message": one.message}
        for one in ranking.rejected
    ]


def _usage(lists: Sequence[NBest], tokens: int) -> dict[str, int]:
    return {
        "sentences": len(lists),
        "candidates": sum(len(nbest.candidates) for nbest in lists),
        "rejected": sum(len(nbest.rejected) for nbest in lists),
        "tokens": tokens,
        "total_tokens": tokens,
    }


def _json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
