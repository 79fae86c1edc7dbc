"""Sentences whose marks are missing, repeated or added."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from reranker.plugins.augmenting.rewriting import (
    leaf,
    lowered,
    phrase,
    subtrees,
    without_mark,
)
from reranker.trees.tree import Tree


def stops(tree: Tree, draw: Random) -> Iterator[Tree]:
    """Leave out the mark at the end of a sentence that is no question, or repeat it."""
    found = without_mark(tree)
    if found and found[1] != "?":
        yield _ended(found[0], draw, ["!!", "!!!", "..", "!"])


def questions(tree: Tree, draw: Random) -> Iterator[Tree]:
    """Leave out the mark of a question, some of which then begin with a small letter, or repeat
    it."""
    found = without_mark(tree)
    if found and found[1] == "?":
        sentence = lowered(found[0]) if draw.random() < 0.5 else found[0]
        yield _ended(sentence, draw, ["??", "???", "?!"])


def _ended(sentence: Tree, draw: Random, marks: list[str]) -> Tree:
    mark = [leaf(".", draw.choice(marks))] if draw.random() < 0.12 else []
    return phrase("TOP", phrase(sentence.label, *subtrees(sentence), *mark))


def items(tree: Tree, draw: Random) -> Iterator[Tree]:
    """Begin a short sentence or heading with the number or bullet of an item of a list."""
    found = without_mark(tree)
    kept = found[0] if found and draw.random() < 0.6 else next(iter(subtrees(tree)), tree)
    if len(subtrees(tree)) != 1 or kept.label not in ("S", "NP", "FRAG"):
        return
    if not 2 <= len(kept.words()) < 15 or not kept.tags()[0].isalpha() or "LS" in kept.tags():
        return
    number = draw.choice([*map(str, range(1, 11)), "a", "b", "c", "i", "ii", "iii"])
    first = phrase("LST", leaf("LS", number + draw.choice([".", ".", "-RRB-", ""])))
    if draw.random() < 0.4:
        first = leaf(*draw.choice([("SYM", "•"), ("SYM", "*"), (":", "-"), (":", "--")]))
    yield phrase("TOP", phrase(kept.label, first, *subtrees(kept)))
