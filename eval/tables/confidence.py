"""How far a fitted confidence travels: fitted to each set of lists, judged on each.

    python eval/tables/confidence.py gum=gum.jsonl,gum.mrg craft=craft.jsonl,craft.mrg

A set is ranked output and its gold trees, whose tags every candidate gets. Where both are one set,
figures are cross-validated in blocks of neighbouring sentences, as `rerank tune` does.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from reranker.commands.arguments import script_parser, weight
from reranker.commands.confidence_table import HEADS, cells
from reranker.commands.ranked_file import ranked_lines
from reranker.errors import InputError, RerankError
from reranker.evaluation.brackets import GoldTrees
from reranker.files.markdown import grid
from reranker.ranking import Weighing
from reranker.tuning.confidence import Choices, Judged, choices, cross_validated, fit, probabilities
from reranker.tuning.lists import ScoredLists, read_scored

FOLDS = 10


def read_set(text: str, most: int | None = None) -> tuple[str, ScoredLists]:
    """The name and the lists of NAME=RANKED,GOLD, of each the parser's first ``most``. Raises
    InputError."""
    name, _, files = text.partition("=")
    ranked, _, gold = files.partition(",")
    if not (name and ranked and gold):
        raise InputError(f"{text}: a set is NAME=RANKED,GOLD")
    lines = ranked_lines(ranked, gold)
    return name, read_scored(lines, GoldTrees([gold], True), ranked, most)


def rows(sets: Mapping[str, ScoredLists], weighing: Weighing) -> list[list[str]]:
    """Fitted to, judged on, and the figures. Raises InputError for a set that is too small."""
    found = {name: choices(lists, weighing) for name, lists in sets.items()}
    for name, some in found.items():
        if not some.are_enough:
            raise InputError(f"{name}: too few best trees that are not the parser's first")
    table = []
    for judged, lists in sets.items():
        for fitted in sets:
            if fitted == judged:
                outcome = cross_validated(lists, weighing, FOLDS)
            else:
                outcome = _judged(found[judged], found[fitted], weighing)
            table.append([fitted, judged, *cells(outcome)])
    return table


def _judged(judged: Choices, fitted: Choices, weighing: Weighing) -> Judged:
    return Judged(judged.is_better, probabilities(judged, fit(fitted, weighing)))


def main(argv: Sequence[str]) -> int:
    """Print; returns 0, or 2 for files that cannot be used."""
    parser = script_parser("confidence.py", __doc__)
    parser.add_argument("sets", nargs="+", metavar="NAME=RANKED,GOLD")
    parser.add_argument("--lm-weight", type=weight, default=1.0, metavar="W", help="default: 1")
    arguments = parser.parse_args(argv)
    try:
        sets = dict(map(read_set, arguments.sets))
        table = rows(sets, Weighing(arguments.lm_weight))
    except RerankError as error:
        print(f"confidence: {error}", file=sys.stderr)
        return 2
    print(grid(["fitted to", "judged on", *HEADS], table))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
