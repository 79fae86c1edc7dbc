"""Commands, and sentences that begin with an infinitive."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from reranker.plugins.augmenting.headlines import cased
from reranker.plugins.augmenting.rewriting import (
    BE,
    FINITE,
    addressed,
    capitalised,
    constituents,
    first_label,
    is_ragged,
    labels,
    leaf,
    marked,
    phrase,
    rewritten,
    subtrees,
    without_article,
    word,
)
from reranker.trees.tree import Tree


def commands(tree: Tree, draw: Random) -> Iterator[Tree]:
    """Make commands of infinitives and of what follows a modal verb: (VP (TO to) (VP (VB see) ...))
    becomes (S (VP (VB See) ...)), with or without a mark, some with *please* or *don't*."""
    for node, _ in constituents(tree):
        if labels(node) in (["TO", "VP"], ["MD", "VP"]):
            verbs = subtrees(node)[1]
            if _is_bare(verbs) and 2 <= len(verbs.words()) <= 20 and not is_ragged(verbs):
                yield _command(addressed(verbs, draw), draw)


def _is_bare(node: Tree) -> bool:
    """Return whether a verb phrase, or each of those that it joins, begins with an infinitive;
    *be* and *have*, with which commands hardly begin, do not count."""
    if first_label(node) == "VP":
        joined = [each for each in subtrees(node) if each.label == "VP"]
        return all(first_label(each) == "VB" for each in joined)
    return first_label(node) == "VB" and node.words()[0].lower() not in ("be", "have")


def _command(verbs: Tree, draw: Random) -> Tree:
    please = phrase("INTJ", leaf("UH", "please"))
    children = [verbs]
    kind = draw.random()
    if kind > 0.8 and len(verbs.words()) < 8:
        return phrase("TOP", cased(phrase("S", rewritten(verbs, without_article)), draw))
    if kind < 0.08:
        negation = leaf("RB", draw.choice(["n't", "n't", "not"]))
        children = [phrase("VP", leaf("VB", "do"), negation, verbs)]
    elif kind < 0.16:
        children = [please, verbs]
    elif kind < 0.19:
        children = [verbs, leaf(",", ","), please]
    sentence = phrase("S", *children, *marked(draw, {"": 0.6, ".": 0.3, "!": 0.1}))
    return phrase("TOP", capitalised(sentence) if draw.random() < 0.8 else sentence)


def subjects(tree: Tree, draw: Random) -> Iterator[Tree]:
    """Begin with the infinitive that *it* announces: *it is hard to see* becomes *to see is
    hard*."""
    for node, _ in constituents(tree):
        children = subtrees(node)
        if labels(node)[:2] != ["NP", "VP"] or [*map(str.lower, children[0].words())] != ["it"]:
            continue
        verb, *others = subtrees(children[1]) or children[1:]
        if word(verb).lower() in BE and verb.label in FINITE and others:
            *before, last = others
            if last.label == "ADJP" and len(subtrees(last)) > 1:  # "hard to see"
                *adjective, last = subtrees(last)
                before.append(phrase("ADJP", *adjective))
            if before and before[-1].label in ("ADJP", "NP") and _is_infinitive(last):
                whole = leaf(verb.label, "is" if word(verb) == "'s" else word(verb))
                end = marked(draw, {"": 0.3, ".": 0.7})
                sentence = phrase("S", last, phrase("VP", whole, *before), *end)
                yield phrase("TOP", capitalised(sentence))


def _is_infinitive(node: Tree) -> bool:
    verbs = subtrees(node)
    return (node.label, labels(node)) == ("S", ["VP"]) and labels(verbs[0]) == ["TO", "VP"]
