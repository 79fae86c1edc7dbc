"""Encoder-decoders for `rerank train` (reranker.registry, ``trainings``)."""

from __future__ import annotations

import argparse
from functools import partial

from reranker.errors import InputError
from reranker.plugins.generation.pair_config import PairConfig
from reranker.plugins.generation.pair_run import PairRun
from reranker.plugins.generation.pair_vocabulary import Pair
from reranker.plugins.generation.pairs import text_pairs, tree_pairs
from reranker.plugins.training.processes import Processes
from reranker.plugins.training.run import NewRun
from reranker.trees.treebank import read_treebank

CONFIG = PairConfig
TAKES = {"train_target", "dev_target"}


def new_run(arguments: argparse.Namespace, config: PairConfig, processes: Processes) -> NewRun:
    """Read the pairs. Raises InputError for flags that do not apply, and for files that cannot be
    read."""
    _check_targets(arguments, config.task)
    pairs, dev = (_pairs(arguments, side, config) for side in ("train", "dev"))
    return NewRun(partial(PairRun, config, pairs, dev), len(pairs), len(dev), "pairs")


def _check_targets(arguments: argparse.Namespace, task: str) -> None:
    """Raise InputError for targets that do not belong to the sources."""
    if task == "parsing" and (arguments.train_target or arguments.dev_target):
        raise InputError("--train-target and --dev-target are for text; trees are in --train")
    for side in ("train", "dev"):
        sources, targets = getattr(arguments, side), getattr(arguments, f"{side}_target")
        if targets and len(targets) != len(sources):
            raise InputError(
                f"--{side}-target: {len(targets)} files for {len(sources)} of --{side}"
            )


def _pairs(arguments: argparse.Namespace, side: str, config: PairConfig) -> list[Pair]:
    """Read the pairs that an encoder-decoder learns from or is selected on."""
    sources, targets = getattr(arguments, side), getattr(arguments, f"{side}_target")
    if config.task == "parsing":
        return list(tree_pairs(read_treebank(sources), config.tags))
    files = zip(sources, targets or [None] * len(sources), strict=True)
    return [pair for source, target in files for pair in text_pairs(source, target)]
