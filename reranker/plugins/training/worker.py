"""``rerank train`` in one process: reads its files, trains, and shows progress."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from reranker import registry
from reranker.commands.progress import message
from reranker.errors import InputError, RerankError
from reranker.files.both_ways import release
from reranker.files.claim import claimed
from reranker.files.output import files_of, make_folder, output_paths
from reranker.files.visible import counted
from reranker.plugins.training.loop.config import RunConfig, read_tables
from reranker.plugins.training.loop.log import log_files
from reranker.plugins.training.loop.run import NewRun, Progress, Run
from reranker.plugins.training.loop.settings import TrainSettings
from reranker.plugins.training.loop.train import train
from reranker.plugins.training.processes import Processes, are_launched, joined, own_threads
from reranker.trees.treebank import treebank_files


def run(settings: TrainSettings) -> int:
    """Train in this process, alone or as one of a launcher's; return the exit code."""
    with joined(settings.device) as (processes, device):
        settings = replace(settings, device=device)
        if are_launched() and not (settings.threads or "OMP_NUM_THREADS" in os.environ):
            torch.set_num_threads(own_threads())
        if processes.is_first:
            return _train(settings, processes)
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
            try:
                return _train(settings, processes)
            except RerankError:  # the first says it
                return 2


def configuration(settings: TrainSettings, processes: int) -> RunConfig:
    """Return the configuration given by --config and other flags. With several ``processes`` (0: a
    plain run), batches are cut into as many shards unless the number is given. Raises ConfigError
    naming the file."""
    architecture = read_tables(settings.config).get("model", {}).get("architecture")
    kind: type[RunConfig] = _kind(architecture).CONFIG
    names = "epochs", "seed", "language", "precision", "direction", "text", "fine_tuning", "shards"
    given = {name: getattr(settings, name) for name in names}
    config = kind.from_file(settings.config, budget_minutes=settings.budget, **given)
    if config.shards or not processes:
        return config
    return replace(config, shards=processes).checked(settings.config)


def output(settings: TrainSettings) -> Path:
    """Return the file to write; create its folder and the log folder. Raises InputError if the
    file, or a file in the log folder, would replace something else."""
    for folder in (settings.out.parent, settings.folder):
        make_folder(folder)
    names = ("train", "dev", "train_target", "dev_target", "taught_text")
    inputs: list[str | Path] = []
    for name in names:
        inputs += treebank_files(getattr(settings, name) or ())
    others = (
        settings.config,
        settings.start_from,
        settings.vectors,
        settings.encoder,
        settings.teacher,
    )
    inputs += files_of(filter(None, others))
    (out, *logs) = output_paths([settings.out, *log_files(settings.folder)], inputs)
    assert out is not None
    for log in filter(None, logs):
        release(log)  # a resumed run reads its own
    return out


def _train(settings: TrainSettings, processes: Processes) -> int:
    """Train in this process, one of ``processes``. The first claims the output and the state on
    behalf of all. Raises InputError if another run has claimed one of them."""
    with contextlib.ExitStack() as claims:
        with processes.agreeing():
            out = output(settings)
            state = settings.folder / "state.pt"
            for path in (state, out) if processes.is_first else ():
                claims.enter_context(claimed(path))
        return _trained(settings, processes, out)


def _trained(settings: TrainSettings, processes: Processes, out: Path) -> int:
    """Read the files, train, and write the checkpoint ``out``."""
    with processes.agreeing():
        config = configuration(settings, processes.size if are_launched() else 0)
    if settings.device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"--device {settings.device}: no CUDA device here")
    if settings.threads:
        torch.set_num_threads(settings.threads)
    with processes.agreeing():
        new_run = _new_run(settings, config, processes)
    with processes.agreeing():
        run = new_run.create(device=settings.device, processes=processes)
    del new_run  # and with it an encoder's weights and the trees
    bar = _ProgressBar()
    perplexity = train(run, out, settings.folder, bar.report, settings.begun)
    bar.close()
    message(f"{settings.out}: dev perplexity {perplexity:.3f} per {run.unit}, {_extent(run)}")
    return 0


def _extent(run: Run) -> str:
    """Return how long a run has trained, with advice if it has not seen all of its data."""
    epochs, progress = run.recipe.batches.progress, run.progress
    batches = counted(progress.batches, "batch", "batches")
    extent = f"after {epochs:.3g} epochs, {batches} and {progress.seconds:.0f} seconds"
    if epochs >= 1:
        return extent
    return f"{extent}: some training data was not seen; use a larger --budget or a smaller --config"


def _kind(architecture: object) -> Any:
    """Return the module that trains an architecture: see ``reranker.registry``."""
    name = str(architecture)
    return registry.load(
        "trainings", name if name in registry.built_in("trainings") else "language-model"
    )


# Flags that one kind of model or another takes (``TAKES``), and what a message calls that kind.
_FLAGS = {
    ("stream",): "language models that are trained on trees",
    ("encoder", "teacher"): "span models",
    ("taught_text",): "span models",
    ("start_from", "vectors"): "language models",
    ("train_target", "dev_target"): "encoder-decoders",
}


def _new_run(settings: TrainSettings, config: RunConfig, processes: Processes) -> NewRun:
    """Read the training data. Raises InputError for flags that do not apply to the kind of model,
    and for files that cannot be read."""
    kind = _kind(config.architecture)
    for names, models in _FLAGS.items():
        if any(getattr(settings, name) for name in names) and not kind.TAKES.issuperset(names):
            flags = " and ".join(f"--{name.replace('_', '-')}" for name in names)
            raise InputError(f"{flags} {'are' if len(names) > 1 else 'is'} for {models}")
    new: NewRun = kind.new_run(settings, config, processes)
    message(f"{new.train} training {new.noun}, {new.dev} dev {new.noun}; logs in {settings.folder}")
    return new


_SAID_EVERY = 60.0  # seconds between two lines about progress


class _ProgressBar:
    """A bar on a terminal, else a line a minute: share of the budget, loss, best dev perplexity and
    speed."""

    def __init__(self) -> None:
        from tqdm import tqdm

        # Not one for several processes: such a lock would outlive a process that is killed.
        tqdm.set_lock(threading.RLock())
        self._bar = tqdm(
            total=1.0,
            disable=not sys.stderr.isatty(),
            bar_format="{percentage:5.1f}%|{bar}| {elapsed} left {remaining} {postfix}",
        )
        self._start = self._said = time.monotonic()
        self._first_tokens: int | None = None  # of this run; a resumed one has trained on others

    def report(self, progress: Progress, loss: float, done: float) -> None:
        """Show the ``loss`` in nats per token; ``done`` is from 0 to 1."""
        if self._first_tokens is None:
            self._first_tokens = progress.tokens
        seconds = max(1e-9, time.monotonic() - self._start)
        speed = (progress.tokens - self._first_tokens) / seconds
        state = (
            f"{loss:.3f} nats/token, dev perplexity {progress.best_perplexity:.3f}, "
            f"{speed:,.0f} tokens/s"
        )
        self._bar.n = done
        self._bar.set_postfix_str(state, refresh=False)
        self._bar.update(0)
        if self._bar.disable and time.monotonic() - self._said >= _SAID_EVERY:
            self._said = time.monotonic()
            batches = counted(progress.batches, "batch", "batches")
            message(f"{100 * done:.1f}%, {batches}, {state}")

    def close(self) -> None:
        self._bar.close()
