from collections.abc import Sequence

import pytest

from reranker.linearize import linearize
from reranker.trees import Tree
from reranker.vocab import EOS, Vocabulary, unknown_class


def vocabulary_of(*words_and_symbols: str) -> Vocabulary:
    """One with these symbols, after those every vocabulary has."""
    return Vocabulary([EOS, "<unk>", "(<unk>", ")<unk>", *words_and_symbols])


def read_back(vocabulary: Vocabulary, tokens: Sequence[str]) -> list[str]:
    return [vocabulary.symbols[number] for number in vocabulary.encode(tokens)]


# Each rule of Choe and Charniak's table, in its order, as small and as capitalised word. Where
# two rules fit a word, the earlier one decides; the comment names the one that comes too late.
CLASSES = [
    # Starts and ends with a digit, at any length. A capital never starts such a word.
    ("7", "<unkn>"),
    ("42", "<unkn>"),
    ("1984", "<unkn>"),
    ("3.14", "<unkn>"),  # .
    ("10-12", "<unkn>"),  # -
    ("2nd", "<unk>"),
    ("$500", "<unk>"),
    ("500%", "<unk>"),
    ("A500", "<cunk>"),
    # Three letters or fewer: nothing more.
    ("a", "<unk>"),
    ("A", "<cunk>"),
    ("gas", "<unk>"),  # s
    ("Gas", "<cunk>"),
    ("ing", "<unk>"),  # ing
    ("Ing", "<cunk>"),
    ("red", "<unk>"),  # ed
    ("Fly", "<cunk>"),  # ly
    ("her", "<unk>"),  # er
    ("ion", "<unk>"),  # ion
    ("Al", "<cunk>"),  # al
    ("un", "<unk>"),  # un
    ("Una", "<cunk>"),  # un
    ("x-y", "<unk>"),  # -
    ("A.B", "<cunk>"),  # .
    ("...", "<unk>"),  # .
    ("90s", "<unk>"),  # s
    # -ing
    ("king", "<unking>"),
    ("King", "<cunking>"),
    ("undoing", "<unking>"),  # un
    ("Undoing", "<cunking>"),  # un
    ("re-doing", "<unking>"),  # -
    ("KING", "<cunk>"),  # endings are compared in the word's own spelling
    # -ed
    ("shed", "<unked>"),
    ("Shed", "<cunked>"),
    ("untied", "<unked>"),  # un
    ("U.S.-based", "<cunked>"),  # .
    # -ly
    ("only", "<unkly>"),
    ("Only", "<cunkly>"),
    ("unlikely", "<unkly>"),  # un
    ("user-friendly", "<unkly>"),  # -
    # -s
    ("cats", "<unks>"),
    ("Cats", "<cunks>"),
    ("unions", "<unks>"),  # un
    ("1990s", "<unks>"),
    ("vis-a-vis", "<unks>"),  # -
    ("NAFTA's", "<cunks>"),
    ("ACTS", "<cunk>"),
    # -est
    ("best", "<unkest>"),
    ("Best", "<cunkest>"),
    ("unrest", "<unkest>"),  # un
    ("mid-west", "<unkest>"),  # -
    # -er
    ("over", "<unkER>"),
    ("Over", "<cunkER>"),
    ("under", "<unkER>"),  # un
    ("Vice-Chancellor-er", "<cunkER>"),  # -
    # -ion
    ("lion", "<unkion>"),
    ("Lion", "<cunkion>"),
    ("union", "<unkion>"),  # un
    ("co-creation", "<unkion>"),  # -
    # -ory
    ("gory", "<unkory>"),
    ("Gory", "<cunkory>"),
    ("unsavory", "<unkory>"),  # un
    ("pre-history", "<unkory>"),  # -
    # un-: in front of the whole
    ("undo", "<ununk>"),
    ("Undo", "<uncunk>"),
    ("unusual", "<ununk>"),  # al
    ("Unusual", "<uncunk>"),  # al
    ("un-do", "<ununk>"),  # -
    ("Un.do", "<uncunk>"),  # .
    ("rerun", "<unk>"),
    # -al
    ("oval", "<unkal>"),
    ("Oval", "<cunkal>"),
    ("non-legal", "<unkal>"),  # -
    ("St.-Vidal", "<cunkal>"),  # .
    # The first - or . inside the word; its last character is not inside, its first one is.
    ("re-do", "<unk->"),
    ("Re-do", "<cunk->"),
    ("e.g.", "<unk.>"),
    ("U.N.", "<cunk.>"),
    ("a-b.c", "<unk->"),
    ("A-b.c", "<cunk->"),
    ("a.b-c", "<unk.>"),
    ("A.b-c", "<cunk.>"),
    ("-LRB-", "<unk->"),
    (".com", "<unk.>"),
    ("10-K", "<unk->"),
    ("Corp.-", "<cunk.>"),
    ("then-.", "<unk->"),
    ("then-", "<unk>"),
    ("Then-", "<cunk>"),
    ("corp.", "<unk>"),
    ("Corp.", "<cunk>"),
    # No rule.
    ("walk", "<unk>"),
    ("Walk", "<cunk>"),
    ("iPod", "<unk>"),
    ("\u00c9mile", "<cunk>"),
    ("\u00e9clair", "<unk>"),
]


