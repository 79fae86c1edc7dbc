"""The files that a command reads and those that it writes: no file may be both.

Whatever opens a file to read notes it here, and so does whatever claims an output, in either order:
a list of inputs that a command makes by hand could lack one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path


class _Files:
    def __init__(self) -> None:
        self.inputs: set[tuple[int, int]] = set()  # device and inode
        self.outputs: set[Path | int] = set()  # that exist, and are not written yet


_command: _Files | None = None


@contextlib.contextmanager
def one_command() -> Iterator[None]:
    """Note the files of one command. Elsewhere nothing is noted: a Python program may replace a
    file that it has read."""
    global _command
    before, _command = _command, _Files()
    try:
        yield
    finally:
        _command = before


def note_input(status: os.stat_result) -> None:
    """Note an opened file. Raises OSError, whose ``strerror`` is the reason, for an output."""
    if _command is None or not stat.S_ISREG(status.st_mode):
        return
    for output in tuple(_command.outputs):
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(output), status):
                raise OSError(errno.EINVAL, "it is also an output; give the output another name")
    _command.inputs.add((status.st_dev, status.st_ino))


def note_output(file: Path | int, status: os.stat_result) -> bool:
    """Note an existing file, given by path or descriptor, that is to be written; return whether it
    was opened to be read."""
    if _command is None or not stat.S_ISREG(status.st_mode):
        return False
    _command.outputs.add(file)
    return (status.st_dev, status.st_ino) in _command.inputs


def release(path: Path) -> None:
    """Let the command read an output: one that it has written, or that it continues."""
    if _command is not None:
        _command.outputs.discard(path)
