"""Scores -> the parts of an answer, with the figures that ``rerank --output ranked`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reranker import Ranking, Weighing
from reranker.checkpoints.span_vocabulary import SpanVocabulary
from reranker.nbest import NBest
from reranker.nbest.candidates import score_warnings
from reranker.nbest.data import Origin
from reranker.outputs.drawn import drawings
from reranker.outputs.output import output_of
from reranker.outputs.spans import constituents
from reranker.ranking import Scored
from reranker.ranking.confidence import DECIMALS
from reranker.ranking.ranker import Ranker
from reranker.scoring.distinct import DistinctCandidates
from reranker.service.children.scoring import Best
from reranker.service.errors import RequestError
from reranker.service.http.envelope import content
from reranker.service.requests.schemas import (
    AnswerOptions,
    Asked,
    CohereRequest,
    DocumentsRequest,
    ParseOptions,
    RankedSentence,
    RankOptions,
    RejectedEntry,
    ScoreRequest,
)

CONLLU = "text/x-conllu"
"""CoNLL-U has no registered media type."""

TABLE = "text/tab-separated-values"

_OUTPUTS = {"text/plain": "best", CONLLU: "conllu", TABLE: "brackets"}
"""Names that ``rerank parse --output`` has for the answers that are not JSON."""

*_SENTENCE_FIELDS, _, _, _, _ = RankedSentence.model_fields  # all before ranking
_RANKED_FIELDS = (
    "nll", "perplexity", "token_perplexity", "span_nll", "tokens", "unknown_words",
    "parser_score", "duplicate_of", "repaired", "member_nll", "mixed_score",
)  # fmt: skip


class AnswerWriter:
    """A writer of answers from rankings, a list at a time; this class writes the sentences of
    ``/rerank`` and ``/parse``."""

    has_lines = True
    """Whether the answer can be sent a line at a time."""

    def __init__(
        self, request_id: str, models: Ranker, asked: Asked, warnings: Sequence[str]
    ) -> None:
        self.models, self.asked, self.warnings = models, asked, [*warnings]
        self._warned: set[str] = set()
        if isinstance(asked, ScoreRequest):
            self.weighing = Weighing(criterion=asked.criterion)
        else:
            assert isinstance(asked, RankOptions)
            self.weighing = models.weighing.replaced(asked.lm_weight, asked.criterion)
        self._head = {
            "id": request_id,
            "models": models_of(models),
            "signature": models.signature(self.weighing),
        }

    def warn(self, warning: str | None) -> None:
        """Add a warning, unless it is None or empty, to the end of the answer."""
        if warning:
            self.warnings.append(warning)

    @property
    def top(self) -> int | None:
        """Return the number of candidates that are written of a list; None for all."""
        return self.asked.top_n if isinstance(self.asked, RankOptions) else None

    @property
    def best(self) -> Best | None:
        """Return the candidates that have to be scored, None for all."""
        return None if self.top is None else Best(self.weighing, self.top)

    @property
    def is_certainty_wanted(self) -> bool:
        """Return whether the answer tells how sure the parser is of each bracket."""
        return True

    @property
    def has_drawings(self) -> bool:
        """Return whether the answer has drawings, which are much longer than their trees."""
        return isinstance(self.asked, AnswerOptions) and self.asked.return_drawings

    def rank(self, nbest: NBest, scores: Sequence[Scored | None]) -> Ranking:
        """Rank a list; lists that are scored together may be weighed differently."""
        if self.weighing.lm_weight < 1:
            self.warnings += score_warnings(nbest, self._warned)
        return self.models.rank(nbest, scores, self.weighing, self.top)

    def entry(self, place: int, ranking: Ranking, nbest: NBest) -> bytes:
        """Return a list's part of the answer."""
        data = self._sentence(ranking)
        return _json(data | _drawn(data, ranking, nbest) if self.has_drawings else data)

    def whole(self, entries: Sequence[bytes], usage: Mapping[str, int]) -> bytes:
        """Return the whole answer."""
        known = {**self._head, "usage": usage}
        return _joined(known, "sentences", entries, {"warnings": self.warnings})

    def start_line(self, usage: Mapping[str, int] | None, sentences: int) -> bytes:
        """Return the first line: the fields of the whole answer before its sentences. For a text
        ``usage`` is None, since the number of tokens is not known yet."""
        known = {"sentences": sentences} if usage is None else {"usage": usage}
        return _json({"start": {**self._head, **known}})

    def line(self, entry: bytes) -> bytes:
        return b'{"sentence": ' + entry.removesuffix(b"\n") + b"}\n"

    def end_line(self, usage: Mapping[str, int] | None) -> bytes:
        known = {} if usage is None else {"usage": usage}
        return _json({"end": {**known, "warnings": self.warnings}})

    def _sentence(self, ranking: Ranking) -> dict[str, Any]:
        """Return the data of a sentence; in a text, with the constituents of its best tree, as
        ``rerank parse --output json`` has them."""
        asked = self.asked
        assert isinstance(asked, AnswerOptions)
        data = _sentence(ranking, asked)
        if not isinstance(asked, ParseOptions):
            return data
        data |= {"entropy": None, **ranking.certainty_data()}
        if asked.return_trees:
            data["constituents"] = constituents(ranking.parsed_sentence())
        if asked.return_brackets:
            known = ranking.certainty
            data["brackets"] = None if known is None else known.rows()
        return data


