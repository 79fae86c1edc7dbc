from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.checkpoints.vocabulary import EOS, Vocabulary, class_number, rare_words, unknown_class
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree


def vocabulary_of(*words_and_symbols: str) -> Vocabulary:
    """Build a vocabulary of these symbols, after the symbols that every vocabulary has."""
    return Vocabulary([EOS, "<unk>", "(<unk>", ")<unk>", *words_and_symbols])


def read_back(vocabulary: Vocabulary, tokens: Sequence[str]) -> list[str]:
    return [vocabulary.symbols[number] for number in vocabulary.encode(tokens)]


# Each rule of Choe and Charniak's table, in its order, as small and as capitalised word. Where
# two rules fit a word, the earlier one decides; the comment names the later rule.
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
    ("Undo", "<cunk>"),
    ("unusual", "<ununk>"),  # al
    ("Unusual", "<cunkal>"),
    ("un-do", "<ununk>"),  # -
    ("Un.do", "<cunk.>"),
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


# All classes of Choe & Charniak's own vocabularies (cdg720/emnlp2016, vocabs/wsj.gz and semi.gz).
THEIRS = {
    *("<unk>", "<unkn>", "<unking>", "<unked>", "<unkly>", "<unks>", "<unkest>", "<unkER>"),
    *("<unkion>", "<unkory>", "<ununk>", "<unkal>", "<unk->", "<unk.>"),
    *("<cunk>", "<cunking>", "<cunked>", "<cunkly>", "<cunks>", "<cunkest>", "<cunkER>"),
    *("<cunkion>", "<cunkory>", "<cunkal>", "<cunk->", "<cunk.>"),
}


def test_there_are_no_other_classes_than_theirs() -> None:
    capitalised = [(word.capitalize(), "") for word, _ in CLASSES]
    assert {unknown_class(word) for word, _ in CLASSES + capitalised} == THEIRS
    assert [unknown_class(word) for word in ("University", "Unusual", "Un-unh", "UNHCR-led")] == [
        "<cunk>", "<cunkal>", "<cunk->", "<cunked>",
    ]  # fmt: skip


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


def test_rare_words_are_counted_in_lower_case_and_labels_are_none() -> None:
    trees = [["(S", "The", "Cat", ")S"], ["(X", "the", "1984", ")X"]]
    assert rare_words(trees, minimum_count=2) == {"cat", "1984"}


CLASSED = {"zebras": 3, "lions": 3, "tigers": 3, "cats": 5, "oak": 5, "mouse": 9}


def test_rare_words_that_are_alike_share_a_class() -> None:
    trees = [["the", "zebras", "Tigers", "lions"], ["the", "cats", "Oak"], ["the", "mouse", "1984"]]
    vocabulary = Vocabulary.build(trees, minimum_count=2, classes=CLASSED)
    # zebras and lions: <unks/3>, twice. Tigers is <cunks/3>, cats <unks/5> and Oak <cunk/5>: once
    # each. So cats and Oak make <*/5> together, twice; Tigers is alone in <*/3>, so <cunks>.
    # mouse is alone in <*/9>, so <unk>. 1984 is in no class.
    assert dict.fromkeys(vocabulary.symbols) == dict.fromkeys(
        ["<eos>", "the", "<*/5>", "<unks/3>", "<cunks>", "<unk>", "<unkn>", "(<unk>", ")<unk>"]
    )
    assert read_back(vocabulary, [word for tree in trees for word in tree]) == [
        "the", "<unks/3>", "<cunks>", "<unks/3>", "the", "<*/5>", "<*/5>", "the", "<unk>", "<unkn>",
        "<eos>",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "symbol"),
    [
        ("tigers", "<unks/3>"),  # never seen, but like zebras
        ("Tigers", "<cunks>"),  # <cunks/3> and <*/3> are no symbols
        ("TIGERS", "<unk>"),  # nor is <cunk>
        ("CATS", "<*/5>"),
        ("oak", "<*/5>"),
        ("bats", "<unk>"),  # in no class
        ("1999", "<unkn>"),
        ("<*/5>", "<unk>"),
        ("<unks/3>", "<unk>"),
    ],
)
def test_the_narrowest_class_that_training_saw_is_taken(word: str, symbol: str) -> None:
    trees = [["zebras", "lions", "Tigers", "cats", "Oak", "1984"]]
    vocabulary = Vocabulary.build(trees, minimum_count=2, classes=CLASSED)
    assert vocabulary.symbol(word) == symbol
    assert vocabulary.is_unknown(word)


def test_the_number_of_a_class() -> None:
    symbols = ["<unks/37>", "<*/0>", "<unk->", "<unk>", "1/2", "(S", "<unks/>", "</1>"]
    assert [class_number(symbol) for symbol in symbols] == [37, 0, *[None] * 6]


_WORDS = st.text(st.characters(exclude_characters="()", exclude_categories=["Z", "C"]), min_size=1)
_TOKENS = st.one_of(
    st.sampled_from(["(S", ")S", "(X", ")X", "cats", "Cats", "1984", "<unk>", "<*/1>", "<eos>"]),
    _WORDS,
)


@given(
    trees=st.lists(st.lists(_TOKENS), max_size=4),
    minimum_count=st.integers(0, 3),
    others=st.lists(_TOKENS),
    data=st.data(),
)
def test_every_token_has_a_symbol(
    trees: list[list[str]], minimum_count: int, others: list[str], data: st.DataObject
) -> None:
    spelled = [token.lower() for tokens in [*trees, others, ["cats"]] for token in tokens]
    classes = data.draw(st.dictionaries(st.sampled_from(spelled), st.integers(0, 2)))
    backward = data.draw(st.booleans())
    vocabulary = Vocabulary.build(trees, minimum_count, classes, backward)
    for tokens in [*trees, others]:
        symbols = [vocabulary.symbol(token) for token in tokens]
        expected = [*(reversed(symbols) if backward else symbols), "<eos>"]
        assert read_back(vocabulary, tokens) == expected


def test_a_backward_model_reads_a_tree_from_its_end() -> None:
    symbols = ["(S", ")S", "it", "<unks>", "<unk>", "(<unk>", ")<unk>", "<eos>"]
    vocabulary = Vocabulary(symbols, backward=True)
    assert vocabulary.encode(["(S", "It", "runs", ")S"]) == [1, 3, 2, 0, 7]
    assert vocabulary.encode([]) == [7]


def test_vocabularies_are_equal_if_all_of_them_is() -> None:
    symbols = ["<eos>", "<unk>", "(<unk>", ")<unk>", "it"]
    some = [
        Vocabulary(symbols),
        Vocabulary([*symbols, "he"]),
        Vocabulary(symbols, {"it": 1}),
        Vocabulary(symbols, {"it": 2}),
        Vocabulary(symbols, backward=True),
    ]
    assert len(set(some)) == len({one.digest for one in some}) == 5
    again = Vocabulary(symbols, {"it": 2})
    assert (again, hash(again), again.digest) == (some[3], hash(some[3]), some[3].digest)
