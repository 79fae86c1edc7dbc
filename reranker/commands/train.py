"""``rerank train``: trains a language model on a treebank, or an encoder-decoder on pairs."""

from __future__ import annotations

import argparse
from pathlib import Path

from reranker.checkpoints.vocabulary import MOST_CLASSED
from reranker.commands.arguments import positive, whole_number
from reranker.commands.progress import loading

EXAMPLES = """examples:
  rerank train --config models/configs/small.toml --train train.mrg.gz --dev dev.mrg.gz \\
      --out ckpt/mine.pt --budget 60
  rerank train --config models/configs/ptb.toml --train wsj_02_21.mrg --dev wsj_22.mrg \\
      --out ckpt/ptb.pt --device cuda
  rerank train --config models/configs/small.toml --train train.mrg.gz --dev dev.mrg.gz \\
      --out ckpt/mine.pt --budget 60 --vectors glove.6B.100d.txt
  rerank train --config models/configs/ptb.toml --text --train ptb.train.txt \\
      --dev ptb.valid.txt --out ckpt/words.pt --device cuda
  rerank train --config models/configs/encoder-decoder/parser.toml --train train.mrg.gz \\
      --dev dev.mrg.gz --out parser.pt --budget 60
  rerank train --config models/configs/encoder-decoder/translation.toml --train train.en \\
      --train-target train.de --dev dev.en --dev-target dev.de --out en-de.pt --budget 60

To resume a stopped run, repeat the same command. Several processes, on this machine or on many:
  rerank train --config models/configs/small.toml --train train.mrg.gz --dev dev.mrg.gz \\
      --out ckpt/mine.pt --budget 60 --nproc 4
  torchrun --nnodes 2 --nproc-per-node 8 ... -m reranker -- train --device cuda ..."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank train`` to ``parser``."""
    parser.add_argument(
        "--config",
        type=Path,
        required=True,
        metavar="FILE.toml",
        help="the model and how to train it, as in models/configs/",
    )
    parser.add_argument(
        "--train",
        type=Path,
        nargs="+",
        required=True,
        metavar="FILE",
        help="treebanks to train on (files, folders, quoted patterns), or lines of text; .gz too",
    )
    parser.add_argument(
        "--dev",
        type=Path,
        nargs="+",
        required=True,
        metavar="FILE",
        help="files like those of --train, whose perplexity decides which weights are kept",
    )
    for side in ("train", "dev"):
        parser.add_argument(
            f"--{side}-target",
            type=Path,
            nargs="+",
            metavar="TEXT",
            help=f"of an encoder-decoder for text: what should come out of the lines of --{side}; "
            f"without it, --{side} has both, a tab between them",
        )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE.pt", help="write the checkpoint to FILE.pt"
    )
    parser.add_argument(
        "--log-folder",
        type=Path,
        metavar="FOLDER",
        help="for the log, the learning curve and the state to resume from (default: runs/NAME of "
        "--out)",
    )
    parser.add_argument(
        "--budget", type=float, metavar="MINUTES", help="wall-clock time, all resumed runs together"
    )
    parser.add_argument(
        "--epochs",
        type=float,
        metavar="N",
        help="passes over the training trees (default: as in --config)",
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="random seed (default: as in --config)"
    )
    parser.add_argument(
        "--precision",
        choices=("bfloat16", "float32"),
        help="of matrix products (default: as in --config)",
    )
    parser.add_argument(
        "--direction",
        choices=("forward", "backward"),
        help="read trees from start to end or from end to start; an ensemble gains from both",
    )
    parser.add_argument(
        "--text",
        action="store_const",
        const=True,
        help="TREES are plain text, a sentence a line, read on from line to line (recipe paper or "
        "thesis; default: as in --config)",
    )
    parser.add_argument(
        "--fine-tuning",
        action=argparse.BooleanOptionalAction,
        help="with the paper's recipe: train on after averaged SGD has stalled, until that brings "
        "nothing (default: as in --config)",
    )
    start = parser.add_mutually_exclusive_group()
    start.add_argument(
        "--start-from",
        type=Path,
        metavar="FILE.pt",
        help="start with the vocabulary and weights of this checkpoint",
    )
    start.add_argument(
        "--vectors",
        type=Path,
        metavar="FILE",
        help="word vectors as text (GloVe, word2vec, fastText): initial embeddings, and classes of "
        "similar words for rare ones",
    )
    parser.add_argument(
        "--encoder",
        type=Path,
        metavar="FOLDER",
        help="span models: read words by an encoder that learned from plain text, one of BERT's "
        "kind, in a folder with config.json, vocab.txt and model.safetensors",
    )
    parser.add_argument(
        "--vector-words",
        type=whole_number(1, MOST_CLASSED),
        default=150_000,
        metavar="N",
        help="read only the first, most frequent N of them (default: %(default)s)",
    )
    parser.add_argument(
        "--stream",
        action="store_true",
        help="for treebanks that do not fit into memory: read the files of --train twice, and keep "
        "their tokens in the log folder, 4 bytes each",
    )
    parser.add_argument("--device", default="cpu", metavar="cpu|cuda")
    parser.add_argument(
        "--threads",
        type=positive,
        metavar="N",
        help="CPU threads of each process (default: all cores, shared out among processes)",
    )
    parser.add_argument(
        "--nproc",
        type=positive,
        metavar="N",
        help="train in N processes on this machine; with --device cuda, each on a GPU of its own",
    )
    parser.add_argument(
        "--shards",
        type=positive,
        metavar="N",
        help="cut every batch into N parts, which the processes share out and compute one after "
        "another; the result depends on this, but not on how many processes there are (default: "
        "as in --config, or one for each process)",
    )
    parser.add_argument(
        "--restarts",
        type=whole_number(0),
        default=3,
        metavar="N",
        help="with --nproc: start again at most N times when a process dies (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Train as the flags say; returns the exit code."""
    with loading("PyTorch"):
        from reranker.commands import train_run
    if arguments.nproc is not None:
        from reranker.commands.train_processes import launch

        return launch(arguments)
    return train_run.run(arguments)
