"""``--repair authors`` against what ``decode.pl`` of Suzuki et al. (2018) prints.

The script was run on these lines, with the tags and words of the sentence; what it printed is in
its notation, and a forest is put under TOP to be one tree.
"""

from __future__ import annotations

import pytest

from reranker.errors import TreeError
from reranker.nbest.authors_repair import read_as_authors
from reranker.nbest.data import RawCandidate, RawList, Sentence
from reranker.nbest.faithful import ReadingRules, accept
from reranker.nbest.notation import Notation
from reranker.trees.tree import Tree

SENTENCE = Sentence.of(["It", "runs", "now", "."], ["PRP", "VBZ", "RB", "."])

# The candidate, and the script's line.
REPAIRS = {
    "whole": (
        "(S (NP XX )_NP (VP XX XX )_VP . )_S",
        "(S (NP (PRP It)) (VP (VBZ runs) (RB now)) (. .))",
    ),
    "closers of other constituents": (
        "(S (NP XX )_VP (VP XX XX )_S . )_NP",
        "(S (NP (PRP It)) (VP (VBZ runs) (RB now)) (. .))",
    ),
    "too few words": (
        "(S (NP XX )_NP (VP XX )_VP )_S",
        "(S (NP (PRP It)) (VP (VBZ runs))) (RB now) (. .)",
    ),
    "too few words, brackets open": (
        "(S (NP XX )_NP (VP XX",
        "(S (NP (PRP It)) (VP (VBZ runs) (RB now) (. .) ) )",
    ),
    "too few words, brackets closed": (
        "(S (NP XX )_NP (VP XX )_VP )_S )_X",
        "(DUMMY (S (NP (PRP It)) (VP (VBZ runs)))) (RB now) (. .)",
    ),
    "too many words": (
        "(S (NP XX )_NP (VP XX XX )_VP . (NP XX )_NP )_S",
        "(S (NP (PRP It)) (VP (VBZ runs) (RB now)) (. .))",
    ),
    "too many words, brackets open": (
        "(S (NP XX )_NP (VP XX XX . (NP XX XX",
        "(S (NP (PRP It)) (VP (VBZ runs) (RB now) (. .)))",
    ),
    "too many words, and closers that only look even": (
        "(S (NP XX )_NP (VP XX XX )_VP . )_S )_X (NP XX",
        "(DUMMY (S (NP (PRP It)) (VP (VBZ runs) (RB now)) (. .)))",
    ),
    "unknown tokens": (
        "(S <unk> (NP XX )_NP (VP XX XX )_VP . )_S",
        "(S (NP (PRP It)) (VP (VBZ runs) (RB now)) (. .))",
    ),
    "too few closers": (
        "(S (NP XX )_NP (VP XX XX . )_S",
        "(S (NP (PRP It)) (VP (VBZ runs) (RB now) (. .)))",
    ),
    "too many closers": (
        "(S (NP XX )_NP (VP XX XX )_VP )_S . )_S )_X",
        "(DUMMY (DUMMY (S (NP (PRP It)) (VP (VBZ runs) (RB now))) (. .)))",
    ),
    "a bracket for a word": (
        "<s> (S (NP ( )_NP (VP XX XX )_VP . )_S </s>",
        "(S (NP (PRP It)) (VP (VBZ runs) (RB now)) (. .))",
    ),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_repairs_are_those_of_the_script(name: str) -> None:
    text, printed = REPAIRS[name]
    rules = ReadingRules("test", Notation.LINEARIZED, repair="authors")
    (candidate,) = accept(RawList("a", 1, [RawCandidate(1, text)]), rules, SENTENCE).candidates
    forest = Tree.from_string(f"(TOP {printed})")
    assert candidate.tree == (forest if len(forest.children) > 1 else forest.children[0])
    is_whole = name in (
        "whole",
        "closers of other constituents",
        "a bracket for a word",
        "unknown tokens",
    )
    assert candidate.is_repaired != is_whole


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("XX )_NP (S XX XX .", "unbalanced"),  # as many open as close, in the wrong order
        ("(S )_S", "empty"),
        ("", "empty"),
    ],
)
def test_what_cannot_be_repaired(text: str, code: str) -> None:
    with pytest.raises(TreeError) as caught:
        read_as_authors(text)
    assert caught.value.code == code


def test_other_notations_are_repaired_as_ever() -> None:
    own, authors = (
        accept(
            RawList("a", 1, [RawCandidate(1, "(S (NP It) runs now .")]),
            ReadingRules("test", Notation.BARE, repair=repair),
            SENTENCE,
        )
        for repair in (True, "authors")
    )
    assert own == authors and own.candidates[0].is_repaired
