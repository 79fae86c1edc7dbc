"""uvicorn's HTTP/1.1 with limits: on connections, and on the time of clients that never finish a
request. An answer arrives even if more of the request was to come, and all errors have one form.

This module relies on undocumented parts of uvicorn, so pyproject.toml bounds its version.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import uuid
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, ClassVar

import h11
import structlog
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from reranker.service.errors import RequestError, unavailable
from reranker.service.fairness import Connections, network
from reranker.service.http.envelope import envelope
from reranker.service.keys import OPEN_PATHS
from reranker.service.lifecycle import Service

_LOGGER = structlog.get_logger("rerank.request")

# The largest share of an answer that a client may leave unread for ``body_seconds``.
_UNREAD_SHARE = 0.9

_CLOSING_SECONDS = 1
"""Seconds a connection stays open after a malformed request, so that the client can read the
refusal."""

_DROPPED_BODIES = 4
"""Number of the longest bodies that may still arrive after an answer that closes the connection."""

_SPARE = 16
"""Connections that may ask for health while all others are taken."""

_OWN_FILES = 128
"""File descriptors kept for files and pipes of the service."""

_MOST_FILES = 65_536


def raise_file_limit() -> int:
    """Raise this process's limit on open files, low in most shells, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft if soft != resource.RLIM_INFINITY else _MOST_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


class _Transport:
    """A connection's transport as uvicorn sees it, with another ``close``."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self._transport = transport
        self.close = close

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class ConnectionLimits:
    """The limits on a service's connections, and the connections that are open."""

    def __init__(self, service: Service) -> None:
        settings, self.metrics = service.settings, service.metrics
        self.seconds = settings.body_seconds
        self.dropped_bytes = _DROPPED_BODIES * settings.max_body_bytes
        most = max(1, min(settings.connections, raise_file_limit() - _OWN_FILES - _SPARE))
        self.connections: Connections[BoundedProtocol] = Connections(
            most, min(most, settings.address_connections), _SPARE, settings.forwarded_allow_ips
        )
        self.metrics.connections.set_function(lambda: self.connections.total)


