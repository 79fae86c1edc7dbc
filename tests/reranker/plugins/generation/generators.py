"""A parser of toy sentences that is trained in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reranker.plugins.generation.pair_config import PairConfig
from reranker.plugins.generation.pair_run import PairRun
from reranker.plugins.generation.pair_vocabulary import Pair
from reranker.plugins.generation.pairs import tree_pairs
from reranker.plugins.training.loop.train import train
from reranker.trees.tree import Tree
from tests.reranker.plots import no_plots

SIZES: dict[str, Any] = {
    "embedding_size": 16,
    "hidden_sizes": [16, 16],
    "attentional_size": 16,
    "components": [0, 0, 1, 1],
    "hidden_dropout": 0.0,
    "output_dropout": 0.0,
    "embedding_range": 0.3,
}
CONFIG = PairConfig(
    task="parsing", epochs=40, learning_rate=0.02, warmup_batches=5, batch_tokens=100, merges=5,
    model=SIZES, validate_every=100, stored_precision="float32",
)  # fmt: skip


def tree(subject: str, verb: str) -> Tree:
    nouns = " ".join(f"(NN {word})" for word in subject.split())
    return Tree.from_string(f"(TOP (S (NP {nouns}) (VP (VBZ {verb})) (. .)))")


TREES = [tree(subject, verb) for subject in ("It", "red dogs", "A B C") for verb in ("runs", "is")]


def pairs() -> list[Pair]:
    return list(tree_pairs(TREES, tags=True))


def trained_parser(folder: Path) -> Path:
    """Write the checkpoint of a parser that knows its training trees."""
    path = folder / "parser.pt"
    if not path.exists():
        with no_plots():
            train(PairRun(CONFIG, pairs(), pairs()), path, folder / "log")
    return path
