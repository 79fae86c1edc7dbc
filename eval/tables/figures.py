"""From scored files to figures: perplexity and F1 of single models and ensembles.

Every model is scored once; ensembles, weights and tests are arithmetic on those scores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.errors import InputError
from reranker.evaluation.brackets import corpus_f1
from reranker.evaluation.significance import compare
from reranker.files.text import open_text
from reranker.ranking import Weighing
from reranker.tuning.choosing import cross_validated
from reranker.tuning.lists import ScoredLists, read_scored
from reranker.tuning.search import tune

FOLDS = 10
Counts = NDArray[np.int64]


def token_log_probabilities(path: Path) -> NDArray[np.float64]:
    """[tokens] in nats, of every tree in what ``--output ranked --token-scores`` wrote."""
    found: list[float] = []
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            ranking = json.loads(line)["ranking"]
            if not ranking:
                raise InputError(f"{path}:{number}: the tree was not scored")
            found += [value for _, value in ranking[0]["token_scores"]]
    return np.array(found)


def perplexity(members: Sequence[NDArray[np.float64]]) -> float:
    """Per token, ``<eos>`` counted, of the average of the members' probabilities."""
    averaged = np.logaddexp.reduce(np.stack(members), axis=0) - np.log(len(members))
    return float(np.exp(-averaged.mean()))


def merged(paths: Sequence[Path]) -> Iterator[str]:
    """Ranked output of an ensemble, from that of each member by itself.

    Raises InputError where files are not of the same candidates.
    """
    files = [path.read_text("utf-8", errors="surrogateescape").splitlines() for path in paths]
    if len({len(lines) for lines in files}) > 1:
        raise InputError(f"{paths[0].parent}: scored files of different lengths")
    for number, lines in enumerate(zip(*files, strict=True), 1):
        rankings = [json.loads(line)["ranking"] for line in lines]
        scores = [{one["index"]: one["nll"] for one in ranking} for ranking in rankings]
        if any(one.keys() != scores[0].keys() for one in scores):
            raise InputError(f"{paths[0].parent}: line {number}: other candidates are scored")
        first = [
            {**one, "member_nll": [member[one["index"]] for member in scores]}
            for one in rankings[0]
        ]
        yield json.dumps({"ranking": first})


class Lists:
    """The n-best lists of a set, scored by many models."""

    def __init__(self, paths: Mapping[str, Path], gold: Path, gold_tags: bool) -> None:
        """``paths`` are the scored files by model."""
        self._columns = {name: column for column, name in enumerate(paths)}
        with open_text(gold) as lines:
            self._all = read_scored(merged(list(paths.values())), lines, gold_tags)

    def __len__(self) -> int:
        return len(self._all)

    def of(self, names: Sequence[str]) -> ScoredLists:
        """As these models alone score them, each with its share of the mean log-probability.

        A sum of many would choose the same alone, but mix well only under weights so small that
        tuning, which looks at a tenth of all weights together, passes them by.
        """
        columns = [self._columns[name] for name in names]
        return replace(self._all, members=self._all.members[:, :, columns] / len(columns))

    def parser(self) -> Counts:
        return self._all.parsers_first()

    def oracle(self) -> Counts:
        return self._all.oracle()

    def random_f1(self) -> float:
        """F1 of the expected brackets if every different candidate is as likely as the others."""
        chances = self._all.is_candidate / self._all.is_candidate.sum(1, keepdims=True)
        matched, gold, test = (self._all.counts * chances[:, :, None]).sum((0, 1)).tolist()
        return float(200 * matched / (gold + test)) if gold + test else 0.0


@dataclass(frozen=True, slots=True)
class Choice:
    """The brackets of what a row chose, [S, 3] matched, gold and test."""

    alone: Counts
    mixed: Counts | None  # with the parser's score; None if it gave none


def choice(lists: ScoredLists, tuned_on: ScoredLists | None) -> Choice:
    """What models choose by themselves, and mixed with the parser under a weight that is chosen on
    ``tuned_on`` or, without it, cross-validated in ``FOLDS`` blocks of neighbouring sentences."""
    alone = lists.chosen(Weighing())
    if not lists.has_parser_scores:
        return Choice(alone, None)
    if tuned_on is None:
        return Choice(alone, cross_validated(lists, False, False, FOLDS))
    return Choice(alone, lists.chosen(tune(tuned_on, False, False)))


def f1_figures(chosen: Counts, parser: Counts, oracle: Counts) -> dict[str, Any]:
    """F1 of all and of both halves, and the share of the gap from parser to oracle that it closes;
    percent."""
    half = (len(chosen) + 1) // 2
    f1, low, high = (corpus_f1(one) for one in (chosen, parser, oracle))
    return {
        "f1": f1,
        "halves": [corpus_f1(part) for part in (chosen[:half], chosen[half:])],
        "gap_closed": 100 * (f1 - low) / (high - low) if high > low else None,
    }


def comparison(base: Counts, chosen: Counts) -> dict[str, float]:
    """Both tests of ``reranker.evaluation.significance``."""
    return asdict(compare(base, chosen))
