"""The plot of ``rerank tune``: F1 by the weight of the language models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reranker.errors import InputError
from reranker.evaluation.brackets import corpus_f1
from reranker.ranking import Weighing
from reranker.tuning.lists import ScoredLists
from reranker.tuning.search import WINDOW, f1_by_lm_weight

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(figure: Figure, lists: ScoredLists, chosen: Weighing) -> None:
    """Draw F1 of the lists by ``lm_weight``, with the other weights of ``chosen``. Raises
    InputError if there are no parser scores to mix with."""
    if not lists.has_parser_scores:
        raise InputError("nothing to plot: without parser scores only one weight is possible")
    curve = f1_by_lm_weight(lists, chosen)
    axes = figure.subplots()
    axes.stairs(curve.f1, curve.edges, baseline=None, label="mixed")
    centres = (curve.edges[1:] + curve.edges[:-1]) / 2
    axes.plot(centres, curve.smoothed(centres), label=f"mean within {WINDOW:g}")
    axes.axvline(
        chosen.lm_weight, color="black", linestyle=":", label=f"chosen, W = {chosen.lm_weight:g}"
    )
    parser, oracle = corpus_f1(lists.parsers_first()), corpus_f1(lists.oracle())
    axes.axhline(parser, color="tab:red", linestyle="--", label=f"parser {parser:.2f}")
    # In the legend only: drawn to scale, it would leave no room for the curve.
    axes.plot([], [], " ", label=f"oracle {oracle:.2f}")
    axes.set(
        title=f"Corpus F1 of {len(lists)} sentences by the weight of the language models",
        xlabel="weight W of the language models (parser: 1 - W)",
        ylabel="corpus F1 (%)",
        xlim=(0, 1),
    )
    axes.grid(alpha=0.3)
    axes.legend()
