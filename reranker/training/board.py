"""Writes a run's file for TensorBoard, which the ``train`` extra installs.

TensorBoard's own writer works in a thread, where a full disk only causes a traceback. Here a row is
written, or OSError raised, when ``write`` returns.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any


class Board:
    """Writes scalars by name and number of batches."""

    def __init__(self, folder: Path, resume_at: int) -> None:
        """Create a new file in the folder; values in older files from ``resume_at`` batches on are
        no longer shown. Raises ImportError without TensorBoard, and OSError."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = Event, Summary
        name = f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
        self._file = RecordWriter((folder / name).open("wb", buffering=0))
        self._add(file_version="brain.Event:2", step=resume_at)
        self._add(session_log=SessionLog(status=SessionLog.START), step=resume_at)

    def write(self, batches: int, **values: float) -> None:
        """Raises OSError."""
        scalars = [self._summary.Value(tag=name, simple_value=values[name]) for name in values]
        self._add(summary=self._summary(value=scalars), step=batches)

    def close(self) -> None:
        self._file.close()

    def _add(self, **content: Any) -> None:
        self._file.write(self._event(wall_time=time.time(), **content).SerializeToString())
