"""``rerank train``: its flags, its progress bar and its last words."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from reranker.checkpoints.vocabulary import MOST_CLASSED
from reranker.errors import InputError
from reranker.trees.linearize import linearize
from reranker.trees.treebank import read_treebank

EXAMPLES = """examples:
  rerank train --config models/configs/small.toml --train train.mrg.gz --dev dev.mrg.gz \\
      --out ckpt/mine.pt --budget 60
  rerank train --config models/configs/ptb.toml --train wsj_02_21.mrg --dev wsj_22.mrg \\
      --out ckpt/ptb.pt --device cuda
  rerank train --config models/configs/small.toml --train train.mrg.gz --dev dev.mrg.gz \\
      --out ckpt/mine.pt --budget 60 --vectors glove.6B.100d.txt

A run that was stopped, however, goes on when the same command is given again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank train`` to ``parser``."""
    parser.add_argument("--config", type=Path, required=True, metavar="FILE.toml")
    parser.add_argument("--train", type=Path, nargs="+", required=True, metavar="TREES")
    parser.add_argument("--dev", type=Path, nargs="+", required=True, metavar="TREES")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.pt")
    parser.add_argument(
        "--log-folder",
        type=Path,
        metavar="FOLDER",
        help="state to resume from, log, learning curve (default: runs/ and the name in --out)",
    )
    parser.add_argument(
        "--budget", type=float, metavar="MINUTES", help="wall-clock, over all resumptions"
    )
    parser.add_argument("--epochs", type=float, metavar="N")
    parser.add_argument("--seed", type=int, metavar="N")
    parser.add_argument("--precision", choices=("bfloat16", "float32"))
    parser.add_argument(
        "--direction",
        choices=("forward", "backward"),
        help="read trees from their starts or from their ends; an ensemble gains from both",
    )
    start = parser.add_mutually_exclusive_group()
    start.add_argument(
        "--start-from",
        type=Path,
        metavar="FILE.pt",
        help="take vocabulary and first weights from this checkpoint",
    )
    start.add_argument(
        "--vectors",
        type=Path,
        metavar="FILE",
        help="word vectors as text (GloVe, word2vec, fastText): where embeddings start, and what "
        "puts rare words into classes of similar words",
    )
    parser.add_argument(
        "--vector-words",
        type=int,
        default=150_000,
        metavar="N",
        help="read only the first, most frequent N of them (%(default)s)",
    )
    parser.add_argument("--device", default="cpu", metavar="cpu|cuda")
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: all cores)")


def run(arguments: argparse.Namespace) -> int:
    """Train as the flags say; returns the exit code."""
    import torch
    from tqdm import tqdm

    from reranker.training.config import TrainingConfig
    from reranker.training.loop import train
    from reranker.training.run import Progress
    from reranker.training.word_vectors import WordVectors

    config = TrainingConfig.from_file(
        arguments.config,
        budget_minutes=arguments.budget,
        epochs=arguments.epochs,
        seed=arguments.seed,
        precision=arguments.precision,
        direction=arguments.direction,
    )
    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"--device {arguments.device}: no CUDA device here")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    folder = arguments.log_folder or Path("runs") / arguments.out.stem
    train_trees = [linearize(tree) for tree in read_treebank(arguments.train)]
    dev_trees = [linearize(tree) for tree in read_treebank(arguments.dev)]
    print(
        f"{len(train_trees)} training trees, {len(dev_trees)} dev trees; logs in {folder}",
        file=sys.stderr,
    )
    vectors = None
    if arguments.vectors is not None:
        if not 1 <= arguments.vector_words <= MOST_CLASSED:
            raise InputError(
                f"--vector-words {arguments.vector_words}: not a number from 1 to {MOST_CLASSED:,}"
            )
        vectors = WordVectors.read(arguments.vectors, arguments.vector_words)
    bar = tqdm(
        total=1.0,
        disable=not sys.stderr.isatty(),
        bar_format="{percentage:5.1f}%|{bar}| {elapsed} left {remaining} {postfix}",
    )
    began = time.monotonic()
    first: list[int] = []

    def report(progress: Progress, loss: float, done: float) -> None:
        first.append(progress.tokens) if not first else None
        speed = (progress.tokens - first[0]) / max(1e-9, time.monotonic() - began)
        bar.n = done
        bar.set_postfix_str(
            f"{loss:.3f} nats/token, dev perplexity {progress.best_perplexity:.3f}, "
            f"{speed:,.0f} tokens/s",
            refresh=False,
        )
        bar.update(0)

    perplexity = train(
        config,
        train_trees,
        dev_trees,
        arguments.out,
        folder,
        device=arguments.device,
        start_from=arguments.start_from,
        vectors=vectors,
        report=report,
    )
    bar.close()
    print(f"{arguments.out}: dev perplexity {perplexity:.3f} per token", file=sys.stderr)
    return 0
