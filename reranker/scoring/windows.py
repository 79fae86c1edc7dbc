"""The layout in which a trie's rows are computed, and the passage of a model's layers and reader
through it: levels one after another, several to a window, each padded to a number of rows that
keeps the bits.

Everything that does not need the state is computed for a whole window at once, so that narrow
levels cost little more than wide ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reranker.models.layer import Layer, LayerState, Reader
from reranker.models.products import bulk_rows
from reranker.process.cancellation import Cancellation
from reranker.scoring.trie import Numbers, Trie

# The most rows of a window, and so of one step and one decoding. The limit bounds memory for any
# number of candidates.
_WINDOW_ROWS, _DEVICE_WINDOW_ROWS = 960, 4_800


def window_rows(device: torch.device) -> int:
    """Return the most rows of a window: more on a GPU, where each kernel costs a launch."""
    return _WINDOW_ROWS if device.type == "cpu" else _DEVICE_WINDOW_ROWS


@dataclass(frozen=True, slots=True)
class WindowPart:
    """A level, or a part of a wide level, computed in one step."""

    rows: slice  # its place in the window, padding included
    ends_level: bool


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive steps. Padding is computed, but the results are never used."""

    parts: list[WindowPart]
    rows: Numbers  # per row of the window: its number in the trie; 0 for padding
    parents: Numbers  # per row of the window: its prefix's row in the level before
    real: Numbers  # the rows that are not padding


# A part: its first row in the trie, its parents, its rows with padding, True if it ends a level.
_Held = tuple[int, Numbers, int, bool]


def windows(trie: Trie, most_rows: int, rows_for: Callable[[int], int]) -> Iterator[Window]:
    """Yield all rows of the trie in order, ``most_rows`` at a time (one of ``bulk_rows``' numbers);
    a part of ``count`` rows is padded to ``rows_for(count)``."""
    held: list[_Held] = []
    room = most_rows
    first = 0
    for level in trie.levels:
        count = len(level.parents)
        for start in range(0, count, most_rows):
            parents = level.parents[start : start + most_rows]
            size = rows_for(len(parents))
            if size > room:
                yield _window(held)
                held, room = [], most_rows
            held.append((first + start, parents, size, start + most_rows >= count))
            room -= size
        first += count
    if held:
        yield _window(held)


def _window(held: list[_Held]) -> Window:
    rows = np.zeros(bulk_rows(sum(size for _, _, size, _ in held)), np.int64)
    all_parents = np.zeros_like(rows)
    is_real = np.zeros(len(rows), np.bool_)
    parts = []
    start = 0
    for first, parents, size, ends_level in held:
        mine = slice(start, start + len(parents))
        rows[mine] = np.arange(first, first + len(parents))
        all_parents[mine] = parents
        is_real[mine] = True
        parts.append(WindowPart(slice(start, start + size), ends_level))
        start += size
    return Window(parts, rows, all_parents, np.flatnonzero(is_real))


# A function of some of a window's rows and the states before them: outputs [rows, H] and states.
Step = Callable[[slice, LayerState], tuple[Tensor, LayerState]]


def layer_step(layer: Layer, projected: Tensor) -> Step:
    return lambda rows, state: layer.step(projected[rows], state)


def reader_step(reader: Reader, outputs: Tensor, tokens: Tensor) -> Step:
    def step(rows: slice, state: LayerState) -> tuple[Tensor, LayerState]:
        return reader.gather(outputs[rows], tokens[rows], state)

    return step


class StageWalk:
    """The walk of one layer, or of the reader, through a trie, window by window."""

    def __init__(self, start: LayerState, cancellation: Cancellation | None) -> None:
        self._state = start  # for the rows of the last whole level
        self._parts: list[LayerState] = []  # for the level in progress
        self._cancellation = cancellation or Cancellation()

    def through(self, window: Window, parents: Tensor, step: Step) -> Tensor:
        """Return the outputs [rows of the window, H]. Raises Stopped if cancelled."""
        outputs = []
        for part in self._cancellation.until_cancelled(window.parts):
            mine = parents[part.rows]
            output, after = step(
                part.rows, tuple(piece.index_select(0, mine) for piece in self._state)
            )
            outputs.append(output)
            self._parts.append(after)
            if part.ends_level:
                self._state = self._parts[0] if len(self._parts) == 1 else joined(self._parts)
                self._parts = []
        padding = len(parents) - window.parts[-1].rows.stop
        if padding:
            outputs.append(output.new_zeros(padding, *output.shape[1:]))
        return torch.cat(outputs)


def joined(parts: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    return tuple(torch.cat(same) for same in zip(*parts, strict=True))
