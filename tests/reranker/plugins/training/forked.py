"""Several processes that train together, forked from the test: starting Python anew and importing
torch would take seconds in each."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
from torch import distributed

from reranker.plugins.training.processes import Processes


def in_processes(size: int, folder: Path, work: Callable[[Processes], None]) -> list[int]:
    """Call ``work`` in ``size`` processes that can talk to each other; return their exit statuses,
    which are negative for killed processes."""
    folder.mkdir(parents=True, exist_ok=True)
    meeting = folder / f"meeting-{os.urandom(4).hex()}"
    children = [_forked(rank, size, meeting, work) for rank in range(size)]
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    meeting.unlink(missing_ok=True)
    return statuses


def _forked(rank: int, size: int, meeting: Path, work: Callable[[Processes], None]) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        torch.set_num_threads(1)
        distributed.init_process_group(
            "gloo", init_method=meeting.as_uri(), rank=rank, world_size=size
        )
        work(Processes(rank, size))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)
