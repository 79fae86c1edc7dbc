"""Candidates become trees of their sentence, or are rejected with a code."""

from __future__ import annotations

import pytest

from reranker.errors import InputError
from reranker.files.text import MAX_LINE
from reranker.nbest import NBest, Sentence
from reranker.nbest.data import RawCandidate, RawList, Repair
from reranker.nbest.faithful import ReadingRules, accept
from reranker.nbest.growth_limit import GrowthLimit
from reranker.nbest.notation import Notation
from reranker.nbest.words import printable
from reranker.trees.linearize import linearize
from reranker.trees.tree import MAX_DEPTH, MAX_WORDS
from tests.reranker.nbest.summaries import accepted, rejected, trees

BRACKETS, BARE, LINEARIZED = Notation.BRACKETS, Notation.BARE, Notation.LINEARIZED
RUNS = "(S1 (S (NP (PRP It)) (VP (VBZ runs)) (. .)))"
RUNS_TOKENS = "(S (NP It )NP (VP runs )VP . )S"


def accept_texts(
    *texts: str,
    notation: Notation = BRACKETS,
    repair: bool = False,
    restore: bool = False,
    words: str = "",
    tags: str = "",
) -> NBest:
    found = [RawCandidate(line, text) for line, text in enumerate(texts, 1)]
    sentence = Sentence(tuple(words.split()), tuple(tags.split())) if words else None
    rules = ReadingRules("f", notation, repair, restore)
    return accept(RawList("s1", 1, found), rules, sentence)


