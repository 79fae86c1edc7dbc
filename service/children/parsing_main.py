"""What runs in the parsing process, for other parsers than the built-in one: sentences become
n-best lists, mostly in processes of the parsers' own.

There is one line to the service, on which the orders and replies of all requests go.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from reranker.errors import InputError
from reranker.nbest.data import Sentence
from reranker.nbest.dialects.registry import DIALECTS
from reranker.parsers.parser import Parser
from reranker.process.memory import now_and_then, share_freed_memory
from reranker.service.children.child import lines_to_service
from reranker.service.children.parse_queue import NOBODY, ParseQueue, ParseWork, Reply
from reranker.service.settings import Settings

# Parsing comes after what answers, and beside scoring.
_NICENESS = 9

_RETURNING_SECONDS = 10.0

_FIRST = Sentence.of(("It", "runs", "."))


def main() -> None:
    (line,) = lines_to_service()
    os.nice(_NICENESS)
    share_freed_memory(1)  # threads take turns in Python anyway
    send = partial(_send, line, threading.Lock())
    status = 1
    folder = _temporary_folder()
    queue: ParseQueue | None = None
    try:
        settings: Settings = line.recv()
        queue = ParseQueue(settings, partial(parser_of, settings), send)
        threading.Thread(target=_begin, args=(queue, send), daemon=True).start()
        tidy = now_and_then(_RETURNING_SECONDS)
        while True:
            order, *values = line.recv()
            _obey(queue, order, values)
            del values
            tidy()
    except (EOFError, ConnectionError):
        status = 0  # the service has ended, or ends us
    finally:
        if queue is not None:
            queue.close()
        # What is to be done at the end of a program is not done by _exit.
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(status)  # without a traceback, which could quote what users sent


def _temporary_folder() -> str | None:
    """A folder for all that is temporary in this process, such as a model that is unpacked; None if
    there can be none, which only some parsers mind."""
    try:
        tempfile.tempdir = tempfile.mkdtemp(prefix="parse-reranker-")
    except OSError:
        return None
    return tempfile.tempdir


def _begin(queue: ParseQueue, send: Callable[[Reply], None]) -> None:
    """Load what takes long to load, and see whether the parser works."""
    try:
        queue.try_parser(_FIRST)
    except InputError as error:
        send((NOBODY, "no parser", str(error)))
    except BaseException as error:
        send((NOBODY, "no parser", f"{type(error).__name__}: {error}"))
    else:
        send((NOBODY, "parser", ""))


def parser_of(settings: Settings) -> Parser:
    """The parser that the settings name. Raises InputError."""
    form = settings.parser_format
    if form in DIALECTS and DIALECTS[form].needs_beam and not settings.parser_beam:
        raise InputError(f"--parser-format {form} needs --parser-beam K")
    return settings.parser_choice.create()


def _obey(queue: ParseQueue, order: str, values: list[Any]) -> None:
    match order:
        case "end":
            raise EOFError
        case "parse":
            queue.add(ParseWork(*values))
        case "scored":
            queue.scored(*values)
        case "cancel":
            queue.cancel(*values)


def _send(line: Connection, lock: threading.Lock, reply: Reply) -> None:
    with lock, contextlib.suppress(OSError):  # the service has ended; we are about to
        line.send(reply)


if __name__ == "__main__":
    main()
