"""Matches are those of nltk.tgrep, which tries out everything, wherever it knows the language."""

from __future__ import annotations

import time

import nltk
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk import tgrep

from reranker.errors import InputError, TreeError
from reranker.trees.patterns.pattern import Pattern, PatternError
from reranker.trees.patterns.relations import RELATIONS, nth_child
from reranker.trees.patterns.table import Table, members
from reranker.trees.tree import MAX_DEPTH, Tree

ATE = Tree.from_string(
    "(S (NP (NP (DT the) (NN dog)) (SBAR (WHNP (WDT that)) (S (VP (VBD ran)))))"
    " (VP (VBD ate) (NP (NN cake)) (PP (IN with) (NP (NN cream)))) (. .))"
)

# nltk calls pyparsing by its old names.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

LABELS = ("S", "NP", "VP", "X")
TGREP_SIGNS = [
    *("<", ">", "<<", ">>", "<,", ">,", "<'", ">'", "<-", ">-", "<1", ">1", "<2", ">2", "<-1"),
    *(">-2", "<:", ">:", "<<,", ">>,", "<<'", ">>'", "<<:", ">>:", ".", ",", "..", ",,"),
    *("$", "$.", "$,", "$..", "$,,", "%..", "%,,"),
]


def words_of(pattern: str, tree: Tree = ATE) -> list[str]:
    """Return the words of each match, in the order of the tree."""
    table = Table(tree)
    nodes = [table.nodes[node] for node in members(Pattern(pattern).matching(table))]
    return [node if isinstance(node, str) else " ".join(node.leaves()) for node in nodes]


class Node(nltk.ParentedTree):  # type: ignore[misc]
    """A node equal to nothing but itself: nltk's ``>>,`` takes a node for another with the same
    words."""

    __eq__, __hash__ = object.__eq__, object.__hash__


def with_nodes_for_words(tree: Tree | str) -> Node:
    """Return nltk's tree, with words as nodes without children: its strings know no parent."""
    if isinstance(tree, str):
        return Node(tree, [])
    return Node(tree.label, list(map(with_nodes_for_words, tree.children)))


trees = st.recursive(
    st.sampled_from([Tree(tag, (word,)) for tag in ("DT", "NN") for word in "ab"]),
    lambda children: st.builds(
        lambda label, below: Tree(label, tuple(below)),
        st.sampled_from(LABELS),
        st.lists(children, min_size=1, max_size=3),
    ),
    max_leaves=8,
)
nodes = st.sampled_from([*LABELS, "DT", "a", "__", "S|NP", "/^[NV]P/", '"X"', 'i@"np"'])


def _related(parts: tuple[str, list[tuple[str, str, str]], str]) -> str:
    node, relations, joint = parts
    return f"({node} " + joint.join(f"{no}{sign} {other}" for no, sign, other in relations) + ")"


patterns = st.recursive(
    nodes,
    lambda inner: st.builds(
        lambda *parts: _related(parts),
        nodes,
        st.lists(
            st.tuples(st.sampled_from(("", "!")), st.sampled_from(TGREP_SIGNS), inner),
            min_size=1,
            max_size=3,
        ),
        st.sampled_from((" ", " & ", " | ")),
    ),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None)
@given(trees, patterns)
def test_the_nodes_are_those_of_nltk(tree: Tree, pattern: str) -> None:
    (expected,) = tgrep.tgrep_positions(pattern, [with_nodes_for_words(tree)])
    table = Table(tree)
    assert list(members(Pattern(pattern).matching(table))) == [
        number for number, place in enumerate(positions(tree)) if place in expected
    ]


