"""``rerank train``: trains a language model on a treebank, or an encoder-decoder on pairs."""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reranker.checkpoints.vocabulary import MOST_CLASSED
from reranker.commands.arguments import counted, positive, whole_number
from reranker.commands.progress import loading
from reranker.errors import InputError, RerankError
from reranker.files.claim import claimed
from reranker.files.output import files_of, output_paths, write_errors
from reranker.text.running import read_running_text
from reranker.trees.linearize import linearize, linearize_tagged
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank, treebank_files

if TYPE_CHECKING:
    from reranker.checkpoints.pair_vocabulary import Pair
    from reranker.training.pair_config import PairConfig
    from reranker.training.processes import Processes
    from reranker.training.run import Progress
    from reranker.training.run_config import RunConfig

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
        import torch

        from reranker.training.processes import are_launched, joined, own_threads

    if arguments.nproc is not None:
        from reranker.commands.train_processes import launch

        return launch(arguments)
    with joined(arguments.device) as (processes, arguments.device):
        if are_launched() and not (arguments.threads or "OMP_NUM_THREADS" in os.environ):
            torch.set_num_threads(own_threads())
        if processes.is_first:
            return _train(arguments, processes)
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
            try:
                return _train(arguments, processes)
            except RerankError:  # the first says it
                return 2


def log_folder(arguments: argparse.Namespace) -> Path:
    """Where the run has its log and its state."""
    folder: Path | None = arguments.log_folder
    return folder or Path("runs") / arguments.out.stem


def configuration(arguments: argparse.Namespace, processes: int) -> RunConfig:
    """What --config and other flags say; for several processes (0: a plain run), batches are cut
    into as many shards, if nothing says how many. Raises ConfigError naming the file."""
    from reranker.models.encoder_decoder import EncoderDecoder
    from reranker.models.span_model import SpanModel
    from reranker.training.config import TrainingConfig
    from reranker.training.pair_config import PairConfig
    from reranker.training.run_config import read_tables
    from reranker.training.span_config import SpanTrainingConfig

    architecture = read_tables(arguments.config).get("model", {}).get("architecture")
    kinds: dict[Any, type[RunConfig]] = {
        EncoderDecoder.architecture: PairConfig,
        SpanModel.architecture: SpanTrainingConfig,
    }
    read = functools.partial(
        kinds.get(architecture, TrainingConfig).from_file,
        arguments.config,
        budget_minutes=arguments.budget,
        epochs=arguments.epochs,
        seed=arguments.seed,
        precision=arguments.precision,
        direction=arguments.direction,
        text=arguments.text,
        fine_tuning=arguments.fine_tuning,
    )
    config = read(shards=arguments.shards)
    return config if config.shards or not processes else read(shards=processes)


def output(arguments: argparse.Namespace) -> Path:
    """The file to write; makes its folder and the log folder. Raises InputError if it, or a file of
    the log folder, would take the place of something else."""
    from reranker.training.log import log_files

    for folder in (arguments.out.parent, log_folder(arguments)):
        with write_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
    names = ("train", "dev", "train_target", "dev_target")
    inputs: list[str | Path] = []
    for name in names:
        inputs += treebank_files(getattr(arguments, name) or ())
    others = (arguments.config, arguments.start_from, arguments.vectors, arguments.encoder)
    inputs += files_of(filter(None, others))
    (out, *_) = output_paths([arguments.out, *log_files(log_folder(arguments))], inputs)
    assert out is not None
    return out


@contextlib.contextmanager
def _claimed(arguments: argparse.Namespace, processes: Processes) -> Iterator[Path]:
    """The file to write. The first process claims it and the state, for all of them. Raises
    InputError if another run has one of them."""
    with contextlib.ExitStack() as claims:
        with processes.agreeing():
            out = output(arguments)
            state = log_folder(arguments) / "state.pt"
            for path in (state, out) if processes.is_first else ():
                claims.enter_context(claimed(path))
        yield out


def _train(arguments: argparse.Namespace, processes: Processes) -> int:
    """In this process, one of ``processes``."""
    with _claimed(arguments, processes) as out:
        return _trained(arguments, processes, out)


