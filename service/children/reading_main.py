"""The program of a reading child: bodies become n-best lists or sentences, one body at a time."""

from __future__ import annotations

import gc
import signal
import time
from functools import partial

from reranker.process.machine import return_freed_memory, share_freed_memory
from reranker.service.children.child import Lane, Request, serve
from reranker.service.limits import Limits
from reranker.service.requests.reading import Body, Contents, read


def lanes(limits: Limits) -> list[Lane]:
    """Return the one lane that reads bodies within the limits."""
    return [partial(_read, limits)]


def _read(limits: Limits, request: Request) -> Contents:
    """Send the lists or sentences of a body one by one, then the seconds of CPU time that they
    took. To unpickle all at once would hold up the service.

    SIGPROF ends the child once it has used up the CPU time. The system does that without any Python
    code, which would wait for the end of a regular expression.
    """
    body: Body
    body, seconds = request.value
    started = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        contents = read(body, limits, request)
        for item in request.until_cancelled([*contents.lists, *contents.sentences]):
            request.progress(item)
        return contents._replace(lists=[], sentences=[])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        request.progress(time.process_time() - started)


if __name__ == "__main__":
    share_freed_memory(1)
    gc.set_threshold(50_000, 20, 20)  # it finds no garbage among lists and sentences
    serve(lanes, return_freed_memory)
