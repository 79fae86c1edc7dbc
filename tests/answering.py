"""HTTP servers of tests, in threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Answers(BaseHTTPRequestHandler):
    """A handler of requests that logs nothing."""

    def body(self) -> bytes:
        """Read the body of the request."""
        return self.rfile.read(int(self.headers["Content-Length"]))

    def answer(
        self, content: bytes = b"", status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        """Send an answer, of which HEAD gets the headers alone."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextmanager
def answering(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[int]:
    """Answer requests by this handler; yield the port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
