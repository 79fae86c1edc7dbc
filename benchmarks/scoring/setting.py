"""What a run is about: options, models and sentences."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from benchmarks.scoring.lists import Sentence, encoded, read, sample
from benchmarks.scoring.vocabularies import resized
from reranker.checkpoints.checkpoint import Checkpoint, load_checkpoint
from reranker.checkpoints.ensemble_file import named_models
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import RerankError
from reranker.models import AwdLstmDoc, Config

LISTS = "../shared/data/nbest/gum_dev_50best.txt.gz"


class Setting(NamedTuple):
    title: str
    checkpoints: list[Checkpoint]
    sentences: list[Sentence]


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scoring",
        description="How fast candidates are scored, by the authors' code and by ours.",
    )
    add = parser.add_argument
    add("--lists", default=LISTS, help="n-best lists (default: %(default)s)")
    add("--authors", type=Path, help="a checkout of github.com/nttcslab-nlp/doc_lm")
    add("--authors-memory", type=float, default=8.0, metavar="GB", help="halve larger batches")
    add("--models", nargs="+", default=["ckpt/doc-forward.pt"], help="DOC models of one vocabulary")
    add("--paper-size", action="store_true", help="random weights in the paper's sizes instead")
    add("--vocabulary-size", type=int, default=6_922, help="of --paper-size")
    add("--ensemble", type=int, default=1, help="models of --paper-size")
    add("--sentences", type=int, default=4, help="how many of the lists (default: %(default)s)")
    add("--candidates", type=int, default=50, help="of each list (default: %(default)s)")
    add("--rounds", type=int, default=3, help="after the one that warms up (default: %(default)s)")
    add("--threads", type=int, default=1)
    add("--scaling", action="store_true", help="tables of list size, vocabulary, J and so on, too")
    add("--long-lists", help="lists of up to 500, for the table of list sizes")
    add("--history", type=Path, help="add the figures to this file, a line of JSON")
    add("--markdown", type=Path, help="put the tables between this file's markers")
    add("--charts", type=Path, metavar="PREFIX", help="draw PREFIX.svg and PREFIX-scaling.svg")
    add("--memory-of", metavar="CONTESTANT", help=argparse.SUPPRESS)
    return parser


def load(arguments: argparse.Namespace) -> Setting:
    """Raises RerankError for lists or models that are not there or do not fit together."""
    if not Path(arguments.lists).is_file():
        raise RerankError(
            f"{arguments.lists}: no such lists; name others with --lists (make bench LISTS=FILE), "
            "examples/parses.txt for one"
        )
    checkpoints = [load_checkpoint(path) for path in named_models(arguments.models).paths]
    vocabulary, title = checkpoints[0].vocabulary, ", ".join(one.name for one in checkpoints)
    if arguments.paper_size:
        vocabulary, title = resized(vocabulary, arguments.vocabulary_size), "paper-size"
        config = Config(arguments.vocabulary_size)
        checkpoints = [untrained(config, vocabulary, seed) for seed in range(arguments.ensemble)]
    if any(one.vocabulary != vocabulary for one in checkpoints):
        raise RerankError("the models have different vocabularies; name one at a time")
    if not all(isinstance(one.model, AwdLstmDoc) for one in checkpoints):
        raise RerankError("the authors' code and the count of operations are for awd-lstm-doc only")
    lists = sample(read(arguments.lists, arguments.candidates), arguments.sentences)
    return Setting(title, checkpoints, encoded(lists, vocabulary))


def untrained(config: Config, vocabulary: Vocabulary, seed: int = 0) -> Checkpoint:
    """Random weights: computing with them takes the time that trained ones take."""
    torch.manual_seed(seed)
    model = AwdLstmDoc(config).requires_grad_(False).eval()
    return Checkpoint(f"random {seed}", model, vocabulary)


def machine(threads: int) -> str:
    """One line about processor, threads and torch."""
    names: Sequence[str] = []
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else 'processor'}, {threads} thread(s), torch {torch.__version__}"
