"""Linearised trees, with and without counts, blank lines and a beam size."""

import gzip

import pytest

from reranker.errors import InputError
from reranker.nbest.dialects.seq2seq import layout
from tests.reranker.nbest.summaries import Read, accepted, rejected, trees

RUNS = "(S (NP XX )NP (VP XX )VP . )S"  # Vinyals et al.
FLAT = "(S (NP XX XX )NP . )S"
GO = "(S (VP XX )VP . )S"
SENTENCES = "It runs .\nGo !\n"
RUNS_TOKENS = "(S (NP It )NP (VP runs )VP . )S"
FLAT_TOKENS = "(S (NP It runs )NP . )S"
GO_TOKENS = "(S (VP Go )VP ! )S"


@pytest.mark.parametrize(
    "line",
    [
        RUNS,
        "<s> (S (NP XX )_NP (VP XX )_VP . )_S </s>",  # Suzuki et al.
        "(S (NP XX )_NP (VP XX )_VP . )_S",
        "<s> (S (NP _PRP_ )_NP (VP _VBZ_ )_VP _-PP-_ )_S </s>",  # their variant with tags
        "(S (NP XX ) (VP XX ) . )",
        "(TOP (S (NP XX )NP (VP XX )VP . )S )TOP",
        "(S (NP-SBJ XX )NP-SBJ (VP XX )VP . )S",
        "  (S (NP XX )NP\t(VP XX )VP . )S <eos> <pad> <pad>",
        "(S (NP It )NP (VP runs )VP . )S",
        "(S (NP It )NP (VP <unk> )VP . )S",
    ],
)
def test_spellings_of_a_tree(read: Read, line: str) -> None:
    (nbest,) = read(line + "\n", sentences="It runs .\n", format="seq2seq")
    assert accepted(nbest) == [RUNS_TOKENS]
    assert not nbest.candidates[0].is_repaired
    assert nbest.candidates[0].text == line.strip()
    assert nbest.candidates[0].parser_score is None


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"{RUNS}\n{GO}\n", [[1], [2]]),
        (f"2\n{RUNS}\n{FLAT}\n1\n{GO}\n", [[2, 3], [5]]),
        (f"2\n{RUNS}\n{FLAT}\n\n1\n{GO}\n\n", [[2, 3], [6]]),
        (f"{RUNS}\n{FLAT}\n\n{GO}\n\n", [[1, 2], [4]]),
        (f"{RUNS}\n{FLAT}\n\n{GO}\n", [[1, 2], [4]]),
    ],
)
def test_what_makes_a_list(read: Read, text: str, lines: list[list[int]]) -> None:
    first, second = read(text, sentences=SENTENCES)
    assert [[one.line for one in nbest.candidates] for nbest in (first, second)] == lines
    assert accepted(first) == [RUNS_TOKENS, FLAT_TOKENS][: len(lines[0])]
    assert (second.id, accepted(second)) == ("1", [GO_TOKENS])


def test_layouts_have_names() -> None:
    assert layout(["1", RUNS], None) == "a count before each list"
    assert layout([RUNS, GO], None) == "one line per list"
    assert layout([RUNS, "", GO], None) == "a blank line after each list"
    assert layout([RUNS, GO], 2) == "2 lines a list"


def test_a_count_promises(read: Read) -> None:
    first, second = read(f"3\n{RUNS}\n1\n{GO}\n{GO}\n", sentences=SENTENCES)
    assert (accepted(first), rejected(first)) == ([RUNS_TOKENS], [(1, 2, "truncated")])
    assert first.rejected[0].message == "the list is cut short: 1 of 3 candidates are there"
    assert (accepted(second), rejected(second)) == ([GO_TOKENS], [(1, 5, "surplus")])


def test_a_short_list_is_reported_at_its_last_line(read: Read) -> None:
    """That of its count, if there is no other."""
    lists = read(f"3\n{RUNS}\n{FLAT}\n2\n1\n{GO}\n", sentences="It runs .\nno parse\nGo !\n")
    assert [rejected(nbest) for nbest in lists] == [
        [(2, 3, "truncated")], [(0, 4, "truncated")], [],
    ]  # fmt: skip


def test_a_count_of_zero(read: Read) -> None:
    lists = read(f"1\n{RUNS}\n0\n1\n{GO}\n", sentences="It runs .\nno parse\nGo !\n")
    assert [accepted(one) for one in lists] == [[RUNS_TOKENS], [], [GO_TOKENS]]


