"""The log of a training run: JSON lines, a learning curve, TensorBoard events."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import time
from pathlib import Path
from typing import Any, Self

from reranker.errors import InputError, RerankError
from reranker.files.figure import label_plainly, new_figure, save_figure
from reranker.files.output import always, check_own, make_folder, open_whole, write_errors
from reranker.perplexity import perplexity
from reranker.plugins.training.corpus.tree_files import token_files

_LOGGER = logging.getLogger(__name__)
_PLOT_INTERVAL = 30.0  # seconds; a picture takes a third of one
_LOSS_NAMES = ("loss", "dev_perplexity", "learning_rate")
_FIELDS = {"batches", "tokens", "seconds", "epoch", *_LOSS_NAMES}
_ROW = '{"batches": '  # how a row begins
_PROGRAM, _PNG_HEAD = "parse-reranker", 1000  # a curve says who drew it, in its first bytes
_OTHER_FOLDER = "choose another --log-folder"


def log_files(folder: Path) -> list[Path]:
    """Return the files that a run writes to its log folder. Raises InputError if one of them exists
    and no run has made it; a state is only seen not to be a folder or link here, since resuming
    reads it."""
    log, curve, state = (folder / name for name in ("log.jsonl", "curve.png", "state.pt"))
    check_own(log, _is_log, _OTHER_FOLDER, "not the log of a run")
    check_own(curve, _is_curve, _OTHER_FOLDER, "not written by a run")
    check_own(state, always, _OTHER_FOLDER, "not the state of a run")
    return [log, curve, state, *token_files(folder)]


def _is_log(path: Path) -> bool:
    """Return whether all lines are rows of a run. A kill may have left the last one incomplete."""
    *rows, last = _lines(path)
    is_torn = _ROW.startswith(last) or (last.startswith(_ROW) and not last.endswith("}"))
    return all(map(_is_row, rows)) and (is_torn or _is_row(last))


def _is_curve(path: Path) -> bool:
    with path.open("rb") as file:
        return f"Software\0{_PROGRAM}".encode() in file.read(_PNG_HEAD)


def _lines(path: Path) -> list[str]:
    """Return the lines of a file; the last one may be incomplete or empty."""
    return path.read_text("utf-8", "replace").split("\n")


def _is_row(line: str) -> bool:
    try:
        row = json.loads(line)
        return type(row["batches"]) is int and row.keys() <= _FIELDS
    except (ValueError, LookupError, TypeError, AttributeError):
        return False


class Log:
    """A run's measurements, as a context manager; rank 0 alone writes, a ``TrainingLog``."""

    def __init__(self, folder: Path, resume_at: int) -> None: ...

    def write(self, batches: int, **values: float) -> None:
        """Add a row."""

    def plot(self) -> None:
        """Draw the learning curve so far, unless that was done a moment ago; at the end of the run
        it is drawn in any case."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return


class TrainingLog(Log):
    """``log.jsonl`` always; ``curve.png`` and TensorBoard events where the ``train`` extra is
    installed. A resumed run drops what was logged after the state it resumes
    from."""

    def __init__(self, folder: Path, resume_at: int) -> None:
        make_folder(folder)
        self.folder = folder
        path = folder / "log.jsonl"
        there = check_own(path, _is_log, _OTHER_FOLDER, "not the log of a run")
        rows = map(json.loads, filter(_is_row, _lines(path) if there else []))
        self.rows = [row for row in rows if row["batches"] <= resume_at]
        with open_whole(path, _is_log) as file:
            for row in self.rows:
                file.write(json.dumps(row) + "\n")
        self._file = path.open("a", encoding="utf-8")
        self._board: Board | None = None
        self._next_plot, self._is_drawn = time.monotonic() + _PLOT_INTERVAL, True
        try:
            with write_errors(folder):
                self._board = Board(folder, resume_at)
        except ImportError:
            _LOGGER.info(
                "log.jsonl only; for a learning curve and TensorBoard: pip install '.[train]'"
            )

    def write(self, batches: int, **values: float) -> None:
        row = {"batches": batches, **values}
        self.rows.append(row)
        with write_errors(self.folder / "log.jsonl"):
            self._file.write(json.dumps(row) + "\n")
            self._file.flush()
        if self._board is not None:
            shown = {name: values[name] for name in _LOSS_NAMES if name in values}
            with write_errors(self.folder):
                self._board.write(batches, **shown)

    def plot(self) -> None:
        self._is_drawn = False
        if time.monotonic() >= self._next_plot:
            self._draw()

    def _draw(self) -> None:
        """Draw training and dev perplexity over tokens, as ``curve.png``."""
        self._next_plot, self._is_drawn = time.monotonic() + _PLOT_INTERVAL, True
        try:
            figure = new_figure(self.folder / "curve.png")
        except InputError:  # matplotlib is missing
            return
        axes = figure.subplots()
        curves = (
            ("training (with dropout)", "loss", lambda loss: perplexity(loss, 1)),
            ("dev", "dev_perplexity", float),
        )
        for label, name, value in curves:
            points = [(row["tokens"], value(row[name])) for row in self.rows if name in row]
            if points:
                tokens, perplexities = zip(*points, strict=True)
                axes.plot(tokens, perplexities, label=label, marker="." if name != "loss" else "")
        axes.set(title="Perplexity during training", xlabel="training tokens")
        axes.set(ylabel="perplexity per token", yscale="log")
        label_plainly(axes.yaxis)
        axes.grid(alpha=0.3, which="both")
        axes.legend()
        save_figure(figure, self.folder / "curve.png", _is_curve, _PROGRAM)

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(OSError):  # again, of a row that could not be written
            self._file.close()
        if self._board is not None:
            self._board.close()
        if not self._is_drawn:
            with contextlib.suppress(*[RerankError] if error[0] else []):  # the first one counts
                self._draw()


class Board:
    """The writer of a run's file for TensorBoard, which the ``train`` extra installs: scalars by
    name and number of batches.

    TensorBoard's own writer works in a thread, where a full disk only causes a traceback. Here a
    row is written, or OSError raised, when ``write`` returns.
    """

    def __init__(self, folder: Path, resume_at: int) -> None:
        """Create a new file in the folder; values in older files from ``resume_at`` batches on are
        no longer shown. Raises ImportError without TensorBoard, and OSError."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = Event, Summary
        name = f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
        self._file = RecordWriter((folder / name).open("xb", buffering=0))
        self._add(file_version="brain.Event:2", step=resume_at)
        self._add(session_log=SessionLog(status=SessionLog.START), step=resume_at)

    def write(self, batches: int, **values: float) -> None:
        """Write scalars. Raises OSError."""
        scalars = [self._summary.Value(tag=name, simple_value=values[name]) for name in values]
        self._add(summary=self._summary(value=scalars), step=batches)

    def close(self) -> None:
        self._file.close()

    def _add(self, **content: Any) -> None:
        self._file.write(self._event(wall_time=time.time(), **content).SerializeToString())
