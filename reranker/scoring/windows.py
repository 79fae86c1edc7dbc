"""How a trie's rows are laid out to be computed: levels one after the other, several of them to a
window, each padded to the number of rows that keeps the bits.

What does not need the state is computed for a whole window at once, so that narrow levels cost
little more than wide ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from reranker.models import mixture
from reranker.scoring.trie import Numbers, Trie

# Rows of a window, and so of one step and one decoding at most; bounds memory however many
# candidates there are.
_WINDOW_ROWS, _DEVICE_WINDOW_ROWS = 1_024, 4_096


def window_rows(device: torch.device) -> int:
    """How many rows a window may have: on a GPU, whose kernels each cost a launch, more."""
    return _WINDOW_ROWS if device.type == "cpu" else _DEVICE_WINDOW_ROWS


@dataclass(frozen=True, slots=True)
class Part:
    """A level, or as much of a wide one as is computed in one step."""

    rows: slice  # its place in the window, padding included
    ends_level: bool


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive parts. What stands for padding is computed and never asked for."""

    parts: list[Part]
    rows: Numbers  # per row of the window: its number in the trie; 0 for padding
    parents: Numbers  # per row of the window: its prefix's row in the level before
    real: Numbers  # the rows that are no padding


def windows(trie: Trie, most_rows: int, multiple: Callable[[int], int]) -> Iterator[Window]:
    """All rows of the trie in order, ``most_rows`` (a multiple of ROW_MULTIPLE) at a time; a part
    of ``count`` rows is padded to a multiple of ``multiple(count)``."""
    held: list[tuple[int, Numbers, bool]] = []  # the part's first row in the trie, parents, its end
    room = most_rows
    first = 0
    for level in trie.levels:
        count = len(level.parents)
        step = padded(-(-count // -(-count // most_rows)), mixture.ROW_MULTIPLE)
        for start in range(0, count, step):
            parents = level.parents[start : start + step]
            size = padded(len(parents), multiple(len(parents)))
            if size > room:
                yield _window(held, multiple)
                held, room = [], most_rows
            held.append((first + start, parents, start + step >= count))
            room -= size
        first += count
    if held:
        yield _window(held, multiple)


def _window(held: list[tuple[int, Numbers, bool]], multiple: Callable[[int], int]) -> Window:
    sizes = [padded(len(parents), multiple(len(parents))) for _, parents, _ in held]
    rows = np.zeros(padded(sum(sizes), mixture.ROW_MULTIPLE), np.int64)
    all_parents = np.zeros_like(rows)
    is_real = np.zeros(len(rows), np.bool_)
    parts = []
    start = 0
    for (first, parents, ends_level), size in zip(held, sizes, strict=True):
        mine = slice(start, start + len(parents))
        rows[mine] = np.arange(first, first + len(parents))
        all_parents[mine] = parents
        is_real[mine] = True
        parts.append(Part(slice(start, start + size), ends_level))
        start += size
    return Window(parts, rows, all_parents, np.flatnonzero(is_real))


def padded(count: int, multiple: int) -> int:
    """``count``, raised to a multiple."""
    return -(-count // multiple) * multiple
