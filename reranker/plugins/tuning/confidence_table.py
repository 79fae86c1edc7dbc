"""The tables and the figure of ``rerank tune`` about the confidence it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reranker.errors import InputError
from reranker.files.table import aligned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reranker.plugins.tuning.confidence import Judged
    from reranker.plugins.tuning.scored_lists import ScoredLists
    from reranker.ranking import Weighing
    from reranker.ranking.confidence import Calibration

HEADS = (
    "choices", "are better", "said", "calibration error", "by chance", "Brier", "constant",
    "log loss", "constant",
)  # fmt: skip
_WEIGHTS = 0.2, 0.4, 0.6, 0.8, 1.0


def cells(judged: Judged) -> tuple[str, ...]:
    """Return the figures below ``HEADS``; `constant` is for a forecast that always predicts the
    share of better choices."""
    constant = judged.constant
    shares = judged.share, float(judged.predicted.mean())
    errors = judged.calibration_error, judged.error_by_chance
    losses = judged.brier, constant.brier, judged.log_loss, constant.log_loss
    return (
        f"{len(judged.predicted)}",
        *(f"{figure:.3f}" for figure in (*shares, *errors)),
        *(f"{loss:.4f}" for loss in losses),
    )


class ConfidenceTable:
    """A calibration for lists under a weighing, and how good it is on lists it was not fitted
    to."""

    def __init__(self, lists: ScoredLists, weighing: Weighing, folds: int) -> None:
        from reranker.plugins.tuning.confidence import choices, cross_validated, fit

        self._lists, self._weighing, self._folds = lists, weighing, folds
        self._choices = choices(lists, weighing)
        self.calibration: Calibration | None = None
        if self._choices.are_enough:
            self.calibration = fit(self._choices, weighing)
            self._unseen = cross_validated(lists, weighing, folds)

    def format(self) -> str:
        """Return the figures, or the reason why there are none."""
        from reranker.plugins.tuning.confidence import FEWEST

        better = int(self._choices.is_better.sum())
        text = (
            f"confidence: {len(self._choices)} of {len(self._lists)} best trees are not the "
            f"parser's first; {better} are better"
        )
        if self.calibration is None:
            return f"{text}: too few to learn from, {FEWEST} of each kind are needed"
        bins = [("said", "are better", "choices")]
        bins += [
            (f"{each.predicted:.3f}", f"{each.observed:.3f}", f"{each.size}")
            for each in self._unseen.bins
        ]
        table = aligned([("cross-validated", *HEADS), *self._rows()])
        return f"{text}\n\n{table}\n\n{aligned(bins, left=0)}"

    def _rows(self) -> list[tuple[str, ...]]:
        """Return the figures for unseen choices under the fitted weight and under others."""
        from reranker.plugins.tuning.confidence import cross_validated

        own = self._weighing.lm_weight
        judged = {f"W = {own:.2f}": self._unseen}
        for weight in _WEIGHTS if self._lists.has_parser_scores else ():
            if weight != own:
                predicted = cross_validated(self._lists, self._weighing, self._folds, weight)
                judged[f"W = {weight:.2f}"] = predicted
        return [(name, *cells(each)) for name, each in judged.items() if len(each.predicted)]

    def summary(self) -> list[str]:
        """Return a comment for the ensemble file, or nothing without a calibration."""
        if self.calibration is None:
            return []
        unseen, constant = self._unseen, self._unseen.constant
        return [
            f"confidence: {len(unseen.predicted)} best trees are not the parser's first, "
            f"{100 * unseen.share:.1f}% of them better; cross-validated: Brier {unseen.brier:.4f} "
            f"(constant {constant.brier:.4f}), log loss {unseen.log_loss:.4f} (constant "
            f"{constant.log_loss:.4f}), calibration error {unseen.calibration_error:.3f} "
            f"({unseen.error_by_chance:.3f} by chance)"
        ]

    def draw(self, figure: Figure) -> None:
        """Draw the reliability diagram: share that is better by confidence, with 95% intervals.
        Raises InputError if nothing could be fitted."""
        if self.calibration is None:
            raise InputError("no confidence to plot: there are too few choices")
        unseen, bins = self._unseen, self._unseen.bins
        count = len(unseen.predicted)
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color="gray", linestyle=":", label="perfectly calibrated")
        axes.errorbar(
            [each.predicted for each in bins],
            [each.observed for each in bins],
            (
                [each.observed - each.interval[0] for each in bins],
                [each.interval[1] - each.observed for each in bins],
            ),
            fmt="o-",
            capsize=3,
            label=f"cross-validated, {bins[-1].size} choices a point, 95% intervals",
        )
        axes.axhline(
            unseen.share, color="tab:red", linestyle="--", label=f"of all: {unseen.share:.3f}"
        )
        axes.set(
            title=f"Is the best tree better than the parser's first? {count} choices",
            xlabel="confidence",
            ylabel="share that is better",
            xlim=(0, 1),
            ylim=(0, 1),
        )
        axes.grid(alpha=0.3)
        axes.legend()