class _OneListWriter(AnswerWriter):
    """A writer of one list in the form of Cohere's answers; ``top_n`` counts duplicates, too."""

    has_lines = False

    def entry(self, place: int, ranking: Ranking, nbest: NBest) -> bytes:
        asked = self.asked
        assert isinstance(asked, DocumentsRequest)
        name = "+".join(member.name for member in self.models.members)
        documents = [
            {"index": row.index, "relevance_score": row.score}
            | ({"document": {"text": row.tree}} if asked.return_documents else {})
            for row in ranking.ranking[: asked.top_n]
        ]
        return _json({"model": name, "results": documents, "rejected": _rejected(ranking)})

    def whole(self, entries: Sequence[bytes], usage: Mapping[str, int]) -> bytes:
        (entry,) = entries
        is_version_2 = isinstance(self.asked, CohereRequest)
        more = {"meta": {"api_version": {"version": "2"}}} if is_version_2 else {}
        return _json({**self._head, "usage": usage, **more})[:-2] + b", " + entry[1:]


class _ScoresWriter(AnswerWriter):
    """A writer of an entry for each tree, in the order of the trees."""

    has_lines = False

    def entry(self, place: int, ranking: Ranking, nbest: NBest) -> bytes:
        return _json(_tree_score(place, ranking))

    def whole(self, entries: Sequence[bytes], usage: Mapping[str, int]) -> bytes:
        return _joined({**self._head, "usage": usage}, "results", entries, {})


class _OutputWriter(AnswerWriter):
    """A writer of the outputs of ``rerank parse --output``, which need the best tree alone."""

    top = 1

    def __init__(self, output: str, *given: Any) -> None:
        super().__init__(*given)
        self._output = output_of(output)

    @property
    def is_certainty_wanted(self) -> bool:
        return self._output.has_probabilities

    def entry(self, place: int, ranking: Ranking, nbest: NBest) -> bytes:
        heading = "" if place else self._output.begin()
        text = heading + self._output.line(ranking, place + 1)
        return f"{text}\n".encode("utf-8", "replace")

    def whole(self, entries: Sequence[bytes], usage: Mapping[str, int]) -> bytes:
        return b"".join(entries)


def writer(
    form: str, request_id: str, models: Ranker, asked: Asked, warnings: Sequence[str]
) -> AnswerWriter:
    """Return the writer of an answer of the media type ``form``."""
    given = (request_id, models, asked, warnings)
    if form in _OUTPUTS:
        return _OutputWriter(_OUTPUTS[form], *given)
    if isinstance(asked, DocumentsRequest):
        return _OneListWriter(*given)
    return _ScoresWriter(*given) if isinstance(asked, ScoreRequest) else AnswerWriter(*given)


def error_line(error: RequestError, request_id: str) -> bytes:
    """Return the last line of an answer that failed, in place of its end."""
    return _json(content(error, request_id))


def models_of(models: Ranker) -> list[dict[str, Any]]:
    """Return names, hashes and kinds of the ensemble's members."""
    return [
        {
            "name": member.name,
            "sha256": member.sha256,
            "kind": "span" if isinstance(member.vocabulary, SpanVocabulary) else "language",
        }
        for member in models.members
    ]


def usage_of_lists(lists: Sequence[NBest]) -> dict[str, int]:
    """Return the usage of lists; a candidate counts whether it had to be scored or not."""
    return usage_of(lists, sum(DistinctCandidates(nbest).size for nbest in lists))


def usage_of(lists: Sequence[NBest], tokens: int) -> dict[str, int]:
    """Return the usage of lists whose different candidates have ``tokens`` tokens in all."""
    return {
        "sentences": len(lists),
        "candidates": sum(len(nbest.candidates) for nbest in lists),
        "rejected": sum(len(nbest.rejected) for nbest in lists),
        "tokens": tokens,
        "total_tokens": tokens,
    }


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
            for entry in data["ranking"]
        ],
        "rejected": _rejected(ranking),
        **({} if ranking.origin is None else {"origin": _origin(ranking.origin)}),
    }


def _drawn(data: Mapping[str, Any], ranking: Ranking, nbest: NBest) -> dict[str, Any]:
    """Return what ``return_drawings`` adds to a sentence, and add to its candidates in ``data``."""
    by_index = {candidate.index: candidate for candidate in nbest.candidates}
    candidates = [by_index[ranked.index] for ranked in ranking]
    known = nbest.certainty
    for row, candidate, svg in zip(
        data["ranking"], candidates, drawings(candidates, known), strict=True
    ):
        mean = None if known is None else known.mean(candidate.tokens)
        row |= {"svg": svg, "confidence": None if mean is None else round(mean, DECIMALS)}
    doubt = ranking.doubt
    return {"words": " ".join(nbest.words), "doubt": None if doubt is None else doubt._asdict()}


def _origin(origin: Origin) -> dict[str, Any]:
    return {key: value for key, value in origin.to_dict().items() if key != "file"}


def _tree_score(place: int, ranking: Ranking) -> dict[str, Any]:
    """Return a tree's entry; ``ranking`` has that tree alone."""
    fields = ("perplexity", "token_perplexity", "span_nll", "tokens", "unknown_words")
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
    fields = RejectedEntry.model_fields
    return [{name: getattr(entry, name) for name in fields} for entry in ranking.rejected]


def _joined(
    before: Mapping[str, Any], name: str, entries: Sequence[bytes], after: Mapping[str, Any]
) -> bytes:
    """Return an object whose field ``name`` is an array of entries that are written already."""
    head, tail = _json(before)[:-2], _json(after)[1:]
    array = b", ".join(entry.removesuffix(b"\n") for entry in entries)
    comma = b", " if after else b""
    return b"".join((head, b', "', name.encode(), b'": [', array, b"]", comma, tail))


def _json(answer: Any) -> bytes:
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode("utf-8", "replace")
