"""A model's layers and reader as stages, through which a trie's rows pass level by level."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from reranker.models.layer import Layer, LayerState, Reader
from reranker.process.cancellation import Cancellation
from reranker.scoring.windows import Window

# What some of a window's rows and the states before them come to: outputs [rows, H], states after.
Step = Callable[[slice, LayerState], tuple[Tensor, LayerState]]


def layer_step(layer: Layer, projected: Tensor) -> Step:
    return lambda rows, state: layer.step(projected[rows], state)


def reader_step(reader: Reader, outputs: Tensor, tokens: Tensor) -> Step:
    def step(rows: slice, state: LayerState) -> tuple[Tensor, LayerState]:
        read, _, after = reader.step(outputs[rows], tokens[rows], state)
        return read, after

    return step


class StageWalk:
    """The walk of one layer, or of the reader, through a trie, window by window."""

    def __init__(self, start: LayerState, cancellation: Cancellation | None) -> None:
        self._state = start  # of the rows of the last whole level
        self._parts: list[LayerState] = []  # of the level that is being computed
        self._cancellation = cancellation or Cancellation()

    def through(self, window: Window, parents: Tensor, step: Step) -> Tensor:
        """The outputs [rows of the window, H]. Raises Stopped if cancelled."""
        outputs = []
        for part in self._cancellation.checked(window.parts):
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
