"""A client for ``rerank serve`` that answers like ``Reranker`` does.

>>> with Client("http://localhost:8000") as client:  # doctest: +SKIP
...     print(client.rerank(["(S (NP (PRP It)) (VP (VBZ runs)))"]).tree)
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import httpx

from reranker.errors import InputError, RerankError
from reranker.nbest import Rejected
from reranker.nbest.candidates import log_probabilities, raw_list
from reranker.nbest.data import Certainty, Origin, RawCandidate
from reranker.ranking import Ranked, Ranking, Weighing
from reranker.trees import Tree

if TYPE_CHECKING:
    import nltk

_RETRIED = (429, 503)
_LONGEST_PAUSE = 30.0
# Asking again would end the same, or take as long again.
_FINAL = (httpx.TimeoutException, httpx.UnsupportedProtocol, httpx.LocalProtocolError)

T = TypeVar("T")


class ServiceError(RerankError):
    """The service answered with an error: ``status`` and ``code`` say which; ``request_id``
    identifies it in the service's log. Without an answer, ``status`` is 0 and ``code`` is
    ``unreachable``."""

    def __init__(self, status: int, code: str, message: str, request_id: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.request_id = status, code, request_id


class Client:
    """Keeps connections to a service; use it in a ``with`` statement, from one thread or several.

    A ``weighing`` sends its ``lm_weight`` and criterion; without one, the service uses those that
    its ensemble was tuned for. Member weights and token bonus are always the service's.

    A request is repeated up to ``retries`` times after 429, 503 and a broken connection, after the
    pauses the service asks for, else after growing ones. Unknown keys in an answer are ignored.
    """

    def __init__(
        self,
        url: str = "http://localhost:8000",
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: int = 5,
    ) -> None:
        """``timeout`` in seconds is for each attempt; the service gets it as the deadline.

        Raises InputError for a URL or a key that cannot be sent.
        """
        if not str(url).startswith(("http://", "https://")):
            raise InputError(
                f"{url!r} is not the URL of a service; it must start with http:// or https://"
            )
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise InputError("api_key has characters that cannot be sent in a header")
        headers = {"X-Request-Timeout": f"{timeout:g}"}
        if api_key is not None:
            headers["Authorization"] = f"Bearer {api_key}"
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout)
        self._retries = max(0, retries)

    def rerank(
        self,
        candidates: Iterable[str | Tree | nltk.Tree],
        parser_scores: Sequence[float] | None = None,
        weighing: Weighing | None = None,
        tokens: Sequence[str] | None = None,
        *,
        lm_weight: float | None = None,
    ) -> Ranking:
        """Rank the candidates of one sentence, as ``Reranker.rerank`` does; ``tokens`` are its
        words where the candidates hide them. Raises ServiceError."""
        trees = [
            {"tree": candidate.text, "score": candidate.parser_score}
            for candidate in _usable(candidates, parser_scores)
        ]
        sentence: dict[str, Any] = {"candidates": trees}
        if isinstance(tokens, str):
            raise InputError("tokens must be a list of words, got a single string")
        if tokens is not None:
            sentence["tokens"] = list(tokens)
        if lm_weight is not None:
            weighing = (weighing or Weighing()).replaced(lm_weight)
        return self.rerank_lists([sentence], weighing)[0]

    def rerank_lists(
        self,
        sentences: Sequence[Mapping[str, Any]],
        weighing: Weighing | None = None,
        token_scores: bool = False,
    ) -> list[Ranking]:
        """A ranking for each sentence: ``{"id", "tokens", "candidates"}`` as docs/service.md has
        them. Raises ServiceError."""
        body = {
            "sentences": list(sentences),
            "return_token_scores": token_scores,
            **_weights(weighing),
        }
        return self._ask("POST", "/rerank", _rankings, json=body)

    def rerank_text(
        self,
        nbest: str | bytes,
        weighing: Weighing | None = None,
        format: str = "auto",
    ) -> list[Ranking]:
        """A ranking for each sentence of an n-best text in any dialect. Raises ServiceError."""
        query = {"format": format, **_weights(weighing)}
        content = nbest.encode() if isinstance(nbest, str) else nbest
        headers = {"Content-Type": "text/plain"}
        return self._ask(
            "POST", "/rerank", _rankings, content=content, params=query, headers=headers
        )

    def parse(
        self,
        text: str | Sequence[str] | Sequence[Sequence[str]],
        weighing: Weighing | None = None,
        *,
        lm_weight: float | None = None,
        top: int | None = None,
    ) -> list[Ranking]:
        """A ranking for each sentence of a text, as ``Reranker.parse`` gives them, by the service's
        parser: of running text, of a list of sentences, or of a list of lists of words.

        Offsets in ``origin`` count from the start of the text, of the sentence's own string, or of
        its words with a space between them. Raises ServiceError; its ``code`` is ``no-parser``
        where the service has none.
        """
        if lm_weight is not None:
            weighing = (weighing or Weighing()).replaced(lm_weight)
        body = {**_text(text), **_weights(weighing), "return_brackets": True}
        if top is not None:
            body["top_n"] = top
        return self._ask("POST", "/parse", _rankings, json=body)

    def score(self, trees: Iterable[str | Tree | nltk.Tree]) -> list[float | None]:
        """The log-probability of each tree in nats; None for what is not a tree. Raises
        ServiceError."""
        texts = [candidate.text for candidate in _usable(trees)]
        return self._ask("POST", "/score", _log_probabilities, json={"trees": texts})

    def surprisal(
        self,
        text: str | Sequence[str] | Sequence[Sequence[str]],
        *,
        beam: int = 100,
        unit: Literal["bits", "nats"] = "bits",
        rows: Literal["word", "token"] = "word",
    ) -> list[dict[str, Any]]:
        """The sentences of a text, given as for ``parse``, each with the ``words`` it has and what
        these cost a reader: ``rows`` of the columns of ``reranker.surprisal``. Raises ServiceError;
        its ``code`` is ``no-forward-model`` where the service has no such model."""
        body = {**_text(text), "beam": beam, "unit": unit, "rows": rows}
        return self._ask("POST", "/surprisal", _sentences, json=body)

    def info(self) -> dict[str, Any]:
        """Version, models and limits of the service. Raises ServiceError."""
        return self._ask("GET", "/info", dict)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, method: str, path: str, read: Callable[[Any], T], **request: Any) -> T:
        """The answer's JSON as ``read`` converts it. Raises ServiceError."""
        for attempt in range(self._retries + 1):
            is_last = attempt == self._retries
            try:
                answer = self._http.request(method, path, **request)
            except httpx.TransportError as error:
                if is_last or isinstance(error, _FINAL):
                    message = f"{self._http.base_url}: {type(error).__name__}: {error}"
                    raise ServiceError(0, "unreachable", message) from error
                time.sleep(_pause(attempt, None))
                continue
            if answer.status_code in _RETRIED and not is_last:
                time.sleep(_pause(attempt, answer.headers.get("retry-after")))
                continue
            if not answer.is_success:
                raise _error(answer)
            try:
                return read(answer.json())
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                message = f"{answer.url}: this is not an answer of `rerank serve`"
                raise ServiceError(answer.status_code, "answer", message) from error
        raise AssertionError("the last attempt answers or raises")


