"""The structures counted in a tree: the nine structures of Lu (2010), and the depth of its words.

Lu, X. (2010). Automatic analysis of syntactic complexity in second language writing. International
Journal of Corpus Linguistics 15(4), 474-496. The patterns are those of section 3.2 and of L2SCA,
in our words; docs/complexity.md explains each.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reranker.errors import TreeError
from reranker.nbest.own_notation import is_only_phrase
from reranker.trees.linearize import cleaned
from reranker.trees.patterns.pattern import Pattern
from reranker.trees.patterns.table import Table
from reranker.trees.tree import UNKNOWN_TAG, Tree

Values = NDArray[np.float64]

_FINITE = "MD|VBD|VBP|VBZ"
_FINITE_VP = f"VP [<# {_FINITE} | < CC < (VP <# {_FINITE})]"
_CLAUSE = f"S|SINV|SQ [> TOP <, (VP <# VB) | <# {_FINITE} | < ({_FINITE_VP})]"
_DEPENDENT_CLAUSE = f"SBAR < ({_CLAUSE})"
_T_UNIT = "S|SBARQ|SINV|SQ [> TOP | $-- S|SBARQ|SINV|SQ !>> SBAR|VP]"

STRUCTURES = {
    "VP": ("VP > S|SINV|SQ", f"{_FINITE} > (SQ !< VP)"),
    "C": (_CLAUSE, f"FRAG > TOP !<< ({_CLAUSE})"),
    "T": (_T_UNIT, f"FRAG > TOP !<< ({_T_UNIT})"),
    "DC": (_DEPENDENT_CLAUSE,),
    "CT": (f"({_T_UNIT}) << ({_DEPENDENT_CLAUSE})",),
    "CP": ("ADJP|ADVP|NP|VP < CC",),
    "CN": (
        "NP !> NP [<< JJ|POS|PP|S|VBG | << (NP $++ NP !$+ CC)]",
        "SBAR [<# WHNP | <# (IN < That|that|For|for) | <, S] [$+ VP | > VP]",
        "S < (VP <# VBG|TO) $+ VP",
    ),
}
"""Their patterns; a structure is as frequent as the matches of all of its patterns together."""

COUNTED = (
    *("W", "S", *STRUCTURES),
    *("yngve", "yngve max", "frazier", "frazier max", "nodes", "depth", "depth max"),
)
"""The names of the figures that ``counts`` returns."""

_PATTERNS = [[Pattern(text) for text in texts] for texts in STRUCTURES.values()]
# Tags that say nothing, and universal ones: no pattern names them.
_NO_TAG = re.compile(r"[-_*?]+|X|UNK")
_UNIVERSAL = frozenset({"ADP", "CCONJ", "DET", "NOUN", "PRON", "PROPN", "PUNCT", "SCONJ", "VERB"})
_SENTENCE_NODES = frozenset({"S", "SBAR", "SBARQ", "SINV", "SQ"})


def counts(tree: Tree) -> Values:
    """Return [len(COUNTED)]: the frequency of each structure in a sentence's tree; of the depths of
    words, sums and maxima.

    Raises TreeError: ``empty`` without words, ``not-a-tree`` if words have no tags.
    """
    tree = cleaned(tree)
    _check_tags(tree.tags())
    table = Table(tree)
    structures = [
        sum(pattern.matching(table).bit_count() for pattern in patterns) for patterns in _PATTERNS
    ]
    words, depths = _depths(table)
    return np.array([words, 1, *structures, *depths], np.float64)


def _check_tags(tags: list[str]) -> None:
    """Raise TreeError if half of the words, or more, have no tags or universal ones. A word alone
    in a phrase has none, either."""
    universal = sum(tag in _UNIVERSAL for tag in tags)
    unknown = sum(_NO_TAG.fullmatch(tag) is not None or is_only_phrase(tag) for tag in tags)
    if set(tags) != {UNKNOWN_TAG} and 2 * (universal + unknown) < len(tags):
        return
    message = "its words have no part-of-speech tags"
    if universal > unknown:
        message = "its words have universal part-of-speech tags, not the Penn Treebank's"
    raise TreeError("not-a-tree", message)


def _depths(table: Table) -> tuple[int, list[float]]:
    """Return the number of words of a tree without its root, punctuation and nodes that are then
    empty; and sums and maxima of their depths.

    Yngve (1960): the branches below each node are numbered from right to left, from 0; a word's
    depth is the sum on its way from the root. Frazier (1985), in the words of Roark, Mitchell and
    Hollingshead (2007): the way up from a word as long as it comes from a leftmost child, each
    constituent on it counted as 1, of a sentence or its complement as 1.5; the maximum is that of
    the sum over three words in a row. Depth is the number of constituents above a word.
    """
    count = len(table.nodes)
    has_words = [False] * count
    for node in range(count - 1, 0, -1):
        parent = table.parent[node]
        if has_words[node] or (not table.children[node] and _is_word_tag(table.label(parent))):
            has_words[node] = has_words[parent] = True
    right, left, above = [0] * count, [0.0] * count, [0] * count
    yngve, frazier, depth = [], [], []
    constituents = 0
    for node in filter(has_words.__getitem__, range(count)):
        children = [child for child in table.children[node] if has_words[child]]
        if not table.children[children[0]]:  # a part-of-speech node and its word
            yngve.append(right[node])
            frazier.append(left[node])
            depth.append(above[node])
            has_words[children[0]] = False
            continue
        is_constituent = node > 0  # not the root
        constituents += is_constituent
        score = (1.5 if table.label(node) in _SENTENCE_NODES else 1.0) * is_constituent
        left[children[0]] = left[node] + score
        for branch, child in enumerate(reversed(children)):
            right[child] = right[node] + branch
            above[child] = above[node] + is_constituent
    if not yngve:
        return 0, [0.0] * 7
    in_a_row = max(sum(frazier[place : place + 3]) for place in range(len(frazier)))
    return len(yngve), [
        *(float(sum(yngve)), float(max(yngve)), sum(frazier), in_a_row),
        *(float(constituents), float(sum(depth)), float(max(depth))),
    ]


@lru_cache
def _is_word_tag(tag: str) -> bool:
    """Return whether a tag is a word's, as L2SCA does: words are leaves whose tag is of letters. A
    hyphen that is a word of its own has no such tag."""
    return re.fullmatch(r"(?!HYPH|NFP)[A-Z]+\$?", tag) is not None
