"""Nodes that patterns match in a treebank, by `rerank grep` and by nltk.tgrep.

    python eval/plugins/searching.py gum/dev.mrg.gz

Each row is a pattern: its matches in the first 1,000 trees as each of them counts, and in how many
trees the nodes differ. The patterns have all of nltk's relations.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from itertools import islice

import nltk
from nltk import tgrep

from reranker.files.table import aligned
from reranker.plugins.grep.pattern import Pattern
from reranker.plugins.grep.table import Table, members
from reranker.process.flags import positive, reporting_errors
from reranker.trees.linearize import cleaned
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank

PATTERNS = """NP < (NP $.. SBAR)
NP > (VP > S)
VP << i@/^(who|which|that)$/
NN >> (PP > NP)
S <, NP <' "."
NP <2 NN >1 VP
NP <-1 PP >-2 S
VP <: VB | <: VBP
NP <<, DT >>, S
VP <<' NN >>' S
S <<: VP
VB >>: S
DT . NN
NN , JJ
NP .. VP !.. NP
"," ,, (NP !<< ",")
NP $ VP
VP $. "." $, NP
NP $.. PP !$,, VP
__ < (CC $, NP $. NP)
S !< NP
NP|VP < PP & !> S
NP [< PP | < SBAR] !>> VP
i@"the" . /s$/""".splitlines()


class Node(nltk.ParentedTree):  # type: ignore[misc]
    """A node equal to nothing but itself: nltk's ``>>,`` takes a node for another with the same
    words."""

    __eq__, __hash__ = object.__eq__, object.__hash__


@reporting_errors("searching")
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("treebank")
    parser.add_argument("--most", type=positive, default=1_000, metavar="TREES")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)  # nltk calls pyparsing by its old names
    trees = [*islice(map(cleaned, read_treebank([arguments.treebank])), arguments.most)]
    theirs, tables = [*map(_with_nodes_for_words, trees)], [*map(Table, trees)]
    places = [tree.treepositions() for tree in theirs]  # in the order of a table's numbers
    rows: list[tuple[str, ...]] = [("pattern", "matches", "nltk's", "trees that differ")]
    for text in PATTERNS:
        pattern = Pattern(text)
        ours = [[*members(pattern.matching(table))] for table in tables]
        positions = zip(places, tgrep.tgrep_positions(text, theirs), strict=True)
        numbers = [sorted(map(each.index, found)) for each, found in positions]
        differ = sum(one != other for one, other in zip(ours, numbers, strict=True))
        rows.append((text, *map(str, (sum(map(len, ours)), sum(map(len, numbers)), differ))))
    print(f"{len(trees):,} trees")
    print(aligned(rows))
    return 0


def _with_nodes_for_words(tree: Tree | str) -> Node:
    """Return nltk's tree, with words as nodes without children: its strings know no parent."""
    if isinstance(tree, str):
        return Node(tree, [])
    return Node(tree.label, [*map(_with_nodes_for_words, tree.children)])


if __name__ == "__main__":
    sys.exit(main())
