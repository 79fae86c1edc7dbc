"""Real lists of a given size, and one long tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from benchmarks.scoring.setting import stretched
from reranker.nbest import Candidate, NBest
from reranker.nbest.writing import list_text
from reranker.trees.linearize import delinearize, linearize
from reranker.trees.tree import Tree

ROOT = "S1"


def of_size(lists: Sequence[NBest], candidates: int, words: int, wanted: int) -> list[NBest]:
    """At most ``wanted`` lists, the nearest in length first; of the longest lists there are, made
    longer, if none has so many candidates."""
    enough = min(candidates, max(len(nbest.candidates) for nbest in lists))
    long_enough = [nbest for nbest in lists if len(nbest.candidates) >= enough]
    long_enough.sort(key=lambda nbest: abs(len(nbest.words) - words))
    return [resized(nbest, candidates) for nbest in long_enough[:wanted]]


def resized(nbest: NBest, candidates: int) -> NBest:
    """The first ``candidates``, or as many by ``stretched``, as trees that can be read again."""
    given, longer = len(nbest.candidates), stretched(nbest, candidates)
    tags = nbest.candidates[0].tree.tags()
    added = (_with_text(candidate, tags) for candidate in longer.candidates[given:])
    return replace(longer, candidates=(*longer.candidates[:given], *added))


def _with_text(candidate: Candidate, tags: Sequence[str]) -> Candidate:
    """With the text of its tokens, every bracket closed by the label that opened it."""
    opened: list[str] = []
    tokens = []
    for token in candidate.tokens:
        if token[0] == "(":
            opened.append(token[1:])
        tokens.append(f"){opened.pop()}" if token[0] == ")" else token)
    text = delinearize(tokens, candidate.words, tags, ROOT).to_string()
    return replace(candidate, text=text, tokens=tuple(tokens))


def long_tree(lists: Sequence[NBest], tokens: int) -> NBest:
    """One tree of at least so many tokens: the parser's first trees of sentence after sentence, as
    often as needed, under one S."""
    children: list[Tree | str] = []
    for number in count():
        children += lists[number % len(lists)].candidates[0].tree.children
        tree = Tree(ROOT, (Tree("S", tuple(children)),))
        made = linearize(tree)
        if len(made) >= tokens:
            return NBest("long", (Candidate(0, tree.to_string(), made, None, 1),), (), 1)
    raise AssertionError("endless")


def written(lists: Sequence[NBest], path: Path) -> Path:
    """In a file that every version reads."""
    text = "".join(list_text(nbest, number, "bllip") for number, nbest in enumerate(lists))
    path.write_text(text, "utf-8")
    return path
