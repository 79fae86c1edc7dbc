"""How often matches of patterns in parsed text are right, by their probability.

    python eval/tables/patterns.py dev.mrg.gz 'SBAR > NP' 'PP > NP' 'ADJP|ADVP|NP|VP < CC'

The gold trees' words are parsed with the built-in parser. For each pattern: how often it matches in
the gold trees, in the best trees, and is expected to, and how many of the matches of each range of
probability are in the gold trees, too. Last, how far the probability of a bracket in a list is from
that in the chart, which is exact.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter

from reranker.commands.arguments import positive, script_parser
from reranker.files.table import aligned
from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers.parser import ParserSettings, temperature_of
from reranker.parsers.registry import create_parser
from reranker.search.matches import Match, matches
from reranker.search.parses import Parses, from_nbest
from reranker.search.pattern import Pattern
from reranker.trees.linearize import cleaned
from reranker.trees.treebank import read_treebank

RANGES = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.01)
ANY_BRACKET = Pattern("__ < (__ < __) !== TOP")


def main(arguments: argparse.Namespace) -> None:
    parser = create_parser("chart", ParserSettings(candidates=arguments.candidates))
    temperature = temperature_of(parser)
    patterns = {text: Pattern(text) for text in arguments.patterns}
    gold_counts, best = Counter[str](), Counter[str]()
    expected = dict.fromkeys(patterns, 0.0)
    seen, right = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    distances: list[float] = []
    for tree in map(cleaned, read_treebank([arguments.gold])):
        (answer,) = parser.parse([Sentence.of(tree.leaves(), tree.tags())])
        parses = from_nbest(answer, temperature, print) if isinstance(answer, NBest) else None
        if parses is None or not isinstance(answer, NBest) or answer.certainty is None:
            continue
        gold, first = Parses("", 0, (tree,)), Parses("", 0, parses.trees[:1])
        for text, pattern in patterns.items():
            true = set(map(_key, matches(pattern, gold)))
            gold_counts[text] += len(true)
            best[text] += len(matches(pattern, first))
            for match in matches(pattern, parses):
                probability = match.probability or 0.0
                expected[text] += probability
                place = sum(probability >= least for least in RANGES)
                seen[text, place] += 1
                right[text, place] += _key(match) in true
        exact = answer.certainty.probabilities
        listed = {_key(match): match.probability or 0.0 for match in matches(ANY_BRACKET, parses)}
        for key in {*exact, *listed}:
            pair = exact.get(key, 0.0), listed.get(key, 0.0)
            if max(pair) >= RANGES[0]:
                distances.append(abs(pair[0] - pair[1]))
    ranges = [f"{low:g}-{min(high, 1):g}" for low, high in itertools.pairwise(RANGES)]
    rows = [("pattern", "gold", "best trees", "expected", *ranges)]
    for text in patterns:
        shares = [
            f"{100 * right[text, place] / max(1, seen[text, place]):.0f} % of {seen[text, place]}"
            for place in range(1, len(RANGES))
        ]
        counts = f"{gold_counts[text]}", f"{best[text]}", f"{expected[text]:.1f}"
        rows.append((text, *counts, *shares))
    print(aligned(rows))
    distances.sort()
    mean, most = sum(distances) / len(distances), distances[int(0.95 * len(distances))]
    print(f"lists and chart differ by {mean:.3f} on average, 95 % of brackets by up to {most:.3f}")


def _key(match: Match) -> tuple[int, int, str]:
    return match.start, match.end, match.label


if __name__ == "__main__":
    flags = script_parser("patterns.py", __doc__)
    flags.add_argument("gold", help="a treebank that the parser did not learn from")
    flags.add_argument("patterns", nargs="+")
    flags.add_argument("--candidates", type=positive, default=50, metavar="N")
    main(flags.parse_args())