def test_opennmt(read: Read) -> None:
    # -n_best 2; a beam can hold less and is filled up with blank lines.
    text = f"{RUNS}\n{FLAT}\n{GO}\n\n"
    first, second = read(text, sentences=SENTENCES, format="opennmt", beam=2)
    assert accepted(first) == [RUNS_TOKENS, FLAT_TOKENS]
    assert (accepted(second), rejected(second), second.line) == ([GO_TOKENS], [], 3)
    with pytest.raises(InputError, match="2 sentences"):
        read(text, sentences=SENTENCES, format="opennmt", beam=1)
    with pytest.raises(InputError, match="needs 'beam'"):
        read(text, sentences=SENTENCES, format="opennmt")


def test_opennmt_cut_short(read: Read) -> None:
    text = f"{RUNS}\n{FLAT}\n{GO}\n"
    _, second = read(text, sentences=SENTENCES, format="opennmt", beam=2)
    assert (accepted(second), rejected(second)) == ([GO_TOKENS], [(1, 3, "truncated")])
    (short,) = read(f"{RUNS}\n{FLAT}\n", sentences="It runs .\n", format="opennmt", beam=3)
    assert rejected(short) == [(2, 2, "truncated")]


def test_an_empty_hypothesis_costs_only_itself(read: Read) -> None:
    text = f"\n{RUNS}\n{GO}\n\n"
    first, _ = read(text, sentences=SENTENCES, format="opennmt", beam=2)
    assert (accepted(first), rejected(first)) == ([RUNS_TOKENS], [(0, 1, "empty")])


def test_words_have_to_come_from_somewhere(read: Read) -> None:
    with pytest.raises(InputError, match=r"0\.txt:1: the words are XX: .*tokens"):
        read(f"{RUNS}\n")
    (nbest,) = read("(S (NP It )NP (VP runs )VP . )S\n")
    assert accepted(nbest) == [RUNS_TOKENS]


def test_whose_tags(read: Read) -> None:
    line = "(S (NP _PRP_ )_NP (VP _VBZ_ )_VP . )_S\n"
    (own,) = read(line, sentences="It runs .\n")
    assert trees(own) == ["(S (NP (PRP It)) (VP (VBZ runs)) (. .))"]
    # Suzuki et al. print -PP- for a full stop's tag, and put the tagger's in its place.
    (given,) = read(line.replace(" . ", " _-PP-_ "), sentences="It/PP runs/NNS ./.\n")
    assert trees(given) == ["(S (NP (PP It)) (VP (NNS runs)) (. .))"]
    (none,) = read(f"{RUNS}\n", sentences="It runs .\n")
    assert trees(none) == ["(S (NP (XX It)) (VP (XX runs)) (. .))"]


@pytest.mark.parametrize("mark", [".", ",", ":", "''", "``"])
@pytest.mark.parametrize("word", ["?", ";", "--", '"', "...", "'"])
def test_punctuation_stands_for_any(read: Read, mark: str, word: str) -> None:
    (nbest,) = read(f"(S (VP XX )VP {mark} )S\n", sentences=f"Go {word}\n")
    assert accepted(nbest) == [f"(S (VP Go )VP {word} )S"]
    assert not nbest.candidates[0].is_repaired


def test_punctuation_for_a_word_is_a_fault(read: Read) -> None:
    (nbest,) = read(f"{GO}\n", sentences="Go now\n", repair=False)
    assert rejected(nbest) == [(0, 1, "wrong-words")]
    (mended,) = read(f"{GO}\n", sentences="Go now\n")
    assert mended.candidates[0].is_repaired
    # Its tag would make EVALB leave the word out.
    assert trees(mended) == ["(S (VP (XX Go)) (XX now))"]


def test_other_words_are_not_overwritten(read: Read) -> None:
    (nbest,) = read("(S (VP Go )VP now )S\n", sentences="Go then\n")
    assert rejected(nbest) == [(0, 1, "wrong-words")]


def test_broken_beams_are_repaired_unless_told_not_to(read: Read) -> None:
    text = "(S (NP XX )NP (VP XX )VP .\n"
    (nbest,) = read(text, sentences="It runs .\n")
    assert accepted(nbest) == [RUNS_TOKENS]
    assert nbest.candidates[0].is_repaired
    (strict,) = read(text, sentences="It runs .\n", repair=False)
    assert rejected(strict) == [(0, 1, "unbalanced")]


def test_a_damaged_file_ends_in_a_truncated_list(read: Read) -> None:
    text = "".join(f"(S a{number * 104729} b )S\n" for number in range(2000))
    lists = read(gzip.compress(text.encode())[:-4])
    assert len(lists) == 2001
    assert rejected(lists[-1]) == [(0, 2000, "truncated")]
