"""Table 5 of Takase et al. 2018: the rank of the matrix of log-probabilities."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.plugins.analysis.mixture import component_layers
from reranker.plugins.analysis.readings import LinearTree, ReadBatch, Tick, ignore, read_in_batches
from reranker.plugins.analysis.report import Report
from reranker.plugins.analysis.running_text import RunningText, TreesOrTexts, read_batches

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EPSILON = torch.finfo(torch.float64).eps
_BLOCK = 1 << 23  # elements of [tokens, J, V] at a time
_LARGE = 1e-3


@dataclass(frozen=True, slots=True)
class MatrixRank:
    """The rank of one model's A~ (equation 9): a row log P(. | c) for each of some contexts c."""

    model: str
    contexts: int
    symbols: int
    bound: int
    """The largest possible rank: D + 2 for one softmax (A = H W^T + 1 b^T - z 1^T, with the rows'
    normalisers z; without bias and normaliser it would be D), else the shorter side."""
    singular_values: tuple[float, ...]  # the greatest first

    @property
    def tolerance(self) -> float:
        """Return the largest singular value that counts as a rounding error: the greatest times the
        longer side times float64's epsilon, as in numpy.linalg.matrix_rank, MATLAB and Numerical
        Recipes."""
        return self.singular_values[0] * max(self.contexts, self.symbols) * _EPSILON

    @property
    def rank(self) -> int:
        return sum(value > self.tolerance for value in self.singular_values)

    @property
    def large(self) -> int:
        """Return the number of singular values above a thousandth of the greatest."""
        return sum(value > _LARGE * self.singular_values[0] for value in self.singular_values)


def matrix_rank(
    checkpoint: Checkpoint,
    data: TreesOrTexts,
    name: str,
    tokens: int | None,
    seed: int = 0,
    tick: Tick = ignore,
) -> MatrixRank:
    """Compute the rank over ``tokens`` contexts (None, or if fewer: all) from trees drawn at
    random, or from the beginning of the texts.

    A context is the tokens read since a tree's or a text's start; of trees each counts once, so no
    two rows are the same by design. Everything is computed in float64, because rounding alone gives
    a float32 matrix full rank. Memory: six matrices of the vocabulary squared, or two of ``tokens``
    times the vocabulary if that is less; time: that product times the shorter side.
    """
    exact = replace(checkpoint, model=copy.deepcopy(checkpoint.model).double())
    texts = [each for each in data if isinstance(each, RunningText)]
    if texts:
        rows = _text_rows(exact, texts, tokens, tick)
    else:
        trees = [each for each in data if isinstance(each, LinearTree)]
        rows = _tree_rows(exact, *_contexts(checkpoint, trees, tokens, seed), tick)
    contexts, values = _singular_values(rows)
    model, symbols = checkpoint.model, len(checkpoint.vocabulary)
    sides = min(contexts, symbols)
    bound = sides if component_layers(model) else min(sides, model.output_weight.shape[1] + 2)
    return MatrixRank(name, contexts, symbols, bound, tuple(values.tolist()))


def _singular_values(rows: Iterator[Tensor], most: int = 2) -> tuple[int, Tensor]:
    """Return the number of rows [n, V], and the singular values of the matrix of all rows.

    The whole matrix is never held: with a QR decomposition, A = Q R has the singular values of R,
    which is square, so whenever there are ``most`` times as many rows as columns R takes their
    place.
    """
    parts: list[Tensor] = []
    count = held = 0
    for part in rows:
        parts.append(part)
        count, held = count + len(part), held + len(part)
        if held > most * part.shape[1]:
            parts = [torch.linalg.qr(torch.cat(parts), mode="r").R]
            held = len(parts[0])
    return count, torch.linalg.svdvals(torch.cat(parts))


def _contexts(
    checkpoint: Checkpoint, trees: Sequence[LinearTree], tokens: int | None, seed: int
) -> tuple[list[LinearTree], list[list[int]]]:
    """Return trees, each with the positions whose contexts have not occurred before: ``tokens`` in
    all."""
    seen: set[tuple[int, ...]] = set()
    chosen, positions = [], []
    for tree in random.Random(seed).sample(trees, len(trees)):
        ids = tuple(checkpoint.vocabulary.encode(tree.tokens))
        fresh = [end for end in range(len(ids)) if ids[:end] not in seen]
        fresh = fresh[: None if tokens is None else tokens - len(seen)]
        seen.update(ids[:end] for end in fresh)
        chosen.append(tree)
        positions.append(fresh)
        if len(seen) == tokens:
            break
    return chosen, positions


def _tree_rows(
    checkpoint: Checkpoint, trees: Sequence[LinearTree], positions: list[list[int]], tick: Tick
) -> Iterator[Tensor]:
    """Yield log P of the whole vocabulary at the positions of each tree, [n, V] each."""
    for batch in read_in_batches(checkpoint, trees, tick):
        is_context = torch.zeros_like(batch.is_token)
        for column, number in enumerate(batch.numbers):
            is_context[positions[number], column] = True
        yield from _rows(checkpoint, batch, is_context)


def _text_rows(
    checkpoint: Checkpoint, texts: Sequence[RunningText], tokens: int | None, tick: Tick
) -> Iterator[Tensor]:
    """Yield log P of the whole vocabulary at the first ``tokens`` positions of the texts, [n, V]
    each."""
    left = tokens
    for batch in read_batches(checkpoint, texts, tick):
        is_context = batch.is_token
        if left is not None:
            is_context = is_context & (is_context.cumsum(0) <= left)
            left -= int(is_context.sum())
        yield from _rows(checkpoint, batch, is_context)
        if left == 0:
            return


def _rows(checkpoint: Checkpoint, batch: ReadBatch, is_context: Tensor) -> Iterator[Tensor]:
    blocks = batch.features.at(is_context).blocks(_BLOCK, len(checkpoint.vocabulary))
    return map(checkpoint.model.log_probabilities, blocks)


def rank_report(models: Sequence[MatrixRank]) -> Report:
    """Report the ranks of several models, each on a sample of contexts (the paper: all of a
    corpus)."""
    rows: list[tuple[str, ...]] = [
        ("model", "contexts", "symbols", "at most", "rank", "over 1e-3", "tolerance")
    ]
    for model in models:
        counts = (model.contexts, model.symbols, model.bound, model.rank, model.large)
        rows.append((model.model, *map(str, counts), f"{model.tolerance:.1e}"))
    data = [
        {
            "model": model.model,
            "contexts": model.contexts,
            "symbols": model.symbols,
            "at_most": model.bound,
            "rank": model.rank,
            "over_a_thousandth": model.large,
            "tolerance": model.tolerance,
            "singular_values": model.singular_values,
        }
        for model in models
    ]
    return Report([rows], data, partial(_draw, models))


def _draw(models: Sequence[MatrixRank], figure: Figure) -> None:
    """Draw the singular values in order, as shares of the largest."""
    axes = figure.subplots()
    for model in models:
        greatest = model.singular_values[0]
        shares = [value / greatest for value in model.singular_values if value > 0]
        label = f"{model.model}: rank {model.rank}"
        (line,) = axes.plot(range(1, len(shares) + 1), shares, label=label)
        axes.axhline(model.tolerance / greatest, color=line.get_color(), linestyle=":")
    axes.set(title="Singular values of the matrix of log-probabilities", yscale="log")
    axes.set(xlabel="singular value (greatest first)", ylabel="share of the greatest")
    axes.grid(alpha=0.3)
    axes.legend(title="dotted: the tolerance")