@pytest.mark.parametrize(("word", "expected"), CLASSES)
def test_every_unknown_word_class(word: str, expected: str) -> None:
    assert unknown_class(word) == expected


def test_symbols_come_most_frequent_first_and_then_by_spelling() -> None:
    trees = [
        ["(S", "The", "cats", ")S"],
        ["(S", "the", "Boxes", ")S"],
        ["(S", "THE", "cats", "THE", ")S"],
    ]
    # the 4; (S, )S and the end of a tree 3 each; cats 2 and Boxes 1 are too rare.
    assert Vocabulary.build(trees, minimum_count=3).symbols == (
        "the", "(S", ")S", "<eos>", "<unks>", "<cunks>", "(<unk>", ")<unk>", "<unk>",
    )  # fmt: skip


def test_ten_times_is_enough_and_nine_is_not() -> None:
    vocabulary = Vocabulary.build([["ten"] * 6 + ["nine"] * 9, ["TEN"] * 3 + ["Ten"]])
    assert set(vocabulary.symbols) == {"<eos>", "<unk>", "(<unk>", ")<unk>", "ten"}
    # nine became <unk>, which is therefore the second of them
    assert vocabulary.symbols[:2] == ("ten", "<unk>")


def test_the_class_of_a_rare_word_is_that_of_each_spelling() -> None:
    vocabulary = Vocabulary.build([["Going", "going", "1984"]])
    assert {"<cunking>", "<unking>", "<unkn>"} < set(vocabulary.symbols)
    assert "going" not in vocabulary.symbols


def test_a_rare_label_becomes_the_unknown_label() -> None:
    trees = [["(S", "(X", "a", ")X", ")S"], ["(S", "(VP", "a", ")VP", ")S"]]
    vocabulary = Vocabulary.build(trees, minimum_count=2)
    # 2 each of the first six: X and VP together make two unknown labels.
    assert vocabulary.symbols == ("(<unk>", "(S", ")<unk>", ")S", "<eos>", "a", "<unk>")
    assert read_back(vocabulary, trees[0]) == ["(S", "(<unk>", "a", ")<unk>", ")S", "<eos>"]


def test_encode_gives_places_among_the_symbols_and_ends_the_tree() -> None:
    vocabulary = Vocabulary(["(S", ")S", "it", "<unks>", "<unk>", "(<unk>", ")<unk>", "<eos>"])
    assert vocabulary.encode(["(S", "It", "runs", ")S"]) == [0, 2, 3, 1, 7]
    assert vocabulary.encode([]) == [7]
    assert vocabulary.eos == 7
    assert len(vocabulary) == 8


