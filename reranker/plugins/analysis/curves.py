"""Figure 2 of Takase et al. 2018: perplexity on the dev trees during training."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reranker.errors import InputError
from reranker.files.figure import label_plainly
from reranker.files.text import open_text
from reranker.plugins.analysis.report import Report, names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOG = "log.jsonl"


class Evaluation(NamedTuple):
    """One of the evaluations that `rerank train` makes during training."""

    epochs: float
    tokens: int
    minutes: float
    perplexity: float


def read_log(path: Path) -> list[Evaluation]:
    """Return the evaluations in a ``log.jsonl``, or in the ``log.jsonl`` of a run's folder.

    A line cut short by a kill is skipped. Raises InputError if the file cannot be read or contains
    no evaluations.
    """
    file = path / LOG if path.is_dir() else path
    evaluations = []
    with open_text(file) as lines:
        for line in lines:
            try:
                row = json.loads(line)
                evaluation = Evaluation(
                    float(row["epoch"]), int(row["tokens"]), row["seconds"] / 60,
                    float(row["dev_perplexity"]),
                )  # fmt: skip
            except (ValueError, KeyError, TypeError):
                continue  # about the training loss, or cut short
            if math.isfinite(evaluation.perplexity):
                evaluations.append(evaluation)
    if not evaluations:
        raise InputError(f"{file}: contains no evaluations; is it a log of `rerank train`?")
    return evaluations


def read_curves(paths: Sequence[Path], by: str) -> Report:
    """Report dev perplexity per token at each evaluation of several runs, each named after its
    folder."""
    logs = {path: read_log(path) for path in paths}
    folders = [(path if path.is_dir() else path.resolve().parent) for path in logs]
    runs = dict(zip(names(folders), logs.values(), strict=True))
    rows = [("run", "evaluations", "best", "at epoch", "tokens", "minutes", "last")]
    for name, evaluations in runs.items():
        best = min(evaluations, key=lambda evaluation: evaluation.perplexity)
        rows.append(
            (
                name, str(len(evaluations)), f"{best.perplexity:.3f}", f"{best.epochs:.2f}",
                f"{best.tokens:,}", f"{best.minutes:.1f}", f"{evaluations[-1].perplexity:.3f}",
            )
        )  # fmt: skip
    data = [
        {"run": name, "evaluations": [each._asdict() for each in evaluations]}
        for name, evaluations in runs.items()
    ]
    return Report([rows], data, partial(_draw, runs, by))


def _draw(runs: dict[str, list[Evaluation]], by: str, figure: Figure) -> None:
    """Draw a line for each run, perplexity over ``by``."""
    axes = figure.subplots()
    for name, evaluations in runs.items():
        points = [(getattr(each, by), each.perplexity) for each in evaluations]
        axes.plot(*zip(*points, strict=True), marker=".", label=name)
    axes.set(title="Perplexity on the dev trees during training")
    axes.set(xlabel=by, ylabel="perplexity per token", yscale="log")
    label_plainly(axes.yaxis)
    axes.grid(alpha=0.3, which="both")
    axes.legend()