def test_what_is_rejected_stands_in_the_order_of_the_list() -> None:
    """Though wrong words are seen once all trees have been read."""
    walks = RUNS.replace("runs", "walks")
    nbest = accept_texts(RUNS, walks, "", walks, RUNS[:-1])
    assert rejected(nbest) == [
        (1, 2, "wrong-words"), (2, 3, "empty"), (3, 4, "wrong-words"), (4, 5, "unbalanced"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("notation", "text", "code"),
    [
        (BRACKETS, "", "empty"),
        (BRACKETS, "(())", "empty"),
        (BRACKETS, "(S1 (S (NP (-NONE- *))))", "empty"),
        (BRACKETS, "It runs .", "not-a-tree"),
        (BRACKETS, RUNS[1:], "not-a-tree"),
        (BRACKETS, RUNS + ")", "unbalanced"),
        (BRACKETS, RUNS[:-1], "unbalanced"),
        (BRACKETS, f"{RUNS} {RUNS}", "unbalanced"),
        (BRACKETS, "(S" * (MAX_DEPTH + 1) + " a" + ")" * (MAX_DEPTH + 1), "too-deep"),
        (BRACKETS, "(S" + " (NN a)" * (MAX_WORDS + 1) + ")", "too-long"),
        (BRACKETS, "(S (NN " + "a" * MAX_LINE + "))", "too-long"),
        (BRACKETS, "(S (NN caf\udce9))", "encoding"),
        (BRACKETS, "(S (NN \ud800))", "encoding"),
        (BRACKETS, "(S (PRP It) (VBZ runs))", "wrong-length"),
        (BRACKETS, RUNS.replace("runs", "walks"), "wrong-words"),
        (BARE, "(S (NP It) (VP runs) .", "unbalanced"),
        (BARE, "(S (NP It) (VP runs)) .", "not-a-tree"),
        (BARE, "(S (NP It) (VP walks) .)", "wrong-words"),
        (BARE, "(S (NP It) (VP runs))", "wrong-length"),
        (LINEARIZED, "(S (NP XX )NP (VP XX )NP . )S", "unbalanced"),
        (LINEARIZED, "(S (NP XX )NP (VP XX )VP . ", "unbalanced"),
        (LINEARIZED, "(S (NP XX )NP (VP XX )VP . XX )S", "wrong-length"),
        (LINEARIZED, "(S (NP , )NP (VP XX )VP . )S", "wrong-words"),
        (LINEARIZED, "<s> </s>", "empty"),
    ],
)
def test_codes(notation: Notation, text: str, code: str) -> None:
    nbest = accept_texts(text, notation=notation, words="It runs .")
    assert rejected(nbest) == [(0, 1, code)]
    assert nbest.rejected[0].message
    assert nbest.rejected[0].file == "f"
    nbest.rejected[0].text.encode()  # can be written


def test_places_count_from_the_first_index() -> None:
    raw = RawList("s1", 1, [RawCandidate(1, RUNS), RawCandidate(2, "("), RawCandidate(3, RUNS)])
    nbest = accept(raw, ReadingRules("f", BRACKETS, False), None, 7)
    assert [one.index for one in nbest.candidates] == [7, 9]
    assert rejected(nbest) == [(8, 2, "unbalanced")]


def test_the_words_of_a_list_are_its_first_tree_s() -> None:
    nbest = accept_texts("(S (", "(S (A a) (B b))", "(S (A a) (C c))", "(X (A a) (B b))")
    assert rejected(nbest) == [(0, 1, "unbalanced"), (2, 3, "wrong-words")]
    assert accepted(nbest) == ["(S a b )S", "(X a b )X"]


def test_the_words_are_those_of_a_tree_that_hides_none() -> None:
    nbest = accept_texts("(S UNK-LC-s b)", "(S <unk> (X b))", "(S (X a) b)", notation=BARE)
    assert accepted(nbest) == ["(S a b )S", "(S a (X b )X )S", "(S (X a )X b )S"]


def accept_shown(*texts: str, repair: Repair | None = None) -> NBest:
    """Accept a list, with each candidate in the notation that it shows."""
    found = [RawCandidate(line, text) for line, text in enumerate(texts, 1)]
    return accept(RawList("s1", 1, found), ReadingRules("f", None, repair))


def test_a_candidate_that_shows_no_notation_has_that_of_the_others() -> None:
    assert accepted(accept_shown("(X Go)")) == ["Go"]
    assert accepted(accept_shown("(X Go)", "(VP Go)")) == ["(X Go )X", "(VP Go )VP"]
    assert accepted(accept_shown("(X Go)", "(NP (VB Go))", "(VP Go)")) == [
        "Go", "(NP Go )NP", "(VP Go )VP",
    ]  # fmt: skip
    # No other sentence, and no broken tree, says anything.
    assert accepted(accept_shown("(X Go)", "(S (NP We) (VP go))", "(VP Go")) == ["Go"]
    assert accepted(accept_shown("(X Go)", "(VP Go", repair=True)) == ["Go", "(VP Go )VP"]


def test_a_broken_candidate_is_repaired_as_the_others_would_be() -> None:
    assert rejected(accept_shown("(S (VP Go")) == [(0, 1, "unbalanced")]
    nbest = accept_shown("(S (VP Go", "(S (VP Go )VP )S")
    assert [one.is_repaired for one in nbest.candidates] == [True, False]


def test_a_repaired_tree_does_not_tell_the_words() -> None:
    whole = "(S (NP It )NP (VP runs )VP . )S"
    nbest = accept_shown("(S (NP It )NP (VP runs", whole)
    assert [one.words for one in nbest.candidates] == [["It", "runs", "."]] * 2
    assert nbest.candidates[1].text == whole and not nbest.candidates[1].is_repaired


def test_hidden_words_cost_only_candidates_that_nothing_tells() -> None:
    hidden = "(S (NP XX )NP . )S"
    (one, other) = accept_shown(hidden, "(S (VP _VB_ )VP )S").rejected
    assert (one.code, other.code) == ("hidden-words", "hidden-words")
    told = accept_shown(hidden, "(S (VP (VB Go)) (. .))")
    assert accepted(told) == ["(S (NP Go )NP . )S", "(S (VP Go )VP . )S"]
    longer = accept_shown(hidden, "(S (NP (PRP It)) (VP (VBZ runs)) (. .))")
    assert accepted(longer)[1:] == [RUNS_TOKENS]


def test_the_given_words_come_before_the_file_s() -> None:
    raw = RawList("s1", 1, [RawCandidate(1, "(S (A a))")], Sentence(("b",)))
    assert rejected(accept(raw, ReadingRules("f", BRACKETS, False))) == [(0, 1, "wrong-words")]
    given = accept(raw, ReadingRules("f", BRACKETS, False), Sentence(("A",)))
    assert accepted(given) == ["(S A )S"]
    assert given.sentence == Sentence(("A",))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(S (-LRB- -LRB-) (NN a))", "-lrb- a"),
        ("(S (-LRB- \\() (NN a))", "-LRB- a"),
        ("(S (-LRB- -LSB-) (NN a))", "[ a"),
        ("(S (-LRB- [) (NN a))", "-LSB- a"),
        ("(S (-LRB- -LCB-) (NN a))", "{ a"),
        ("(S (`` ``) (NN a))", '" a'),
        ("(S (CD 1\\/2) (NN a))", "1/2 a"),
        ("(S (DT the) (NN a))", "The a"),
        ("(S (NN UNK-LC-s) (NN a))", "runs a"),
    ],
)
def test_words_are_the_sentence_s_own(text: str, words: str) -> None:
    nbest = accept_texts(text, words=words)
    first, second = words.split()
    (one,) = nbest.candidates
    assert one.tokens == ("(S", first, second, ")S")
    assert one.words == [first, second]
    assert one.text == text


