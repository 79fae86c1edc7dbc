"""What runs in the scoring process; its arguments are the numbers of its connections.

The first takes orders: which models to load and which to forget. Each of the others has a thread
that scores what comes, with lanes of its own. It ends when the service does.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from reranker import Reranker
from reranker.checkpoints.devices import memory_in_use
from reranker.checkpoints.memory import return_freed_memory
from reranker.errors import RerankError
from reranker.scoring.cancellation import Cancellation, Stopped
from reranker.scoring.lanes import Lanes
from reranker.service.logs import described
from reranker.service.parts import lacks_memory
from reranker.service.scoring_process import STOP, Description, Member

# How often to look whether the service has sent word while scores are computed.
_LOOKING_SECONDS = 0.005


class _Hearing(Cancellation):
    """Cancelled by what the service sends meanwhile: word to stop, or its end."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection
        self._next_look = 0.0

    @property
    def is_cancelled(self) -> bool:
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _LOOKING_SECONDS
            if self._connection.poll():
                self.cancel()
        return super().is_cancelled


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # they are for the service, which will end us
    control, *lines = (Connection(int(number)) for number in sys.argv[1:])
    models: dict[int, Reranker] = {}
    try:
        while True:
            control.send(_obeyed(control.recv(), models, lines))
    except (EOFError, OSError):
        os._exit(0)


def _obeyed(
    order: tuple[Any, ...], models: dict[int, Reranker], lines: Sequence[Connection]
) -> tuple[str, object]:
    match order:
        case "slots", slots:
            for line, (threads, niceness) in zip(lines, slots, strict=True):
                target = partial(_score_all, line, models, Lanes(threads, niceness))
                threading.Thread(target=target, daemon=True).start()
        case "load", number, names:
            try:
                loaded = models[number] = Reranker.load(**names)
            except RerankError as error:
                return "failed", str(error)
            except Exception as error:
                return "failed", f"the models could not be loaded: {type(error).__name__}: {error}"
            return "done", _description(loaded)
        case "forget", numbers:
            for number in numbers:
                models.pop(number, None)
            return_freed_memory()
    return "done", None


def _description(models: Reranker) -> Description:
    return Description(
        tuple(
            Member(member.name, member.sha256, member.vocabulary, member.parameters)
            for member in models.members
        ),
        models.combination,
        models.weighing,
        models.calibration,
        models.device,
        models.precision,
    )


def _score_all(connection: Connection, models: dict[int, Reranker], lanes: Lanes) -> None:
    while True:
        try:
            order = connection.recv()
            if order != STOP:  # which came after the scores had gone out
                kind, value = _outcome(order, connection, models, lanes)
                connection.send((kind, value, memory_in_use()))
        except (EOFError, OSError):
            return


def _outcome(
    order: tuple[Any, ...], connection: Connection, models: dict[int, Reranker], lanes: Lanes
) -> tuple[str, object]:
    number, lists, criterion, token_scores = order
    try:
        scored = models[number].score_lists(
            lists, criterion, token_scores, _Hearing(connection), lanes
        )
        return "scores", [scores for _, scores in scored]
    except Stopped:
        return "stopped", None
    except BaseException as error:
        if lacks_memory(error):
            return "no-memory", None
        return "failed", described(error, with_text=True)


if __name__ == "__main__":
    main()
