"""``rerank train`` in one process: reads its files, trains, and shows progress."""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from reranker import registry
from reranker.commands.arguments import counted
from reranker.commands.progress import message
from reranker.errors import InputError, RerankError
from reranker.files.claim import claimed
from reranker.files.output import files_of, output_paths
from reranker.files.own import make_folder
from reranker.models.span_model import SpanModel
from reranker.plugins.training.config import TrainingConfig
from reranker.plugins.training.language_model_run import LanguageModelRun
from reranker.plugins.training.log import log_files
from reranker.plugins.training.loop import train
from reranker.plugins.training.pretrained import PretrainedEncoder
from reranker.plugins.training.processes import Processes, are_launched, joined, own_threads
from reranker.plugins.training.run import Progress, Run
from reranker.plugins.training.run_config import RunConfig, read_tables
from reranker.plugins.training.span_config import SpanTrainingConfig
from reranker.plugins.training.span_run import SpanRun
from reranker.plugins.training.tree_files import StreamedTrees
from reranker.plugins.training.word_vectors import WordVectors
from reranker.text.running import read_running_text
from reranker.trees.linearize import linearize, linearize_tagged
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank, treebank_files


def run(arguments: argparse.Namespace) -> int:
    """Train in this process, alone or as one of those started by a launcher; return the exit
    code."""
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
    """Return the folder with the run's log and state."""
    folder: Path | None = arguments.log_folder
    return folder or Path("runs") / arguments.out.stem


def configuration(arguments: argparse.Namespace, processes: int) -> RunConfig:
    """Return the configuration given by --config and other flags. With several ``processes`` (0: a
    plain run), batches are cut into as many shards unless the number is given. Raises ConfigError
    naming the file."""
    architecture = read_tables(arguments.config).get("model", {}).get("architecture")
    kind: type[RunConfig] = TrainingConfig
    if architecture == SpanModel.architecture:
        kind = SpanTrainingConfig
    elif architecture in registry.ours("trainings"):
        kind = registry.load("trainings", architecture).CONFIG
    read = functools.partial(
        kind.from_file,
        arguments.config,
        budget_minutes=arguments.budget,
        epochs=arguments.epochs,
        seed=arguments.seed,
        language=arguments.language,
        precision=arguments.precision,
        direction=arguments.direction,
        text=arguments.text,
        fine_tuning=arguments.fine_tuning,
    )
    config = read(shards=arguments.shards)
    return config if config.shards or not processes else read(shards=processes)


def output(arguments: argparse.Namespace) -> Path:
    """Return the file to write; create its folder and the log folder. Raises InputError if the
    file, or a file in the log folder, would replace something else."""
    for folder in (arguments.out.parent, log_folder(arguments)):
        make_folder(folder)
    names = ("train", "dev", "train_target", "dev_target")
    inputs: list[str | Path] = []
    for name in names:
        inputs += treebank_files(getattr(arguments, name) or ())
    others = (
        arguments.config,
        arguments.start_from,
        arguments.vectors,
        arguments.encoder,
        arguments.teacher,
    )
    inputs += files_of(filter(None, others))
    (out, *_) = output_paths([arguments.out, *log_files(log_folder(arguments))], inputs)
    assert out is not None
    return out


def _train(arguments: argparse.Namespace, processes: Processes) -> int:
    """Train in this process, one of ``processes``. The first claims the output and the state on
    behalf of all. Raises InputError if another run has claimed one of them."""
    with contextlib.ExitStack() as claims:
        with processes.agreeing():
            out = output(arguments)
            state = log_folder(arguments) / "state.pt"
            for path in (state, out) if processes.is_first else ():
                claims.enter_context(claimed(path))
        return _trained(arguments, processes, out)


def _trained(arguments: argparse.Namespace, processes: Processes, out: Path) -> int:
    """Read the files, train, and write the checkpoint ``out``."""
    with processes.agreeing():
        config = configuration(arguments, processes.size if are_launched() else 0)
    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"--device {arguments.device}: no CUDA device here")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    with processes.agreeing():
        new_run = _new_run(arguments, config, processes)
    with processes.agreeing():
        run = new_run()
    del new_run  # and with it an encoder's weights and the trees
    bar = _ProgressBar()
    perplexity = train(run, out, log_folder(arguments), bar.report, arguments.begun)
    bar.close()
    unit = "word" if isinstance(run, SpanRun) else "token"
    message(f"{arguments.out}: dev perplexity {perplexity:.3f} per {unit}")
    return 0


def _new_run(
    arguments: argparse.Namespace, config: RunConfig, processes: Processes
) -> Callable[[], Run]:
    """Read the training data; calling the result creates the run. Raises InputError for flags that
    do not apply to its kind of model, and for files that cannot be read."""
    where: dict[str, Any] = {"device": arguments.device, "processes": processes}
    if arguments.stream and (not isinstance(config, TrainingConfig) or config.text):
        raise InputError("--stream is for language models that are trained on trees")
    if (arguments.encoder or arguments.teacher) and not isinstance(config, SpanTrainingConfig):
        raise InputError("--encoder and --teacher are for span models")
    if not isinstance(config, TrainingConfig | SpanTrainingConfig):
        other = registry.load("trainings", config.architecture)
        run, (train_size, dev_size), noun = other.new_run(arguments, config)
        _announce(train_size, dev_size, noun, log_folder(arguments))
        return functools.partial(run, **where)
    if arguments.train_target or arguments.dev_target:
        raise InputError("--train-target and --dev-target are for encoder-decoders")
    train_trees, dev_trees = _trees(arguments, config, processes)
    where["start_from"] = arguments.start_from
    if arguments.vectors is not None:
        where["vectors"] = WordVectors.read(arguments.vectors, arguments.vector_words)
    if isinstance(config, SpanTrainingConfig):
        if arguments.encoder:
            where["encoder"] = PretrainedEncoder.read(arguments.encoder)
        where["teacher"] = arguments.teacher
        return functools.partial(SpanRun, config, train_trees, dev_trees, **where)
    assert isinstance(config, TrainingConfig)
    return functools.partial(LanguageModelRun, config, train_trees, dev_trees, **where)


def _trees(
    arguments: argparse.Namespace, config: RunConfig, processes: Processes
) -> tuple[Any, Any]:
    """Return the content of --train and --dev: tokens of trees, with their tags for a span model,
    or of lines of text."""
    is_text = isinstance(config, TrainingConfig) and config.text
    folder = log_folder(arguments)
    if arguments.stream:
        dev = [*map(linearize, read_treebank(arguments.dev))]
        files = StreamedTrees(arguments.train, folder, processes)
        _announce(f"{counted(len(files.paths), 'file')} of", len(dev), "trees", folder)
        return files, dev
    is_tagged = isinstance(config, SpanTrainingConfig)
    read: Callable[[Tree], Any] = linearize_tagged if is_tagged else linearize
    train_lines, dev_lines = (
        read_running_text(paths) if is_text else [*map(read, read_treebank(paths))]
        for paths in (arguments.train, arguments.dev)
    )
    _announce(len(train_lines), len(dev_lines), "lines" if is_text else "trees", folder)
    return train_lines, dev_lines


def _announce(train: int | str, dev: int, noun: str, folder: Path) -> None:
    message(f"{train} training {noun}, {dev} dev {noun}; logs in {folder}")


class _ProgressBar:
    """A bar with the share of the budget used, loss, best dev perplexity and speed, on a
    terminal."""

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
        """Show the ``loss`` in nats per token; ``done`` is from 0 to 1."""
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
