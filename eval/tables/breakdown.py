"""The gains of reranking by group: F1 of the parser's first trees and of the chosen ones, by the
sentence's length and, where a file says it, by genre.

    rerank parse gum.words --tokens --output ranked --out gum.jsonl
    python eval/tables/breakdown.py GUM=gum.jsonl,gum_wh/dev.mrg.gz,gum_wh/dev.genres.txt.gz \\
        CRAFT=craft.jsonl,craft/dev.mrg.gz

A set is ranked output, its gold trees, whose tags every candidate gets, and perhaps a file with a
sentence's genre on each line. The chosen trees are those that come first there, whatever weights
were used. p is of approximate randomisation, 10,000 samples, of the chosen trees against the first
ones.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from figures import p_text
from numpy.typing import NDArray

from reranker.errors import InputError
from reranker.evaluation.brackets import GoldTrees, corpus_f1
from reranker.evaluation.significance import compare
from reranker.files.table import grid
from reranker.files.text import read_lines
from reranker.outputs.ranked_file import best_tree, ranked_lines, read_ranked
from reranker.process.flags import reporting_errors, script_parser

_LENGTHS = (10, 20, 30, 40)
HEADS = ["", "sentences", "first tree", "chosen", "gain", "p"]


class Trees(NamedTuple):
    """The brackets of the parser's first tree and of the chosen one of each sentence, as (matched,
    gold, test), [S, 3]."""

    first: NDArray[np.int64]
    chosen: NDArray[np.int64]


def read_set(text: str) -> tuple[str, Trees, dict[str, list[int]]]:
    """Return the name and the trees of NAME=RANKED,GOLD[,GENRES], and the numbers of each group's
    sentences. Raises InputError."""
    name, _, files = text.partition("=")
    ranked, _, files = files.partition(",")
    gold_file, _, genre_file = files.partition(",")
    if not (name and ranked and gold_file):
        raise InputError(f"{text}: a set is NAME=RANKED,GOLD[,GENRES]")
    gold = GoldTrees([gold_file], True)
    trees = _trees(ranked, gold, gold_file)
    groups = [length_group(len(tree.tree.leaves())) for tree in gold]
    order = [*map(length_group, _LENGTHS), length_group(_LENGTHS[-1] + 1)]
    if genre_file:
        genres = [line.strip() for line in read_lines(genre_file)]
        if len(genres) != len(gold):
            raise InputError(f"{genre_file}: {len(genres)} genres for {len(gold)} trees")
        groups += genres
        order += sorted(set(genres))
    numbers: dict[str, list[int]] = {"all": list(range(len(gold))), **{each: [] for each in order}}
    for place, group in enumerate(groups):
        numbers[group].append(place % len(gold))
    return name, trees, {group: found for group, found in numbers.items() if found}


def _trees(ranked: str, gold: GoldTrees, gold_file: str) -> Trees:
    sentences = [*read_ranked(ranked, ranked_lines(ranked, gold_file), with_indexes=True)]
    without = sum(not sentence["ranking"] for sentence in sentences)
    if len(sentences) != len(gold) or without:
        raise InputError(
            f"{ranked}: {len(sentences)} sentences, {without} of them without a tree, and "
            f"{len(gold)} gold trees"
        )
    first, chosen = [], []
    for tree, sentence in zip(gold, sentences, strict=True):
        parsers_first = min(sentence["ranking"], key=lambda entry: int(entry["index"]))
        first.append(tree.score(parsers_first["tree"]).counts)
        chosen.append(tree.score(best_tree(sentence)).counts)
    return Trees(np.array(first), np.array(chosen))


def length_group(words: int) -> str:
    """Return the group of a sentence of this many words.

    >>> length_group(10), length_group(11), length_group(77)
    ('1 to 10 words', '11 to 20 words', 'over 40 words')
    """
    for limit in _LENGTHS:
        if words <= limit:
            return f"{limit - 9} to {limit} words"
    return f"over {_LENGTHS[-1]} words"


def rows(trees: Trees, groups: Mapping[str, Sequence[int]]) -> list[list[str]]:
    """Return a row of the table for each group."""
    table = []
    for name, numbers in groups.items():
        first, chosen = trees.first[numbers], trees.chosen[numbers]
        test = compare(first, chosen)
        figures = f"{corpus_f1(first):.2f}", f"{test.f1:.2f}", f"{test.difference:+.2f}"
        table.append([name, str(len(numbers)), *figures, p_text(test.randomisation_p)])
    return table


@reporting_errors("breakdown")
def main(argv: Sequence[str]) -> int:
    """Print the table; return 0, or 2 for files that cannot be used."""
    parser = script_parser("breakdown.py", __doc__)
    parser.add_argument("sets", nargs="+", metavar="NAME=RANKED,GOLD[,GENRES]")
    for each in parser.parse_args(argv).sets:
        name, trees, groups = read_set(each)
        print(f"{name}:\n\n{grid(HEADS, rows(trees, groups))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
