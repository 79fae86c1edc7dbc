"""The mapping of Penn Treebank part-of-speech tags to universal ones.

The table is from Universal Dependencies (tagset-conversion/en-penn-uposf), with the changes of its
English treebanks since version 2: modal verbs are AUX, possessive pronouns PRON. A tag alone does
not tell auxiliaries from other verbs, nor subordinating conjunctions from prepositions.
"""

from __future__ import annotations

from reranker.trees.newer_tags import each_newer_tag
from reranker.trees.tree import Tree

_TAGS = {
    "ADJ": "AFX JJ JJR JJS",
    "ADP": "IN RP",
    "ADV": "RB RBR RBS WRB",
    "AUX": "MD",
    "CCONJ": "CC",
    "DET": "DT PDT WDT",
    "INTJ": "UH",
    "NOUN": "NN NNS",
    "NUM": "CD",
    "PART": "POS TO",
    "PRON": "EX PRP PRP$ WP WP$",
    "PROPN": "NNP NNPS",
    "PUNCT": "'' , -LRB- -LSB- -LCB- -RRB- -RSB- -RCB- . : HYPH NFP ``",
    "SYM": "# $ SYM",
    "VERB": "VB VBD VBG VBN VBP VBZ",
    "X": "ADD FW GW LS XX",
}
_UPOS = {tag: upos for upos, tags in _TAGS.items() for tag in tags.split()}


def upos(tag: str | None) -> str | None:
    """Return the universal tag, or None if ``tag`` is not one of the Penn Treebank's.

    >>> upos("VBZ"), upos("WP$"), upos("ADJA")
    ('VERB', 'PRON', None)
    """
    return _UPOS.get(tag or "")


def universal_tags(tree: Tree) -> list[str | None]:
    """Return the universal tag of every part-of-speech node, left to right.

    The preposition *to* is ADP, also in trees of parsers that tag it TO as they do before a verb.

    >>> universal_tags(Tree.from_string("(VP (VB go) (PP (TO to) (NP (NN school))))"))
    ['VERB', 'ADP', 'NOUN']
    """
    pairs = zip(tree.tags(), each_newer_tag(tree), strict=True)
    return [upos(newer if tag == "TO" else tag) for tag, newer in pairs]
