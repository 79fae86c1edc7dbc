"""Real servers in real processes."""

from __future__ import annotations

import atexit
import contextlib
import functools
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from benchmarks import servers
from benchmarks.servers import Server as Server
from tests.checkout import RERANK, ROOT, before_python_path
from tests.waiting import PATIENCE

FRAGILE = str(Path(__file__).with_name("fragile"))

LIMITS = {
    "max_body_bytes": 20_000,
    "max_sentences": 3,
    "max_candidates": 4,
    "max_tree_tokens": 30,
    "max_depth": 10,
    "max_characters": 100,
    "longest": 50,
    "queue_requests": 4,
    "queue_tokens": 50,
    "queue_bytes": 40_000,
    "connections": 500,
    "body_seconds": 600.0,
    "reading_seconds": 10.0,
    "request_seconds": 600.0,
    "max_request_seconds": 800.0,
}
"""The limits of the fragile server of all tests."""


@contextlib.contextmanager
def serving(
    models: Sequence[str],
    *flags: str,
    fragile: bool = False,
    real_parser: bool = False,
    wait: bool = True,
    rerank: str = RERANK,
    folder: Path | None = None,
    **environment: str,
) -> Iterator[Server]:
    """Yield ``rerank serve`` with these flags, ready if ``wait``. ``fragile``: see the folder of
    that name. ``folder`` is the working directory. Beside models that a test has made, the parser
    has a toy's model, too, which loads and parses at once, unless ``real_parser``."""
    if fragile:
        environment["PYTHONPATH"] = before_python_path(FRAGILE)
    if not real_parser and all(
        "/" in model and str(ROOT) not in model for model in models or ["."]
    ):
        environment.setdefault("RERANK_PARSER_MODEL", toy_parser())
    with servers.serving(
        models, *flags, wait=wait, rerank=[rerank], folder=folder, **environment
    ) as server:
        yield server


@functools.cache
def toy_parser() -> str:
    """Return the file of an untrained parser."""
    from tests.reranker.span_models import save_spans  # which imports torch

    folder = tempfile.mkdtemp(prefix="toy-parser")
    atexit.register(shutil.rmtree, folder)
    return save_spans(Path(folder, "spans.pt"), 1)


def sentence(*words: str) -> dict[str, Any]:
    """Return a sentence with one flat tree over these words."""
    nodes = " ".join(f"(NN {word})" for word in words)
    return {"candidates": [f"(S1 (S {nodes}))"]}


class Gate:
    """A gate: before a fragile server scores a list with ``word``, it waits until the gate is
    opened."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "open"
        self.word = f"wait:{self.file}"

    def open(self) -> None:
        self.file.touch()


def slow_loading(gate: Gate) -> str:
    """Return the PYTHONPATH of a fragile server whose scoring process does not start before the
    gate is open."""
    module = "reranker.service.children.scoring_main"
    waiting = f"while {module!r} in sys.orig_argv and not os.path.exists(gate):"
    code = f"import os, sys, time\ngate = {str(gate.file)!r}\n{waiting}\n    time.sleep(0.01)\n"
    fragile = Path(FRAGILE, "sitecustomize.py").read_text(encoding="utf-8")
    # Python imports only the first module of this name.
    code += f"exec({fragile!r})\n"
    (gate.folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    return before_python_path(str(gate.folder))


_FAILING = """
import itertools, sys, time
if "reranker.service.children.scoring_main" in sys.orig_argv:
    from reranker.parsers.chart import ChartParser
    parse = ChartParser.parse
    def failing(self, sentences, cancellation=None):
        for each in sentences:
            if "crash" in each.words:
                raise ValueError(" ".join(each.words))
        if any("hang" in each.words for each in sentences):
            for _ in cancellation.until_cancelled(itertools.repeat(None)):
                time.sleep(0.01)
        return parse(self, sentences, cancellation)
    ChartParser.parse = failing
"""


def failing_parser(folder: Path) -> str:
    """Return the PYTHONPATH of a server whose parser fails at sentences with the word "crash", and
    parses those with "hang" until they are cancelled."""
    (folder / "sitecustomize.py").write_text(_FAILING, encoding="utf-8")
    return before_python_path(str(folder))


def begun(
    server: Server, body: bytes, length: int, path: str = "/rerank", address: str = ""
) -> socket.socket:
    """Return a connection, from this address, on which a request with JSON so long has begun."""
    source = (address, 0) if address else None
    connection = socket.create_connection(("127.0.0.1", server.port), PATIENCE, source)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n"
    connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
    return connection


def dropped(http: httpx.Client, reason: str) -> float:
    """Return the number of requests that the server has dropped for a reason."""
    for line in http.get("/metrics").text.splitlines():
        if line.startswith(f'rerank_dropped_total{{reason="{reason}"}}'):
            return float(line.split()[1])
    return 0.0


def is_closed_on(connection: socket.socket, piece: bytes) -> bool:
    """Return whether the server closes on a client that sends a piece again and again."""
    give_up = time.monotonic() + PATIENCE
    with contextlib.suppress(OSError):
        while time.monotonic() < give_up:
            connection.sendall(piece)
            time.sleep(0.05)
        return False
    return True
