"""uvicorn's HTTP/1.1 with a time limit on clients that never finish a request."""

from __future__ import annotations

import asyncio
import uuid
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from reranker.service.errors import ServiceError, envelope
from reranker.service.lifecycle import Service


def bounded(service: Service) -> type[H11Protocol]:
    """A protocol that allows ``body_seconds`` for the headers of a request, and as long for the
    rest of a body after its answer; in between, ``read_body`` watches over the body."""
    seconds = service.settings.body_seconds

    class Bounded(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._stop_watching()

        def _watch(self) -> None:
            """Start the clock, or stop it once the headers or the body are complete."""
            is_left_over = self.conn.our_state is h11.DONE
            if self.conn.their_state is not h11.IDLE and not is_left_over:
                self._stop_watching()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(seconds, self._give_up)

        def _stop_watching(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _give_up(self) -> None:
            # Only a client that sent something expects an answer.
            if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
                service.metrics.dropped.labels("slow-head").inc()
                self.transport.write(_too_slow(seconds))
            self.transport.close()

    return Bounded


def _too_slow(seconds: float) -> bytes:
    message = f"the headers did not arrive within body_seconds = {seconds:g}"
    answer = envelope(ServiceError(408, "slow-head", message), uuid.uuid4().hex)
    headers = [*answer.raw_headers, (b"connection", b"close")]
    lines = [b"HTTP/1.1 408 %b" % HTTPStatus(408).phrase.encode()]
    lines += [b"%b: %b" % header for header in headers]
    return b"\r\n".join([*lines, b"", bytes(answer.body)])
