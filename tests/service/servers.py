"""Real servers in real processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.checkout import RERANK, before_python_path
from tests.waiting import PATIENCE

FRAGILE = str(Path(__file__).with_name("fragile"))


class Server:
    """A process that serves: where, and what it has logged so far."""

    def __init__(
        self, command: Sequence[str], environment: dict[str, str], folder: Path | None = None
    ) -> None:
        self.process = subprocess.Popen(
            [*command, "--port", "0", "--log-format", "json"],
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        self.log: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            try:
                self.log.append(json.loads(line))
            except ValueError:
                self.log.append({"event": line.rstrip()})

    def logged(self, event: str, seconds: float = PATIENCE, **fields: object) -> dict[str, Any]:
        """The first such line of the log, with these fields, waited for."""
        give_up = time.monotonic() + seconds
        while True:
            ended = self.process.poll() is not None
            for line in self.log:
                if line.items() >= {"event": event, **fields}.items():
                    return line
            assert not ended and time.monotonic() < give_up, self.log
            time.sleep(0.01)

    @property
    def url(self) -> str:
        return str(self.logged("listening")["url"])

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=PATIENCE, **options)

    def end(self) -> int:
        """Its exit code, and the whole of its log, once it has ended by itself."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code


@contextlib.contextmanager
def serving(
    models: Sequence[str],
    *flags: str,
    fragile: bool = False,
    wait: bool = True,
    rerank: str = RERANK,
    folder: Path | None = None,
    **environment: str,
) -> Iterator[Server]:
    """``rerank serve`` with these flags; ready, if ``wait``. ``fragile``: see the folder of that
    name. ``folder`` is its working directory."""
    command = [rerank, "serve"]
    if fragile:
        environment["PYTHONPATH"] = before_python_path(FRAGILE)
    named = ["--models", *models] if models else []
    server = Server([*command, *named, *flags], environment, folder)
    try:
        if wait:
            server.logged("ready")
        yield server
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.process.pid, signal.SIGKILL)  # its workers too
        server.process.wait()
        server._reader.join(PATIENCE)
        assert server.process.stderr is not None
        server.process.stderr.close()


def sentence(*words: str) -> dict[str, Any]:
    """A sentence with one flat tree over these words."""
    nodes = " ".join(f"(NN {word})" for word in words)
    return {"candidates": [f"(S1 (S {nodes}))"]}


class Gate:
    """Before a fragile server scores a list with ``word``, it waits until this is opened."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "open"
        self.word = f"wait:{self.file}"

    def open(self) -> None:
        self.file.touch()


def slow_loading(gate: Gate) -> str:
    """The PYTHONPATH of a fragile server whose scoring process does not start before the gate is
    open."""
    module = "reranker.service.children.scoring_main"
    waiting = f"while {module!r} in sys.orig_argv and not os.path.exists(gate):"
    code = f"import os, sys, time\ngate = {str(gate.file)!r}\n{waiting}\n    time.sleep(0.01)\n"
    fragile = Path(FRAGILE, "sitecustomize.py").read_text(encoding="utf-8")
    # Python imports only the first module of this name.
    code += f"exec({fragile!r})\n"
    (gate.folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    return before_python_path(str(gate.folder))


def is_closed_on(connection: socket.socket, piece: bytes) -> bool:
    """Whether the server closes on a client that sends a piece again and again."""
    give_up = time.monotonic() + PATIENCE
    with contextlib.suppress(OSError):
        while time.monotonic() < give_up:
            connection.sendall(piece)
            time.sleep(0.05)
        return False
    return True
