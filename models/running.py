"""Running text: one long sequence of tokens, which a model reads segment by segment, carrying its
state from one to the next and resetting it where an article begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from reranker.models.batch import PADDING
from reranker.models.language_model import LanguageModel, State
from reranker.models.output import Features

_SEGMENT = 1_024  # tokens read at a time; bounds memory


class Segment(NamedTuple):
    """The outputs of a model for a piece of text, the only column of its batch."""

    features: Features  # [T, 1, ...]
    targets: Tensor  # [T, 1]; PADDING where the next token opens an article


def read_on(
    model: LanguageModel,
    tokens: Tensor,
    state: State,
    opening: int = PADDING,
    dtype: torch.dtype | None = None,
) -> tuple[Features, State]:
    """Run ``model(tokens, state, dtype)`` for ``tokens`` [T, B], but read the token ``opening``
    (PADDING: none) from the start state: a row that has come to a new article remembers, and
    attends to, nothing before it (Daniluk 2016, sections 4.1 and 4.2).

    In training, the pieces between such tokens have dropout masks of their own.
    """
    opens = tokens == opening
    times = [] if opening == PADDING else opens.any(1).nonzero().flatten().tolist()
    if not times:
        features, state = model(tokens, state, dtype)
        return features, state
    parts = []
    for begin, end in pairwise(dict.fromkeys((0, *times, len(tokens)))):
        state = _restarted(model, state, opens[begin])
        part, state = model(tokens[begin:end], state, dtype)
        parts.append(part)
    return _joined(parts), state


def read_through(
    model: LanguageModel,
    ids: Sequence[int],
    eos: int,
    opening: int = PADDING,
    segment: int = _SEGMENT,
    dtype: torch.dtype | None = None,
) -> Iterator[Segment]:
    """Read a text from the start state, ``<eos>`` first, and predict each of ``ids`` except those
    equal to ``opening``, which are given. The length of ``segment`` changes nothing but
    rounding."""
    device = model.embedding.device
    targets = torch.tensor(ids, dtype=torch.long, device=device).unsqueeze(1)
    inputs = torch.cat([targets.new_full((1, 1), eos), targets[:-1]])
    targets = targets.masked_fill(targets == opening, PADDING)
    state = model.initial_state(1)
    for start in range(0, len(ids), segment):
        here = slice(start, start + segment)
        with torch.no_grad():
            features, state = read_on(model, inputs[here], state, opening, dtype)
        yield Segment(features, targets[here])


def _restarted(model: LanguageModel, state: State, rows: Tensor) -> State:
    """Return the state with the start state in ``rows`` [B] (true or false)."""
    fresh = model.initial_state(len(rows))
    return tuple(
        tuple(
            torch.where(rows.view(-1, *(1,) * (old.dim() - 1)), new.to(old.dtype), old)
            for new, old in zip(start, layer, strict=True)
        )
        for start, layer in zip(fresh, state, strict=True)
    )


def _joined(parts: Sequence[Features]) -> Features:
    """Return segments concatenated in time."""
    attention = [part.attention for part in parts if part.attention is not None]
    return Features(
        torch.cat([part.components for part in parts]),
        torch.cat([part.log_weights for part in parts]),
        torch.cat([part.raw_output for part in parts]),
        torch.cat([part.output for part in parts]),
        torch.cat(attention) if attention else None,
    )
