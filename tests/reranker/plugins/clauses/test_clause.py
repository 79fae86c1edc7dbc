"""Clauses worked out by hand: spans, kinds, subjects, predicates."""

from __future__ import annotations

import pytest

from reranker.errors import TreeError
from reranker.plugins.clauses.clause import LABELS, clauses, placed
from reranker.trees.tree import Tree

HE_LEFT = "(NP (PRP he)) (VP (VBD left))"


def found(text: str) -> list[str]:
    """Return each clause: its kind, own words, subject and predicate."""
    tree = Tree.from_string(f"(TOP {text})")
    words = tree.words()

    def spelled(*ranges: tuple[int, int] | None) -> str:
        return " ... ".join(" ".join(words[each[0] : each[1]]) for each in ranges if each)

    return [
        f"{each.kind}: {spelled(*each.own)} | {spelled(each.subject)} | {spelled(*each.predicate)}"
        for each in clauses(tree)
    ]


@pytest.mark.parametrize(
    "text, expected",
    [
        (f"(S {HE_LEFT} (. .))", ["main: he left . | he | left"]),
        (f"(S (S {HE_LEFT}) (, ,) (CC and) (S (NP (PRP she)) (VP (VBD came))))",
         ["main: , and |  | ", "coordinate: he left | he | left",
          "coordinate: she came | she | came"]),
        (f"(S (NP (PRP I)) (VP (VBP say) (SBAR (IN that) (S {HE_LEFT}))))",
         ["main: I say | I | say that he left", "complement: that he left | he | left"]),
        (f"(S (NP (NP (DT the) (NN car)) (SBAR (S {HE_LEFT}))) (VP (VBD broke)))",
         ["main: the car ... broke | the car he left | broke", "relative: he left | he | left"]),
        ("(NP (NP (NNS men)) (SBAR (WHNP (WP who)) (S (VP (VBD left)))))",
         ["relative: who left | who | left"]),
        ("(NP (NP (NNS men)) (SBAR (NP (WDT that)) (S (VP (VBD left)))))",  # as GUM has it
         ["relative: that left | that | left"]),
        (f"(NP (DT the) (NN fact) (SBAR (IN that) (S {HE_LEFT})))",
         ["complement: that he left | he | left"]),
        (f"(S (SBAR (IN if) (S {HE_LEFT})) (, ,) (NP (PRP I)) (VP (VBP go)))",
         ["main: , I go | I | go", "adverbial: if he left | he | left"]),
        (f"(S (NP (PRP I)) (VP (VBP wonder) (SBAR (IN if) (S {HE_LEFT}))))",
         ["main: I wonder | I | wonder if he left", "complement: if he left | he | left"]),
        (f"(S (NP (PRP I)) (VP (VBD slept) (SBAR (WHADVP (WRB when)) (S {HE_LEFT}))))",
         ["main: I slept | I | slept when he left", "adverbial: when he left | he | left"]),
        ("(S (SBAR (WHNP (WP What)) (S (NP (PRP he)) (VP (VBD saw)))) (VP (VBD left)))",
         ["main: left | What he saw | left", "complement: What he saw | he | saw"]),
        (f"(S (S {HE_LEFT}) (, ,) (NP (PRP I)) (VP (VBP say)))",
         ["main: , I say | I | say", "complement: he left | he | left"]),
        ("(S (S (VP (VB Stop))) (, ,) (NP (PRP I)) (VP (VBP say)))",
         ["main: , I say | I | say", "complement: Stop |  | Stop"]),
        ("(S (S (VP (TO To) (VP (VB win)))) (, ,) (NP (PRP he)) (VP (VBD left)))",
         ["main: , he left | he | left", "adverbial: To win |  | To win"]),
        ("(S (S (VP (VBG Singing))) (, ,) (NP (PRP he)) (VP (VBD left)))",
         ["main: , he left | he | left", "adverbial: Singing |  | Singing"]),
        (f"(S {HE_LEFT} (PRN (, ,) (S (NP (PRP I)) (VP (VBP say)))))",
         ["main: he left , | he | left", "parenthetical: I say | I | say"]),
        ("(S (NP (PRP I)) (VP (VBD made) (S (NP (PRP him)) (ADJP (JJ mad)))))",
         ["main: I made | I | made him mad", "complement: him mad | him | mad"]),
        ("(SQ (VBD Did) (NP (PRP he)) (VP (VB leave)))",
         ["main: Did he leave | he | Did ... leave"]),
        ("(SBARQ (WHNP (WP Who)) (SQ (VP (VBD left))))", ["main: Who left | Who | left"]),
        ("(SQ (VBZ Is) (NP (PRP it)) (ADJP (JJ so)))", ["main: Is it so | it | Is ... so"]),
    ],
)  # fmt: skip
def test_kinds_and_parts(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_discontinuous_clauses_have_no_words_of_those_within() -> None:
    """*that* begins two clauses; the relative clause parts the complement, which parts the main."""
    assert found(
        "(S (NP (PRP I)) (VP (VBP say) (SBAR (IN that) (S (NP (NP (NNS men)) (SBAR (WHNP (WP who))"
        " (S (VP (VBD left))))) (VP (VBD sang)))) (ADVP (RB now))) (. .))"
    ) == [
        "main: I say ... now . | I | say that men who left sang now",
        "complement: that men ... sang | men who left | sang",
        "relative: who left | who | left",
    ]


@pytest.mark.parametrize(
    "text, finite",
    [
        ("(S (VP (VB Stop)))", [True]),
        ("(S (NP (PRP I)) (VP (VBP try) (S (VP (TO to) (VP (VB go))))))", [True, False]),
        ("(S (NP (PRP I)) (VP (VBD saw) (S (NP (PRP him)) (VP (VB go)))))", [True, False]),
        (
            "(S (NP (PRP I)) (VP (VBP ask) (SBAR (IN that) (S (NP (PRP he)) (VP (VB go))))))",
            [True, True],
        ),
        ("(S (NP (PRP He)) (VP (MD may) (VP (VB go))))", [True]),
    ],
)
def test_finite(text: str, finite: list[bool]) -> None:
    assert [each.finite for each in clauses(Tree.from_string(text))] == finite


def test_brackets_around_the_same_words_are_one_clause() -> None:
    """Its probability is half the sum if both are certain together, and at least the greater."""
    tree = Tree.from_string(f"(VP (VBP say) (SBAR (S {HE_LEFT})))")
    (clause,) = clauses(tree)
    assert (clause.labels, clause.span) == ("SBAR S", (1, 3))
    for values, expected in ((0.9, 0.9, 0.0), 0.9), ((0.2, 0.6, 0.0), 0.6), ((0.5, 0.5, 0.4), 0.7):
        known = {(1, 3, label): value for label, value in zip(LABELS[:3], values, strict=True)}
        known[0, 3, "S"] = 1.0
        assert placed(clause, lambda words: words, known).probability == expected


def test_function_tags_and_traces_make_no_difference() -> None:
    plain = "(S (NP (PRP He)) (VP (VBZ tries) (S (VP (TO to) (VP (VB go))))))"
    marked = plain.replace("(S (VP", "(S-CLR (NP-SBJ-1 (-NONE- *)) (VP").replace(
        "(NP (", "(NP-SBJ ("
    )
    assert clauses(Tree.from_string(marked)) == clauses(Tree.from_string(plain))


@pytest.mark.parametrize(
    "text, reason",
    [
        ("(TOP (S (XX He) (XX left)))", "no tags of the Penn Treebank"),
        ("(TOP (S (NP (PRO Dia)) (VP (VBI pergi) (ADVX ke) (NNO sana))))", "no tags of the Penn"),
        ("(TOP (S (PRP He) (VBD left) (. .)))", "a flat tree"),
        ("(TOP (NP (-NONE- *)))", "no word tokens"),
    ],
)
def test_trees_that_say_nothing(text: str, reason: str) -> None:
    with pytest.raises(TreeError, match=reason):
        clauses(Tree.from_string(text))


def test_ten_thousand_words() -> None:
    one = f"(S {HE_LEFT}) "
    assert len(clauses(Tree.from_string(f"(TOP (S {one * 2_500}))"))) == 2_501


def test_an_order_that_is_said_is_finite() -> None:
    tree = Tree.from_string("(S (S (VP (VB Stop))) (, ,) (NP (PRP I)) (VP (VBP say)))")
    assert [each.finite for each in clauses(tree)] == [True, True]
