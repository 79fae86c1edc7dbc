"""What runs in a process that reads: bodies into n-best lists or sentences, one at a time; or it
counts pieces of bodies while they arrive."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from functools import partial

from reranker.process.cancellation import Cancellation, Stopped
from reranker.process.memory import return_freed_memory, share_freed_memory
from reranker.service.children.child import MORE, answer_all, lines_to_service
from reranker.service.children.faults import described
from reranker.service.errors import ServiceError
from reranker.service.requests import counting
from reranker.service.requests.counting import Count
from reranker.service.requests.readings import Order, Piece, read
from reranker.service.settings import Settings


def main() -> None:
    (line,) = lines_to_service()
    share_freed_memory(1)
    gc.set_threshold(50_000, 20, 20)  # among what is made of bodies it finds nothing
    answer_all(line, partial(_answers, {}), return_freed_memory)


def _answers(
    counts: dict[int, Count], order: tuple[Settings, Piece | Order], cancellation: Cancellation
) -> Iterator[tuple[str, object]]:
    settings, what = order
    if isinstance(what, Piece):
        return _count(counts, what, settings)
    return _read(what, settings, cancellation)


def _count(
    counts: dict[int, Count], piece: Piece, settings: Settings
) -> Iterator[tuple[str, object]]:
    if piece.is_first:
        counts[piece.number] = counting.of(piece.media, settings)
    try:
        # What began in a process that has died is not counted here.
        if piece.number in counts:
            counts[piece.number].feed(piece.content)
        yield "done", None
    except ServiceError as error:
        yield _refused(error)
    if piece.is_last:
        counts.pop(piece.number, None)


def _read(
    order: Order, settings: Settings, cancellation: Cancellation
) -> Iterator[tuple[str, object]]:
    """The lists or sentences one by one: taken all at once, they would hold up whoever takes them.
    The process ends, by SIGPROF, once it has used up the CPU time for such a body: no code of
    Python's is needed for that, which would wait for the end of a regular expression."""
    megabytes = max(1, len(order.body) / 2**20)
    signal.setitimer(signal.ITIMER_PROF, settings.reading_seconds * megabytes)
    try:
        reading = read(order, settings, cancellation)
        for item in cancellation.checked([*reading.lists, *reading.sentences]):
            yield MORE, item
        yield "done", reading._replace(lists=[], sentences=[])
    except Stopped:
        yield "stopped", None
    except ServiceError as error:
        yield _refused(error)
    except BaseException as error:
        yield "failed", described(error, with_text=True)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _refused(error: ServiceError) -> tuple[str, object]:
    return "refused", (error.status, error.code, error.message, error.param)


if __name__ == "__main__":
    main()
