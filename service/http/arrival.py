"""Bodies as they arrive, within limits; work is cancelled once its client is gone."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request

from reranker.files.encoding import codec_of
from reranker.files.json_text import repeated
from reranker.service.errors import RequestError, too_late
from reranker.service.http.request_state import state_of
from reranker.service.requests.bodies import given_twice
from reranker.service.requests.reading import Body
from reranker.service.settings import Settings

T = TypeVar("T")

TIMEOUT = "X-Request-Timeout"

_PARAMETER = re.compile(r';\s*+([^\s;="]++)\s*+=\s*+("(?:[^"\\]|\\.)*+"|[^;"]*+)')


class ClientGone(Exception):
    """The end of a request whose client closed the connection."""


async def read_body(
    path: str, request: Request, query: BaseModel, settings: Settings, deadline: float
) -> Body:
    """Return the body with its media type, charset and options. The state's ``reserve`` is called
    with the body's length so far and its expected length.

    Raises RequestError 413 (too long), 408 (too slow) or 504 (deadline), the errors of ``reserve``,
    and ClientGone.
    """
    limit, state = settings.max_body_bytes, state_of(request)
    too_long = RequestError(413, "too-large", f"the body is longer than max_body_bytes = {limit}")
    length = 0
    with contextlib.suppress(ValueError):
        length = int(request.headers.get("content-length", 0))
    if length > limit:
        raise too_long
    state.reserve(0, length)
    body_deadline = time.monotonic() + settings.body_seconds
    body = bytearray()
    try:
        async with asyncio.timeout(min(body_deadline, deadline) - time.monotonic()):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise too_long
                state.reserve(len(body), length)
    except ClientDisconnect as error:
        raise ClientGone from error
    except TimeoutError as error:
        if deadline < body_deadline:
            raise too_late(deadline - state.arrived) from error
        message = f"the body did not arrive within body_seconds = {settings.body_seconds:g}"
        raise RequestError(408, "slow-body", message) from error
    return Body(path, bytes(body), media_type(request), query, codec(request))


async def while_awaited(
    request: Request, work: Coroutine[Any, Any, T], deadline: float | None
) -> T:
    """Return the result of ``work``, which is cancelled at the deadline (RequestError 504) or when
    the client disconnects (ClientGone). The body must have been read."""
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
        raise too_late(deadline - state_of(request).arrived)
    finally:
        task.cancel()
        disconnect.cancel()
        await asyncio.gather(task, disconnect, return_exceptions=True)


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def check_once(request: Request) -> None:
    """Raise RequestError 422 for an option of the query, or a timeout, that is given twice, since
    one of the two would be ignored silently."""
    timeouts = [(TIMEOUT, value) for value in request.headers.getlist(TIMEOUT)]
    name = repeated([*request.query_params.multi_items(), *timeouts])
    if name is not None:
        raise given_twice([name])


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def codec(request: Request) -> str | None:
    """Return the codec of the charset that ``Content-Type`` declares, None if it declares none.
    Raises RequestError 415 for a charset that is not read here, and for two."""
    declared = {
        value[1:-1].replace("\\", "") if value.startswith('"') else value.strip()
        for name, value in _PARAMETER.findall(request.headers.get("content-type", ""))
        if name.lower() == "charset"
    }
    known = {codec_of(charset) for charset in declared}
    if None in known or len(known) > 1:
        shown = " and ".join(map(repr, sorted(declared)))
        message = f"the charset {shown:.100} is not read here: send UTF-8"
        raise RequestError(415, "unsupported-charset", message, "Content-Type")
    return known.pop() if known else None


def check_media_type(request: Request, *allowed: str) -> None:
    """Raise RequestError 415 for a media type that is not allowed, and for a compressed body, whose
    true size is not known."""
    encoding = ", ".join(request.headers.getlist("content-encoding")).strip().lower()
    if {part.strip() for part in encoding.split(",")} - {"", "identity"}:
        message = f"send the body uncompressed, not with Content-Encoding: {encoding}"
        error = RequestError(415, "unsupported-encoding", message, "Content-Encoding")
        error.headers["Accept-Encoding"] = "identity"
        raise error
    given = media_type(request)
    if given not in allowed or len(set(request.headers.getlist("content-type"))) > 1:
        shown = ", ".join(request.headers.getlist("content-type")) or "nothing"
        message = f"send Content-Type: {' or '.join(allowed)}, not {shown}"
        raise RequestError(415, "unsupported-media-type", message, "Content-Type")
    codec(request)
