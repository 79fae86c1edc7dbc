"""Structures and depths on trees counted by hand, and against L2SCA's patterns as published."""

from __future__ import annotations

import pytest

from reranker.errors import TreeError
from reranker.nbest import read_nbest
from reranker.plugins.measure.structures import COUNTED, STRUCTURES, counts
from reranker.trees.linearize import cleaned
from reranker.trees.patterns.pattern import Pattern
from reranker.trees.patterns.table import Table
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank

# As L2SCA 3.3.3 has them (Lu 2010, (1) to (14)), but for the name of the root.
_C = (
    "S|SINV|SQ [> TOP <, (VP <# VB) | <# MD|VBZ|VBP|VBD | "
    "< (VP [<# MD|VBP|VBZ|VBD | < CC < (VP <# MD|VBP|VBZ|VBD)])]"
)
_T = "S|SBARQ|SINV|SQ > TOP | [$-- S|SBARQ|SINV|SQ !>> SBAR|VP]"
PUBLISHED = {
    "VP": ["VP > S|SINV|SQ", "MD|VBZ|VBP|VBD > (SQ !< VP)"],
    "C": [_C, f"FRAG > TOP !<< ({_C})"],
    "T": [_T, f"FRAG > TOP !<< ({_T})"],
    "DC": [f"SBAR < ({_C})"],
    "CT": [f"S|SBARQ|SINV|SQ [> TOP | [$-- S|SBARQ|SINV|SQ !>> SBAR|VP]] << (SBAR < ({_C}))"],
    "CP": ["ADJP|ADVP|NP|VP < CC"],
    "CN": [
        "NP !> NP [<< JJ|POS|PP|S|VBG | << (NP $++ NP !$+ CC)]",
        "SBAR [<# WHNP | <# (IN < That|that|For|for) | <, S] & [$+ VP | > VP]",
        "S < (VP <# VBG|TO) $+ VP",
    ],
}


def test_the_patterns_find_what_the_published_ones_find() -> None:
    trees = [
        *read_treebank(["examples/gold.mrg"]),
        *(each.tree for nbest in read_nbest("examples/parses.txt") for each in nbest.candidates),
    ]
    assert len(trees) > 1_000
    tables = [Table(cleaned(tree)) for tree in trees]
    for name, texts in PUBLISHED.items():
        own = [Pattern(text) for text in STRUCTURES[name]]
        theirs = [Pattern(text) for text in texts]
        for table in tables:
            assert [each.matching(table) for each in own] == [
                each.matching(table) for each in theirs
            ]


def counted(text: str) -> dict[str, float]:
    return dict(zip(COUNTED, counts(Tree.from_string(text)).tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A clause, a T-unit; nothing else.
        (
            "(TOP (S (NP (PRP It)) (VP (VBZ runs)) (. .)))",
            {"W": 2, "VP": 1, "C": 1, "T": 1, "DC": 0, "CT": 0, "CP": 0, "CN": 0},
        ),
        # The relative clause: dependent, within a complex nominal, which makes the T-unit complex.
        (
            "(TOP (S (NP (NP (DT The) (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBD came)))))"
            " (VP (VBD left))))",
            {"W": 5, "VP": 2, "C": 2, "T": 1, "DC": 1, "CT": 1, "CP": 0, "CN": 1},
        ),
        # Two T-units. The outer S stands for the first of them; it is a clause by no rule.
        (
            "(TOP (S (S (NP (PRP I)) (VP (VBD came))) (CC and) (S (NP (PRP he)) (VP (VBD left)))))",
            {"W": 5, "VP": 2, "C": 2, "T": 2, "DC": 0, "CT": 0, "CP": 0, "CN": 0},
        ),
        # Coordinated finite verb phrases: one VP below S, one clause, one coordinate phrase.
        (
            "(TOP (S (NP (PRP I)) (VP (VP (VBD came)) (CC and) (VP (VBD saw) (NP (PRP it))))))",
            {"W": 5, "VP": 1, "C": 1, "T": 1, "DC": 0, "CT": 0, "CP": 1, "CN": 0},
        ),
        # An imperative is a clause; an infinitive is none.
        (
            "(TOP (S (VP (VB Try) (S (VP (TO to) (VP (VB sing)))))))",
            {"W": 3, "VP": 2, "C": 1, "T": 1, "DC": 0, "CT": 0, "CP": 0, "CN": 0},
        ),
        # A that-clause as object is a nominal clause; a gerund as subject a complex nominal.
        (
            "(TOP (S (S (VP (VBG Singing))) (VP (VBZ shows) (SBAR (IN that) (S (NP (PRP she))"
            " (VP (VBZ cares)))))))",
            {"W": 5, "VP": 3, "C": 2, "T": 1, "DC": 1, "CT": 1, "CP": 0, "CN": 2},
        ),
        # Questions: an inverted auxiliary counts as a verb phrase where there is no other.
        (
            "(TOP (SQ (VBZ Is) (NP (PRP it)) (ADJP (JJ new)) (. ?)))",
            {"W": 3, "VP": 1, "C": 1, "T": 1, "DC": 0, "CT": 0, "CP": 0, "CN": 0},
        ),
        # A fragment with nothing in it is a clause and a T-unit.
        (
            "(TOP (FRAG (NP (DT A) (JJ blue) (NN car)) (. .)))",
            {"W": 3, "VP": 0, "C": 1, "T": 1, "DC": 0, "CT": 0, "CP": 0, "CN": 1},
        ),
        # Tags of letters are words; punctuation, brackets and hyphens are none.
        (
            "(TOP (NP (PRP$ its) (JJ well) (HYPH -) (VBN made) (-LRB- -LRB-) (CD 2) (, ,) ($ $)))",
            {"W": 4, "VP": 0, "C": 0, "T": 0, "DC": 0, "CT": 0, "CP": 0, "CN": 1},
        ),
    ],
)
def test_structures_counted_by_hand(text: str, expected: dict[str, int]) -> None:
    found = counted(text)
    assert {name: found[name] for name in expected} == expected


