"""`rerank serve` in a process of its own, on a free port."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

# Seconds after which something will never happen: a bound against hanging, not an expectation.
PATIENCE = 240

_PATH = [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
RERANK = (
    *("env", f"PYTHONPATH={os.pathsep.join(filter(None, _PATH))}"),
    *(sys.executable, "-P", "-m", "reranker"),
)
"""The command `rerank` of this checkout, which may not be the one installed beside Python."""


class Server:
    """A process that serves: its address, and the lines that it has logged so far."""

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
        """Wait for a line of the log with this event and these fields; return the first."""
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
        # Plain HTTP needs none of the certificates, which take 50 ms to read.
        return httpx.Client(base_url=self.url, timeout=PATIENCE, verify=False, **options)

    def end(self) -> int:
        """Wait until the process ends by itself and the log is whole; return the exit code."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def kill(self) -> None:
        """End the process and its workers at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()


@contextlib.contextmanager
def serving(
    models: Sequence[str],
    *flags: str,
    wait: bool = True,
    rerank: Sequence[str] = RERANK,
    folder: Path | None = None,
    **environment: str,
) -> Iterator[Server]:
    """Yield ``rerank serve`` with these flags, once it is ready if ``wait``; kill it at the end.

    ``folder`` is the working directory.
    """
    named = ["--models", *models] if models else []
    server = Server([*rerank, "serve", *named, *flags], environment, folder)
    try:
        if wait:
            server.logged("ready")
        yield server
    finally:
        server.kill()
