"""A program that answers every line it reads with a line: one sentence at a time, so that the one
that kills it is known and each has its own time limit."""

from __future__ import annotations

import contextlib
import os
import selectors
import threading
import time
from collections.abc import Sequence

from reranker.errors import InputError
from reranker.parsers.program import Program

_KEPT_MESSAGES = 2_000  # bytes
_LONGEST_REASON = 200  # characters
_BUFFER = 1 << 16


class Ended(Exception):
    """The program died, or was stopped because it took too long; the text says which."""


class Unread(Ended):
    """It ended before it had read the line, so not because of it."""


class Conversation:
    """A process that prints a line when it is ready, then one for each line that it is given."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start the program; ``listen`` waits until it is ready. Raises InputError if it cannot be
        started."""
        try:
            self._program = Program(command)
        except OSError as error:
            raise InputError(f"{command[0]}: {error.strerror}") from error
        self._process = self._program.process
        self.is_ready = False
        self._read = b""
        self._messages = b""
        self._listener = threading.Thread(target=self._keep_messages, daemon=True)
        self._listener.start()

    def ask(self, line: bytes, seconds: float) -> bytes:
        """The program's answer to a line. Raises Unread or another Ended."""
        assert self._process.stdin is not None
        unsent = memoryview(line)
        try:
            while unsent:
                unsent = unsent[self._process.stdin.write(unsent) or 0 :]
        except (OSError, ValueError):  # it died, or was ended before
            raise Unread(self._reason()) from None
        return self.listen(seconds)

    def listen(self, seconds: float) -> bytes:
        """The next line that it prints. Raises Ended."""
        assert self._process.stdout is not None
        until = time.monotonic() + seconds
        parts = [self._read]
        with selectors.DefaultSelector() as selector:  # select.select takes no file above 1023
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in parts[-1]:
                if not selector.select(max(0.0, until - time.monotonic())):
                    self.end()
                    raise Ended(f"the parser took more than {seconds:g} s")
                part = os.read(self._process.stdout.fileno(), _BUFFER)
                if not part:
                    raise Ended(self._reason())
                parts.append(part)
        line, _, self._read = b"".join(parts).partition(b"\n")
        self.is_ready = True
        return line

    def end(self) -> None:
        """Kill the program and wait until it is gone."""
        self._program.end()
        self._listener.join(1)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def kill(self) -> None:
        """Kill the program; a waiting ``ask`` raises Ended."""
        self._program.kill()

    def _reason(self) -> str:
        """Why it ended."""
        self.end()
        status = self._process.returncode
        ended = f"the parser was killed by signal {-status}"
        if status >= 0:
            ended = f"the parser ended with status {status}"
        last = self._messages.decode(errors="replace").strip().rpartition("\n")[2]
        return f"{ended}: {last}"[:_LONGEST_REASON] if last else ended

    def _keep_messages(self) -> None:
        """Drain the program's standard error, or it would block; only the end is kept."""
        assert self._process.stderr is not None
        with self._process.stderr as messages, contextlib.suppress(OSError, ValueError):
            while part := messages.read(_BUFFER):
                self._messages = (self._messages + part)[-_KEPT_MESSAGES:]
