"""``rerank train``: trains a language model on a treebank, or an encoder-decoder on pairs."""

from __future__ import annotations

import argparse
import time
from dataclasses import fields
from pathlib import Path

from reranker.checkpoints.vocabulary import MOST_CLASSED
from reranker.commands.progress import loading
from reranker.process.flags import number_from, positive, whole_number

LESS_MEMORY = "a smaller batch_tokens or batch_size in --config takes less, --shards too"

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
    "run": "--epochs --seed --log-folder --precision --threads --shards --restarts",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank train`` to ``parser``."""
    add = parser.add_argument
    text = (
        "the model and how to train it: a file, or the name of one of docs/models.md, such as small"
    )
    add("--config", type=Path, required=True, metavar="NAME", help=text)
    text = "treebanks to train on (files, folders, quoted patterns), or lines of text; .gz too"
    add("--train", type=Path, nargs="+", required=True, metavar="FILE", help=text)
    text = "files like those of --train, whose perplexity decides which weights are kept"
    add("--dev", type=Path, nargs="+", required=True, metavar="FILE", help=text)
    for side in ("train", "dev"):
        text = (
            f"of an encoder-decoder for text: what should come out of the lines of --{side}; "
            f"without it, --{side} has both, a tab between them"
        )
        add(f"--{side}-target", type=Path, nargs="+", metavar="TEXT", help=text)
    text = "write the checkpoint to FILE.pt"
    add("--out", type=Path, required=True, metavar="FILE.pt", help=text)
    text = (
        "for the log, the learning curve and the state to resume from (default: runs/NAME of --out)"
    )
    add("--log-folder", type=Path, metavar="FOLDER", help=text)
    text = "wall-clock time, all resumed runs together, with the last evaluation"
    add("--budget", type=number_from(0), metavar="MINUTES", help=text)
    text = "passes over the training trees (default: as in --config)"
    add("--epochs", type=number_from(0), metavar="N", help=text)
    text = "random seed (default: as in --config)"
    add("--seed", type=whole_number(0, 2**32 - 1), metavar="N", help=text)
    text = (
        "of the trees, such as id or zh: the checkpoint says it, and words that training sees too "
        "rarely get classes that fit any language (default: as in --config, else en)"
    )
    add("--language", metavar="CODE", help=text)
    text = "of matrix products (default: as in --config)"
    add("--precision", choices=("bfloat16", "float32"), help=text)
    text = "read trees from start to end or from end to start; an ensemble gains from both"
    add("--direction", choices=("forward", "backward"), help=text)
    text = (
        "TREES are plain text, a sentence a line, read on from line to line (recipe paper or "
        "thesis; default: as in --config)"
    )
    add("--text", action="store_const", const=True, help=text)
    text = (
        "with the paper's recipe: train on after averaged SGD has stalled, until that brings "
        "nothing (default: as in --config)"
    )
    add("--fine-tuning", action=argparse.BooleanOptionalAction, help=text)
    start = parser.add_mutually_exclusive_group()
    text = "start with the vocabulary and weights of this checkpoint"
    start.add_argument("--start-from", type=Path, metavar="FILE.pt", help=text)
    text = (
        "word vectors as text (GloVe, word2vec, fastText): initial embeddings, and classes of "
        "similar words for rare ones"
    )
    start.add_argument("--vectors", type=Path, metavar="FILE", help=text)
    text = (
        "span models: read words by an encoder that learned from plain text, one of BERT's kind, "
        "in a folder with config.json, vocab.txt and model.safetensors; with --start-from, the one "
        "that the model started from, to add the word pieces that the training trees need"
    )
    add("--encoder", type=Path, metavar="FOLDER", help=text)
    text = (
        "span models: learn from this larger span model's probabilities as well as from the trees"
    )
    add("--teacher", type=Path, metavar="FILE.pt", help=text)
    text = (
        "with --teacher: plain text, a sentence a line, words separated by spaces, of which its "
        "probabilities are all there is to learn"
    )
    add("--taught-text", type=Path, nargs="+", metavar="TEXT", help=text)
    text = "read only the first, most frequent N of them (default: %(default)s)"
    add(
        "--vector-words",
        type=whole_number(1, MOST_CLASSED),
        default=150_000,
        metavar="N",
        help=text,
    )
    text = (
        "for treebanks that do not fit into memory: read the files of --train twice, and keep "
        "their tokens in the log folder, 4 bytes each"
    )
    add("--stream", action="store_true", help=text)
    add("--device", default="cpu", metavar="cpu|cuda")
    text = "CPU threads of each process (default: all cores, shared out among processes)"
    add("--threads", type=positive, metavar="N", help=text)
    text = "train in N processes on this machine; with --device cuda, each on a GPU of its own"
    add("--nproc", type=positive, metavar="N", help=text)
    text = (
        "cut every batch into N parts, which the processes share out and compute one after "
        "another; the result depends on this, but not on how many processes there are (default: as "
        "in --config, or one for each process)"
    )
    add("--shards", type=positive, metavar="N", help=text)
    text = "with --nproc: start again at most N times when a process dies (default: %(default)s)"
    add("--restarts", type=whole_number(0), default=3, metavar="N", help=text)


def run(arguments: argparse.Namespace) -> int:
    """Train as the flags say; return the exit code."""
    from reranker.plugins.training.loop.config import config_path
    from reranker.plugins.training.loop.settings import TrainSettings

    given = {**vars(arguments), "begun": time.monotonic(), "config": config_path(arguments.config)}
    settings = TrainSettings(**{each.name: given[each.name] for each in fields(TrainSettings)})
    with loading("PyTorch"):
        from reranker.plugins.training import worker
    if settings.nproc is not None:
        from reranker.plugins.training.launcher import launch

        return launch(settings)
    return worker.run(settings)
