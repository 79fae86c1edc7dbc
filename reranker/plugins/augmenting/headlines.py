"""Headlines and headings."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from reranker.plugins.augmenting.rewriting import (
    BE,
    FINITE,
    NOUNS,
    capitalised,
    constituents,
    first_label,
    is_ragged,
    labels,
    leaf,
    marked,
    phrase,
    respelled,
    rewritten,
    subtrees,
    without_article,
    word,
)
from reranker.trees.tree import Tree

_SMALL = frozenset({"DT", "IN", "TO", "CC", "POS"})  # short words with these tags, in titles


def headlines(tree: Tree, draw: Random) -> Iterator[Tree]:
    """Make headlines of clauses in the present tense, the passive voice or the future: articles
    and *be* before participles, adjectives, prepositions and *to* are left out; *will* becomes
    *to*."""
    for clause, parent in constituents(tree):
        # Nothing is missing in a sentence, nor in a clause after a conjunction.
        is_whole = parent.label in ("TOP", "S") or (
            parent.label == "SBAR" and first_label(parent) == "IN"
        )
        if clause.label == "S" and is_whole:
            parts = [each for each in subtrees(clause) if each.label != "."]
            if [each.label for each in parts] == ["NP", "VP"]:
                yield from _headlines(parts[0], parts[1], draw)


def _headlines(subject: Tree, verbs: Tree, draw: Random) -> Iterator[Tree]:
    predicate = _predicate(verbs, draw)
    if predicate is None or subject.tags() in (["PRP"], ["EX"], ["DT"]):
        return
    clause = phrase("S", subject, verbs)
    short = rewritten(phrase("S", subject, predicate), without_article)
    if 3 <= len(short.words()) <= 16 and short.words() != clause.words() and not is_ragged(clause):
        ended = phrase("S", *subtrees(short), *marked(draw, {"": 0.85, ".": 0.15}))
        yield phrase("TOP", cased(ended, draw))


def _predicate(verbs: Tree, draw: Random) -> Tree | None:
    """Return the constituent that takes the place of a verb phrase in a headline; None if there is
    none, as for the past tense."""
    verb, *others = subtrees(verbs) or (verbs,)
    if len(others) == 1 and verb.label in FINITE and word(verb).lower() in BE:
        (other,) = others
        if other.label == "S" and labels(other) == ["VP"]:
            other = subtrees(other)[0]
        if other.label == "VP":
            return other if first_label(other) in ("VBN", "VBG", "TO") else None
        return other if other.label in ("ADJP", "PP") else None
    if word(verb).lower() == "will" and [each.label for each in others] == ["VP"]:
        return phrase("VP", leaf("TO", "to"), *others) if draw.random() < 0.7 else verbs
    return verbs if verb.label in ("VBZ", "VBP", "MD") else None


def headings(tree: Tree, draw: Random) -> Iterator[Tree]:
    """Make headings of noun phrases, most of them without their article."""
    for node, _ in constituents(tree):
        if node.label == "NP" and 2 <= len(node.words()) <= 9 and not is_ragged(node):
            kept = without_article(node) if draw.random() < 0.8 else node
            tags = kept.tags()
            if len(tags) > 1 and tags[0] != "PRP" and NOUNS & {*tags}:
                yield phrase("TOP", cased(kept, draw))


def cased(node: Tree, draw: Random) -> Tree:
    """Return a tree in sentence case, in title case or in capitals."""
    kind = draw.random()
    if kind < 0.5:
        return capitalised(node)
    if kind < 0.92:
        return capitalised(respelled(node, _titled))
    return respelled(node, lambda _, text: text.upper())


def _titled(tag: str, text: str) -> str:
    """Return a word as titles have it."""
    is_small = (tag in _SMALL and len(text) < 5) or not text[0].isalpha() or text == "n't"
    return text if is_small else text[0].upper() + text[1:]
