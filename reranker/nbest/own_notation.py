"""The notation that a candidate shows by itself, without regard to other candidates.

A word shows that its tree has part-of-speech nodes if it is alone in a node whose label is not a
phrase's. A word shows that its tree has none if it has siblings or is alone in a phrase. The
majority of a tree's words decides, since treebanks leave out a tag now and then.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from reranker.nbest.notation import LABELLED_CLOSER, PUNCTUATION, Notation, is_stand_in
from reranker.trees.linearize import FUNCTION_TAG, is_word
from reranker.trees.tree import PHRASES, ROOT_LABELS, bracket_tokens

# Compounds of verbs in the Chinese treebank are phrases, too.
_PHRASES = PHRASES | {"VCD", "VCP", "VNV", "VPT", "VRD", "VSB"}
# Phrases in treebanks and tags in Universal Dependencies; and root labels, which can hold anything.
_AMBIGUOUS = frozenset({"INTJ", "PRT", "X"}) | ROOT_LABELS

# A word alone in a node, as parsers print it.
_LONE_WORD = re.compile(r"\(([^()\s]++) [^()\s]++\)(?![^()\s])", re.ASCII)


def own_notation(text: str) -> Notation | None:
    """Return the notation of a candidate, whole or broken, or None if it shows none.

    >>> own_notation("(S (NP (PRP It)) (VP (VBZ runs)))")
    <Notation.BRACKETS: 'brackets'>
    >>> own_notation("(S (NP It) (VP runs))")
    <Notation.BARE: 'bare'>
    >>> own_notation("(INTJ Yes)"), own_notation("Sorry, no parse.")
    (None, None)
    """
    if _is_plainly_tagged(text):
        return Notation.BRACKETS
    if "(" not in text:
        return None
    tokens = bracket_tokens(text)
    balance = _balance_of_tags(tokens)
    if balance > 0:
        return Notation.BRACKETS
    words = set(filter(is_word, tokens)) - PUNCTUATION
    stand_ins = set(filter(is_stand_in, words))
    if closed := set(map(_without_function, LABELLED_CLOSER.findall(text))):
        opened = {_without_function(token[1:].strip()) for token in tokens if token[0] == "("}
        # Prose can have such brackets, too.
        if stand_ins or not opened.isdisjoint(closed):
            return Notation.LINEARIZED
    if balance == 0:
        return None
    # A seq2seq parser may leave out the labels.
    return Notation.LINEARIZED if stand_ins and words == stand_ins else Notation.BARE


def most_shown(texts: Iterable[str]) -> Notation:
    """Return the notation that most candidates in a file's head show, to be displayed: it decides
    the notation of no candidate."""
    shown = Counter(filter(None, map(own_notation, texts)))
    return shown.most_common(1)[0][0] if shown else Notation.BRACKETS


def _is_plainly_tagged(text: str) -> bool:
    """Return whether most words have tags, by a quick check for trees as most parsers print
    them."""
    if "\\" in text or text[:1] != "(":
        return False
    tags = sum(map(_evidence, _LONE_WORD.findall(text)))
    # An upper bound: an opening bracket and its label are one piece.
    words = len(text.split()) - text.count(" (") - 1
    return 2 * tags > words and tags > 0


def _balance_of_tags(tokens: Sequence[str]) -> int:
    """Return the number of words that show part-of-speech nodes, less the number that show none."""
    balance = 0
    for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ")"], strict=False):
        if is_word(token):
            is_alone = before[:1] == "(" and after == ")"
            balance += _evidence(before[1:].strip()) if is_alone else -1
    return balance


def is_only_phrase(label: str) -> bool:
    """Return whether a label is that of a phrase, and never of a part of speech."""
    return _evidence(label) < 0


def _evidence(label: str) -> int:
    """Return 1 for a tag, -1 for a phrase, 0 for a label that can be either."""
    if "-" in label or "=" in label:
        label = _without_function(label)
    return 0 if label in _AMBIGUOUS else -1 if label in _PHRASES else 1


def _without_function(label: str) -> str:
    return FUNCTION_TAG.sub("", label)
