"""A parser that hangs, and whether anything is left of it."""

from __future__ import annotations

import os
import select
import shlex
from pathlib import Path
from typing import IO


class Hanging:
    """A program that starts another and waits for it for ever. Both hold one end of a pipe, which
    shows when the last of them has ended, whoever waits for them then."""

    def __init__(self, folder: Path) -> None:
        self._pipe = folder / "pipe"
        os.mkfifo(self._pipe)
        # Whatever it is sent but SIGKILL, it stays.
        script = (
            "trap '' HUP INT TERM; exec 3>%s; sleep 10000 & echo hanging >&3; wait; sleep 10000"
        )
        self.command = ["sh", "-c", script % shlex.quote(str(self._pipe))]

    def opened(self) -> IO[bytes]:
        """Return the pipe, once the program hangs."""
        pipe = self._pipe.open("rb", buffering=0)
        assert pipe.read(8) == b"hanging\n"
        return pipe


def has_ended(pipe: IO[bytes], seconds: float) -> bool:
    """Wait for the processes with the other end; return whether all have ended."""
    ready, _, _ = select.select([pipe], [], [], seconds)
    return bool(ready) and pipe.read(1) == b""
