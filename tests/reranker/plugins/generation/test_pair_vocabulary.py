from __future__ import annotations

import pytest

from reranker.plugins.generation.pair_vocabulary import EOS, UNKNOWN, Pair, PairVocabulary

PAIRS = [
    Pair(("the", "dog", "barks"), ("(S", "_DT_", "_NN_", "_VBZ_", ")S")),
    Pair(("the", "dogs", "bark"), ("(S", "_DT_", "_NNS_", "_VBP_", ")S")),
]
TEXT = [Pair(("ein", "hund"), ("a", "dog")), Pair(("zwei", "hunde"), ("two", "dogs"))]


def test_a_parsers_words_have_features() -> None:
    vocabulary = PairVocabulary.build("parsing", PAIRS, merges=4, minimum_count=2)
    assert vocabulary.source_words == ("the",)
    the, dog, _ = vocabulary.encode_source(["the", "dog", "barks"])
    assert the[0] == 1 and dog[0] == 0, "dog is rare, so unknown, and its pieces"
    pieces = [vocabulary.source_pieces[number - 2] for number in dog[1:]]
    assert "".join(pieces).replace("@@", "") == "dog"
    assert all(0 <= number < vocabulary.source_size for number in (*the, *dog))


def test_a_word_of_unknown_letters_is_still_a_position() -> None:
    vocabulary = PairVocabulary.build("parsing", PAIRS, merges=4, minimum_count=2)
    assert vocabulary.encode_source(["Ξ", "the"])[0] == (0,)
    text = PairVocabulary.build("text", TEXT, merges=4, minimum_count=2)
    assert text.encode_source(["Ξ"]) == [(0,)]


def test_targets_come_back() -> None:
    vocabulary = PairVocabulary.build("parsing", PAIRS, merges=4, minimum_count=2)
    ids = vocabulary.encode_target(PAIRS[1].target)
    assert ids[-1] == vocabulary.eos and len(ids) == 6
    assert vocabulary.decode(ids[:-1]) == [*PAIRS[1].target]
    text = PairVocabulary.build("text", TEXT, merges=3, minimum_count=2)
    ids = text.encode_target(["two", "dogs"])
    assert len(ids) > 3, "pieces"
    assert text.decode(ids[:-1]) == ["two", "dogs"]


def test_unknown_targets_and_words_spelled_like_symbols() -> None:
    pairs = [*TEXT, Pair((EOS,), (EOS, UNKNOWN, "x"))]
    vocabulary = PairVocabulary.build("text", pairs, merges=0, minimum_count=1)
    assert vocabulary.target.count(EOS) == vocabulary.target.count(UNKNOWN) == 1
    x = vocabulary.target.index("x")
    unknown, eos = vocabulary.unknown, vocabulary.eos
    assert vocabulary.encode_target([EOS, UNKNOWN, "x", "never"]) == [
        unknown, unknown, x, unknown, eos
    ]  # fmt: skip


def test_equal_vocabularies_have_one_digest() -> None:
    def build(pairs: list[Pair], merges: int = 3) -> PairVocabulary:
        return PairVocabulary.build("text", pairs, merges, 1)

    assert build(TEXT).digest == build(TEXT[::-1]).digest
    assert len({build(TEXT).digest, build(TEXT, 2).digest, build(TEXT[:1]).digest}) == 3


@pytest.mark.parametrize(
    ("task", "words", "target", "message"),
    [
        ("song", ("a",), (EOS, UNKNOWN), "task must be .*, got 'song'"),
        ("text", ("a", "a"), (EOS, UNKNOWN), "twice"),
        ("text", ("a",), (UNKNOWN, EOS), "do not begin"),
    ],
)
def test_what_is_no_vocabulary(
    task: str, words: tuple[str, ...], target: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        PairVocabulary(task, words, (), target, "")  # type: ignore[arg-type]
