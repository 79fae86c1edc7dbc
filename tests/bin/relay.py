"""`rerank` or Python for a shell: the fork of a warm process (tests/warm.py), or a fresh one.

This runs in an interpreter without `site`, which starts in a few milliseconds.
"""

from __future__ import annotations

import marshal
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def ask(
    connection: socket.socket,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: str,
    files: Mapping[int, int],
    group: int = -1,
) -> int:
    """Ask for a process; return its number, or 0 if it must be a fresh one.

    ``files`` are this process's, by their numbers in the other. ``group``: as for Popen.
    """
    ignored = [number for number in FORWARDED if signal.getsignal(number) == signal.SIG_IGN]
    content = os.memfd_create("start")
    values = [*arguments], {**environment}, folder, [*files], [*map(int, ignored)], group
    os.write(content, marshal.dumps(values))
    socket.send_fds(connection, [b"?"], [content, *files.values()])
    os.close(content)
    return int(connection.recv(20) or 0)


def main(command: str, arguments: list[str]) -> None:
    """Run the command, and end as it ends."""
    files = {number: number for number in range(3) if _is_open(number)}
    if "WARM_PROCESS" in os.environ:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect("\0" + os.environ["WARM_PROCESS"])
            process = ask(connection, [command, *arguments], os.environ, os.getcwd(), files)
            for number in FORWARDED if process else ():
                if signal.getsignal(number) != signal.SIG_IGN:
                    signal.signal(number, lambda number, _: os.kill(process, number))
            if process:
                status = int(connection.recv(20) or 1)
                if status < 0:
                    signal.signal(-status, signal.SIG_DFL)
                    os.kill(os.getpid(), -status)
                os._exit(status)
    if command != sys.executable:
        arguments = ["-P", "-m", "reranker", *arguments]
    os.execv(sys.executable, [sys.executable, *arguments])


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
