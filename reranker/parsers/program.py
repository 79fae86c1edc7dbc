"""Runs a program of the user's or a worker of ours so that nothing of it, and of whatever it
starts, is left when this process has ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Sequence

# Waits for the end of the pipe, which comes when this process has ended, then kills its process
# group, itself included.
_GUARD = ["/bin/sh", "-c", "trap '' HUP INT TERM; read -r line; kill -9 0"]


class Program:
    """A process with three unbuffered pipes, in a process group with a guard.

    The guard, a shell, ends the group when this process has ended, even by SIGKILL, after which
    nothing else could. It leads the group, so that the group's number is not reused too early, and
    is started first, so that there is no moment without it.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Raises OSError if it cannot be started."""
        self._lock = threading.Lock()
        self._is_over = False
        watched, held = os.pipe()
        self._held = os.fdopen(held, "wb", buffering=0)
        nowhere = subprocess.DEVNULL
        try:
            self._guard = subprocess.Popen(
                _GUARD, stdin=watched, stdout=nowhere, stderr=nowhere, process_group=0
            )
        except BaseException:
            self._held.close()
            raise
        finally:
            os.close(watched)
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=self._guard.pid,
                bufsize=0,
            )
        except BaseException:
            self._end_guard()
            raise

    def kill(self) -> None:
        """Kill the program and whatever it has started."""
        with self._lock, contextlib.suppress(ProcessLookupError, PermissionError):
            if not self._is_over:
                os.killpg(self._guard.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill the program and wait until it is gone; the pipes stay open."""
        self._end_guard()
        self.process.wait()

    def _end_guard(self) -> None:
        self.kill()
        with self._lock:
            self._guard.wait()
            self._is_over = True
        self._held.close()
