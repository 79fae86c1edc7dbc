"""Runs a program of the user's or a worker of ours so that nothing of it, and of whatever it
starts, is left when this process has ended: once on an input (``exchange``), or line by line
(``Conversation``)."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Sequence

from reranker.errors import InputError

_KEPT_MESSAGES = 2_000  # bytes
_LONGEST_REASON = 200  # characters
_BUFFER = 1 << 16

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
        """Start the program. Raises OSError if that fails."""
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


def how_it_ended(status: int, messages: bytes) -> str:
    """Say why a program has ended, with the last line of its ``messages``."""
    ended = f"the parser ended with status {status}"
    if status < 0:
        ended = f"the parser was killed by signal {-status}"
    last = messages.decode(errors="replace").strip().rpartition("\n")[2]
    return f"{ended}: {last}"[:_LONGEST_REASON] if last else ended


class Exceeded(Exception):
    """The program took too long or printed too much; the message tells which."""


def exchange(
    process: subprocess.Popen[bytes], given: bytes, seconds: float, most: int
) -> tuple[bytes, bytes]:
    """Return the process's standard output, at most ``most`` bytes, and the end of its standard
    error, once it has ended by itself. All three pipes must be unbuffered. Raises Exceeded, after
    which the process may still run."""
    assert process.stdin and process.stdout and process.stderr
    late = Exceeded(f"the parser took more than {seconds:g} s")
    until = time.monotonic() + seconds
    unsent, printed, messages = memoryview(given), bytearray(), b""
    os.set_blocking(process.stdin.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdin, selectors.EVENT_WRITE)
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map():
            remaining = until - time.monotonic()
            if remaining <= 0:
                raise late
            for key, _ in selector.select(remaining):
                if key.fileobj is process.stdin:
                    try:
                        unsent = unsent[os.write(key.fd, unsent[:_BUFFER]) :]
                    except BlockingIOError:
                        continue
                    except BrokenPipeError:  # it does not want to read any more
                        unsent = unsent[:0]
                    if not unsent:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                    continue
                part = os.read(key.fd, _BUFFER)
                if not part:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    messages = (messages + part)[-_KEPT_MESSAGES:]
                else:
                    printed += part
                    if len(printed) > most:
                        raise Exceeded(f"the parser printed more than {most >> 20} MB")
    try:
        process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise late from None
    return bytes(printed), messages


class Ended(Exception):
    """The program died, or was stopped because it took too long; the message tells which."""


class Unread(Ended):
    """It ended before it had read the line, so not because of it."""


class Conversation:
    """A process that prints a line when it is ready, then one for each line that it is given: one
    sentence at a time, so that the one that kills it is known and each has its own time limit."""

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
        """Return the program's answer to a line. Raises Unread or another Ended."""
        assert self._process.stdin is not None
        unsent = memoryview(line)
        try:
            while unsent:
                unsent = unsent[self._process.stdin.write(unsent) or 0 :]
        except (OSError, ValueError):  # it died, or was ended before
            raise Unread(self._reason()) from None
        return self.listen(seconds)

    def listen(self, seconds: float) -> bytes:
        """Return the next line that the program prints. Raises Ended."""
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
        """Say why the program ended."""
        self.end()
        return how_it_ended(self._process.returncode, self._messages)

    def _keep_messages(self) -> None:
        """Drain the program's standard error, or it would block; only the end is kept."""
        assert self._process.stderr is not None
        with self._process.stderr as messages, contextlib.suppress(OSError, ValueError):
            while part := messages.read(_BUFFER):
                self._messages = (self._messages + part)[-_KEPT_MESSAGES:]