def positions(tree: Tree | str, place: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Return nltk's positions, in preorder."""
    children = () if isinstance(tree, str) else tree.children
    return [place, *(p for n, each in enumerate(children) for p in positions(each, (*place, n)))]


def pairs(sign: str, table: Table) -> set[tuple[int, int]]:
    """Return all pairs of nodes in this relation."""
    targets = RELATIONS.get(sign) or nth_child(int(sign[1:]), goes_down=sign[0] == "<")
    numbers = range(len(table.nodes))
    return {(a, b) for a in numbers for b in members(targets(table, a))}


@settings(max_examples=100, deadline=None)
@given(trees, nodes, nodes, st.sampled_from(TGREP_SIGNS), st.sampled_from(TGREP_SIGNS))
def test_names_are_tried_out_until_all_of_the_pattern_holds(
    tree: Tree, first: str, second: str, sign: str, other_sign: str
) -> None:
    """Compared by brute force over pairs of nodes; nltk takes the first node that a name fits."""
    table = Table(tree)
    numbers = range(len(table.nodes))
    first_pairs, second_pairs = pairs(sign, table), pairs(other_sign, table)
    is_first = Pattern(first).matching(table)
    is_second = Pattern(second).matching(table)
    expected = [
        a
        for a in numbers
        if is_first >> a & 1
        and any(is_second >> b & 1 and (a, b) in first_pairs & second_pairs for b in numbers)
    ]
    pattern = Pattern(f"({first}) {sign} ({second})=b {other_sign} =b")
    assert list(members(pattern.matching(table))) == expected
    segments = Pattern(f"({first})=a {sign} ({second})=b : =a {other_sign} =b")
    assert list(members(segments.matching(table))) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        # Tregex's additions to tgrep2.
        ("NP $+ VP", ["the dog that ran"]),
        ("VP $- NP", ["ate cake with cream"]),
        ("/^V/ $++ PP", ["ate"]),
        ("PP $-- VBD", ["with cream"]),
        ("S <+(VP|PP) (NN < cream)", []),
        ("S <+(VP|PP|NP) (NN < cream)", ["the dog that ran ate cake with cream ."]),
        ("NN >+(NP|SBAR) S", ["dog"]),
        ("VP <# VBD", ["ran", "ate cake with cream"]),
        ("NN ># (NP < DT)", ["dog"]),
        ("ran >>, VP", ["ran"]),
        ("VP <<` cream", ["ate cake with cream"]),
        ("NP [< DT | < SBAR] !> VP", ["the dog that ran", "the dog"]),
        ("NP !< (NN|NP)", []),
        ("NN < !dog", ["cake", "cream"]),
        ("/^N/ == (NP > PP)", ["cream"]),
        # Words are nodes, and know their parents.
        ("/a/ > NN", ["cake", "cream"]),
        ("that . ran", ["that"]),
        ("/^THE?$/i", ["the"]),
    ],
)
def test_relations_on_a_tree_to_look_at(pattern: str, expected: list[str]) -> None:
    assert words_of(pattern) == expected


def test_categories_are_labels_without_function_tags() -> None:
    tree = Tree.from_string("(S (NP-SBJ-1 (PRP$ its)) (NP=2 (-NONE- *)) (NPX (NN x)))")
    assert words_of("@NP", tree) == ["its", "*"]
    assert words_of("PRP$ > NP-SBJ-1", tree) == ["its"]
    assert words_of("-NONE-", tree) == ["*"]


def test_the_deepest_and_the_widest_tree_take_a_moment() -> None:
    deep = Tree("NN", ("a",))
    for _ in range(MAX_DEPTH - 2):
        deep = Tree("NP", (deep,))
    wide = Tree("NP", tuple(Tree("NN", ("a",)) for _ in range(5_000)))
    chain = "__"
    for _ in range(40):  # nltk's closures would try 2,000 ** 40 ways
        chain = f"(__ << {chain})"
    before = time.process_time()
    for tree in (deep, wide):
        chains = ("__ .+(__) __", "a ,+(__) a", "__ <+(__) a", "__ >+(NP) __")
        slow = (chain, "__ .. __", "NP << (NN , NN)", "__ >>' (__ <<' __)", "__ $-- NN", *chains)
        for pattern in slow:
            Pattern(pattern).matching(Table(tree))
    assert time.process_time() - before < 60


def test_names_that_can_stand_for_too_many_nodes_are_given_up() -> None:
    tree = Tree("S", tuple(Tree("NP", (word,)) for word in "abcdefghijklmnopqrst"))
    with pytest.raises(TreeError, match="too many"):
        words_of("S < NP=a < NP=b < NP=c < NP=d : =a $ =b : =b $ =c : =c $ =d", tree)


