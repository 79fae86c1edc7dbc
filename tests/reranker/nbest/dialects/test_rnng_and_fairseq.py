"""RNNG's ``id ||| score ||| tree`` and what fairseq-generate prints."""

import gzip
import math
import subprocess
import sys
import tempfile
from itertools import permutations
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.nbest.dialects.by_sentence import MAX_GAP
from tests.reranker.nbest.summaries import Read, accepted, rejected, scores, trees

# nt-parser -s 3: samples with repeats; words it does not know come as classes.
RNNG = """\
0 ||| -14.5 ||| (S (NP UNK-INITC-KNOWNLC Haag) (VP plays (NP UNK-INITC)) .)
0 ||| -15.25 ||| (S (NP UNK-INITC-KNOWNLC Haag plays) (VP UNK-INITC) .)
0 ||| -14.5 ||| (S (NP UNK-INITC-KNOWNLC Haag) (VP plays (NP UNK-INITC)) .)
1 ||| -2.125 ||| (S (NP It) (VP UNK-LC-s) .)
"""
SENTENCES = "Ms. Haag plays Elianti .\nIt runs .\n"
HAAG = "(S (NP Ms. Haag )NP (VP plays (NP Elianti )NP )VP . )S"
HAAG_PLAYS = "(S (NP Ms. Haag plays )NP (VP Elianti )VP . )S"
RUNS = "(S (NP It )NP (VP runs )VP . )S"


def test_words_come_back_by_position(read: Read) -> None:
    first, second = read(RNNG, sentences=SENTENCES)
    assert accepted(first) == [HAAG, HAAG, HAAG_PLAYS]
    assert scores(first) == [-14.5, -14.5, -15.25]  # nats already
    assert [one.line for one in first.candidates] == [1, 3, 2]
    assert (second.id, second.line, accepted(second)) == ("1", 4, [RUNS])
    # As it came, unless asked to restore; parts of speech are not told.
    assert first.candidates[0].text.startswith("(S (NP UNK-INITC-KNOWNLC Haag)")
    assert trees(second) == ["(S (NP (XX It)) (VP (XX runs)) (XX .))"]


def test_restored_trees_have_the_user_s_tags(read: Read) -> None:
    tagged = "Ms./NNP Haag/NNP plays/VBZ Elianti/NNP ./.\nIt/PRP runs/VBZ ./.\n"
    _, second = read(RNNG, sentences=tagged, restore=True)
    assert second.candidates[0].text == "(S (NP (PRP It)) (VP (VBZ runs)) (. .))"


def test_without_sentences_the_classes_stay(read: Read) -> None:
    _, second = read(RNNG)
    assert accepted(second) == [RUNS.replace("runs", "UNK-LC-s")]
    # A candidate that hides nothing tells the words to those that do.
    (nbest,) = read("0 ||| -1 ||| (S (NP It) (VP UNK-LC-s now))\n0 ||| -2 ||| (S It runs now)\n")
    assert accepted(nbest) == ["(S (NP It )NP (VP runs now )VP )S", "(S It runs now )S"]


def test_a_class_is_no_reason_for_another_number_of_words(read: Read) -> None:
    places = [(0, 1), (1, 3), (2, 2)]
    first, _ = read(RNNG, sentences="Ms. Haag plays .\nIt runs .\n")
    assert rejected(first) == [(*place, "wrong-length") for place in places]
    first, _ = read(RNNG, sentences="Ms. Haag sings Elianti .\nIt runs .\n")
    assert rejected(first) == [(*place, "wrong-words") for place in places]
    assert first.rejected[0].message == "word 3 is 'plays' where the list has 'sings'"


