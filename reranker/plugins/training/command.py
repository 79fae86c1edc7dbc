"""``rerank train``: trains a language model on a treebank, or an encoder-decoder on pairs."""

from __future__ import annotations

import argparse
import time
from dataclasses import fields
from pathlib import Path

from reranker.checkpoints.vocabulary import MOST_CLASSED
from reranker.commands.progress import loading
from reranker.plugins.training.loop.settings import LESS_MEMORY as LESS_MEMORY
from reranker.plugins.training.loop.settings import TrainSettings
from reranker.process.flags import number_from, positive, whole_number

EXAMPLES = """examples:
  rerank train --config small --train train.mrg.gz --dev dev.mrg.gz \\
      --out ckpt/mine.pt --budget 60
  rerank train --config ptb --train wsj_02_21.mrg --dev wsj_22.mrg \\
      --out ckpt/ptb.pt --device cuda
  rerank train --config small --train train.mrg.gz --dev dev.mrg.gz \\
      --out ckpt/mine.pt --budget 60 --vectors glove.6B.100d.txt
  rerank train --config ptb --text --train ptb.train.txt \\
      --dev ptb.valid.txt --out ckpt/words.pt --device cuda
  rerank train --config encoder-decoder/parser --train train.mrg.gz \\
      --dev dev.mrg.gz --out parser.pt --budget 60
  rerank train --config encoder-decoder/translation --train train.en \\
      --train-target train.de --dev dev.en --dev-target dev.de --out en-de.pt --budget 60

To resume a stopped run, repeat the same command. Several processes, on this machine or on many:
  rerank train --config small --train train.mrg.gz --dev dev.mrg.gz \\
      --out ckpt/mine.pt --budget 60 --nproc 4
  torchrun --nnodes 2 --nproc-per-node 8 ... -m reranker -- train --device cuda ..."""

USAGE = "%(prog)s --config NAME --train FILES --dev FILES --out FILE.pt [flags]"
GROUPS = {
    "everyday flags": "--config --train --dev --out --budget --device --start-from --nproc",
    "data": "--train-target --dev-target --text --language --direction --stream",
    "pretrained models": "--vectors --vector-words --encoder --teacher --taught-text --fine-tuning",
    "run": "--epochs --seed --log-folder --dtype --threads --shards --restarts",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank train`` to ``parser``."""
    add = parser.add_argument
    text = "model and training: a file, or a name from docs/models.md, such as small"
    add("--config", type=Path, required=True, metavar="NAME", help=text)
    text = "treebanks to train on (files, folders, quoted patterns), or text: plain or .gz"
    add("--train", type=Path, nargs="+", required=True, metavar="FILE", help=text)
    text = (
        "treebanks or text like those of --train; the weights with the best score on these are kept"
    )
    add("--dev", type=Path, nargs="+", required=True, metavar="FILE", help=text)
    for side in ("train", "dev"):
        text = (
            f"for an encoder-decoder of text: the outputs to learn for the lines of --{side} "
            f"(default: each line of --{side} is input<TAB>output)"
        )
        add(f"--{side}-target", type=Path, nargs="+", metavar="TEXT", help=text)
    text = "write the checkpoint to FILE.pt"
    add("--out", type=Path, required=True, metavar="FILE.pt", help=text)
    text = (
        "folder for the log, the learning curve and the state of a stopped run (default: "
        "runs/NAME, with the name of --out)"
    )
    add("--log-folder", type=Path, metavar="FOLDER", help=text)
    text = "time limit, for all resumed runs together, evaluation on --dev included"
    add("--budget", type=number_from(0), metavar="MINUTES", help=text)
    text = "passes over the training trees (default: as in --config)"
    add("--epochs", type=number_from(0), metavar="N", help=text)
    text = "random seed (default: as in --config)"
    add("--seed", type=whole_number(0, 2**32 - 1), metavar="N", help=text)
    text = (
        "language of the trees, such as id or zh; classes of rare words depend on it (default: "
        "as in --config, else en)"
    )
    add("--language", metavar="CODE", help=text)
    text = "type of numbers in matrix products: precision in --config (default: as in --config)"
    add("--dtype", dest="precision", choices=("bfloat16", "float32"), help=text)
    text = "read trees from start to end or from end to start; ensembles gain from having both"
    add("--direction", choices=("forward", "backward"), help=text)
    text = (
        "--train and --dev are plain text, one sentence per line, read as one long text (recipes "
        "paper and thesis; default: as in --config)"
    )
    add("--text", action="store_const", const=True, help=text)
    text = (
        "recipe paper: train on after averaged SGD has stalled, until no weights improve "
        "(default: as in --config)"
    )
    add("--fine-tuning", action=argparse.BooleanOptionalAction, help=text)
    start = parser.add_mutually_exclusive_group()
    text = "start with the vocabulary and weights of this checkpoint"
    start.add_argument("--start-from", type=Path, metavar="FILE.pt", help=text)
    text = (
        "word vectors as text (GloVe, word2vec, fastText), for initial embeddings and classes of "
        "rare words"
    )
    start.add_argument("--vectors", type=Path, metavar="FILE", help=text)
    text = (
        "span models: a folder with an encoder like BERT (config.json, vocab.txt, "
        "model.safetensors), which reads the words; with --start-from, the encoder that the "
        "model started from, to add word pieces"
    )
    add("--encoder", type=Path, metavar="FOLDER", help=text)
    text = (
        "span models: learn from this larger span model's probabilities as well as from the trees"
    )
    add("--teacher", type=Path, metavar="FILE.pt", help=text)
    text = (
        "with --teacher: also learn its probabilities for this text, one sentence per line, a "
        "space between words"
    )
    add("--taught-text", type=Path, nargs="+", metavar="TEXT", help=text)
    text = "read only the first N vectors (default: %(default)s)"
    add(
        "--vector-words",
        type=whole_number(1, MOST_CLASSED),
        default=150_000,
        metavar="N",
        help=text,
    )
    text = (
        "for treebanks that do not fit into memory: read --train twice and keep its tokens in "
        "the log folder, 4 bytes each"
    )
    add("--stream", action="store_true", help=text)
    add("--device", default="cpu", metavar="cpu|cuda")
    text = "CPU threads per process (default: all cores, divided among the processes)"
    add("--threads", type=positive, metavar="N", help=text)
    text = "train in N processes on this machine; with --device cuda, each has its own GPU"
    add("--nproc", type=positive, metavar="N", help=text)
    text = (
        "compute every batch in N parts, divided among the processes; the result depends on N, "
        "not on the number of processes (default: as in --config, else one part per process)"
    )
    add("--shards", type=positive, metavar="N", help=text)
    text = "with --nproc: restart at most N times when a process dies (default: %(default)s)"
    add("--restarts", type=whole_number(0), default=3, metavar="N", help=text)


def run(arguments: argparse.Namespace) -> int:
    """Train as the flags say; return the exit code."""
    from reranker.plugins.training.loop.config import config_path

    given = {**vars(arguments), "begun": time.monotonic(), "config": config_path(arguments.config)}
    settings = TrainSettings(**{each.name: given[each.name] for each in fields(TrainSettings)})
    with loading("PyTorch"):
        from reranker.plugins.training import worker
    if settings.nproc is not None:
        from reranker.plugins.training.launcher import launch

        return launch(settings)
    return worker.run(settings)
