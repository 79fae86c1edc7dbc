"""The picture of ``rerank tune --plot``: F1 by the weight of the language models."""

from __future__ import annotations

from pathlib import Path

from reranker.errors import InputError, RerankError
from reranker.evaluation.brackets import corpus_f1
from reranker.ranking import Weighing
from reranker.tuning.lists import ScoredLists
from reranker.tuning.search import f1_by_lm_weight


def plot(path: Path, lists: ScoredLists, chosen: Weighing) -> None:
    """Write F1 of the lists by ``lm_weight``, with the other weights of ``chosen``; the ending of
    ``path`` is the format.

    Raises InputError if matplotlib is missing, there is nothing to mix with or the ending is
    unknown, RerankError if the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        message = "--plot needs matplotlib; pip install 'parse-reranker[train]'"
        raise InputError(message) from error
    if not lists.has_parser_scores:
        raise InputError("--plot: there are no parser scores, so only one weight is possible")
    curve = f1_by_lm_weight(lists, chosen)
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.stairs(curve.f1, curve.edges, baseline=None, label="mixed")
    centres = (curve.edges[1:] + curve.edges[:-1]) / 2
    axes.plot(centres, curve.smoothed(centres), label="mean of the neighbourhood")
    axes.axvline(chosen.lm_weight, color="black", linestyle=":", label=f"W = {chosen.lm_weight:g}")
    parser, oracle = corpus_f1(lists.parsers_first()), corpus_f1(lists.oracle())
    axes.axhline(parser, color="tab:red", linestyle="--", label=f"parser {parser:.2f}")
    # Far above: drawn to scale, it would leave no room for the curve.
    axes.plot([], [], " ", label=f"oracle {oracle:.2f}")
    axes.set(xlabel="weight W of the language models", ylabel="F1", xlim=(0, 1))
    axes.grid(alpha=0.3)
    axes.legend()
    try:
        figure.savefig(path, dpi=120)
    except ValueError as error:  # no such format
        raise InputError(f"--plot {path}: {error}") from error
    except OSError as error:
        raise RerankError(f"{path}: cannot be written: {error.strerror}") from error