@pytest.mark.parametrize(
    "line",
    [
        "0 ||| -1.5 ||| (S (NP It) (VP runs) .)",
        "0 ||| -1.5 |||(S (NP It) (VP runs) .) ",  # rnng-bert: no space, one at the end
        "0 ||| -1.5 |||(S (NP It ) (VP runs ) . ) ",
        "0|||-1.5|||(S (NP It) (VP runs) .)",
        "0\t|||\t-1.5\t|||\t(S (NP It) (VP runs) .)\r",
        "0 ||| -1.5 ||| (S (NP (XX It)) (VP (XX runs)) (XX .))",  # add-fake-preterms-for-eval.pl
        "0 ||| -1.5 ||| (S (NP (PRP It)) (VP (VBZ runs)) (. .))",  # rnng-bert with tags
        "0 ||| -1.5 ||| (TOP (S (NP It) (VP runs) .))",
    ],
)
def test_spellings_of_a_line(read: Read, line: str) -> None:
    (nbest,) = read(line + "\n")
    assert (accepted(nbest), scores(nbest)) == ([RUNS], [-1.5])


def test_placeholder_tags_give_way_to_the_user_s(read: Read) -> None:
    line = "0 ||| -1.5 ||| (S (NP (XX UNK-INITC)) (VP (XX runs)) (XX .))\n"
    (nbest,) = read(line, sentences="It/PRP runs/VBZ ./.\n", restore=True)
    assert nbest.candidates[0].text == "(S (NP (PRP It)) (VP (VBZ runs)) (. .))"


def test_bars_inside_a_tree_belong_to_it(read: Read) -> None:
    (nbest,) = read("0 ||| -1.5 ||| (S (NP a ||| b) .)\n")
    assert accepted(nbest) == ["(S (NP a ||| b )NP . )S"]


def test_ids_in_any_order_and_with_gaps(read: Read) -> None:
    lists = read("4 ||| -1 ||| (S It runs)\n1 ||| -2 ||| (S a b)\n4 ||| -3 ||| (S (X It) runs)\n")
    assert [one.id for one in lists] == ["0", "1", "2", "3", "4"]
    assert [scores(one) for one in lists] == [[], [-2.0], [], [], [-1.0, -3.0]]
    assert [one.line for one in lists] == [0, 2, 0, 0, 1]
    assert [one.line for one in lists[4].candidates] == [1, 3]


def test_gaps_are_filled_with_their_own_sentences(read: Read) -> None:
    lists = read("2 ||| -1 ||| (S It UNK)\n", sentences="a b\nc\nIt runs\n")
    assert [accepted(one) for one in lists] == [[], [], ["(S It runs )S"]]
    assert lists[1].fallback == "(TOP (S (XX c)))"


def test_a_padded_beam_repeats_its_last_tree(read: Read) -> None:
    (nbest,) = read("0 ||| -1 |||(S It runs) \n" + "0 ||| -2 |||(S (NP It) runs) \n" * 3)
    assert scores(nbest) == [-1.0, -2.0, -2.0, -2.0]
    assert len({one.tokens for one in nbest.candidates}) == 2


@pytest.mark.parametrize("score", ["nan", "-inf", "", "oops", "1e999"])
def test_a_score_that_is_no_number_does_not_cost_the_tree(read: Read, score: str) -> None:
    (nbest,) = read(f"0 ||| {score} ||| (S It runs)\n")
    assert (accepted(nbest), scores(nbest)) == (["(S It runs )S"], [None])


def test_broken_lines(read: Read) -> None:
    first, second = read(
        "1 ||| -1 ||| (S It runs)\n"
        "no number here\n"  # goes with the line before it
        "0 ||| -2 ||| (S It runs))\n"
        "1 ||| (S (NP It) runs)\n"  # no score
        "1 ||| -3 |||\n"
        "1 ||| -4 ||| It runs\n"
        "1 ||| -5 ||| (S It\n"
    )
    assert rejected(first) == [(0, 3, "unbalanced")]
    assert scores(second) == [-1.0, None]
    assert [one.index for one in second.candidates] == [0, 5]
    assert rejected(second) == [
        (1, 5, "empty"),
        (2, 6, "not-a-tree"),
        (3, 7, "unbalanced"),
        (4, 2, "no-id"),
    ]


FLAT, NESTED, OTHER = "(S It runs now)", "(S (NP It) runs now)", "(S It (VP runs now))"


