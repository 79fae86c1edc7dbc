"""The training pairs of encoder-decoders: treebanks, or parallel text."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from reranker.errors import InputError
from reranker.files.text import MAX_LINE, encoding_fault, read_lines
from reranker.nbest.notation import PLACEHOLDER, PUNCTUATION
from reranker.nbest.words import split_words
from reranker.plugins.generation.pair_vocabulary import Pair
from reranker.trees.linearize import is_word, linearize
from reranker.trees.tree import Tree

MOST_WORDS = 1_000  # of a line
_LOGGER = logging.getLogger(__name__)


def tree_pairs(trees: Iterable[Tree], tags: bool) -> Iterator[Pair]:
    """Yield the words and the linearised tree, in which ``_DT_`` or, without ``tags``, ``XX``
    stands for a word, while punctuation stays (Vinyals et al. 2015, Suzuki et al. 2018).

    >>> tree = Tree.from_string("(S (NP (DT The) (NN dog)) (VP (VBZ runs)) (. .))")
    >>> " ".join(next(tree_pairs([tree], True)).target)
    '(S (NP _DT_ _NN_ )NP (VP _VBZ_ )VP . )S'
    """
    for tree in trees:
        tokens = linearize(tree)
        words = tuple(filter(is_word, tokens))
        kept = iter(tree.word_tags())
        target = [_stand_in(next(kept), tags) if is_word(token) else token for token in tokens]
        yield Pair(words, tuple(target))


def _stand_in(tag: str, tags: bool) -> str:
    if tag in PUNCTUATION:
        return tag
    return f"_{tag}_" if tags else PLACEHOLDER


def text_pairs(source: Path, target: Path | None = None) -> Iterator[Pair]:
    """Yield the pairs in two files, line by line, or in one file with a tab between source and
    target.

    A line that cannot be used is skipped and logged with file, line and reason. Raises InputError
    for files that cannot be read to their ends, have different numbers of lines, or no pairs.
    """
    count = 0
    for number, sides in enumerate(_sides(source, target), 1):
        if fault := _fault(sides):
            _LOGGER.warning("%s:%d: skipped, %s", source, number, fault)
            continue
        words, others = (tuple(split_words(side)) for side in sides)
        count += 1
        yield Pair(words, others)
    if not count:
        raise InputError(f"{source}: contains no pairs")


def _sides(source: Path, target: Path | None) -> Iterator[list[str]]:
    """Yield the source and target of each line."""
    if target is None:
        for line in read_lines(source):
            yield line.rstrip("\r\n").split("\t")
        return
    for number, (line, other) in enumerate(zip_longest(read_lines(source), read_lines(target)), 1):
        if line is None or other is None:
            short, long = (source, target) if line is None else (target, source)
            raise InputError(f"{short}: ends after {number - 1} lines, {long} is longer")
        yield [line, other]


def _fault(sides: list[str]) -> str | None:
    """Return why a line cannot be used."""
    if len(sides) != 2:
        return f"{len(sides) - 1} tabs, not one between source and target"
    for name, side in zip(("source", "target"), sides, strict=True):
        if len(side) > MAX_LINE:
            return f"its {name} has more than {MAX_LINE} characters"
        if fault := encoding_fault(side):
            return fault
        words = len(split_words(side))
        if not 1 <= words <= MOST_WORDS:
            return f"its {name} has {words} words, not 1 to {MOST_WORDS}"
    return None
