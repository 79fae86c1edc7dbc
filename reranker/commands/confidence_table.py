"""What ``rerank tune`` prints and draws of the confidence that it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reranker.errors import InputError
from reranker.files.table import aligned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reranker.confidence import Calibration
    from reranker.ranking import Weighing
    from reranker.tuning.confidence import Bin, Quality
    from reranker.tuning.lists import ScoredLists


class ConfidenceTable:
    """A calibration for lists under a weighing, and how good it is on lists not fitted to."""

    def __init__(self, lists: ScoredLists, weighing: Weighing, folds: int) -> None:
        from reranker.tuning.confidence import choices

        self._choices = choices(lists, weighing)
        self._lists, self._weighing, self._folds = len(lists), weighing, folds
        self.calibration: Calibration | None = None
        self._bins: list[Bin] = []
        if self._choices.are_enough:
            self._fit()

    def _fit(self) -> None:
        from reranker.tuning.confidence import Quality, cross_validated, fit, reliability

        some = self._choices
        self.calibration = fit(some, self._weighing)
        unseen = cross_validated(some, self._lists, self._folds, self._weighing)
        self._bins = reliability(unseen, some.is_better)
        self._share = float(some.is_better.mean())
        self._constant = Quality.of(unseen * 0 + self._share, some.is_better)
        self._unseen = Quality.of(unseen, some.is_better)

    def format(self) -> str:
        """The figures, or why there are none."""
        from reranker.tuning.confidence import FEWEST

        some = self._choices
        better = int(some.is_better.sum())
        text = (
            f"confidence: {len(some)} of {self._lists} best trees are not the parser's first; "
            f"{better} are better"
        )
        if self.calibration is None:
            return f"{text}: too few to learn from, {FEWEST} of each kind are needed\n"
        rows = [("", "Brier", "log loss", "calibration error")]
        rows += [
            (f"always {self._share:.3f}", *_figures(self._constant)),
            ("cross-validated", *_figures(self._unseen)),
        ]
        bins = [("confidence", "are better", "sentences")]
        bins += [(f"{one.said:.3f}", f"{one.found:.3f}", f"{one.size}") for one in self._bins]
        return f"{text}\n\n{aligned(rows)}\n{aligned(bins)}"

    def summary(self) -> list[str]:
        """A comment for the ensemble file, if there is anything to say."""
        if self.calibration is None:
            return []
        names = "Brier", "log loss", "calibration error"
        pairs = zip(names, _figures(self._unseen), _figures(self._constant), strict=True)
        figures = ", ".join(f"{name} {own} (constant {other})" for name, own, other in pairs)
        return [
            f"confidence: {len(self._choices)} best trees that are not the parser's first, "
            f"{100 * self._share:.1f} % better; cross-validated {figures}"
        ]

    def draw(self, figure: Figure) -> None:
        """The reliability diagram: share that is better by confidence, with 95 % intervals. Raises
        InputError if nothing could be fitted."""
        if self.calibration is None:
            raise InputError("no confidence to plot: there are too few choices")
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color="gray", linestyle=":", label="perfectly calibrated")
        said = [one.said for one in self._bins]
        found = [one.found for one in self._bins]
        ends = [one.interval for one in self._bins]
        below = [share - low for share, (low, _) in zip(found, ends, strict=True)]
        above = [high - share for share, (_, high) in zip(found, ends, strict=True)]
        size = self._bins[-1].size
        axes.errorbar(
            said, found, (below, above), fmt="o-", capsize=3,
            label=f"cross-validated, {size} sentences a point, 95 % intervals",
        )  # fmt: skip
        axes.axhline(self._share, color="tab:red", linestyle="--", label=f"all: {self._share:.3f}")
        axes.set(
            title=f"{len(self._choices)} best trees that are not the parser's first",
            xlabel="confidence: probability that the best tree is better",
            ylabel="share that is better",
            xlim=(0, 1),
            ylim=(0, 1),
        )
        axes.grid(alpha=0.3)
        axes.legend()


def _figures(quality: Quality) -> tuple[str, str, str]:
    return (
        f"{quality.brier:.4f}",
        f"{quality.log_loss:.4f}",
        f"{quality.calibration_error:.4f}",
    )
