"""Reads and parses request bodies within limits; cancels work whose client is gone."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect, Request

from reranker.service.errors import ServiceError, too_late
from reranker.service.schemas import RERANK_BODY, AnyRequest, QueryOptions, TextRequest
from reranker.service.settings import Settings

T = TypeVar("T")

_KINDS = {"Candidate", "Document", "str"}


class ClientGone(Exception):
    """The client closed the connection."""


async def read_body(request: Request, settings: Settings, deadline: float) -> bytes:
    """Raises ServiceError 413 (too long), 408 (too slow) or 504 (deadline), and ClientGone."""
    limit = settings.max_body_bytes
    too_long = ServiceError(413, "too-large", f"the body is longer than max_body_bytes = {limit}")
    with contextlib.suppress(ValueError):
        if int(request.headers.get("content-length", 0)) > limit:
            raise too_long
    body_deadline = time.monotonic() + settings.body_seconds
    body = bytearray()
    try:
        async with asyncio.timeout(min(body_deadline, deadline) - time.monotonic()):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise too_long
    except ClientDisconnect as error:
        raise ClientGone from error
    except TimeoutError as error:
        if deadline < body_deadline:
            raise too_late(deadline - request.state.arrived) from error
        message = f"the body did not arrive within body_seconds = {settings.body_seconds:g}"
        raise ServiceError(408, "slow-body", message) from error
    return bytes(body)


async def while_awaited(request: Request, work: Coroutine[Any, Any, T], deadline: float) -> T:
    """The result of ``work``, which is cancelled at the deadline (ServiceError 504) or when the
    client disconnects (ClientGone). The body must have been read."""
    task = asyncio.ensure_future(work)
    disconnect = asyncio.ensure_future(_disconnect(request))
    try:
        seconds = deadline - time.monotonic()
        await asyncio.wait({task, disconnect}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if disconnect.done():
            raise ClientGone
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


def parse_lists(body: bytes, media: str, query: QueryOptions) -> AnyRequest:
    """A body for ``/rerank``; options of the query are used where the body has none."""
    options = query.model_dump(exclude_unset=True)
    if media == "text/plain":
        if not body.strip():
            raise ServiceError(422, "unreadable", "the body is empty", "nbest")
        text = body.decode("utf-8", "surrogateescape")
        return TextRequest.model_construct(None, nbest=text, tokens=None, **options)
    given = parse(RERANK_BODY, body)
    missing = type(given).model_fields.keys() - given.model_fields_set
    return given.model_copy(update={name: options[name] for name in missing & options.keys()})


def parse(adapter: TypeAdapter[T], body: bytes) -> T:
    """Raises ServiceError 400 if the body is not JSON, 422 if it is not as documented."""
    try:
        return adapter.validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            raise ServiceError(400, "malformed-json", first["msg"]) from error
        # pydantic adds the form of the request and the kind of candidate that it took.
        place = first["loc"][1:] if adapter is RERANK_BODY else first["loc"]
        raise invalid([name for name in place if name not in _KINDS], first["msg"]) from error


def invalid(place: Sequence[str | int], message: str) -> ServiceError:
    """422 for the field at ``place``."""
    return ServiceError(422, "invalid", message, ".".join(map(str, place)) or None)
