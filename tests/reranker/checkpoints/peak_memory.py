"""A program that prints the result of reading each checkpoint, with the megabytes and seconds it
takes."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.errors import CheckpointError


def megabytes(name: str) -> float:
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


for path in sys.argv[1:]:
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak
    before, began = megabytes("VmRSS"), time.process_time()
    try:
        load_checkpoint(path)
        said = "loaded"
    except CheckpointError as error:
        said = str(error)
    peak, seconds = megabytes("VmHWM") - before, time.process_time() - began
    print(json.dumps([said, peak, seconds]), flush=True)
