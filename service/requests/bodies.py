"""Reads and parses request bodies within limits; cancels work whose client is gone."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json
from starlette.requests import ClientDisconnect, Request

from reranker.process.cancellation import Cancellation
from reranker.service.errors import ServiceError, overloaded, too_late
from reranker.service.fairness import Shares
from reranker.service.requests.schemas import (
    PARSE_BODY,
    RERANK_BODY,
    AnyRequest,
    CandidateList,
    QueryOptions,
    TextRequest,
    form_of,
)
from reranker.service.settings import Settings

T = TypeVar("T")

_SENTENCE = TypeAdapter(CandidateList)
_KINDS = {"Candidate", "Document", "str"}


class ClientGone(Exception):
    """The client closed the connection."""


class BodyBytes:
    """How many bytes of bodies there are, over all requests: what is made of them takes memory."""

    def __init__(self, settings: Settings) -> None:
        self._shares = Shares(settings.queue_bytes)
        # ``queue_requests`` bounds the small ones, which should not wait for large ones.
        self._small = settings.queue_bytes // 256
        self._seconds = 0.0  # that a large one was held, learned

    @contextlib.contextmanager
    def held(self, client: str) -> Iterator[Callable[[int, int], None]]:
        """For one request: gives what is to be called with how many bytes it has now and, as far
        as is known, in the end. It raises ServiceError 429 if that is too many beside others'."""
        mine, since = 0, time.monotonic()

        def hold(count: int, expected: int) -> None:
            nonlocal mine
            self._shares.give_back(client, mine)
            most = max(count, expected)
            has_room = most <= self._small or self._shares.has_room(client, most)
            mine = count if has_room else 0
            self._shares.take(client, mine)
            if not has_room:
                raise overloaded(self.seconds_to_wait)

        try:
            yield hold
        finally:
            self._shares.give_back(client, mine)
            if mine > self._small:
                self._seconds += 0.3 * (time.monotonic() - since - self._seconds)

    @property
    def seconds_to_wait(self) -> int:
        """How long it will probably take until a large body is done with."""
        return min(60, 1 + int(self._seconds))


async def read_body(
    request: Request,
    settings: Settings,
    deadline: float,
    hold: Callable[[int, int], None],
    count: Callable[[bytearray, bytes], Awaitable[None]],
) -> bytes:
    """The body; ``hold`` is told its length so far and in the end, ``count`` gets what there is and
    the last piece of it.

    Raises ServiceError 413 (too long), 408 (too slow) or 504 (deadline), what ``hold`` and
    ``count`` raise, and ClientGone.
    """
    limit = settings.max_body_bytes
    too_long = ServiceError(413, "too-large", f"the body is longer than max_body_bytes = {limit}")
    length = 0
    with contextlib.suppress(ValueError):
        length = int(request.headers.get("content-length", 0))
    if length > limit:
        raise too_long
    hold(0, length)
    body_deadline = time.monotonic() + settings.body_seconds
    body = bytearray()
    try:
        async with asyncio.timeout(min(body_deadline, deadline) - time.monotonic()):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise too_long
                hold(len(body), length)
                await count(body, chunk)
    except ClientDisconnect as error:
        raise ClientGone from error
    except TimeoutError as error:
        if deadline < body_deadline:
            raise too_late(deadline - request.state.arrived) from error
        message = f"the body did not arrive within body_seconds = {settings.body_seconds:g}"
        raise ServiceError(408, "slow-body", message) from error
    return bytes(body)


async def while_awaited(
    request: Request, work: Coroutine[Any, Any, T], deadline: float | None
) -> T:
    """The result of ``work``, which is cancelled at the deadline (ServiceError 504) or when the
    client disconnects (ClientGone). The body must have been read."""
    task = asyncio.ensure_future(work)
    disconnect = asyncio.ensure_future(_disconnect(request))
    try:
        seconds = None if deadline is None else deadline - time.monotonic()
        await asyncio.wait({task, disconnect}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if disconnect.done():
            raise ClientGone
        assert deadline is not None
        raise too_late(deadline - request.state.arrived)
    finally:
        task.cancel()
        disconnect.cancel()
        await asyncio.gather(task, disconnect, return_exceptions=True)


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_media_type(request: Request, *allowed: str) -> None:
    """Raises ServiceError 415; also for compressed bodies, whose true size nobody knows."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        message = f"send the body uncompressed, not with Content-Encoding: {encoding}"
        error = ServiceError(415, "unsupported-encoding", message, "Content-Encoding")
        error.headers["Accept-Encoding"] = "identity"
        raise error
    given = media_type(request)
    if given not in allowed:
        wanted = " or ".join(allowed)
        message = f"send Content-Type: {wanted}, not {given or 'nothing'}"
        raise ServiceError(415, "unsupported-media-type", message, "Content-Type")


def parse_lists(
    body: bytes, media: str, query: QueryOptions | None, cancellation: Cancellation
) -> AnyRequest:
    """A body for ``/rerank``; options of the query are used where the body has none."""
    options = query.model_dump(exclude_unset=True) if query else {}
    if media == "text/plain":
        if not body.strip():
            raise ServiceError(422, "unreadable", "the body is empty", "nbest")
        text = body.decode("utf-8", "surrogateescape")
        return TextRequest.model_construct(None, nbest=text, tokens=None, **options)
    given = parse(RERANK_BODY, body, cancellation)
    missing = type(given).model_fields.keys() - given.model_fields_set
    return given.model_copy(update={name: options[name] for name in missing & options.keys()})


def parse(adapter: TypeAdapter[T], body: bytes, cancellation: Cancellation) -> T:
    """Raises ServiceError 400 if the body is not JSON, 422 if it is not as documented, and Stopped
    if cancelled.

    No step takes long, since pydantic lets no other thread run during one.
    """
    try:
        given = from_json(body)
    except ValueError as error:
        raise ServiceError(400, "malformed-json", f"Invalid JSON: {error}") from error
    place: tuple[str | int, ...] = ()
    sentences = _sentences_of(given) if adapter is RERANK_BODY else []
    try:
        for number in cancellation.checked(range(len(sentences))):
            place = ("sentences", "sentences", number)
            sentences[number] = _as_documented(_SENTENCE, sentences[number])
        place = ()
        # What is a CandidateList already is not looked at again.
        return _as_documented(adapter, given, {"sentences": sentences[:1]} if sentences else {})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        # pydantic adds the form of the request and the kind of candidate that it took.
        names = [*place, *first["loc"]]
        if adapter in (RERANK_BODY, PARSE_BODY):
            del names[0]
        raise invalid([name for name in names if name not in _KINDS], first["msg"]) from error


def _sentences_of(given: Any) -> list[Any]:
    """Those of a body that is validated sentence by sentence."""
    if not isinstance(given, dict) or form_of(given) != "sentences":
        return []
    sentences = given.get("sentences")
    return sentences if isinstance(sentences, list) else []


def _as_documented(
    adapter: TypeAdapter[T], given: Any, shorter: Mapping[str, Any] = MappingProxyType({})
) -> T:
    """``shorter`` are fields without errors, abridged."""
    try:
        return adapter.validate_python(given)
    except ValidationError:
        # The same error in the words of JSON: arrays and objects.
        adapter.validate_json(to_json({**given, **shorter} if shorter else given))
        raise


def invalid(place: Sequence[str | int], message: str) -> ServiceError:
    """422 for the field at ``place``."""
    return ServiceError(422, "invalid", message, ".".join(map(str, place)) or None)
