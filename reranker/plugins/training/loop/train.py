"""The training loop: from a new or a saved run to a checkpoint.

A run may be killed at any moment: its whole state (weights, optimiser, place in the data, random
numbers) is saved every ``STATE_INTERVAL`` seconds, and the same command resumes it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import torch

from reranker.errors import ConfigError
from reranker.plugins.training.loop import shards
from reranker.plugins.training.loop.log import Log, TrainingLog
from reranker.plugins.training.loop.run import Progress, Run

STATE_INTERVAL = 45.0  # seconds
_LOG_INTERVAL = 50  # batches


class _Diverged(Exception):
    """A number of the run is not finite any more; the text says which."""


def train(
    run: Run,
    out: Path,
    log_folder: Path,
    report: Callable[[Progress, float, float], None] = lambda progress, loss, done: None,
    begun: float | None = None,
) -> float:
    """Resume or begin the run, train to its end and write the best model to ``out``; return its
    perplexity on the dev data.

    ``report(progress, loss, done)`` is called after every batch with the loss in nats per token (of
    a span model, per word) and the share of the budget used. If the run has several processes, all
    of them must call this; the first writes files. ``begun`` is the moment, of time.monotonic, from
    which on the budget counts, by default now.

    Raises ConfigError if ``log_folder`` holds the state of another run, and if training diverges,
    in which case ``out`` is written all the same if an evaluation gave a finite perplexity before.
    """
    reason = ""
    try:
        _train_on(run, log_folder, report, time.monotonic() if begun is None else begun)
    except _Diverged as diverged:
        reason = f"training diverged: {diverged}"
    progress, kept = run.progress, ""
    if progress.best_weights:
        with run.processes.agreeing():
            if run.processes.is_first:
                run.save_best(out)
        best = f"dev perplexity {progress.best_perplexity:.6g}"
        kept = f"; the best weights before, {best}, are in {out}"
    if reason:
        rate = run.config.learning_rate
        raise ConfigError(f"{reason}{kept}; try a lower learning_rate than {rate}")
    return progress.best_perplexity


def _remove_what_kills_left(path: Path) -> None:
    """Remove files that writers of ``path``, killed before these had their names, have left. The
    run has claimed ``path``, so nobody writes them any more."""
    for left in path.parent.glob(f"{path.name}.{16 * '[0-9a-f]'}.tmp"):
        left.unlink(missing_ok=True)


def _train_on(
    run: Run, log_folder: Path, report: Callable[[Progress, float, float], None], begun: float
) -> None:
    """Train from the saved state, if there is one, to the end."""
    state_path = log_folder / "state.pt"
    processes = run.processes
    with processes.agreeing():
        if state_path.exists():
            run.resume(state_path)
        if processes.is_first:
            _remove_what_kills_left(state_path)
    processes.check_equal((run.identity(), run.progress.batches), "training data or saved state")
    _check_weights(run)
    started, saved = begun - run.progress.seconds, time.monotonic()
    first = processes.first(saved - started), run.progress.tokens, run.progress.batches
    finished = False
    writer = TrainingLog if processes.is_first else Log
    with writer(log_folder, resume_at=run.progress.batches) as log:
        while not finished:
            done = run.share_done
            finished = done >= 1 or run.recipe.finished
            if not finished:
                rate = _learn(run, done)
                run.progress.seconds = processes.first(time.monotonic() - started)
                run.speed = (
                    run.progress.seconds - first[0],
                    run.progress.tokens - first[1],
                    run.progress.batches - first[2],
                )
                report(run.progress, run.progress.mean_loss, done)
                _log_loss(run, rate, log)
            if run.evaluation_due(finished):
                _check_weights(run)
                run.shorten_dev()
                before = time.monotonic()
                _evaluate(run, log)
                seconds = processes.first(time.monotonic() - before)
                run.evaluation_seconds = max(run.evaluation_seconds, seconds)
                finished |= run.recipe.finished
            if finished:
                run.end_time()
            if processes.first(finished or time.monotonic() - saved > STATE_INTERVAL):
                _check_weights(run)  # a run that resumes shall not resume into this
                run.save(state_path)
                saved = time.monotonic()


def _learn(run: Run, done: float) -> float:
    """Run forward, backward and an optimiser step for the next batch; return the learning rate.
    Raises _Diverged before a step that would ruin the weights."""
    batch = run.recipe.batches.next()
    loss, tokens = shards.backward(run, batch) if run.config.shards else run.backward(batch)
    norm = float(torch.nn.utils.clip_grad_norm_(run.model.parameters(), run.config.clip))
    progress = run.progress
    if not (math.isfinite(loss) and math.isfinite(norm)):
        what = f"loss is {loss}" if not math.isfinite(loss) else f"norm of its gradient is {norm}"
        raise _Diverged(f"in batch {progress.batches + 1} the {what}")
    rate = run.recipe.step(batch, done)
    run.model.zero_grad(set_to_none=True)
    progress.batches += 1
    progress.tokens += tokens
    progress.mean_loss += (loss - progress.mean_loss) / min(progress.batches, _LOG_INTERVAL)
    return rate


def _check_weights(run: Run) -> None:
    """Raise _Diverged for weights that are not finite."""
    if not all(bool(weight.isfinite().all()) for weight in run.model.parameters()):
        raise _Diverged(f"after batch {run.progress.batches} weights are not finite")


def _log_loss(run: Run, rate: float, log: Log) -> None:
    progress = run.progress
    if progress.batches % _LOG_INTERVAL == 0:
        log.write(
            progress.batches, tokens=progress.tokens, seconds=progress.seconds,
            loss=progress.mean_loss, learning_rate=rate,
        )  # fmt: skip


def _evaluate(run: Run, log: Log) -> None:
    """Measure dev perplexity, keep the weights if they are the best so far, and let the recipe
    decide what follows. Raises _Diverged if no evaluation so far gave a finite perplexity."""
    progress = run.progress
    progress.evaluated_at = progress.batches
    if run.processes.size > 1:
        sums = [float(weight.detach().double().sum()) for weight in run.model.parameters()]
        run.processes.check_equal(str(sums), "weights")
    with run.recipe.evaluation_weights():
        perplexity = run.dev_perplexity()
        is_last_kept = run.config.keep == "last" and math.isfinite(perplexity)
        improved = is_last_kept or perplexity < progress.best_perplexity
        if improved:
            progress.best_perplexity = perplexity
            progress.best_weights = {
                name: weight.detach().cpu().clone() for name, weight in run.model.named_parameters()
            }
    log.write(
        progress.batches, tokens=progress.tokens, seconds=progress.seconds,
        dev_perplexity=perplexity, epoch=run.recipe.batches.progress,
    )  # fmt: skip
    log.plot()
    if not progress.best_weights:
        raise _Diverged(f"after batch {progress.batches} dev perplexity is {perplexity}")
    run.recipe.evaluated(perplexity, progress.best_weights, improved)