@pytest.mark.parametrize(
    ("samples", "order"),
    [
        ([(-3, FLAT), (-1, NESTED), (-2, OTHER)], "score"),
        ([("", FLAT), (-1, NESTED), (-2, OTHER)], "score"),
        ([("", FLAT), ("", NESTED), ("", NESTED.replace(")", " )")), ("", OTHER)], "frequency"),
        ([("nan", FLAT), ("oops", NESTED), ("", NESTED)], "frequency"),
    ],
)
def test_samples_are_put_in_an_order_of_preference(
    read: Read, samples: list[tuple[object, str]], order: str
) -> None:
    """The first of a file is any sample."""
    best = {accepted(*read(f"0 ||| -1 ||| {NESTED}\n"))[0]}
    for shuffled in permutations(samples):
        (nbest,) = read("".join(f"0 ||| {score} ||| {tree}\n" for score, tree in shuffled))
        assert nbest.order == order
        assert {accepted(nbest)[0]} == best


def test_a_sentence_without_samples_has_no_order_of_theirs(read: Read) -> None:
    lists = read(f"0 ||| -1 ||| {FLAT}\n2 ||| -1 ||| {FLAT}\n")
    assert [one.order for one in lists] == ["score", "given", "score"]


def test_equal_samples_keep_the_order_of_the_file(read: Read) -> None:
    (nbest,) = read("".join(f"0 ||| -1 ||| {tree}\n" for tree in (FLAT, NESTED, OTHER)))
    assert [one.line for one in nbest.candidates] == [1, 2, 3]
    assert nbest.order == "score"


def test_an_impossible_number_is_an_input_error(read: Read) -> None:
    assert len(read(f"{MAX_GAP - 1} ||| -1 ||| (S a b)\n")) == MAX_GAP
    gap = f"sentence {MAX_GAP + 3}: the {MAX_GAP + 2} before it are missing"
    with pytest.raises(InputError, match=rf"0\.txt:2: {gap}"):
        read(f"0 ||| -1 ||| (S a b)\n{MAX_GAP + 3} ||| -1 ||| (S a b)\n")


def test_a_full_disk_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "samples.txt"
    path.write_text("0 ||| -1 ||| (S It runs)\n" * 4_000)
    limited = ["bash", "-c", 'ulimit -f 40; "$@"', "limited", sys.executable]
    script = "import sys; from reranker.commands.main import main; main(['validate', sys.argv[1]])"
    run = subprocess.run([*limited, "-c", script, path], capture_output=True, text=True)
    assert run.stderr.splitlines()[-1] == (
        f"rerank: cannot write a temporary file in {tempfile.gettempdir()}: File too large"
    )


def test_a_damaged_file(read: Read) -> None:
    text = "".join(f"{n} ||| -{n * 7919} ||| (S a{n * 104729} b)\n" for n in range(2000))
    lists = read(gzip.compress(text.encode())[:-4])
    assert len(lists) == 2000
    assert rejected(lists[-1]) == [(1, 2000, "truncated")]


def test_bytes_that_are_not_utf8(read: Read) -> None:
    (nbest,) = read(b"0 ||| -1 ||| (S caf\xe9 b)\n0 ||| -2 ||| (S caf\xc3\xa9 b)\n")
    assert rejected(nbest) == [(0, 1, "encoding")]
    assert accepted(nbest) == ["(S café b )S"]


# --nbest 2: by batch, so not in order, between lines of the log; H is log2 P / length^penalty.
FAIRSEQ = """\
2026-01-01 10:00:00 | INFO | fairseq_cli.generate | Namespace(beam=2, nbest=2)
S-1	Go !
T-1	(S (VP XX )VP . )S
H-1	-0.2	(S (VP XX )VP . )S
D-1	-0.2	(S (VP XX )VP . )S
P-1	-0.5000 -0.2500 -0.1250 -0.0625 -0.0625
2026-01-01 10:00:01 | INFO | fairseq.tasks | loaded
S-0	It runs .
H-0	-0.3	(S (NP XX )NP (VP XX )VP . )S
D-0	-0.3	(S (NP XX )NP (VP XX )VP . )S
P-0	-1.0000 -2.0000 -0.5000
H-0	-0.6	(S (NP XX XX )NP . )S
D-0	-0.6	(S (NP XX XX )NP . )S
P-0	-4.0000 -0.2500
I-0	12
Generate test with beam=2: BLEU4 = 81.2
"""


