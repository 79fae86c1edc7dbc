"""The entry of encoder-decoders for `rerank train` (reranker.registry, ``trainings``)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from reranker.errors import InputError
from reranker.plugins.generation.pair_config import PairConfig
from reranker.plugins.generation.pair_run import PairRun
from reranker.plugins.generation.pair_vocabulary import Pair
from reranker.plugins.generation.pairs import text_pairs, tree_pairs
from reranker.trees.treebank import read_treebank

CONFIG = PairConfig


def new_run(
    arguments: argparse.Namespace, config: PairConfig
) -> tuple[Callable[..., PairRun], tuple[int, int], str]:
    """Read the training data. Return a function that creates the run, the numbers of examples to
    train on and to select by, and a noun for the examples. Raises InputError for flags that do not
    apply, and for files that cannot be read."""
    _check_flags(arguments, config.task)
    pairs, dev_pairs = (_pairs(arguments, side, config) for side in ("train", "dev"))
    return partial(PairRun, config, pairs, dev_pairs), (len(pairs), len(dev_pairs)), "pairs"


def _check_flags(arguments: argparse.Namespace, task: str) -> None:
    """Raise InputError for flags that do not apply to encoder-decoders."""
    if arguments.start_from or arguments.vectors:
        raise InputError("--start-from and --vectors are for language models")
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
