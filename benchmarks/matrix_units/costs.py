"""What rounding weights and splitting activations does to perplexity, scores and winners."""

from __future__ import annotations

import argparse
import copy
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from benchmarks.matrix_units.arithmetic import (
    Rounding,
    matrices,
    split_products,
    with_rounded_weights,
)
from reranker.checkpoints.checkpoint import Checkpoint, load_checkpoint
from reranker.evaluation.brackets import GoldTree, GoldTrees
from reranker.evaluation.corpus import Summary
from reranker.files.table import aligned
from reranker.nbest import NBest, read_nbest
from reranker.scoring.trie import Trie
from reranker.scoring.walk import edge_log_probabilities
from reranker.training.loss import dev_perplexity
from reranker.trees.linearize import linearize
from reranker.trees.treebank import read_treebank

Scores = list[NDArray[np.float64]]  # of each list: nats of each candidate
ROUNDINGS: tuple[Rounding, ...] = ("none", "output", "all")
TOGETHER = 16  # lists whose beginnings are computed once


class Arithmetic(NamedTuple):
    """Which weights are rounded, and which of those are multiplied by activations in parts."""

    rounding: Rounding
    split: Rounding = "none"
    parts: int = 2

    @property
    def name(self) -> str:
        if self.split == "none":
            return f"float32, {self.rounding} rounded"
        parts = "two parts" if self.parts == 2 else "one part"
        return f"{parts} in {self.split}, {self.rounding} rounded"


ERRORS = (
    Arithmetic("all"),
    Arithmetic("all", "output"),
    Arithmetic("all", "all"),
    Arithmetic("all", "output", 1),
    Arithmetic("all", "all", 1),
)
CHOICES = (
    Arithmetic("none"),
    Arithmetic("output"),
    Arithmetic("all"),
    Arithmetic("all", "all"),
    Arithmetic("all", "all", 1),
)


def report(arguments: argparse.Namespace) -> None:
    """Print three tables; one thread."""
    torch.set_num_threads(1)
    models = [load_checkpoint(path) for path in arguments.models]
    lists, gold = sample(arguments.lists, arguments.gold, arguments.sentences)
    if arguments.treebanks:
        print("Perplexity per token of gold trees")
        print(aligned(perplexities(models, arguments.treebanks, arguments.trees)), flush=True)
    few = lists[:: max(1, len(lists) // arguments.exact)]
    candidates = sum(len(nbest.candidates) for nbest in few)
    print(f"\nLargest error of a candidate, nats, against float64 ({candidates} candidates)")
    print(aligned(errors(models, few)), flush=True)
    print(f"\nWinners of {len(lists)} lists, all models together")
    print(aligned(winners(models, lists, gold)))


def perplexities(models: Sequence[Checkpoint], paths: list[Path], most: int) -> list[list[str]]:
    """Of the first ``most`` trees, as many of each treebank as it has."""
    trees = [
        linearize(tree)
        for path in paths
        for tree in islice(read_treebank([path]), most // len(paths))
    ]
    rows = [["", "float32", "output rounded", "all rounded"]]
    for each in models:
        ids = [each.vocabulary.encode(tokens) for tokens in trees]
        rounded = [with_rounded_weights(each, rounding).model for rounding in ROUNDINGS]
        figures = [dev_perplexity(model, ids, each.vocabulary.eos) for model in rounded]
        rows.append([each.name, *(f"{figure:.4f}" for figure in figures)])
    return rows


def sample(path: Path, gold: Path | None, count: int) -> tuple[list[NBest], list[GoldTree]]:
    """Every n-th list, and its gold tree if there is a file of them."""
    lists = list(read_nbest(path))
    trees = list(GoldTrees([gold], True)) if gold else []
    step = max(1, len(lists) // count)
    chosen = [place for place in range(0, len(lists), step) if lists[place].candidates][:count]
    return [lists[place] for place in chosen], [trees[place] for place in chosen if trees]


def scores(checkpoint: Checkpoint, lists: Sequence[NBest], arithmetic: Arithmetic) -> Scores:
    """log P of every candidate in nats, with weights that are rounded already."""
    units = split_products(matrices(checkpoint.model, arithmetic.split), arithmetic.parts)
    with units if arithmetic.split != "none" else nullcontext():
        return list(_scores(checkpoint, lists))


def _scores(checkpoint: Checkpoint, lists: Sequence[NBest]) -> Iterator[NDArray[np.float64]]:
    vocabulary = checkpoint.vocabulary
    for start in range(0, len(lists), TOGETHER):
        batch = lists[start : start + TOGETHER]
        ids = [vocabulary.encode(each.tokens) for nbest in batch for each in nbest.candidates]
        trie = Trie(ids, vocabulary.eos)
        edges = edge_log_probabilities(checkpoint.model, trie)
        totals = iter([edges[path].sum() for path in trie.paths])
        yield from (np.array(list(islice(totals, len(nbest.candidates)))) for nbest in batch)


def errors(models: Sequence[Checkpoint], lists: Sequence[NBest]) -> list[list[str]]:
    rows = [["", *(arithmetic.name for arithmetic in ERRORS)]]
    for each in models:
        rounded = with_rounded_weights(each, "all")
        exact = replace(rounded, model=copy.deepcopy(rounded.model).double())
        expected = np.concatenate(scores(exact, lists, Arithmetic("all")))
        row = [each.name]
        for arithmetic in ERRORS:
            values = np.concatenate(scores(rounded, lists, arithmetic))
            row.append(f"{np.abs(values - expected).max():.1e}")
        rows.append(row)
    return rows


def winners(
    models: Sequence[Checkpoint], lists: Sequence[NBest], gold: Sequence[GoldTree]
) -> list[list[str]]:
    """Against float32 with the weights as they are."""
    head = ["", "F1", "other winners", "by at most, nats", "largest change of a score, nats"]
    rows, reference = [head], Scores()
    for arithmetic in tqdm(CHOICES, disable=None):
        together: Scores = [np.zeros(len(nbest.candidates)) for nbest in lists]
        for each in models:
            rounded = with_rounded_weights(each, arithmetic.rounding)
            for total, values in zip(together, scores(rounded, lists, arithmetic), strict=True):
                total += values
        reference = reference or together
        lost = [
            before.max() - before[now.argmax()]
            for before, now in zip(reference, together, strict=True)
        ]
        changes = [
            np.abs(now - before).max() for before, now in zip(reference, together, strict=True)
        ]
        others = sum(loss > 0 for loss in lost)
        figures = [f"{others}", f"{max(lost):.3f}", f"{max(changes):.1e}"]
        rows.append([arithmetic.name, f1(lists, gold, together), *figures])
    return rows


def f1(lists: Sequence[NBest], gold: Sequence[GoldTree], together: Scores) -> str:
    """Of the winners, with gold part-of-speech tags; - without gold trees."""
    if not gold:
        return "-"
    chosen = zip(lists, gold, together, strict=True)
    return f"{Summary.of([t.score(n.candidates[s.argmax()].tree) for n, t, s in chosen]).f1:.2f}"
