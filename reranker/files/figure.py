"""Figures drawn with matplotlib, which the ``train`` extra installs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reranker.errors import InputError, needing
from reranker.files.output import IsOwn, whole_file

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


def new_figure(path: Path) -> Figure:
    """Return an empty figure to be saved as ``path``, whose ending is the format.

    Raises InputError if matplotlib is missing or the ending is unknown.
    """
    with needing("figures need matplotlib; pip install 'parse-reranker[train]'"):
        from matplotlib.figure import Figure
    figure = Figure(figsize=(8, 5), layout="constrained")
    formats = figure.canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in formats:
        raise InputError(f"{path}: its name has to end in one of .{', .'.join(formats)}")
    return figure


def save_figure(
    figure: Figure, path: Path, is_own: IsOwn | None = None, program: str | None = None
) -> None:
    """Write the figure, whole or not at all; ``program`` is the origin recorded in a PNG;
    ``is_own`` is as in ``whole_file``. Raises RerankError if the file cannot be written."""
    metadata = {"Software": program} if program else None
    with whole_file(path, is_own) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=120, metadata=metadata)


def label_plainly(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers; also between powers of ten if the axis spans
    few."""
    from matplotlib.ticker import LogFormatter

    axis.set_major_formatter(LogFormatter())
    axis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.5)))
