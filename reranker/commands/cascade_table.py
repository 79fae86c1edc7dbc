"""``rerank tune --cascade``: what a cascade misses, as a table and as comments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reranker.errors import InputError
from reranker.files.table import aligned

if TYPE_CHECKING:
    from reranker.ranking import Weighing
    from reranker.tuning.cascade import Stages
    from reranker.tuning.lists import ScoredLists


def stages(named: Sequence[str], paths: Sequence[Path]) -> Stages:
    """The named members, one for each stage, then all the others together. Raises InputError."""
    known = {path.stem: number for number, path in enumerate(paths)}
    if len(known) < len(paths):
        raise InputError("--cascade names models by their files, and two have the same name")
    names = [name.removesuffix(".pt") for name in named]
    for name in names:
        if name not in known:
            raise InputError(f"--cascade: there is no model {name!r}; there are {', '.join(known)}")
    if len({*names}) < len(names):
        raise InputError("--cascade names a model twice")
    others = tuple(number for name, number in known.items() if name not in names)
    if not others:
        raise InputError("--cascade names every model; leave out those of the last stage")
    return (*((known[name],) for name in names), others)


class CascadeTable:
    """A cascade fitted to scored lists, and what it misses."""

    def __init__(
        self, lists: ScoredLists, weighing: Weighing, order: Stages, miss: float, folds: int
    ) -> None:
        from reranker.evaluation.brackets import corpus_f1
        from reranker.tuning.cascade import descend, fit, unseen

        self.cascade = fit(lists, weighing, order, miss)
        self._all_f1 = corpus_f1(lists.chosen(weighing))
        self._fitted = descend(lists, self.cascade)
        self._unseen = unseen(lists, weighing, order, miss, folds)

    def format(self, paths: Sequence[Path]) -> str:
        """The margins and the share of candidates each stage scores, then what is missed."""
        heads = ("stage", "models", "scored", "margin")
        rows = [
            (
                str(number),
                ", ".join(paths[member].stem for member in stage),
                f"{100 * share:.1f} %",
                f"{margin:.2f}" if margin is not None else "",
            )
            for number, (stage, share, margin) in enumerate(
                zip(
                    self.cascade.stages,
                    self._fitted.scored,
                    [*self.cascade.margins, None],
                    strict=True,
                ),
                1,
            )
        ]
        return f"{aligned([heads, *rows])}\n\n{self.summary()}"

    def summary(self) -> str:
        """What is missed, on one line."""
        fitted, held_out = self._fitted, self._unseen
        return (
            f"cascade: misses {100 * fitted.missed.mean():.2f} % of the best candidates, "
            f"{100 * held_out.missed.mean():.2f} % cross-validated; F1 {fitted.f1:.2f}, "
            f"{held_out.f1:.2f} cross-validated, {self._all_f1:.2f} if all models score everything"
        )