def test_the_tree_has_the_sentence_s_words_and_its_own_traces() -> None:
    text = "(S (NP-SBJ (-NONE- *)) (VP (VB go) (NP (NN UNK))))"
    nbest = accept_texts(text, words="Go home")
    assert trees(nbest) == ["(S (NP-SBJ (-NONE- *)) (VP (VB Go) (NP (NN home))))"]
    assert accepted(nbest) == ["(S (VP Go (NP home )NP )VP )S"]


def test_restored_candidates() -> None:
    nbest = accept_texts(
        "(S (NP UNK) runs)", notation=BARE, words="It runs", tags="PRP VBZ", restore=True
    )
    (one,) = nbest.candidates
    assert (one.text, one.tags) == ("(S (NP (PRP It)) (VBZ runs))", None)
    assert linearize(one.tree) == one.tokens == ("(S", "(NP", "It", ")NP", "runs", ")S")
    # Tags that a parser told are kept, those that stand for any are not.
    for own, expected in (("JJ", "JJ"), ("XX", "PRP")):
        nbest = accept_texts(f"(S ({own} It) ({own} UNK))", words="It runs", tags="PRP PRP",
                             restore=True)  # fmt: skip
        assert [one.text for one in nbest.candidates] == [f"(S ({expected} It) ({expected} runs))"]


def test_hidden_words_that_nobody_tells() -> None:
    with pytest.raises(InputError, match=r"f:1: the words are XX"):
        accept_texts("(S (NP XX )NP . )S", notation=LINEARIZED)
    # In brackets XX can be a word.
    assert accepted(accept_texts("(S (NN XX))")) == ["(S XX )S"]


@pytest.mark.parametrize(
    ("notation", "text", "repaired"),
    [
        (BRACKETS, RUNS[:-1], "(S (NP (PRP It) ) (VP (VBZ runs) ) (. .) )"),
        (BRACKETS, RUNS + ")", "(S (NP (PRP It) ) (VP (VBZ runs) ) (. .) )"),
        (BRACKETS, "(S (NP (PRP It)) (VP (VBZ runs)))", None),
        (BRACKETS, "(S (NP (PRP It)) (VP (VBZ runs)) (. .) (. .))", None),
        (BRACKETS, "(NP (PRP It)) (VP (VBZ runs)) (. .)", None),
        (BARE, "(S (NP It) (VP runs) .))", "(S (NP It ) (VP runs ) . )"),
        (BARE, "(S (NP It) (VP runs) . .)", "(S (NP It ) (VP runs ) . )"),
        (LINEARIZED, "(S (NP XX )_NP (VP XX )_VP .", "(S (NP XX )_NP (VP XX )_VP . )_S"),
        (LINEARIZED, "(S (NP XX )NP (VP XX )VP )S", "(S (NP XX )NP (VP XX )VP XX )S"),
        (LINEARIZED, "(S (NP XX )NP (VP , )VP . )S", "(S (NP XX )NP (VP , )VP . )S"),
        (LINEARIZED, "(S XX XX XX XX )S )S", None),
        (LINEARIZED, "XX )NP )S", None),
    ],
)
def test_repairs_are_trees_of_the_sentence(
    notation: Notation, text: str, repaired: str | None
) -> None:
    assert rejected(accept_texts(text, notation=notation, words="It runs .")) != []
    (one,) = accept_texts(text, notation=notation, words="It runs .", repair=True).candidates
    assert one.is_repaired
    assert one.words == ["It", "runs", "."]
    assert linearize(one.tree) == one.tokens
    if repaired:
        assert one.text == repaired