def test_one_name_in_a_sentence_of_thousands_of_words_is_given_up() -> None:
    tree = Tree("S", tuple(Tree("NN", ("a",)) for _ in range(3_000)))
    with pytest.raises(TreeError, match="too many"):
        words_of("NN=first . (NN , =first)", tree)  # 3,001 ways, each a look at 6,001 nodes
    assert len(words_of("NN . (NN=second , NN)", tree)) == 2_999  # nothing refers to the name


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("NP=a $.. (VP << (NP !== =a))", ["the dog that ran"]),
        ("NP=a > (__ < =a)", ["the dog that ran", "the dog", "cake", "cream"]),
        ("(NP < NN)=a . (VBD $ =a)", []),
        ("NP . (VBD $.. (NP < NN)=a $.. (PP , =a))", ["the dog that ran"]),
        ("NP=unused < NN", ["the dog", "cake", "cream"]),
        ("S=s < (NP=n $+ VP) : =n << that : =s < VP", ["the dog that ran ate cake with cream ."]),
        ("NP : SBAR", ["the dog that ran", "the dog", "cake", "cream"]),
        # Where there are alternatives, there need be no node of a name.
        ("NP [< (XX=x < =x) | < DT]", ["the dog"]),
        ("(NP=n < DT : =n . SBAR) | (IN)", ["the dog", "with"]),
        ("NN=n < /(.)a/#1%first : =n $ (JJ < /(.)a/#1%first)", []),
        ("NN < /^(c)(r|a)/#1%first : NN < /^(.)r/#1%first", ["cake", "cream"]),
    ],
)
def test_names(pattern: str, expected: list[str]) -> None:
    assert words_of(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "place", "reason"),
    [
        ("", 0, 'expected a node, such as NP, /^NP/, "." or __'),
        ("NP <", 4, "expected a node"),
        ("NP VP", 3, "'V' is not expected"),
        ("NP ~ VP", 3, "'~' is not expected"),
        ("NP )", 3, "nothing is open for ')'"),
        ("NP < (VP <<, V", 5, "'(' is not closed"),
        ("NP [< VP", 3, "'[' is not closed"),
        ("NP < (VP ]", 9, "expected ')', or a relation"),
        ("NP [VP]", 4, "expected a relation"),
        ("NP < $", 5, "expected a node"),
        ('NP < "a', 5, "expected a closing '\"'"),
        ("NP < /a", 5, "expected a closing '/'"),
        ("NP < /(/", 5, "not a regular expression: missing )"),
        ("/((a{999}){999}){999}/", 0, "not a regular expression: regex counted repetition"),
        ("NP < =x", 6, "no node before this is called =x"),
        ("NP !< NN=x < =x", 14, "no node before this is called =x, outside of negations"),
        ("NP=x < NN=x", 10, "two nodes are called =x"),
        ("NP= < NN", 4, "expected a name"),
        ("NP <+(VP S", 9, "expected ')'"),
        ("NP=n < NN <=n", 11, "write '< =n' for the node of this name, '<= n' for the label"),
        ("NP < (NN=n) [< DT=d | < =d]", 25, "=d is in another alternative"),
        ("NP < NN | NNS", 8, "this joins labels in tgrep2 and patterns in tregex: write A|B"),
        ("NP | NN < DT", 3, "this joins labels in tgrep2 and patterns in tregex: write A|B"),
        ("NP !?< NN", 4, "a relation cannot be denied and optional"),
        ("/a/#1%x", 3, "the regular expression has 0 groups"),
        ("NP !< /(a)/#1%x", 11, "nothing before this is called %x"),
        ("(" * 60, 51, "more than 50 brackets are open"),
        ("NP" + " < NP" * 201, 1003, "more than 200 relations"),
        ("N" * 5001, 5000, "more than 5,000 characters"),
    ],
)
def test_what_is_no_pattern_is_shown_where(pattern: str, place: int, reason: str) -> None:
    with pytest.raises(PatternError) as error:
        Pattern(pattern)
    message, shown, caret = str(error.value).split("\n")
    assert message.startswith(f"pattern: {reason}")
    assert pattern[place : place + 1] == shown[len(caret) - 1 : len(caret)]
    assert shown[2 : len(caret) - 1] == pattern[:place][-60:]


def test_an_expression_that_takes_too_long_is_named() -> None:
    tree = Tree.from_string(f"(S (NN {'a' * 60}!))")
    with pytest.raises(InputError, match=r"0\.5 s for 'aaa"):
        words_of("/^(a|a)*$/", tree)


@pytest.mark.parametrize(
    "pattern, expected",
    [
        # The Nth word below a node, and the other way round.
        ("NP <<<1 the", ["the dog that ran", "the dog"]),
        ("NP <<<2 dog", ["the dog that ran", "the dog"]),
        ("NP <<<-1 ran", ["the dog that ran"]),
        ("NP <<<5 __", []),
        ("S <<<9 __ <<<-3 with", ["the dog that ran ate cake with cream ."]),
        ("S <<<10 __", []),
        ("dog >>>2 NP", ["dog"]),
        ("ran >>>-1 (NP < NP)", ["ran"]),
        ("NN >>>1 NP", []),  # no word
        # Just these children, in this order.
        ("NP <... { DT ; NN }", ["the dog"]),
        ("NP <...{NN;DT}", []),
        ("NP <... {NN}", ["cake", "cream"]),
        ("NP <... {DT; __; __}", []),
        ("VP <... {(VBD < ate); NP; (PP <... {IN; (NP < NN)})}", ["ate cake with cream"]),
        ("NP !<... {NN}", ["the dog that ran", "the dog"]),
        # Whether or not.
        ("VP ?< PP=p < VBD", ["ran", "ate cake with cream"]),
        ("VP ?< XX", ["ran", "ate cake with cream"]),
        ("NP ?[< DT | < NN] << dog", ["the dog that ran", "the dog"]),
        ("VP ?< PP=p : =p < IN", ["ate cake with cream"]),  # so there is one
    ],
)
def test_relations_of_tregex_alone(pattern: str, expected: list[str]) -> None:
    """Worked by hand, after the descriptions of TregexPattern."""
    assert words_of(pattern) == expected


@pytest.mark.parametrize(
    "pattern", ["NP <... {", "NP <... {DT; NN", "NP <... }", "NP ?", "NP <<<0 x"]
)
def test_relations_of_tregex_that_are_wrong(pattern: str) -> None:
    with pytest.raises(PatternError):
        Pattern(pattern)
