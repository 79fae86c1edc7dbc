"""The head among a constituent's children: the rules of Collins (1999, appendix A), which tregex
uses for ``<#``."""

from __future__ import annotations

from collections.abc import Sequence

from reranker.trees.linearize import FUNCTION_TAG

# Where to start, and the labels in order of preference. The first of them that a child has decides;
# without any it is the child at that side.
_RULES = {
    "ADJP": ("left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": ("right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": ("right", "CC RB IN"),
    "FRAG": ("right", ""),
    "LST": ("right", "LS :"),
    "NAC": ("left", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": ("right", "IN TO VBG VBN RP FW"),
    "PRT": ("right", "RP"),
    "QP": ("left", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": ("right", "VP NP ADVP ADJP PP"),
    "S": ("left", "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": ("left", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": ("left", "SQ S SINV SBARQ FRAG"),
    "SINV": ("left", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": ("left", "VBZ VBD VBP VB MD VP SQ"),
    "UCP": ("right", ""),
    "VP": ("left", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": ("left", "CC WRB JJ ADJP"),
    "WHADVP": ("right", "CC WRB"),
    "WHNP": ("left", "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": ("right", "IN TO FW"),
    "X": ("right", ""),
}
_ORDERS = {label: (side, names.split()) for label, (side, names) in _RULES.items()}
# Of noun phrases: each step takes the first child from its side that has any of its labels.
_NOUN_STEPS = [
    ("right", {"NN", "NNP", "NNPS", "NNS", "NX", "POS", "JJR"}),
    ("left", {"NP"}),
    ("right", {"$", "ADJP", "PRN"}),
    ("right", {"CD"}),
    ("right", {"JJ", "JJS", "RB", "QP"}),
]
_PUNCTUATION = {",", ".", ":", "``", "''", "-LRB-", "-RRB-"}


def head(label: str, children: Sequence[str]) -> int:
    """Return the place of the head among children with these labels, of which there is at least
    one."""
    children = [FUNCTION_TAG.sub("", each) for each in children]
    label = FUNCTION_TAG.sub("", label)
    place = _noun(children) if label in ("NP", "NX", "NML") else _other(label, children)
    # Of coordinated constituents, the one before the conjunction.
    if place > 1 and children[place - 1] in ("CC", "CONJP"):
        before = place - 2
        while before >= 0 and children[before] in _PUNCTUATION:
            before -= 1
        place = before if before >= 0 else place
    return place


def _noun(children: list[str]) -> int:
    if children[-1] == "POS":
        return len(children) - 1
    for side, labels in _NOUN_STEPS:
        places = [place for place, each in enumerate(children) if each in labels]
        if places:
            return places[0 if side == "left" else -1]
    return len(children) - 1


def _other(label: str, children: list[str]) -> int:
    side, order = _ORDERS.get(label, ("left", []))
    for wanted in order:
        if wanted in children:
            if side == "left":
                return children.index(wanted)
            return len(children) - 1 - children[::-1].index(wanted)
    return 0 if side == "left" else len(children) - 1