def _trained(arguments: argparse.Namespace, processes: Processes, out: Path) -> int:
    import torch

    from reranker.training.config import TrainingConfig
    from reranker.training.loop import train, train_pairs, train_spans
    from reranker.training.pair_config import PairConfig
    from reranker.training.pretrained import PretrainedEncoder
    from reranker.training.processes import are_launched
    from reranker.training.span_config import SpanTrainingConfig
    from reranker.training.word_vectors import WordVectors

    with processes.agreeing():
        config = configuration(arguments, processes.size if are_launched() else 0)
    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"--device {arguments.device}: no CUDA device here")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    folder = log_folder(arguments)
    bar, unit = _ProgressBar(), "token"
    options: dict[str, Any] = {"device": arguments.device, "report": bar.report}
    options["processes"] = processes
    if isinstance(config, PairConfig):
        if arguments.stream:
            raise InputError("--stream is for language models that are trained on trees")
        _check_flags(arguments, config.task)
        with processes.agreeing():
            pairs, dev_pairs = (_pairs(arguments, side, config) for side in ("train", "dev"))
        _announce(len(pairs), len(dev_pairs), "pairs", folder)
        perplexity = train_pairs(config, pairs, dev_pairs, out, folder, **options)
    else:
        if arguments.train_target or arguments.dev_target:
            raise InputError("--train-target and --dev-target are for encoder-decoders")
        with processes.agreeing():
            train_trees, dev_trees = _trees(arguments, config, processes)
            vectors = None
            if arguments.vectors is not None:
                vectors = WordVectors.read(arguments.vectors, arguments.vector_words)
        options["vectors"] = vectors
        files = out, folder
        if isinstance(config, SpanTrainingConfig):
            if arguments.encoder and arguments.start_from:
                raise InputError("--start-from: the checkpoint has an encoder of its own, or none")
            options["start_from"] = arguments.start_from
            if arguments.encoder:
                with processes.agreeing():
                    options["encoder"] = PretrainedEncoder.read(arguments.encoder)
            perplexity = train_spans(config, train_trees, dev_trees, *files, **options)
            unit = "word"
        else:
            assert isinstance(config, TrainingConfig)
            if arguments.encoder:
                raise InputError("--encoder is for span models")
            options["start_from"] = arguments.start_from
            perplexity = train(config, train_trees, dev_trees, *files, **options)
    bar.close()
    print(f"{arguments.out}: dev perplexity {perplexity:.3f} per {unit}", file=sys.stderr)
    return 0


def _trees(
    arguments: argparse.Namespace, config: RunConfig, processes: Processes
) -> tuple[Any, Any]:
    """What is in --train and --dev: tokens of trees, with their tags for a span model, or of lines
    of text."""
    from reranker.training.config import TrainingConfig
    from reranker.training.span_config import SpanTrainingConfig
    from reranker.training.tree_files import TreeFiles

    is_text = isinstance(config, TrainingConfig) and config.text
    folder = log_folder(arguments)
    if arguments.stream:
        if is_text or not isinstance(config, TrainingConfig):
            raise InputError("--stream is for language models that are trained on trees")
        dev = [*map(linearize, read_treebank(arguments.dev))]
        train = TreeFiles(arguments.train, folder, processes)
        _announce(f"{counted(len(train.paths), 'file')} of", len(dev), "trees", folder)
        return train, dev
    is_tagged = isinstance(config, SpanTrainingConfig)
    read: Callable[[Tree], Any] = linearize_tagged if is_tagged else linearize
    train_lines, dev_lines = (
        read_running_text(paths) if is_text else [*map(read, read_treebank(paths))]
        for paths in (arguments.train, arguments.dev)
    )
    _announce(len(train_lines), len(dev_lines), "lines" if is_text else "trees", folder)
    return train_lines, dev_lines


def _announce(train: int | str, dev: int, noun: str, folder: Path) -> None:
    print(f"{train} training {noun}, {dev} dev {noun}; logs in {folder}", file=sys.stderr)


def _check_flags(arguments: argparse.Namespace, task: str) -> None:
    """Raises InputError for flags that an encoder-decoder does not have."""
    if arguments.start_from or arguments.vectors:
        raise InputError("--start-from and --vectors are for language models")
    if arguments.encoder:
        raise InputError("--encoder is for span models")
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

        # Not one for several processes: such a lock would outlive a process that is killed.
        tqdm.set_lock(threading.RLock())
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
