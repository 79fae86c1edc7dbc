"""What an analysis hands back, and how its tables and pictures are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from reranker.errors import InputError, RerankError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Result(Protocol):
    """An analysis of one or more models."""

    def text(self) -> str:
        """Its table."""

    def to_json(self) -> Any:
        """The same and more, unrounded; plain data."""

    def draw(self, figure: Figure) -> None:
        """Fill an empty figure."""


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Rows as columns, the first ``left`` of them flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def names(paths: Iterable[Path]) -> list[str]:
    """File names, or whole paths where two names are alike."""
    paths = list(paths)
    short = [path.name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def new_figure(path: Path) -> Figure:
    """An empty figure to be saved as ``path``, whose ending is the format.

    Raises InputError if matplotlib is missing or the ending is unknown.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        message = "--plot needs matplotlib; pip install 'parse-reranker[train]'"
        raise InputError(message) from error
    figure = Figure(figsize=(8, 5), layout="constrained")
    known = figure.canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in known:
        raise InputError(f"--plot {path}: its name has to end in one of .{', .'.join(known)}")
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Raises RerankError if the file cannot be written."""
    try:
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise RerankError(f"{path}: cannot be written: {error.strerror}") from error