def test_repair_leaves_whole_candidates_alone() -> None:
    (one,) = accept_texts(RUNS, words="It runs .", repair=True).candidates
    assert (one.text, one.is_repaired) == (RUNS, False)


def test_other_words_cannot_be_repaired() -> None:
    nbest = accept_texts(RUNS.replace("runs", "walks"), words="It runs .", repair=True)
    assert rejected(nbest) == [(0, 1, "wrong-words")]


def test_traces_are_no_words_to_repair() -> None:
    nbest = accept_texts("(S (-NONE- *) (NN a))", words="b a", repair=True)
    assert trees(nbest) == []
    nbest = accept_texts("(S (-NONE- *) (NN a))", words="a b", repair=True)
    assert trees(nbest) == ["(S (NN a) (XX b))"]


def test_fallbacks() -> None:
    other = "(S (NP (PRP We)) (VP (VBP run)))"
    assert accept_texts("(S (", other).fallback == "(TOP )"  # nothing is rejected for its words
    assert accept_texts("(S (", other, words="It runs .").fallback == other
    assert accept_texts("(S (", words="It runs .").fallback == "(TOP (S (XX It) (XX runs) (XX .)))"
    assert accept_texts("(S (").fallback == "(TOP )"


def test_printable() -> None:
    assert printable("café \udce9 \ud800") == "café \ufffd \ufffd"


def test_a_repair_within_a_trace_is_one_too() -> None:
    # Found by fuzzing: all that is broken is left out, and yet the text is no tree.
    nbest = accept_texts("(S1 (PRP It)) (-NONE- *", repair=True)
    (candidate,) = nbest.candidates
    assert candidate.is_repaired
    assert linearize(candidate.tree) == candidate.tokens == ("It",)


def with_room(characters: int, words: str, *texts: str, notation: Notation = LINEARIZED) -> NBest:
    found = [RawCandidate(line, text) for line, text in enumerate(texts, 1)]
    rules = ReadingRules("f", notation, repair=True, growth_limit=GrowthLimit(characters))
    return accept(RawList("s1", 1, found), rules, Sentence(tuple(words.split())))


@pytest.mark.parametrize("notation, short", [(LINEARIZED, "(S XX )S"), (BRACKETS, "(S (X a)")])
def test_a_list_becomes_hardly_longer_than_twice_what_is_written(
    notation: Notation, short: str
) -> None:
    """40 characters with spaces, and room for as many; a tree of 8 takes 24: 3 fit, not 4."""
    nbest = with_room(55, "a " * 20, *[short] * 5, notation=notation)
    assert [len(each.words) for each in nbest.candidates] == [20] * 3
    assert rejected(nbest) == [(3, 4, "too-long"), (4, 5, "too-long")]
    assert "40 characters" in nbest.rejected[0].message


def test_long_words_take_room_too() -> None:
    """They would stand in the answer, once for each candidate."""
    nbest = with_room(-31, "a" * 30, "(S XX )S", "(S (NP (X (Y XX )Y )X )NP )S")
    assert (len(nbest.candidates), rejected(nbest)) == (1, [(0, 1, "too-long")])


def test_what_is_written_in_full_needs_no_room() -> None:
    assert (
        len(with_room(0, "It runs .", "(S It runs . )S", "(S XX (VP XX )VP . )S").candidates) == 2
    )


@pytest.mark.parametrize("repair", [True, "authors"])
def test_no_tree_gets_more_words_than_a_tree_can_have(repair: Repair) -> None:
    """A thousand times as many were put into the list."""
    raw = RawList("s1", 1, [RawCandidate(1, "(S XX )S")] * 1000)
    nbest = accept(raw, ReadingRules("f", LINEARIZED, repair), Sentence(("a",) * (MAX_WORDS + 1)))
    assert nbest.candidates == () and {each.code for each in nbest.rejected} == {"too-long"}


def test_words_of_the_first_candidate_take_room() -> None:
    raw = RawList(
        "s1", 1, [RawCandidate(1, f"(S {'a ' * 20})S")] + [RawCandidate(2, "(S XX )S")] * 9
    )
    nbest = accept(raw, ReadingRules("f", LINEARIZED, growth_limit=GrowthLimit(95)))
    assert [each.index for each in nbest.candidates] == [0, 1, 2, 3]
