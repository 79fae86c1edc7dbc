"""Scores -> the JSON of an answer, with the figures that ``rerank --output ranked`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reranker import Ranking, Weighing
from reranker.nbest import NBest
from reranker.nbest.data import Origin
from reranker.outputs.sentence import ParsedSentence
from reranker.outputs.spans import constituents
from reranker.ranker import Ranker
from reranker.ranking import Criterion, Scored, perplexity
from reranker.service.errors import ServiceError, content
from reranker.service.requests.schemas import (
    AnswerOptions,
    AnyRequest,
    Options,
    ParseOptions,
    Rejected,
    ScoreRequest,
    TextsRequest,
)
from reranker.service.scheduling.work import Work

_SENTENCE_FIELDS = (
    "id",
    "status",
    "best_index",
    "margin",
    "confidence",
    "better_than_first",
    "fallback",
)
_RANKED_FIELDS = (
    "nll", "perplexity", "tokens", "unknown_words", "parser_score", "duplicate_of", "repaired",
    "member_nll",
)  # fmt: skip


def rankings(
    reranker: Ranker, lists: Sequence[NBest], scores: Sequence[list[Scored]], weighing: Weighing
) -> list[Ranking]:
    """A request's rankings; lists that are scored together may be weighed differently."""
    return [
        reranker.rank(nbest, _by_criterion(reranker, nbest, scored, weighing.criterion), weighing)
        for nbest, scored in zip(lists, scores, strict=True)
    ]


def rerank_answer(
    request_id: str,
    work: Work,
    ranked: Sequence[Ranking],
    body: AnyRequest,
    weighing: Weighing,
    warnings: Sequence[str],
) -> bytes:
    """The answer in the form of the request."""
    head = _head(request_id, work.reranker, weighing) | {"usage": usage(work)}
    if isinstance(body, Options):
        sentences = [_sentence(ranking, body) for ranking in ranked]
        return _json({**head, "sentences": sentences, "warnings": warnings})
    (ranking,) = ranked
    best = ranking.ranking[: body.top_n]
    if isinstance(body, TextsRequest):
        texts = [
            {"index": entry.index, "score": entry.score}
            | ({"text": entry.tree} if body.return_text else {})
            for entry in best
        ]
        return _json(texts)
    results = [
        {"index": entry.index, "relevance_score": entry.score}
        | ({"document": {"text": entry.tree}} if body.return_documents else {})
        for entry in best
    ]
    name = "+".join(member.name for member in work.reranker.members)
    return _json({**head, "model": name, "results": results, "rejected": _rejected(ranking)})


def start_line(request_id: str, work: Work, weighing: Weighing) -> bytes:
    """The first line of an answer in lines: what the whole one has before its sentences."""
    return _json({"start": _head(request_id, work.reranker, weighing) | {"usage": usage(work)}})


def sentence_line(ranking: Ranking, body: AnswerOptions) -> bytes:
    return _json({"sentence": _sentence(ranking, body)})


def end_line(warnings: Sequence[str]) -> bytes:
    return _json({"end": {"warnings": warnings}})


def parse_start_line(
    request_id: str, reranker: Ranker, weighing: Weighing, sentences: int
) -> bytes:
    """The first line for ``/parse``: how much there is to score is not known yet."""
    return _json({"start": _head(request_id, reranker, weighing) | {"sentences": sentences}})


def parse_end_line(usage: Mapping[str, int], warnings: Sequence[str]) -> bytes:
    return _json({"end": {"usage": usage, "warnings": warnings}})


def parsed_sentence(ranking: Ranking, body: ParseOptions) -> bytes:
    """A sentence of the answer to ``/parse``, written at once: it takes less memory."""
    return _json(_parsed(ranking, body))


def parsed_line(ranking: Ranking, body: ParseOptions) -> bytes:
    return _json({"sentence": _parsed(ranking, body)})


def parse_answer(
    request_id: str,
    reranker: Ranker,
    weighing: Weighing,
    usage: Mapping[str, int],
    sentences: Sequence[bytes],
    warnings: Sequence[str],
) -> bytes:
    """The whole answer to ``/parse``, with sentences of ``parsed_sentence``."""
    known = _head(request_id, reranker, weighing) | {"usage": usage, "warnings": warnings}
    head = _json(known)
    return b"".join((head[: -len(b"}\n")], b', "sentences": [', b", ".join(sentences), b"]}\n"))


