"""The contribution of each member of an ensemble: F1 of each alone, of all but each, and of chosen
subsets, from one ranked output.

    rerank --nbest gum.nbest --models ckpt/*.pt --output ranked --out gum.jsonl
    python eval/tables/ablation.py gum=gum.jsonl,gum.mrg craft=craft.jsonl,craft.mrg \\
        --members rnn-forward spans

A set is ranked output and its gold trees, whose tags every candidate gets; members are named in the
order of their files. Models choose alone (W = 1), each with weight 1. p is of approximate
randomisation, 10,000 samples, against all of them; the last column of a set is the share of the way
from the parser's first trees to the best ones in the lists. With ``--candidates N`` lists end after
the parser's first N.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from figures import NONE, p_text

from reranker.errors import InputError
from reranker.evaluation.brackets import GoldTrees, corpus_f1
from reranker.evaluation.significance import compare
from reranker.files.table import grid
from reranker.outputs.ranked_file import ranked_lines
from reranker.plugins.tuning.scored_lists import ScoredLists, read_scored
from reranker.process.flags import reporting_errors, script_parser, whole_number
from reranker.ranking import Weighing

Subset = tuple[str, ...]


def read_set(text: str, most: int | None = None) -> tuple[str, ScoredLists]:
    """Return the name and the lists of NAME=RANKED,GOLD, of each the parser's first ``most``.
    Raises InputError."""
    name, _, files = text.partition("=")
    ranked, _, gold = files.partition(",")
    if not (name and ranked and gold):
        raise InputError(f"{text}: a set is NAME=RANKED,GOLD")
    lines = ranked_lines(ranked, gold)
    return name, read_scored(lines, GoldTrees([gold], True), ranked, most)


def subsets(members: Sequence[str], more: Sequence[Sequence[str]]) -> dict[str, Subset]:
    """Return the members of each row by the row's name: all, each alone, all but each, and
    ``more``. Raises InputError if ``more`` names something that is not a member."""
    taken = {"all", "parser", "oracle"} & set(members)
    if taken or len(set(members)) < len(members):
        raise InputError(f"--members: {min(taken, default='a name')} stands for something else")
    subsets: dict[str, Subset] = {"all": tuple(members)}
    subsets |= {name: (name,) for name in members}
    if len(members) > 2:
        for name in members:
            subsets[f"all but {name}"] = tuple(other for other in members if other != name)
    for some in more:
        for name in some:
            if name not in members:
                raise InputError(f"--subset: {name} is none of {', '.join(members)}")
        subsets.setdefault(", ".join(some), tuple(some))
    return subsets


def rows(
    sets: Mapping[str, ScoredLists], members: Sequence[str], wanted: Mapping[str, Subset]
) -> list[list[str]]:
    """Return the name of each subset and, for each set, F1, p and the share of the gap. Raises
    InputError if the members are not as many as were scored."""
    for name, lists in sets.items():
        if lists.number_of_members != len(members):
            raise InputError(
                f"{name}: scored by {lists.number_of_members} models, not {len(members)}"
            )
    table = [[label] for label in ("parser", *wanted, "oracle")]
    for lists in sets.values():
        parser, oracle = lists.parsers_first(), lists.oracle()
        low, high = corpus_f1(parser), corpus_f1(oracle)
        everything = lists.chosen(_weighing(members, members))
        counts_of = {"parser": parser, "oracle": oracle}
        counts_of |= {
            label: lists.chosen(_weighing(members, some)) for label, some in wanted.items()
        }
        for row in table:
            counts, is_choice = counts_of[row[0]], row[0] in wanted
            is_tested = row[0] not in ("all", "oracle")
            test = compare(everything, counts)
            closed = 100 * (test.f1 - low) / (high - low) if high > low else 0.0
            row += [
                f"{test.f1:.2f}",
                p_text(test.randomisation_p) if is_tested else NONE,
                f"{closed:.0f}%" if is_choice else NONE,
            ]
    return table


def _weighing(members: Sequence[str], some: Sequence[str]) -> Weighing:
    return Weighing(member_weights=tuple(float(name in some) for name in members))


@reporting_errors("ablation")
def main(argv: Sequence[str]) -> int:
    """Print the table; return 0, or 2 for files or names that cannot be used."""
    parser = script_parser("ablation.py", __doc__)
    parser.add_argument("sets", nargs="+", metavar="NAME=RANKED,GOLD")
    parser.add_argument("--members", nargs="+", required=True, metavar="MEMBER")
    parser.add_argument("--subset", nargs="+", action="append", default=[], metavar="MEMBER")
    parser.add_argument("--candidates", type=whole_number(1), metavar="N")
    arguments = parser.parse_args(argv)
    sets = dict(read_set(each, arguments.candidates) for each in arguments.sets)
    wanted = subsets(arguments.members, arguments.subset)
    table = rows(sets, arguments.members, wanted)
    heads = [head for name in sets for head in (name, "p", "gap closed")]
    print(grid(["models", *heads], table))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
