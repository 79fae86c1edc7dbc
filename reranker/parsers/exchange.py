"""Runs a program on an input, within limits of time and memory."""

from __future__ import annotations

import os
import selectors
import subprocess
import time

_KEPT_MESSAGES = 2_000  # bytes
_BUFFER = 1 << 16


class Exceeded(Exception):
    """The program took too long or printed too much; the text says which."""


def exchange(
    process: subprocess.Popen[bytes], given: bytes, seconds: float, most: int
) -> tuple[bytes, bytes]:
    """The process's standard output, at most ``most`` bytes, and the end of its standard error,
    once it has ended by itself. All three pipes must be unbuffered. Raises Exceeded, after which
    the process may still run."""
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