def error_line(error: ServiceError, request_id: str) -> bytes:
    """Instead of the end."""
    return _json(content(error, request_id))


def score_answer(
    request_id: str, work: Work, scores: Sequence[list[Scored]], body: ScoreRequest
) -> bytes:
    """An entry for each tree, in their order."""
    weighing = Weighing(criterion=body.criterion)
    ranked = rankings(work.reranker, work.lists, scores, weighing)
    results = [_tree_score(place, ranking) for place, ranking in enumerate(ranked)]
    head = _head(request_id, work.reranker, weighing) | {"usage": usage(work)}
    return _json({**head, "results": results})


def models(reranker: Ranker) -> list[dict[str, Any]]:
    """Names and hashes of the ensemble."""
    return [{"name": member.name, "sha256": member.sha256} for member in reranker.members]


def usage(work: Work) -> dict[str, int]:
    """What there is in a request for lists to be scored."""
    return _usage(work.lists, work.tokens)


def usage_of(lists: Sequence[NBest], scores: Sequence[Sequence[Scored]]) -> dict[str, int]:
    """The same of lists that have been scored."""
    different = (each for scored in scores for each in scored if each.duplicate_of is None)
    return _usage(lists, sum(each.tokens for each in different))


def _usage(lists: Sequence[NBest], tokens: int) -> dict[str, int]:
    return {
        "sentences": len(lists),
        "candidates": sum(len(nbest.candidates) for nbest in lists),
        "rejected": sum(len(nbest.rejected) for nbest in lists),
        "tokens": tokens,
        "total_tokens": tokens,
    }


def _head(request_id: str, reranker: Ranker, weighing: Weighing) -> dict[str, Any]:
    return {
        "id": request_id,
        "models": models(reranker),
        "signature": reranker.signature(weighing),
    }


def _by_criterion(
    reranker: Ranker, nbest: NBest, scores: list[Scored], criterion: Criterion
) -> list[Scored]:
    """Scores come with perplexities per word of the sentence."""
    if criterion == "perplexity":
        return scores
    members = len(reranker.members) if reranker.combination == "sum" else 1
    words = len(nbest.candidates[0].words) if nbest.candidates else 0
    return [
        replace(scored, perplexity=perplexity(scored.nll, words, scored.tokens, members, criterion))
        for scored in scores
    ]


def _sentence(ranking: Ranking, body: AnswerOptions) -> dict[str, Any]:
    data = ranking.to_dict()
    fields = [*_RANKED_FIELDS]
    if body.return_trees:
        fields.append("tree")
    if body.return_token_scores:
        fields.append("token_scores")
    return {
        **{name: data[name] for name in _SENTENCE_FIELDS},
        "ranking": [
            {"index": entry["index"], "relevance_score": entry["score"]}
            | {name: entry[name] for name in fields if name in entry}
            for entry in data["ranking"][: body.top_n]
        ],
        "rejected": _rejected(ranking),
        **({} if ranking.origin is None else {"origin": _origin(ranking.origin)}),
    }


def _parsed(ranking: Ranking, body: ParseOptions) -> dict[str, Any]:
    """With the constituents of the best tree, as ``rerank parse --output json`` has them."""
    data = _sentence(ranking, body) | {"entropy": None, **ranking.certainty_data()}
    if body.return_trees:
        data["constituents"] = constituents(ParsedSentence.from_ranking(ranking))
    if body.return_brackets:
        known = ranking.certainty
        data["brackets"] = None if known is None else known.rows()
    return data


def _origin(origin: Origin) -> dict[str, Any]:
    return {"line": origin.line, "text": origin.text, "offsets": origin.offsets}


def _tree_score(place: int, ranking: Ranking) -> dict[str, Any]:
    """``ranking`` is that of the tree alone."""
    fields = ("perplexity", "tokens", "unknown_words")
    best = ranking.best
    if best is None:
        (error,) = _rejected(ranking)
        return {"index": place, "log_probability": None, **dict.fromkeys(fields), "error": error}
    data = best.to_dict()
    token_scores = {"token_scores": best.token_scores} if best.token_scores is not None else {}
    return {
        "index": place,
        "log_probability": -best.nll,
        **{name: data[name] for name in fields},
        "error": None,
        **token_scores,
    }


def _rejected(ranking: Ranking) -> list[dict[str, Any]]:
    fields = Rejected.model_fields
    return [{name: getattr(entry, name) for name in fields} for entry in ranking.rejected]


def _json(answer: Any) -> bytes:
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode("utf-8", "replace")
