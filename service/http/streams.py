"""Answers on their way to the client: at once, or in lines while they are made."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from reranker.service.errors import RequestError
from reranker.service.http import answers, arrival
from reranker.service.http.request_state import state_of
from reranker.service.metrics import Metrics

LINES = "application/x-ndjson"

# Bytes that fit into the system's buffers: they are sent without waiting for the client.
_SMALL = 65_536


class Lines(NamedTuple):
    """An answer of many lines; the first is ready."""

    first: bytes
    others: AsyncGenerator[bytes]


def are_wanted(request: Request) -> bool:
    """Return whether the client accepts an answer a line at a time."""
    ranges = request.headers.get("accept", "").lower().split(",")
    return LINES in {media.partition(";")[0].strip() for media in ranges}


class Answer(Response):
    """An answer that counts towards its client's shares (``held``) until the client has taken it,
    so that clients that do not read cannot fill the memory.

    An answer in lines that is cut off at the deadline ends with a line that names the error.
    """

    def __init__(
        self,
        content: bytes | Lines,
        form: str,
        request: Request,
        metrics: Metrics,
        deadline: float,
        held: contextlib.AsyncExitStack,
    ) -> None:
        """Take the ``form`` that the client prefers; if that is lines, an answer without lines is
        JSON."""
        self._content = content
        self._request, self._metrics = request, metrics
        self._deadline, self._held = deadline, held
        has_no_lines = form == LINES and isinstance(content, bytes)
        # A text gets a charset.
        super().__init__(media_type="application/json" if has_no_lines else form)
        self.headers["Vary"] = "Accept"
        if isinstance(content, Lines):
            del self.headers["Content-Length"]
        else:
            self.headers["Content-Length"] = str(len(content))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._held:
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            if isinstance(self._content, Lines):
                await self._send_lines(self._content, send)
            elif len(self._content) <= _SMALL:
                await _send(send, self._content, is_last=True)
            else:
                with contextlib.suppress(arrival.ClientGone):
                    await arrival.while_awaited(
                        self._request, _send_long(send, self._content), None
                    )

    async def _send_lines(self, lines: Lines, send: Send) -> None:
        async def send_all() -> None:
            await _send(send, lines.first)
            async for line in lines.others:
                await _send(send, line)
            await _send(send, b"", is_last=True)

        state = state_of(self._request)
        try:
            await arrival.while_awaited(self._request, send_all(), self._deadline)
        except arrival.ClientGone:
            self._metrics.dropped.labels("disconnect").inc()
        except RequestError as error:
            state.details["code"] = error.code
            if error.code == "deadline":
                self._metrics.dropped.labels("deadline").inc()
            await _send(send, answers.error_line(error, state.request_id), is_last=True)
        finally:
            await lines.others.aclose()


async def _send_long(send: Send, content: bytes) -> None:
    await _send(send, content)
    # Waits until the client has taken most of it.
    await _send(send, b"", is_last=True)


async def _send(send: Send, content: bytes, is_last: bool = False) -> None:
    await send({"type": "http.response.body", "body": content, "more_body": not is_last})
