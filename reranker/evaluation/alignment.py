"""Alignment of gold and test trees sentence by sentence, and explanations of mismatches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from reranker.errors import InputError
from reranker.evaluation.lines import read_line
from reranker.evaluation.parameters import Parameters
from reranker.evaluation.sentence import SentenceScore
from reranker.files.visible import counted
from reranker.trees.tree import TRACE
from reranker.trees.treebank import TreeText

MOST_NAMED = 10

_ALL_WORDS = Parameters(delete_labels=frozenset({TRACE}))

Places = Sequence[TreeText]


def paired(gold: Places, test: Places, gold_name: str, test_name: str) -> tuple[Places, Places]:
    """Return equally many gold and test sentences. Blank lines count as sentences, as for EVALB,
    unless the numbers agree only without them.

    Raises InputError, with both numbers and a guess at the cause, if the numbers never agree.
    """
    trees, test_trees = ([place for place in each if place.text] for each in (gold, test))
    for some_gold, some_test in ((gold, test), (trees, test), (trees, test_trees)):
        if len(some_gold) == len(some_test):
            return some_gold, some_test
    numbers = f"{gold_name} has {counted(len(trees), 'sentence')} but {test_name} has {len(test)}"
    raise InputError("; ".join([numbers, *shift(trees, test)]))


def complaints(gold: Places, test: Places, scores: Sequence[SentenceScore]) -> Iterator[str]:
    """Yield a line for each of the first sentences that could not be scored, with the place of the
    tree at fault, the number of the others, and a guess at the cause."""
    left_out = [
        f"{gold_place if score.blames_gold else place}: {score.status}: {score.reason}"
        for gold_place, place, score in zip(gold, test, scores, strict=True)
        if score.status != "valid"
    ]
    yield from left_out[:MOST_NAMED]
    if len(left_out) > MOST_NAMED:
        yield f"... and {len(left_out) - MOST_NAMED:,} more of {len(test):,} sentences"
    if left_out:
        yield from shift(gold, test)


def shift(gold: Places, test: Places) -> Iterator[str]:
    """Yield a message if the files are shifted: test sentences have the words of gold sentences in
    other places, mostly at the same distance."""
    gold_words, test_words = ([_words(place) for place in each] for each in (gold, test))
    numbers = defaultdict(list)
    for number, words in enumerate(gold_words):
        numbers[words].append(number)
    shifts = []
    for place, words in enumerate(test_words):
        elsewhere = numbers[words] if words else []
        if elsewhere and place not in elsewhere:
            nearest = min(elsewhere, key=lambda number: abs(number - place))
            shifts.append((nearest - place, place))
    if shifts:
        by, _ = Counter(by for by, _ in shifts).most_common(1)[0]
        first = next(place for further, place in shifts if further == by)
        yield f"{test[first]} has the words of {gold[first + by]}: is one of the files shifted?"


def _words(place: TreeText) -> tuple[str, ...]:
    return tuple(read_line(place.text, _ALL_WORDS).words)