class BoundedProtocol(H11Protocol):
    """A connection. ``body_seconds`` is the time for the headers of a request, for the rest of a
    body after its answer, and for the client to read a tenth of its answer; in between,
    ``read_body`` watches over the body."""

    limits: ClassVar[ConnectionLimits]
    address = ""
    is_spare = False
    _deadline: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _is_over = False
    _dropped = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._real_transport = transport
        self.transport = _Transport(transport, self._close)  # type: ignore[assignment]
        self.address = network(self.client[0].partition("%")[0] if self.client else "unknown")
        if (closed := self.limits.connections.add(self)) is not None:
            reason = "spare" if closed.is_spare else "idle"
            self.limits.metrics.refused_connections.labels(reason).inc()
            closed._really_close()
        self.is_spare = self.limits.connections.is_spare(self)
        if self.is_spare:
            self.app = _only_health(self.app)
        self._watch()

    def data_received(self, data: bytes) -> None:
        if not self._is_over:
            super().data_received(data)
            self._watch()
            return
        self._dropped += len(data)
        if self._dropped > self.limits.dropped_bytes:
            self._really_close()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.limits.connections.remove(self)
        self._stop_watching()
        if self._reading is not None:
            self._reading.cancel()
        self._unset_keepalive_if_required()
        # These refer to the connection: together they would wait for the garbage collection.
        self.transport = self._real_transport
        self.cycle = None  # type: ignore[assignment]

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: a wish to upgrade, for instance to a websocket, is no fault, and the request
        is answered as one without it."""

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.is_spare:
            self._really_close()
        elif self.cycle is None or self.cycle.response_complete:
            self.limits.connections.rest(self)

    def pause_writing(self) -> None:
        """Begin to watch a client that reads more slowly than the service writes."""
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _expect_reading(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._reading = self.loop.call_later(self.limits.seconds, self._check_reading, unread)

    def _check_reading(self, before: int) -> None:
        """Close on a client that has read next to nothing of what waited for it."""
        if self.transport.get_write_buffer_size() > _UNREAD_SHARE * before:
            self.limits.metrics.dropped.labels("slow-reader").inc()
            self.transport.abort()
        else:
            self._expect_reading()

    def _watch(self) -> None:
        """Start the clock for the headers, or stop the clock once a request has begun."""
        if self._is_over:
            return
        is_left_over = self.conn.our_state is h11.DONE
        if self.conn.their_state is not h11.IDLE and not is_left_over:
            self.limits.connections.begin(self)
            self._stop_watching()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.limits.seconds, self._give_up)

    def _stop_watching(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        # Only a client that sent something expects an answer.
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self.limits.metrics.dropped.labels("slow-head").inc()
            message = f"the headers did not arrive within body_seconds = {self.limits.seconds:g}"
            self._refuse(RequestError(408, "slow-head", message))
        else:
            self._really_close()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP; uvicorn calls this while it handles h11's error."""
        if self.cycle is not None:
            # An answer that is still being computed must not follow.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._refuse(_malformed(sys.exception()))
        else:
            self._really_close()

    def _refuse(self, error: RequestError) -> None:
        """Answer bytes that never became a request; no other part of the service sees them."""
        self.limits.metrics.requests.labels("other", "other", str(error.status)).inc()
        request_id = uuid.uuid4().hex
        client = self.client[0] if self.client else "unknown"
        _LOGGER.info(error.code, request_id=request_id, status=error.status, client=client)
        self.transport.write(_as_http(error, request_id))
        self._end(_CLOSING_SECONDS)

    def _close(self) -> None:
        """Close in order; uvicorn calls this after the last answer, and when it shuts down."""
        if self.conn.their_state is not h11.SEND_BODY:
            self._really_close()
        elif not self._is_over:
            self._end(self.limits.seconds)

    def _end(self, seconds: float) -> None:
        """Send no more, and drop the bytes that still arrive for some seconds. If the connection
        were closed at once, with more of the request unread, it would be reset, and the client
        might never see the answer."""
        self._is_over = True
        self._stop_watching()
        try:
            self.transport.write_eof()
        except OSError:  # the client has reset the connection, which the loop is yet to see
            self._really_close()
            return
        self.flow.resume_reading()
        self._deadline = self.loop.call_later(seconds, self._really_close)

    def _really_close(self) -> None:
        self._real_transport.close()


def bounded(service: Service) -> type[H11Protocol]:
    """Return the protocol of a service's connections: uvicorn creates one for each."""
    return type("Bounded", (BoundedProtocol,), {"limits": ConnectionLimits(service)})


def _only_health(app: ASGIApp) -> ASGIApp:
    """Wrap the application for a spare connection, which may only ask for health."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in OPEN_PATHS:
            await app(scope, receive, send)
        else:
            error = unavailable("too-many-connections", "too many connections are open")
            await envelope(error, uuid.uuid4().hex)(scope, receive, send)

    return answer


def _malformed(error: BaseException | None) -> RequestError:
    """Return a 400, or the status that h11 finds more fitting: 431 for headers too long, 501 for an
    unknown transfer encoding."""
    status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
    return RequestError(status, "malformed-http", f"the request is not valid HTTP/1.1: {error}")


def _as_http(error: RequestError, request_id: str) -> bytes:
    answer = envelope(error, request_id)
    headers = [
        *answer.raw_headers,
        (b"x-request-id", request_id.encode()),
        (b"connection", b"close"),
    ]
    lines = [b"HTTP/1.1 %d %b" % (error.status, HTTPStatus(error.status).phrase.encode())]
    lines += [b"%b: %b" % header for header in headers]
    return b"\r\n".join([*lines, b"", bytes(answer.body)])
