"""What runs in the reading process. The first line brings pieces of bodies that are counted while
they arrive; each of the others has a thread that reads bodies into n-best lists."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from functools import partial

from reranker.checkpoints.memory import return_freed_memory, share_freed_memory
from reranker.scoring.cancellation import Cancellation, Stopped
from reranker.service import counting
from reranker.service.counting import Count
from reranker.service.errors import ServiceError
from reranker.service.faults import described
from reranker.service.lines import MORE, answer_all, answer_in_thread, lines_to_service
from reranker.service.readings import Order, Piece, read
from reranker.service.settings import Settings

# A long body comes after what is small and what answers, and takes long to score anyway.
_NICENESS = 14


def main() -> None:
    first, *others = lines_to_service()
    os.nice(_NICENESS)
    share_freed_memory(1)  # threads take turns in Python anyway
    gc.set_threshold(50_000, 20, 20)  # among what is made of bodies it finds nothing
    for line in others:
        answer_in_thread(line, _read, return_freed_memory)
    answer_all(first, partial(_count, {}))


def _count(
    counts: dict[int, Count], order: tuple[Settings, Piece], _: Cancellation
) -> Iterator[tuple[str, object]]:
    settings, piece = order
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
    order: tuple[Settings, Order], cancellation: Cancellation
) -> Iterator[tuple[str, object]]:
    """The lists one by one: taken all at once, they would hold up whoever takes them."""
    settings, what = order
    try:
        reading = read(what, settings, cancellation)
        for nbest in cancellation.checked(reading.lists):
            yield MORE, nbest
        yield "done", reading._replace(lists=[])
    except Stopped:
        yield "stopped", None
    except ServiceError as error:
        yield _refused(error)
    except BaseException as error:
        yield "failed", described(error, with_text=True)


def _refused(error: ServiceError) -> tuple[str, object]:
    return "refused", (error.status, error.code, error.message, error.param)


if __name__ == "__main__":
    main()
