"""A program that prints the result of reading each checkpoint, with the megabytes and seconds it
takes."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from benchmarks.costs import megabytes
from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.errors import CheckpointError

for path in sys.argv[1:]:
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak
    before, began = megabytes("VmRSS"), time.process_time()
    try:
        load_checkpoint(path)
        outcome = "loaded"
    except CheckpointError as error:
        outcome = str(error)
    peak, seconds = megabytes("VmHWM") - before, time.process_time() - began
    print(json.dumps([outcome, peak, seconds]), flush=True)
