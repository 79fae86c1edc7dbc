"""The trees made of a tree, worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import pytest

from reranker.plugins.augmenting.command import KINDS
from reranker.plugins.augmenting.rewriting import is_usable
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank

MARKS = "", " (. .)", " (. !)"


def made(kind: str, text: str) -> set[str]:
    """Return all trees that some of 400 seeds make, without their root."""
    tree = Tree.from_string(f"(TOP {text})")
    results = (KINDS[kind](tree, Random(seed)) for seed in range(400))
    return {each.to_string()[5:-1] for result in results for each in result}


def both_cases(texts: Iterable[str], first: str) -> Iterator[str]:
    """Yield each text, and the text with its ``first`` word capitalised."""
    for text in texts:
        yield text
        yield text.replace(f" {first})", f" {first.capitalize()})", 1)


def test_a_command_is_an_infinitive_without_to() -> None:
    see = "(VP (VB see) (NP (PRP it)))"
    please = "(INTJ (UH please))"
    expected = {
        *both_cases((f"(S {see}{mark})" for mark in MARKS), "see"),
        *both_cases((f"(S {see} (, ,) {please}{mark})" for mark in MARKS), "see"),
        *both_cases((f"(S {please} {see}{mark})" for mark in MARKS), "please"),
        *both_cases((f"(S (VP (VB do) (RB n't) {see}){mark})" for mark in MARKS), "do"),
        *both_cases((f"(S (VP (VB do) (RB not) {see}){mark})" for mark in MARKS), "do"),
        "(S (VP (VB See) (NP (PRP It))))",
        "(S (VP (VB SEE) (NP (PRP IT))))",
    }
    infinitive = "(S (NP (PRP I)) (VP (VBP want) (S (VP (TO to) (VP (VB see) (NP (PRP it)))))))"
    assert made("commands", infinitive) <= expected
    assert made("commands", f"(S (NP (PRP I)) (VP (MD must) {see}) (. .))") <= expected
    both = made("commands", infinitive) | made("commands", f"(S (NP (PRP I)) (VP (MD must) {see}))")
    assert len(both) > 20
    assert "(S (VP (VB See) (NP (PRP it))) (. .))" in both


def test_a_command_of_a_button_has_no_articles() -> None:
    some = made("commands", "(S (VP (TO to) (VP (VB filter) (NP (DT the) (NNS results)))))")
    for first, second in (("Filter", "results"), ("Filter", "Results"), ("FILTER", "RESULTS")):
        assert f"(S (VP (VB {first}) (NP (NNS {second}))))" in some


def test_a_command_may_join_verbs_and_says_your() -> None:
    text = "(VP (TO to) (VP (VP (VB eat) (NP (PRP$ my) (NN pie))) (CC and) (VP (VB run))))"
    some = made("commands", f"(S (NP (NNS Dogs)) (VP (VBP like) (S {text})))")
    for whose in ("my", "your"):
        pie = f"(VP (VB Eat) (NP (PRP$ {whose}) (NN pie)))"
        assert f"(S (VP {pie} (CC and) (VP (VB run))))" in some


@pytest.mark.parametrize(
    "text",
    [
        "(S (NP (PRP I)) (VP (MD must) (VP (VB be) (VP (VBN seen)))))",
        "(S (NP (PRP I)) (VP (MD must) (VP (VB go))))",  # one word is no sentence to learn from
        "(S (NP (PRP I)) (VP (MD must) (VP (VB go) (, ,))))",
        "(S (NP (PRP I)) (VP (MD must) (VP (VB say) (`` ``) (INTJ (UH hi)))))",
        "(S (NP (PRP I)) (VP (VBP go) (PP (TO to) (NP (NN work)))))",
    ],
)
def test_no_command_without_an_infinitive_of_its_own(text: str) -> None:
    assert made("commands", text) == set()


def test_it_makes_way_for_the_infinitive() -> None:
    expected = {
        f"(S (S (VP (TO To) (VP (VB see)))) (VP (VBZ is) (ADJP (JJ hard))){mark})"
        for mark in MARKS[:2]
    }
    to_see = "(S (VP (TO to) (VP (VB see))))"
    inside = f"(S (NP (PRP It)) (VP (VBZ 's) (ADJP (JJ hard) {to_see})) (. .))"
    beside = f"(S (NP (PRP It)) (VP (VBZ is) (ADJP (JJ hard)) {to_see}) (. .))"
    assert made("subjects", inside) == made("subjects", beside) == expected
    assert made("subjects", inside.replace("It", "He")) == set()
    assert made("subjects", "(S (NP (PRP It)) (VP (VBZ is) (ADJP (JJ hard))))") == set()


CLAUSES = [
    (
        "(VP (VBZ is) (VP (VBN made) (PP (IN in) (NP (DT the) (NN city)))))",
        "(VP (VBN made) (PP (IN in) (NP (NN city))))",
    ),
    ("(VP (VBD was) (ADJP (JJ quite) (JJ new)))", "(ADJP (JJ quite) (JJ new))"),
    ("(VP (VBZ is) (S (VP (TO to) (VP (VB win)))))", "(VP (TO to) (VP (VB win)))"),
    ("(VP (MD will) (VP (VB win)))", "(VP (TO to) (VP (VB win)))"),
    ("(VP (VBZ wins) (NP (DT a) (NN prize)))", "(VP (VBZ wins) (NP (NN prize)))"),
]


@pytest.mark.parametrize(("verbs", "short"), CLAUSES)
def test_a_headline_has_neither_articles_nor_be(verbs: str, short: str) -> None:
    some = made("headlines", f"(S (NP (DT The) (NN plan)) {verbs} (. .))")
    assert {f"(S (NP (NN Plan)) {short})", f"(S (NP (NN Plan)) {short} (. .))"} <= some
    capitals = Tree.from_string(f"(S (NP (NN PLAN)) {short})")
    assert capitals.with_words(map(str.upper, capitals.words())).to_string() in some
    assert made("headlines", f"(S (NP (PRP It)) {verbs})") == set()


def test_titles_have_capitals_but_for_small_words() -> None:
    some = made("headlines", f"(S (NP (DT The) (NN plan)) {CLAUSES[0][0]} (. .))")
    title = "(S (NP (NN Plan)) (VP (VBN Made) (PP (IN in) (NP (NN City)))))"
    assert title in some
    assert title.replace("(IN in)", "(IN In)") not in some


@pytest.mark.parametrize(
    "text",
    [
        "(S (NP (DT The) (NN plan)) (VP (VBD won) (NP (DT a) (NN prize))))",
        "(S (NP (NNS Plans)) (VP (VBP win) (NP (NNS prizes))))",  # nothing to leave out
        "(S (NP (DT The) (NN plan)) (VP (VBZ is) (NP (DT a) (NN prize))))",
        "(NP (NP (NN cake)) (SBAR (S (NP (DT the) (NN dog)) (VP (VBZ eats) (ADVP (RB up))))))",
    ],
)
def test_no_headline(text: str) -> None:
    assert made("headlines", text) == set()


def test_a_heading_is_a_noun_phrase() -> None:
    some = made("headings", "(S (NP (DT the) (JJ old) (NN plan)) (VP (VBZ fails)) (. .))")
    assert some == {
        f"(NP {article}(JJ {old}) (NN {plan}))"
        for article, old, plan in [
            ("", "Old", "plan"),
            ("", "Old", "Plan"),
            ("", "OLD", "PLAN"),
            ("(DT The) ", "old", "plan"),
            ("(DT The) ", "Old", "Plan"),
            ("(DT THE) ", "OLD", "PLAN"),
        ]
    }


def test_a_stop_is_left_out_or_repeated() -> None:
    ends = "(S (NP (PRP It)) (VP (VBZ ends)){})"
    marks = ["", *(f" (. {mark})" for mark in ("!!", "!!!", "..", "!"))]
    assert made("stops", ends.format(" (. .)")) == {ends.format(mark) for mark in marks}
    assert made("stops", ends.format(" (. ?)")) == set()
    assert made("stops", ends.format("")) == set()
    assert made("stops", "(S (VP (VB Go)) (. .))") == set()
    assert made("stops", "(S (S (NP (PRP It)) (VP (VBZ ends))) (. .))") == set()


def test_a_question_may_begin_small() -> None:
    far = "(SQ (VBZ {}s) (NP (PRP it)) (ADJP (JJ far)){})"
    marks = ["", *(f" (. {mark})" for mark in ("??", "???", "?!"))]
    expected = {far.format(first, mark) for first in "Ii" for mark in marks}
    assert made("questions", far.format("I", " (. ?)")) == expected
    assert made("questions", far.format("I", " (. .)")) == set()
    name = "(SQ (NP (NNP Ann)) (VP (VBZ ends)) (. ?))"
    assert "(SQ (NP (NNP Ann)) (VP (VBZ ends)))" in made("questions", name)
    assert not any("ann" in each for each in made("questions", name))


def test_chat_joins_short_forms() -> None:
    can_not = "(S (NP (PRP I)) (VP (MD ca) (RB n't) (VP (VB wait))) (. .))"
    assert "(S (NP (PRP i)) (VP (MD cant) (VP (VB wait))))" in made("chat", can_not)
    going = "(S (NP (PRP I)) (VP (VBP 'm) (VP (VBG going))) (. .))"
    assert "(S (NP (PRP im)) (VP (VBG going)))" in made("chat", going)
    curly = "(S (NP (PRP You)) (VP (VBP \u2019re) (ADJP (JJ great))) (. .))"
    assert "(S (NP (PRP youre)) (VP (ADJP (JJ gr8))))" in made("chat", curly)
    asked = "(SBARQ (WHNP (WP What)) (SQ (VBZ 's) (NP (PRP$ your) (NN name))) (. ?))"
    assert "(SBARQ (WHNP (WP what)) (SQ (VBZ s) (NP (PRP$ ur) (NN name))))" in made("chat", asked)
    assert made("chat", "(S (NP (NNP Ann)) (VP (VBZ waits)) (. .))") == set()


def test_chat_ends_as_treebanks_end_it() -> None:
    some = made("chat", "(S (NP (PRP I)) (VP (VBP love) (NP (NN rain))) (. .))")
    begin = "(S (NP (PRP i)) (VP (VBP love) (NP (NN rain)))"
    assert all(each.startswith(begin) for each in some)
    assert f"{begin} (SYM 😂) (SYM 😂))" in some
    assert any(each.startswith(f"{begin} (INTJ (UH ") for each in some)
    assert f"{begin} (NP (NNP #rain)))" in some
    assert f"{begin} (. !!))" in some


def test_an_item_has_a_number_or_a_bullet() -> None:
    some = made("items", "(S (VP (VB Buy) (NP (NN milk))) (. .))")
    for first in ("(LST (LS 2.))", "(LST (LS a-RRB-))", "(SYM •)", "(: -)"):
        assert f"(S {first} (VP (VB Buy) (NP (NN milk))))" in some
    assert "(S (LST (LS 10)) (VP (VB Buy) (NP (NN milk))) (. .))" in some
    assert made("items", "(S (LST (LS 2.)) (VP (VB Buy) (NP (NN milk))))") == set()


def test_an_amount_is_a_range() -> None:
    some = made("amounts", "(S (VP (VB Bake) (PP (IN for) (NP (CD 9) (NNS minutes)))) (. .))")
    bake = "(S (VP (VB Bake) (PP (IN for) (NP (QP (CD {}) (SYM {}) (CD {})) (NNS {})))) (. .))"
    assert bake.format(20, "-", 25, "mins") in some
    assert bake.format(2, "\N{EN DASH}", 3, "minutes") in some
    numbers = [Tree.from_string(each).words()[2:5:2] for each in some]
    assert all(int(low) < int(high) <= int(low) + 10 for low, high in numbers)
    assert made("amounts", "(S (NP (CD Nine)) (VP (VBD left)) (. .))") == set()


def test_thanks_are_given_for_something() -> None:
    some = made("thanks", "(S (VP (VB Ask) (PP (IN for) (NP (PRP$ my) (NN help)))) (. .))")
    advance = "(PP (IN in) (NP (NN advance)))"
    for_help = "(PP (IN for) (NP (PRP$ your) (NN help)))"
    assert f"(NP (NP (NNS Thanks)) {advance} {for_help} (. !))" in some
    assert f"(NP (NP (NNS thanks)) {for_help})" in some
    helping = "(PP (IN for) (S (VP (VBG helping) (NP (PRP us)))))"
    assert f"(NP (NP (NNS Thx)) {helping} (. .))" in made("thanks", f"(S (VP (VB Ask) {helping}))")
    assert made("thanks", "(S (VP (VB Run) (PP (IN for) (NP (CD 9) (NNS miles)))))") == set()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_is_a_tree_under_the_root(kind: str) -> None:
    for tree in filter(is_usable, read_treebank([Path("examples/gold.mrg")])):
        for each in KINDS[kind](tree, Random(1)):
            assert Tree.from_string(each.to_string()) == each
            assert each.label == "TOP"
            assert len(each.children) == 1
            assert all(node.children for node in each.preorder())


def test_trees_that_cannot_be_rewritten_are_left_alone() -> None:
    assert is_usable(Tree.from_string("(TOP (NP (DT a) (NN b)))"))
    assert not is_usable(Tree.from_string(f"(TOP (NP{' (NN a)' * 31}))"))
    assert not is_usable(Tree.from_string("(TOP " + "(NP " * 200 + "(NN a)" + ")" * 201))