def test_fairseq(read: Read) -> None:
    first, second = read(FAIRSEQ)
    assert accepted(first) == [RUNS, "(S (NP It runs )NP . )S"]
    # The sum of P, in base 2.
    assert scores(first) == pytest.approx([-3.5 * math.log(2), -4.25 * math.log(2)])
    assert [one.line for one in first.candidates] == [9, 12]
    assert (second.id, accepted(second)) == ("1", ["(S (VP Go )VP ! )S"])
    assert scores(second) == pytest.approx([-math.log(2)])
    assert first.sentence is not None
    assert first.sentence.words == ("It", "runs", ".")


def test_fairseq_without_p_lines_has_no_scores(read: Read) -> None:
    text = "".join(line + "\n" for line in FAIRSEQ.splitlines() if line[:2] != "P-")
    assert [scores(one) for one in read(text)] == [[None, None], [None]]
    (nbest,) = read("S-0\tGo !\nH-0\t-0.2\t(S XX . )S\nP-0\t-1 nan\n")
    assert scores(nbest) == [None]


def test_scores_of_a_sorted_file_belong_to_no_tree(
    read: Read, caplog: pytest.LogCaptureFixture
) -> None:
    text = "".join(f"{line}\n" for line in sorted(FAIRSEQ.splitlines()))
    first, second = read(text)
    assert scores(first) == [None, None] and scores(second) == [pytest.approx(-math.log(2))]
    assert len(accepted(first)) == 2
    (record,) = caplog.records
    assert ":12: not a usable score: '-4.0000 -0.2500'; in format fairseq each P-" in record.message


def test_fairseq_s_d_lines_stand_in_for_h(read: Read) -> None:
    text = "".join(line + "\n" for line in FAIRSEQ.splitlines() if line[:2] != "H-")
    first, _ = read(text)
    assert accepted(first) == [RUNS, "(S (NP It runs )NP . )S"]
    assert scores(first) == pytest.approx([-3.5 * math.log(2), -4.25 * math.log(2)])


@pytest.mark.parametrize("score", ["-inf", "nan", "-1e-05"])
def test_fairseq_s_score_is_never_part_of_the_tree(read: Read, score: str) -> None:
    (nbest,) = read(f"S-0\tGo !\nH-0\t{score}\t(S XX . )S\n")
    assert accepted(nbest) == ["(S Go ! )S"]


def test_fairseq_s_source_in_pieces_needs_sentences(read: Read) -> None:
    pieces = FAIRSEQ.replace("It runs .", "It ru@@ ns .")
    first, _ = read(pieces, sentences="It runs .\nGo !\n")
    assert accepted(first)[0] == RUNS
    assert not first.candidates[0].is_repaired
    # Unknown source words are no words.
    unknown = "S-0\tGo <unk>\nH-0\t-1\t(S XX . )S\n"
    (nbest,) = read(unknown, sentences="Go !\n")
    assert accepted(nbest) == ["(S Go ! )S"]
    with pytest.raises(InputError, match=r"0\.txt:2: the words are XX"):
        read(unknown)


def test_fairseq_hypotheses_without_a_source_line_need_sentences(read: Read) -> None:
    with pytest.raises(InputError, match=r"0\.txt:1: the words are XX: .*tokens"):
        read("H-0\t-1\t(S XX . )S\n")


def test_fairseq_gaps(read: Read) -> None:
    lists = read("S-2\tGo !\nH-2\t-1\t(S XX . )S\n")
    assert [accepted(one) for one in lists] == [[], [], ["(S Go ! )S"]]


def test_an_empty_hypothesis(read: Read) -> None:
    (nbest,) = read("S-0\tGo !\nH-0\t-1\t\nP-0\t-1\nH-0\t-2\t(S XX . )S\nP-0\t-2\n")
    assert rejected(nbest) == [(0, 2, "empty")]
    assert scores(nbest) == pytest.approx([-2 * math.log(2)])


def test_a_word_in_the_source_may_look_like_a_placeholder(read: Read) -> None:
    (nbest,) = read("S-0\tAn XX mouse\nH-0\t-0.5\t(NP XX XX XX )NP\n")
    assert nbest.candidates[0].words == ["An", "XX", "mouse"]
