"""Training from data to a checkpoint in one call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reranker.plugins.generation.pair_config import PairConfig
from reranker.plugins.generation.pair_run import PairRun
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.language_models.run import LanguageModelRun
from reranker.plugins.training.loop import train as loop
from reranker.plugins.training.loop.config import RunConfig
from reranker.plugins.training.loop.run import Progress, Run
from reranker.plugins.training.spans.config import SpanTrainingConfig
from reranker.plugins.training.spans.run import SpanRun

RUNS: dict[type[RunConfig], Callable[..., Run]] = {
    TrainingConfig: LanguageModelRun,
    PairConfig: PairRun,
    SpanTrainingConfig: SpanRun,
}


def train(
    config: RunConfig,
    data: Any,
    dev: Any,
    out: Path,
    log_folder: Path,
    *,
    report: Callable[[Progress, float, float], None] = lambda progress, loss, done: None,
    **start: Any,
) -> float:
    """Train a new run with this configuration; returns its dev perplexity. ``start`` is what else
    its class takes."""
    return loop.train(RUNS[type(config)](config, data, dev, **start), out, log_folder, report)


def log(folder: Path) -> list[dict[str, float]]:
    """Return the rows of a log, without the seconds, which no two runs share."""
    rows = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return [{name: row[name] for name in row if name != "seconds"} for row in rows]
