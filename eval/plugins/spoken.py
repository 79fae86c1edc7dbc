"""Sentence ends of talk without punctuation and case, beside those of gold trees.

    python eval/plugins/spoken.py masc/dev.mrg --first 119 --last 247

The words of the gold trees but punctuation, in lower case, are a stream. For each way to find ends:
how many, precision, recall and F1 of ends within the stream; F1 of brackets, with the words in
lower case parsed between these ends; and the calibration error of the probabilities of all ends.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from reranker.files.table import aligned
from reranker.files.text import read_lines
from reranker.nbest.data import Origin, Sentence
from reranker.parsers.choice import kept_parser
from reranker.plugins.spoken.scores import Scores
from reranker.plugins.spoken.transcript import SpokenOrigin, sentences
from reranker.process.flags import reporting_errors
from reranker.text.reading import TextSentence
from reranker.trees.constituents import brackets
from reranker.trees.linearize import cleaned
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank

Bracket = tuple[str, int, int]
_WORD = re.compile(r"\w")
_NO_WORDS = ("-LRB-", "-RRB-", "-LSB-", "-RSB-", "HYPH", "NFP", "SYM", "LS", "CODE")
_LONGEST = 60


@reporting_errors("spoken")
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("gold", help="a file of gold trees")
    parser.add_argument("--first", type=int, default=1, help="the first tree (default: 1)")
    parser.add_argument("--last", type=int, help="the last tree (default: of the file)")
    parser.add_argument("--genres", help="a file with the genre of each tree")
    parser.add_argument("--genre", default="conversation", help="the one to take")
    parser.add_argument("--parser-model", default="", help="a span model (default: the installed)")
    arguments = parser.parse_args()
    trees = list(read_treebank([arguments.gold]))
    if arguments.genres:
        genres = [line.strip() for line in read_lines(arguments.genres)]
        both = zip(trees, genres, strict=True)
        trees = [tree for tree, genre in both if genre == arguments.genre]
    print(figures(trees[arguments.first - 1 : arguments.last], arguments.parser_model))
    return 0


def figures(trees: Sequence[Tree], model: str) -> str:
    """Return the table."""
    words: list[str] = []
    ends: list[int] = []
    gold: list[Bracket] = []
    for tree in map(cleaned, trees):
        gold += brackets_of(tree, len(words))
        words += [
            word.lower() for word, is_kept in zip(tree.words(), kept(tree), strict=True) if is_kept
        ]
        if words and ends[-1:] != [len(words)]:
            ends.append(len(words))
    found = list(spoken(words, model))
    every = max(1, round(len(words) / len(ends)))
    ways = {
        "gold": ends,
        "rerank spoken": [end for end, _ in found],
        f"every {every} words": [*range(every, len(words), every), len(words)],
        f"every {_LONGEST} words": [*range(_LONGEST, len(words), _LONGEST), len(words)],
    }
    rows = [("ends", "sentences", "precision", "recall", "F1", "brackets F1")]
    for name, some in ways.items():
        rows.append(
            (
                name,
                str(len(some)),
                *f1(ends[:-1], some[:-1]),
                f1(gold, parsed(words, some, model))[-1],
            )
        )
    right = [(probability, end in ends) for end, probability in found[:-1]]
    return f"{aligned(rows)}\n{len(words)} words; calibration error of ends {error(right):.3f}"


def kept(tree: Tree) -> list[bool]:
    """Return for each word whether it is spoken."""
    pairs = zip(tree.words(), tree.tags(), strict=True)
    return [_WORD.search(word) is not None and tag not in _NO_WORDS for word, tag in pairs]


def brackets_of(tree: Tree, first: int) -> Iterator[Bracket]:
    """Yield the brackets around spoken words, counted from ``first``."""
    places = [0, *itertools.accumulate(kept(tree))]
    for node, start, end in brackets(tree):
        if node.label != "TOP" and places[start] < places[end]:
            yield node.label, first + places[start], first + places[end]


def spoken(words: Sequence[str], model: str) -> Iterator[tuple[int, float]]:
    """Yield the end of each sentence and its probability."""
    text, place = " ".join(words), 0
    offsets = []
    for word in words:
        offsets.append((place, place + len(word)))
        place += len(word) + 1
    line = TextSentence(Sentence(tuple(words)), Origin("gold", 1, text, tuple(offsets)))
    end = 0
    for each in sentences([line], Scores(model), _LONGEST, print):
        end += len(each.sentence.words)
        assert isinstance(each.origin, SpokenOrigin)
        yield end, each.origin.end_probability


def parsed(words: Sequence[str], ends: Sequence[int], model: str) -> Iterator[Bracket]:
    """Yield the brackets of the parser's best trees between these ends."""
    parser = kept_parser("chart", parser_model=model, candidates=1)
    for start, end in zip([0, *ends], ends, strict=False):
        (answer,) = parser.parse([Sentence(tuple(words[start:end]))])
        if not isinstance(answer, str):
            yield from brackets_of(cleaned(answer.candidates[0].tree), start)


def f1(
    gold: Iterator[object] | Sequence[object], found: Iterator[object] | Sequence[object]
) -> tuple[str, str, str]:
    """Return precision, recall and F1 in percent."""
    ours, theirs = Counter(found), Counter(gold)
    matched = (ours & theirs).total()
    counts = matched / max(1, ours.total()), matched / max(1, theirs.total())
    both = 2 * matched / max(1, ours.total() + theirs.total())
    precision, recall, score = (f"{100 * value:.1f}" for value in (*counts, both))
    return precision, recall, score


def error(right: Sequence[tuple[float, bool]]) -> float:
    """Return the expected calibration error over ten bins."""
    values = np.array(right, float).reshape(-1, 2)
    bins = np.minimum((values[:, 0] * 10).astype(int), 9)
    gaps = [abs((values[bins == n, 0] - values[bins == n, 1]).sum()) for n in range(10)]
    return float(sum(gaps) / max(1, len(values)))


if __name__ == "__main__":
    raise SystemExit(main())
