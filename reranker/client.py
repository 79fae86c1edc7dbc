"""Clients of ``rerank serve``, which answer as ``Reranker`` does.

>>> with Client("http://localhost:8000") as client:  # doctest: +SKIP
...     print(client.rerank(["(S (NP (PRP It)) (VP (VBZ runs)))"]).tree)
"""

from __future__ import annotations

import asyncio
import functools
import math
import os
import random
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from email.utils import parsedate_to_datetime
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Self,
    TypeVar,
    overload,
)

import httpx

from reranker.errors import InputError, RerankError
from reranker.files.text import encoding_fault
from reranker.nbest import Rejected
from reranker.nbest.candidates import log_probabilities, raw_list
from reranker.nbest.data import Certainty, Origin, RawCandidate
from reranker.nbest.words import printable
from reranker.ranking import Ranked, Ranking, Weighing
from reranker.ranking.rankings import Rankings
from reranker.text.given import GivenText, checked_text, warn_about_text
from reranker.text.splitting import TextForm
from reranker.trees import Tree
from reranker.trees.tree import short_repr

if TYPE_CHECKING:
    import nltk

_RETRIED = (429, 503)
_MAX_PAUSE = 30.0
_SECONDS = re.compile(r"\d{1,300}(\.\d{1,300})?", re.ASCII)
# Errors that a retry would repeat, or repeat as slowly.
_NOT_RETRIED = (httpx.TimeoutException, httpx.UnsupportedProtocol, httpx.LocalProtocolError)

P = ParamSpec("P")
T = TypeVar("T")
Outcome = httpx.Response | httpx.TransportError