def _weights(weighing: Weighing | None) -> dict[str, Any]:
    if weighing is None:
        return {}
    return {"lm_weight": weighing.lm_weight, "criterion": weighing.criterion}


def _text(text: str | Sequence[str] | Sequence[Sequence[str]]) -> dict[str, Any]:
    """The body's field for a text. Raises InputError for an invalid one."""
    if isinstance(text, str):
        return {"text": text}
    given = [each if isinstance(each, str) else list(each) for each in text]
    if all(isinstance(each, str) for each in given):
        return {"sentences": given}
    if any(isinstance(each, str) for each in given):
        raise InputError(
            "expected a text as a string, a list of strings or a list of lists of words"
        )
    return {"tokens": given}


def _pause(attempt: int, asked: str | None) -> float:
    """The pause in seconds: never less than asked for, and randomised, so that clients do not all
    come back at once."""
    least = float(asked) if asked is not None and asked.isdigit() else 0.1 * 2**attempt
    return min(_LONGEST_PAUSE, least) * random.uniform(1, 1.25)


def _error(answer: httpx.Response) -> ServiceError:
    try:
        error = answer.json()["error"]
        return ServiceError(
            answer.status_code, error["code"], error["message"], error["request_id"]
        )
    except (ValueError, LookupError, TypeError):  # a proxy's answer
        return ServiceError(answer.status_code, "http", answer.reason_phrase)


def _log_probabilities(answer: Any) -> list[float | None]:
    return [result["log_probability"] for result in answer["results"]]


def _sentences(answer: Any) -> list[dict[str, Any]]:
    return [dict(sentence) for sentence in answer["sentences"]]


def _rankings(answer: Any) -> list[Ranking]:
    return [
        Ranking(
            sentence["id"],
            tuple(map(_ranked, sentence["ranking"])),
            tuple(
                Rejected(entry["index"], entry["line"], entry["code"], entry["message"], "")
                for entry in sentence["rejected"]
            ),
            sentence["fallback"] or "",
            margin=sentence.get("margin"),
            confidence=sentence["confidence"],
            better_than_first=sentence.get("better_than_first"),
            origin=_origin(sentence.get("origin")),
            certainty=_certainty(sentence),
        )
        for sentence in answer["sentences"]
    ]


def _certainty(sentence: dict[str, Any]) -> Certainty | None:
    """Of an answer of /parse; probabilities have four decimals there."""
    if sentence.get("brackets") is None:
        return None
    rows = sentence["brackets"]
    return Certainty({(start, end, label): p for start, end, label, p in rows}, sentence["entropy"])


def _origin(given: dict[str, Any] | None) -> Origin | None:
    if given is None:
        return None
    return Origin("", given["line"], given["text"], tuple(map(tuple, given["offsets"])))


def _ranked(entry: dict[str, Any]) -> Ranked:
    known = {field.name: entry[field.name] for field in fields(Ranked) if field.name in entry}
    known["score"] = entry["relevance_score"]
    known["member_nll"] = tuple(entry.get("member_nll", ()))
    has_language_models = entry.get("span_nll") != entry["nll"]
    for name in ("perplexity", "token_perplexity"):
        if known.get(name) is None:
            known[name] = math.inf if has_language_models else None
    known.setdefault("span_nll", None)
    if entry.get("token_scores") is not None:
        known["token_scores"] = tuple((token, value) for token, value in entry["token_scores"])
    return Ranked(**known)


def _usable(
    candidates: Iterable[str | Tree | nltk.Tree], parser_scores: Sequence[float] | None = None
) -> list[RawCandidate]:
    """The candidates as text. Raises InputError for one that is neither text nor a tree."""
    if parser_scores is not None:
        parser_scores = log_probabilities(parser_scores)
    raw = raw_list(candidates, parser_scores).candidates
    for candidate in raw:
        if candidate.problem is not None:
            raise InputError(candidate.problem[1])
    return raw