def test_function_tags_traces_and_the_name_of_the_root_mean_nothing() -> None:
    plain = "(TOP (S (NP (PRP It)) (VP (VBZ runs) (PP (IN on)))))"
    marked = (
        "( (S=1 (NP-SBJ-2 (PRP It)) (VP (VBZ runs) (NP (-NONE- *T*-1)) (PP-CLR (IN on)"
        " (NP (-NONE- *))))))"
    )
    assert counted(plain) == counted(marked) == counted(plain.replace("TOP", "S1"))


def test_depths_worked_out_by_hand() -> None:
    """
    Branches from right to left: S: NP 1, VP 0. NP: DT 1, NN 0. VP: VBD 1, SBAR 0. SBAR: IN 1, S 0.

    ====== ===== ============================ =====================
    word   Yngve Frazier                      above it
    the    1 + 1 NP 1, S 1.5                  S NP
    dog    1 + 0 0                            S NP
    said   0 + 1 VP 1                         S VP
    that   1     SBAR 1.5                     S VP SBAR
    it     1     NP 1, S 1.5                  S VP SBAR S NP
    ran    0     VP 1                         S VP SBAR S VP
    ====== ===== ============================ =====================
    """
    found = counted(
        "(TOP (S (NP (DT the) (NN dog)) (VP (VBD said) (, ,) (SBAR (IN that) (S (NP (PRP it))"
        " (VP (VBD ran)) (PRN (: --)))) (. .))))"
    )
    assert found["yngve"] == 2 + 1 + 1 + 1 + 1 + 0 and found["yngve max"] == 2
    assert found["frazier"] == 2.5 + 0 + 1 + 1.5 + 2.5 + 1
    assert found["frazier max"] == 1 + 1.5 + 2.5  # said that it; that it ran
    assert found["nodes"] == 7  # the PRN has no words
    assert found["depth"] == 2 + 2 + 2 + 3 + 5 + 5 and found["depth max"] == 5


def test_roarks_example() -> None:
    """SPLAT, after Roark et al. (2007): 4.5 for these five words."""
    text = (
        "((S (NP (NNP Colorless) (JJ green) (NNS ideas)) (VP (VBP sleep) (ADVP (RB furiously)))))"
    )
    assert counted(text)["frazier"] == 4.5


def test_what_cannot_be_measured() -> None:
    with pytest.raises(TreeError, match="no part-of-speech tags"):
        counted("(TOP (S (XX It) (XX runs)))")
    for tag in ("_", "-", "--", "*", "UNK", "X", "?"):
        with pytest.raises(TreeError, match="no part-of-speech tags"):
            counted(f"(TOP (S ({tag} It) ({tag} runs) (. .)))")
    for text in ("(S (NP It) (VP runs))", "(S (NP-SBJ Dogs) (VP (VP bark) (ADVP loudly)) (. .))"):
        with pytest.raises(TreeError, match="no part-of-speech tags"):
            counted(text)
    assert counted("(S (NP (PRP He)) (VP (VBD gave) (PRT up)) (INTJ oh))")["T"] == 1
    with pytest.raises(TreeError, match="universal part-of-speech tags"):
        counted("(TOP (S (PRON It) (VERB runs) (PUNCT ,) (PUNCT .)))")
    # Most words have tags, and a few others cost nothing.
    assert counted("(TOP (S (NP (PRP It)) (VP (VBZ runs)) (_ .)))")["T"] == 1
    with pytest.raises(TreeError, match="no word"):
        counted("(TOP (S (-NONE- *)))")
    assert counted("(TOP (NP (. .) (: --)))")["W"] == 0