class ServiceError(RerankError):
    """An error answer of the service, with its ``status`` and ``code``; ``request_id`` identifies
    it in the service's log. Without an answer, ``status`` is 0 and ``code`` is ``unreachable``."""

    def __init__(self, status: int, code: str, message: str, request_id: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.request_id = status, code, request_id


@dataclass(frozen=True, slots=True, repr=False)
class ClientRequest(Generic[T]):
    """A request, and the function that reads its answer."""

    method: str
    path: str
    read: Callable[[Any], T]
    content: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of httpx: ``json``, ``params``, ``content``, ``headers``."""

    def __repr__(self) -> str:
        return short_repr(self)


class call(Generic[P, T]):
    """A method that builds a request, which the client sends when the method is called. The method
    returns the answer, or an awaitable of the answer for an ``AsyncClient``."""

    def __init__(self, build: Callable[Concatenate[Any, P], ClientRequest[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(
        self, client: None, owner: type
    ) -> Callable[Concatenate[Any, P], ClientRequest[T]]: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Any:
        if client is None:  # for help and documentation
            return self._build
        build = MethodType(self._build, client)

        @functools.wraps(build)
        def send(*args: P.args, **kwargs: P.kwargs) -> T | Awaitable[T]:
            return client._send(build(*args, **kwargs))

        return send


class _Service(ABC):
    """The requests to a service, for both clients."""

    def __init__(
        self,
        url: str = "http://localhost:8000",
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: int = 5,
    ) -> None:
        """Connect to ``url``. ``timeout`` in seconds is for each attempt, and for each pause that
        the service asks for before the next attempt; the service gets it as the deadline.

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
        self._url, self._timeout, self._retries = url, timeout, max(0, retries)
        self._connect(base_url=url, headers=headers, timeout=timeout)

    @abstractmethod
    def _connect(self, **settings: Any) -> None: ...

    @call
    def rerank(
        self,
        candidates: Iterable[str | Tree | nltk.Tree],
        parser_scores: Sequence[float] | None = None,
        weighing: Weighing | None = None,
        tokens: Sequence[str] | None = None,
        *,
        lm_weight: float | None = None,
    ) -> ClientRequest[Ranking]:
        """Rank the candidates of one sentence, as ``Reranker.rerank`` does; ``tokens`` are its
        words if the candidates hide them. Raises ServiceError."""
        trees = [
            {"tree": candidate.text, "score": candidate.parser_score}
            for candidate in _usable(candidates, parser_scores)
        ]
        sentence: dict[str, Any] = {"candidates": trees}
        if isinstance(tokens, str):
            raise InputError("tokens must be a list of words, got a single string")
        if tokens is not None:
            sentence["tokens"] = list(tokens)
        body = {"sentences": [sentence], **_weights(weighing, lm_weight)}
        return ClientRequest("POST", "/rerank", lambda answer: _rankings(answer)[0], {"json": body})

    @call
    def rerank_lists(
        self,
        sentences: Sequence[Mapping[str, Any]],
        weighing: Weighing | None = None,
        token_scores: bool = False,
    ) -> ClientRequest[list[Ranking]]:
        """Return a ranking for each sentence, given as ``{"id", "tokens", "candidates"}``
        (docs/service.md). Raises ServiceError."""
        body = {
            "sentences": list(sentences),
            "return_token_scores": token_scores,
            **_weights(weighing),
        }
        return ClientRequest("POST", "/rerank", _rankings, {"json": body})

    @call
    def rerank_text(
        self,
        nbest: str | bytes,
        weighing: Weighing | None = None,
        format: str = "auto",
    ) -> ClientRequest[list[Ranking]]:
        """Return a ranking for each sentence of an n-best text in any dialect. Raises
        ServiceError."""
        content = {
            "content": _bytes(nbest),
            "params": {"format": format, **_weights(weighing)},
            "headers": {"Content-Type": "text/plain"},
        }
        return ClientRequest("POST", "/rerank", _rankings, content)

    @call
    def parse(
        self,
        text: GivenText,
        weighing: Weighing | None = None,
        *,
        lm_weight: float | None = None,
        top: int | None = None,
        speakers: bool | None = None,
        form: TextForm = "text",
    ) -> ClientRequest[Rankings]:
        """Return a ranking for each sentence of a text, as ``Reranker.parse`` does, with the
        service's parser. The text is running text, a list of sentences, or a list of lists of
        words; ``form`` is that of running text.

        Offsets in ``origin`` count from the start of the text, of the sentence's own string, or of
        its words with a space between them. Raises ServiceError; its ``code`` is ``no-parser`` if
        the service has no parser.
        """
        body = {**_text(text), **_weights(weighing, lm_weight), "return_brackets": True}
        if form != "text":
            body["form"] = form
        if speakers is not None:
            body["speakers"] = speakers
        if top is not None:
            body["top_n"] = top
        return ClientRequest(
            "POST", "/parse", lambda answer: Rankings(_rankings(answer)), {"json": body}
        )

    @call
    def score(self, trees: Iterable[str | Tree | nltk.Tree]) -> ClientRequest[list[float | None]]:
        """Return the log-probability of each tree in nats; None for an entry that is not a tree.
        Raises ServiceError."""
        texts = [candidate.text for candidate in _usable(trees)]
        return ClientRequest("POST", "/score", _log_probabilities, {"json": {"trees": texts}})

    @call
    def info(self) -> ClientRequest[dict[str, Any]]:
        """Return version, models and limits of the service. Raises ServiceError."""
        return ClientRequest("GET", "/info", dict)

    def _attempts(self, request: ClientRequest[T]) -> Generator[float, Outcome, T]:
        """Yield the seconds to wait before each attempt, receive its outcome, and return the answer
        as ``request.read`` converts it. Raises ServiceError."""
        pause = 0.0
        for attempt in range(self._retries + 1):
            is_last = attempt == self._retries
            answer = yield pause
            if isinstance(answer, httpx.TransportError):
                if is_last or isinstance(answer, _NOT_RETRIED):
                    message = f"{self._url}: {type(answer).__name__}: {answer}"
                    raise ServiceError(0, "unreachable", message) from answer
                pause = _pause(attempt, 0.0, self._timeout)
                continue
            if answer.status_code in _RETRIED and not is_last:
                asked = _asked_pause(answer)
                if asked > self._timeout:
                    longer = f"asks to come back in {asked:g} s, which is longer than"
                    raise _error(answer, f"; it {longer} timeout = {self._timeout:g} s")
                pause = _pause(attempt, asked, self._timeout)
                continue
            if not answer.is_success:
                raise _error(answer)
            try:
                return request.read(answer.json())
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                message = f"{answer.url}: this is not an answer of `rerank serve`"
                raise ServiceError(answer.status_code, "answer", message) from error
        raise AssertionError("the last attempt answers or raises")


class Client(_Service):
    """A client that keeps connections to a service; use it in a ``with`` statement, from one thread
    or several.

    A ``weighing`` sends its ``lm_weight`` and criterion; without one, the service uses the values
    that its ensemble was tuned for. Member weights and token bonus are always the service's.

    A request is repeated up to ``retries`` times after 429, 503 and a broken connection, after the
    pauses that the service asks for, else after growing ones. A requested pause longer than
    ``timeout`` is a ServiceError at once. Unknown keys in an answer are ignored.
    """

    _http: httpx.Client

    def _connect(self, **settings: Any) -> None:
        self._http = httpx.Client(**settings)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _send(self, request: ClientRequest[T]) -> T:
        attempts = self._attempts(request)
        pause = next(attempts)
        while True:
            if pause:
                time.sleep(pause)
            outcome: Outcome
            try:
                outcome = self._http.request(request.method, request.path, **request.content)
            except httpx.TransportError as error:
                outcome = error
            try:
                pause = attempts.send(outcome)
            except StopIteration as done:
                answer: T = done.value
                return answer


class AsyncClient(_Service):
    """A ``Client`` for ``async with`` and ``await``: concurrent requests do not wait for each
    other.

    >>> async def texts(*given: str) -> list[Rankings]:
    ...     async with AsyncClient("http://localhost:8000") as client:
    ...         return await asyncio.gather(*map(client.parse, given))
    """

    _http: httpx.AsyncClient

    def _connect(self, **settings: Any) -> None:
        self._http = httpx.AsyncClient(**settings)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _send(self, request: ClientRequest[T]) -> T:
        attempts = self._attempts(request)
        pause = next(attempts)
        while True:
            if pause:
                await asyncio.sleep(pause)
            outcome: Outcome
            try:
                outcome = await self._http.request(request.method, request.path, **request.content)
            except httpx.TransportError as error:
                outcome = error
            try:
                pause = attempts.send(outcome)
            except StopIteration as done:
                answer: T = done.value
                return answer


def _weights(weighing: Weighing | None, lm_weight: float | None = None) -> dict[str, Any]:
    if lm_weight is not None:
        weighing = (weighing or Weighing()).replaced(lm_weight)
    if weighing is None:
        return {}
    return {"lm_weight": weighing.lm_weight, "criterion": weighing.criterion}


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def _text(text: GivenText) -> dict[str, Any]:
    """Return the body's field for a text. Raises InputError for an invalid text."""
    given = checked_text(text)
    if isinstance(given, os.PathLike):
        raise InputError(f"{os.fspath(given)}: the service reads no files; send the text in it")
    warn_about_text(given)
    if isinstance(given, str):
        return {"text": printable(given)}
    spelled = [printable(e) if isinstance(e, str) else [*map(printable, e)] for e in given]
    return {"tokens" if given and not isinstance(given[0], str) else "sentences": spelled}


def _pause(attempt: int, asked: float, longest: float) -> float:
    """Return the pause in seconds: never less than ``asked``, and randomised, so that clients do
    not all retry at once. ``asked`` is at most ``longest``."""
    least = max(asked, min(_MAX_PAUSE, 0.1 * 2.0 ** min(attempt, 10)))
    return max(asked, min(longest, least * random.uniform(1, 1.25)))


def _asked_pause(answer: httpx.Response) -> float:
    """Return the seconds in ``Retry-After``, 0 if it is missing or unreadable. A date counts from
    the service's own date, since clocks differ."""
    asked = answer.headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(asked):
        return float(asked)
    until, now = _time(asked), _time(answer.headers.get("date", ""))
    return 0.0 if until is None else max(0.0, until - (now or time.time()))


def _time(date: str) -> float | None:
    """Return a date of HTTP as seconds, None for anything else."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _error(answer: httpx.Response, advice: str = "") -> ServiceError:
    try:
        error = answer.json()["error"]
        message, request_id = str(error["message"]) + advice, error["request_id"]
        return ServiceError(answer.status_code, error["code"], message, request_id)
    except (ValueError, LookupError, TypeError):  # a proxy's answer
        return ServiceError(answer.status_code, "http", answer.reason_phrase + advice)


def _log_probabilities(answer: Any) -> list[float | None]:
    return [result["log_probability"] for result in answer["results"]]


def _rankings(answer: Any) -> list[Ranking]:
    return [_ranking(sentence) for sentence in answer["sentences"]]


def _ranking(sentence: dict[str, Any]) -> Ranking:
    origin, certainty = _origin(sentence.get("origin")), _certainty(sentence)
    return Ranking(
        sentence["id"],
        tuple(_ranked(entry, origin, certainty) for entry in sentence["ranking"]),
        tuple(
            Rejected(entry["index"], entry["line"], entry["code"], entry["message"], "")
            for entry in sentence["rejected"]
        ),
        sentence["fallback"] or "",
        margin=sentence.get("margin"),
        confidence=sentence["confidence"],
        better_than_first=sentence.get("better_than_first"),
        origin=origin,
        certainty=certainty,
        repaired=sum(entry["repaired"] for entry in sentence["ranking"]),
    )


def _certainty(sentence: dict[str, Any]) -> Certainty | None:
    """Return the certainty in an answer of /parse, whose probabilities have four decimals."""
    if sentence.get("brackets") is None:
        return None
    rows = sentence["brackets"]
    return Certainty({(start, end, label): p for start, end, label, p in rows}, sentence["entropy"])


def _origin(given: dict[str, Any] | None) -> Origin | None:
    if given is None:
        return None
    return Origin(
        "", given["line"], given["text"], tuple(map(tuple, given["offsets"])), given.get("speaker")
    )


def _ranked(entry: dict[str, Any], origin: Origin | None, certainty: Certainty | None) -> Ranked:
    known = {each.name: entry[each.name] for each in fields(Ranked) if each.name in entry}
    known |= {"origin": origin, "certainty": certainty}
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
    """Return the candidates as text. Raises InputError for a candidate that is neither text nor a
    tree, or that cannot be sent."""
    if parser_scores is not None:
        parser_scores = log_probabilities(parser_scores)
    raw = raw_list(candidates, parser_scores).candidates
    for number, candidate in enumerate(raw, 1):
        if candidate.problem is not None:
            raise InputError(candidate.problem[1])
        if fault := encoding_fault(candidate.text):
            raise InputError(f"candidate {number}: {fault}")
    return raw
