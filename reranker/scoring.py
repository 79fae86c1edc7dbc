"""Tokens -> log-probability, for many candidates and one language model.

The candidates of a sentence share most of their beginnings, so they are laid out as a trie and
each shared prefix is computed once: on real 50-best lists a third of the work. The trie is walked
level by level; only the live level's recurrent state is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from models import AwdLstmDoc, State

# Rows of one step and one decoding; bounds memory however many candidates there are.
MAX_ROWS = 4_096

# Rows are computed in multiples of this. Matrix products of a few rows add up in another order than
# larger ones, and numbers left over when a vector unit's width has been divided out go through
# other code; without either, a row's result is the same to the last bit whatever is beside it.
# (Seen on x86 with one or two threads and layers whose sizes are multiples of 4.)
ROW_MULTIPLE = 32


@dataclass(slots=True)
class Level:
    """The prefixes of one length: what each reads, and which of its continuations are asked for."""

    parents: list[int] = field(default_factory=list)  # row in the level before
    tokens: list[int] = field(default_factory=list)  # the prefix's last token
    edge_rows: list[int] = field(default_factory=list)  # row of the prefix to be continued
    edge_targets: list[int] = field(default_factory=list)  # the token that continues it


class Trie:
    """Sequences of ids, each ending in ``eos``, with common beginnings merged.

    An edge is a distinct (prefix, next token) pair; ``paths[i]`` are the edges of sequence i, whose
    log-probabilities sum to the sequence's.
    """

    def __init__(self, sequences: Sequence[Sequence[int]], eos: int) -> None:
        self.levels: list[Level] = []
        self.paths: list[NDArray[np.int64]] = []
        rows: list[dict[tuple[int, int], int]] = []  # per level: (parent row, token) -> row
        edges: list[dict[tuple[int, int], int]] = []  # per level: (row, target) -> edge in level
        local_paths: list[list[int]] = []
        for ids in sequences:
            row, token = 0, eos
            path: list[int] = []
            for depth, target in enumerate(ids):
                if depth == len(self.levels):
                    self.levels.append(Level())
                    rows.append({})
                    edges.append({})
                level, key = self.levels[depth], (row, token)
                known = rows[depth].get(key)
                if known is None:
                    known = rows[depth][key] = len(level.tokens)
                    level.parents.append(row)
                    level.tokens.append(token)
                row, key = known, (known, target)
                edge = edges[depth].get(key)
                if edge is None:
                    edge = edges[depth][key] = len(level.edge_rows)
                    level.edge_rows.append(row)
                    level.edge_targets.append(target)
                path.append(edge)
                token = target
            local_paths.append(path)
        starts = np.cumsum([0, *(len(level.edge_rows) for level in self.levels)])
        self.edges = int(starts[-1])
        for path in local_paths:
            self.paths.append(np.asarray(path, dtype=np.int64) + starts[: len(path)])

    def totals(self, edge_log_probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each sequence's log-probability in nats: the sum along its path, in float64."""
        return np.array([edge_log_probabilities[path].sum() for path in self.paths])


def edge_log_probabilities(model: AwdLstmDoc, trie: Trie) -> NDArray[np.float64]:
    """log P(next token | prefix) of every edge, in nats, in the order ``Trie.paths`` counts them.

    Every sequence starts from the zero state and reads ``<eos>`` first.
    """
    results = [torch.zeros(0, dtype=torch.float64)]
    with torch.inference_mode():
        state = model.initial_state(1)
        for level in trie.levels:
            state, values = _level(model, level, state)
            results.append(values)
    return torch.cat(results).numpy()


def _level(model: AwdLstmDoc, level: Level, state: State) -> tuple[State, torch.Tensor]:
    """Step every prefix of a level, ``MAX_ROWS`` at a time; the new state and the edges' values."""
    device = model.embedding.device
    parents = torch.tensor(_padded(level.parents), device=device)
    tokens = torch.tensor(_padded(level.tokens), device=device)
    edge_rows = torch.tensor(level.edge_rows, device=device)
    targets = torch.tensor(level.edge_targets, device=device)
    values = torch.empty(len(targets), dtype=torch.float64)
    states = []
    step = _multiple(-(-len(tokens) // -(-len(tokens) // MAX_ROWS)))
    for start in range(0, len(tokens), step):
        rows = slice(start, start + step)
        before = tuple((hidden[parents[rows]], cell[parents[rows]]) for hidden, cell in state)
        features, after = model.step(tokens[rows], before)
        states.append(after)
        mine = ((edge_rows >= start) & (edge_rows < start + step)).nonzero().squeeze(1)
        padding = _multiple(len(mine)) - len(mine)
        continued = functional.pad(edge_rows[mine] - start, (0, padding))
        features = features._replace(
            components=features.components[continued], log_weights=features.log_weights[continued]
        )
        wanted = functional.pad(targets[mine], (0, padding))
        found = model.target_log_probability(features, wanted)[: len(mine)]
        values[mine.cpu()] = found.double().cpu()
    if len(states) == 1:
        return states[0], values
    layers = zip(*states, strict=True)
    joined = (tuple(torch.cat(parts) for parts in zip(*layer, strict=True)) for layer in layers)
    return tuple((hidden, cell) for hidden, cell in joined), values


def _padded(rows: list[int]) -> list[int]:
    """A multiple of ``ROW_MULTIPLE``; those added (parent 0, token 0) are never asked for."""
    return rows + [0] * (_multiple(len(rows)) - len(rows))


def _multiple(count: int) -> int:
    return -(-count // ROW_MULTIPLE) * ROW_MULTIPLE


def score_one_by_one(
    model: AwdLstmDoc, sequences: Sequence[Sequence[int]], eos: int
) -> NDArray[np.float64]:
    """The same totals the obvious way, one sequence at a time through the whole vocabulary: what
    tests and benchmarks compare with."""
    totals = []
    device = model.embedding.device
    with torch.inference_mode():
        for ids in sequences:
            inputs = torch.tensor([eos, *ids[:-1]], device=device).unsqueeze(1)
            features, _ = model(inputs, model.initial_state(1))
            table = model.log_probabilities(features)[:, 0]
            picked = table.gather(1, torch.tensor(ids, device=device).unsqueeze(1))
            totals.append(float(picked.double().sum()))
    return np.array(totals)
