"""``rerank train``: trains a language model on a treebank, or an encoder-decoder on pairs."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reranker.checkpoints.vocabulary import MOST_CLASSED
from reranker.commands.arguments import positive, whole_number
from reranker.commands.progress import loading
from reranker.errors import InputError
from reranker.text.running import read_running_text
from reranker.trees.linearize import linearize
from reranker.trees.treebank import read_treebank

if TYPE_CHECKING:
    from reranker.checkpoints.pair_vocabulary import Pair
    from reranker.training.pair_config import PairConfig
    from reranker.training.run import Progress

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

To resume a stopped run, repeat the same command."""


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
        help="treebank files to train on, or lines of text; .gz too",
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
        "--vector-words",
        type=whole_number(1, MOST_CLASSED),
        default=150_000,
        metavar="N",
        help="read only the first, most frequent N of them (default: %(default)s)",
    )
    parser.add_argument("--device", default="cpu", metavar="cpu|cuda")
    parser.add_argument(
        "--threads", type=positive, metavar="N", help="CPU threads (default: all cores)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Train as the flags say; returns the exit code."""
    with loading("PyTorch"):
        import torch

        from reranker.models.encoder_decoder import EncoderDecoder
        from reranker.models.span_model import SpanModel
        from reranker.training.config import TrainingConfig
        from reranker.training.loop import train, train_pairs, train_spans
        from reranker.training.pair_config import PairConfig
        from reranker.training.run_config import RunConfig, read_tables
        from reranker.training.span_config import SpanTrainingConfig
        from reranker.training.word_vectors import WordVectors

    architecture = read_tables(arguments.config).get("model", {}).get("architecture")
    kinds: dict[Any, type[RunConfig]] = {
        EncoderDecoder.architecture: PairConfig,
        SpanModel.architecture: SpanTrainingConfig,
    }
    config = kinds.get(architecture, TrainingConfig).from_file(
        arguments.config,
        budget_minutes=arguments.budget,
        epochs=arguments.epochs,
        seed=arguments.seed,
        precision=arguments.precision,
        direction=arguments.direction,
        text=arguments.text,
        fine_tuning=arguments.fine_tuning,
    )
    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"--device {arguments.device}: no CUDA device here")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    folder = arguments.log_folder or Path("runs") / arguments.out.stem
    bar, unit = _ProgressBar(), "token"
    options: dict[str, Any] = {"device": arguments.device, "report": bar.report}
    if isinstance(config, PairConfig):
        _check_flags(arguments, config.task)
        pairs, dev_pairs = (_pairs(arguments, side, config) for side in ("train", "dev"))
        _announce(len(pairs), len(dev_pairs), "pairs", folder)
        perplexity = train_pairs(config, pairs, dev_pairs, arguments.out, folder, **options)
    else:
        if arguments.train_target or arguments.dev_target:
            raise InputError("--train-target and --dev-target are for encoder-decoders")
        is_text = isinstance(config, TrainingConfig) and config.text
        train_trees, dev_trees = (
            read_running_text(paths) if is_text else [*map(linearize, read_treebank(paths))]
            for paths in (arguments.train, arguments.dev)
        )
        noun = "lines" if is_text else "trees"
        _announce(len(train_trees), len(dev_trees), noun, folder)
        vectors = None
        if arguments.vectors is not None:
            vectors = WordVectors.read(arguments.vectors, arguments.vector_words)
        options["vectors"] = vectors
        data = train_trees, dev_trees, arguments.out, folder
        if isinstance(config, SpanTrainingConfig):
            if arguments.start_from:
                raise InputError("--start-from is for language models")
            perplexity, unit = train_spans(config, *data, **options), "word"
        else:
            assert isinstance(config, TrainingConfig)
            perplexity = train(config, *data, start_from=arguments.start_from, **options)
    bar.close()
    print(f"{arguments.out}: dev perplexity {perplexity:.3f} per {unit}", file=sys.stderr)
    return 0


def _announce(train: int, dev: int, noun: str, folder: Path) -> None:
    print(f"{train} training {noun}, {dev} dev {noun}; logs in {folder}", file=sys.stderr)


def _check_flags(arguments: argparse.Namespace, task: str) -> None:
    """Raises InputError for flags that an encoder-decoder does not have."""
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
    """What an encoder-decoder learns from, or is selected on."""
    from reranker.training.pairs import text_pairs, tree_pairs

    sources, targets = getattr(arguments, side), getattr(arguments, f"{side}_target")
    if config.task == "parsing":
        return list(tree_pairs(read_treebank(sources), config.tags))
    files = zip(sources, targets or [None] * len(sources), strict=True)
    return [pair for source, target in files for pair in text_pairs(source, target)]


class _ProgressBar:
    """Share of the budget used, loss, best dev perplexity and speed, on a terminal."""

    def __init__(self) -> None:
        from tqdm import tqdm

        self._bar = tqdm(
            total=1.0,
            disable=not sys.stderr.isatty(),
            bar_format="{percentage:5.1f}%|{bar}| {elapsed} left {remaining} {postfix}",
        )
        self._start = time.monotonic()
        self._first_tokens: int | None = None  # of this run; a resumed one has trained on others

    def report(self, progress: Progress, loss: float, done: float) -> None:
        """``loss`` in nats per token; ``done`` from 0 to 1."""
        if self._first_tokens is None:
            self._first_tokens = progress.tokens
        seconds = max(1e-9, time.monotonic() - self._start)
        speed = (progress.tokens - self._first_tokens) / seconds
        self._bar.n = done
        self._bar.set_postfix_str(
            f"{loss:.3f} nats/token, dev perplexity {progress.best_perplexity:.3f}, "
            f"{speed:,.0f} tokens/s",
            refresh=False,
        )
        self._bar.update(0)

    def close(self) -> None:
        self._bar.close()