def test_facts_example_in_lower_case_with_its_end() -> None:
    tokens = linearize(Tree.from_string("(S1 (S (NP (PRP It)) (VP (VBZ runs)) (. .)))"))
    vocabulary = Vocabulary.build([tokens] * 10)
    spelled = "(S (NP it )NP (VP runs )VP . )S <eos>"
    assert " ".join(read_back(vocabulary, tokens)) == spelled


@pytest.mark.parametrize(
    ("token", "symbol"),
    [
        ("IT", "it"),
        ("Cats", "<unk>"),  # <cunks> was never seen
        ("cats", "<unks>"),
        ("1984", "<unk>"),
        ("(NP", "(NP"),
        ("(np", "(<unk>"),  # labels keep their case
        ("(VP", "(<unk>"),
        (")VP", ")<unk>"),
        ("(", "(<unk>"),
        ("NP", "<unk>"),
        ("\\(NP", "<unk>"),
        ("-LRB-", "-lrb-"),
    ],
)
def test_what_training_never_saw_still_maps_to_a_symbol(token: str, symbol: str) -> None:
    vocabulary = vocabulary_of("it", "<unks>", "(NP", ")NP", "-lrb-")
    assert vocabulary.symbol(token) == symbol
    assert read_back(vocabulary, [token]) == [symbol, "<eos>"]


@pytest.mark.parametrize("word", ["<eos>", "<EOS>", "<unk>", "<unks>", "<unkn>", "<cunkER>"])
def test_a_word_spelled_like_a_symbol_is_an_unknown_word(word: str) -> None:
    vocabulary = vocabulary_of("<unks>", "<unkn>", "<cunkER>")
    assert read_back(vocabulary, [word]) == ["<unk>", "<eos>"]
    assert vocabulary.is_unknown(word)


def test_a_frequent_word_spelled_like_a_symbol_adds_nothing_to_it() -> None:
    vocabulary = Vocabulary.build([["<eos>", "<b>", "it", "it"]] * 2, minimum_count=2)
    # <eos> and <b> are words of class <unk>, 2 each; two trees end.
    assert vocabulary.symbols == ("<unk>", "it", "<eos>", "(<unk>", ")<unk>")


def test_angle_brackets_alone_are_words() -> None:
    vocabulary = Vocabulary.build([["<", ">", "<>"]], minimum_count=1)
    assert read_back(vocabulary, ["<", ">", "<>"]) == ["<", ">", "<>", "<eos>"]


def test_is_unknown_is_about_words() -> None:
    vocabulary = vocabulary_of("it", "<unks>")
    tokens = ["It", "cats", "dog", "(NP", ")NP"]
    assert [vocabulary.is_unknown(token) for token in tokens] == [False, True, True, False, False]


def test_the_symbols_are_all_a_checkpoint_needs() -> None:
    built = Vocabulary.build([["(S", "It", "runs", ")S"]] * 10)
    copy = Vocabulary(list(built.symbols))
    assert copy == built
    assert hash(copy) == hash(built)
    assert copy.encode(["(S", "it", "Boxes", ")X"]) == built.encode(["(S", "it", "Boxes", ")X"])
    assert copy != vocabulary_of("it")


@pytest.mark.parametrize(
    "symbols",
    [
        [],
        ["<eos>", "<unk>", "(<unk>"],
        ["<unk>", "(<unk>", ")<unk>"],
        ["<eos>", "<unk>", "(<unk>", ")<unk>", "it", "it"],
        ["<eos>", "<unk>", "(<unk>", ")<unk>", ""],
    ],
)
def test_symbols_that_make_no_vocabulary(symbols: list[str]) -> None:
    with pytest.raises(ValueError, match="distinct symbols"):
        Vocabulary(symbols)
