"""The stages of an adaptation; each resumes where an earlier run stopped."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from reranker.adaptation.choosing import Choice, choices
from reranker.adaptation.folder import Folder
from reranker.parsers.parser import Parser
from reranker.parsers.waiting import result_of
from reranker.pipeline import Reranker
from reranker.text.reading import Refused, TextSentence
from reranker.trees.linearize import is_word, linearize_text

T = TypeVar("T")

SHARD = 100
"""Sentences that are parsed at once, and lost to an interruption."""

HELD_OUT = 20
"""One of so many sentences is not learned from: it tells what has been learned."""


def parse(
    sentences: Iterable[TextSentence],
    parser: Parser,
    jobs: int,
    folder: Folder,
    done: Callable[[int], None],
) -> int:
    """Parse what is not parsed yet, ``jobs`` shards at once; ``done`` is told the number of
    sentences of each finished one. Returns how many shards there are."""

    def finish(shard: tuple[int, list[TextSentence]]) -> int:
        number, lines = shard
        if not folder.is_parsed(number):
            whole = [line for line in lines if not (line.fault or line.problem)]
            parsed = iter(parser.parse([line.sentence for line in whole]) if whole else ())
            lists, refused = [], []
            for line in lines:
                answer = line.fault or line.problem or next(parsed)
                if isinstance(answer, str):
                    refused.append(Refused(line.origin.file, line.origin.line, answer))
                else:
                    lists.append(answer)
            folder.put_lists(number, lists, refused)
        return len(lines)

    count = 0
    with ThreadPoolExecutor(jobs) as threads:
        # Few at a time: the text may be longer than memory.
        try:
            for several in _batches(enumerate(_batches(sentences, SHARD)), jobs):
                for shard in [threads.submit(finish, one) for one in several]:
                    done(result_of(shard))
                count += len(several)
        except BaseException:
            parser.stop()
            raise
    return count


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def choose(
    shards: int,
    load: Callable[[], Reranker],
    folder: Folder,
    done: Callable[[int], None],
) -> None:
    """Let the ensemble choose where it has not yet; it is only loaded for that."""
    reranker = None
    for shard in range(shards):
        if not folder.is_chosen(shard):
            reranker = reranker or load()
            folder.put_choices(shard, [*choices(reranker, folder.lists(shard))])
        done(1)


class Silver(NamedTuple):
    """Linearised trees."""

    learned: list[tuple[str, ...]]
    """To learn from."""
    held_out: list[tuple[str, ...]]
    repeated: int
    """Sentences left out since they occur before, or among those held out."""


def silver(made: Sequence[Choice], margin: float | None) -> Silver:
    """The trees of which the ensemble is certain (``Choice.is_certain``), or all if the margin is
    None; every ``HELD_OUT``-th is held out."""
    trees = [linearize_text(choice.tree) for choice in made]
    held_out = trees[::HELD_OUT]
    seen = Counter(map(_words, held_out))
    learned, repeated = [], 0
    for place, (choice, tree) in enumerate(zip(made, trees, strict=True)):
        if place % HELD_OUT == 0:
            continue
        if seen[words := _words(tree)]:
            repeated += 1
        elif margin is None or choice.is_certain(margin):
            seen[words] += 1
            learned.append(tree)
    return Silver(learned, held_out, repeated)


def without(
    trees: Sequence[tuple[str, ...]], others: Sequence[tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """The trees of sentences that are not among the others'."""
    known = set(map(_words, others))
    return [tree for tree in trees if _words(tree) not in known]


def _words(tokens: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(token.lower() for token in tokens if is_word(token))
