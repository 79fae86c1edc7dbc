"""One tree a sentence, and Berkeley's lists."""

import gzip
import math
from pathlib import Path

import pytest

from reranker.trees.treebank import read_sentences
from tests.reranker.nbest.summaries import Read, accepted, rejected, scores

RUNS = "(S (NP (PRP It)) (VP (VBZ runs)) (. .))"
FLAT = "(S (NP (PRP It) (VBZ runs)) (. .))"
GO = "(S (VP (VB Go)))"
RUNS_TOKENS = "(S (NP It )NP (VP runs )VP . )S"
FLAT_TOKENS = "(S (NP It runs )NP . )S"
GO_TOKENS = "(S (VP Go )VP )S"

# -kbest 2 -tree_likelihood: a tab after the score, space inside the outermost bracket; a sentence
# that could not be parsed, or was too long.
BERKELEY = f"-41.25\t( {RUNS} )\n-43.5\t( {FLAT} )\n\n-Infinity\t(())\n\n-7.0E-4\t( {GO} )\n\n"


def test_one_tree_a_line(read: Read) -> None:
    first, second = read(f"(TOP {RUNS})\n{GO}\n")
    assert (first.id, first.line, accepted(first), scores(first)) == ("0", 1, [RUNS_TOKENS], [None])
    assert (second.id, second.line, accepted(second)) == ("1", 2, [GO_TOKENS])
    assert first.candidates[0].text == f"(TOP {RUNS})"


def test_a_blank_line_is_a_sentence_without_a_tree(read: Read) -> None:
    lists = read(f"\n{RUNS}\n\n{GO}\n{GO}\n\n\n")
    assert [len(one.candidates) for one in lists] == [0, 1, 0, 1, 1, 0, 0]
    assert [one.line for one in lists] == [1, 2, 3, 4, 5, 6, 7]
    assert [one.id for one in lists] == list("0123456")


def test_a_blank_line_before_trees_of_several_lines_is_none(read: Read) -> None:
    # So begin the files of the Penn Treebank.
    lists = read(f"\n( {RUNS[:3]}\n    {RUNS[3:]} )\n( {GO} )\n")
    assert [(one.line, accepted(one)) for one in lists] == [(2, [RUNS_TOKENS]), (4, [GO_TOKENS])]


def test_a_blank_line_after_every_tree_is_none(read: Read) -> None:
    # parseIt without -N.
    lists = read(f"(S1 {RUNS})\n\n(S1 {GO})\n\n")
    assert [accepted(one) for one in lists] == [[RUNS_TOKENS], [GO_TOKENS]]
    assert [one.line for one in lists] == [1, 3]


def test_failed_sentences(read: Read) -> None:
    lists = read(f"{RUNS}\n(())\n()\n(TOP )\n(TOP (S (NP (-NONE- *))))\n{GO}\n")
    assert [len(one.candidates) for one in lists] == [1, 0, 0, 0, 0, 1]
    assert [rejected(one) for one in lists[1:5]] == [[(0, n, "empty")] for n in (2, 3, 4, 5)]


PRETTY = """(ROOT
  (S
    (NP (PRP It))
    (VP (VBZ runs))
    (. .)))

(ROOT
  (S
    (VP (VB Go))))

"""


@pytest.mark.parametrize(
    "text",
    [
        PRETTY,  # CoreNLP
        PRETTY.replace("\n\n", "\n"),
        PRETTY.replace("    ", "\t"),
        PRETTY.replace("\n", "\r\n"),
        PRETTY.replace("(ROOT\n  (S", "( (S"),  # the Penn Treebank's own
    ],
)
def test_pretty_trees(read: Read, text: str) -> None:
    assert [accepted(one) for one in read(text)] == [[RUNS_TOKENS], [GO_TOKENS]]


def test_a_pretty_tree_comes_out_on_one_line(read: Read) -> None:
    first, second = read(PRETTY)
    assert first.candidates[0].text == "(ROOT (S (NP (PRP It)) (VP (VBZ runs)) (. .)))"
    assert (first.line, second.line) == (1, 7)


@pytest.mark.parametrize("separator", ["\n\n", "\n"])
def test_an_unfinished_pretty_tree_ends_at_a_blank_line_or_root(read: Read, separator: str) -> None:
    first, second = read(PRETTY.replace("    (. .)))\n\n", "    (. .))" + separator))
    assert rejected(first) == [(0, 1, "unbalanced")]
    assert accepted(second) == [GO_TOKENS]


def test_blank_lines_mean_nothing_where_a_tree_has_several_lines(
    read: Read, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As for EVALB's files: before such a tree, behind it, and between others."""
    for text in (
        PRETTY.replace("\n\n", "\n\n\n\n", 1),
        f"{GO}\n\n{RUNS}\n{GO}\n\n\n{PRETTY}",
        f"\n\n{PRETTY}\n{GO}\n\n{RUNS}\n",
    ):
        lists = read(text)
        path = tmp_path / "t.mrg"
        path.write_text(text)
        assert [one.line for one in lists] == [each.line for each in read_sentences([path])]
        assert all(one.candidates for one in lists)
    assert not caplog.records
    late = read(f"{GO}\n{GO}\n\n" * 200 + PRETTY + "\n\n" + GO)
    assert [len(one.candidates) for one in late[-5:]] == [1, 0, 1, 1, 1]
    assert "0.txt:601: a tree over several lines: blank lines mean nothing from here" in caplog.text


def test_a_doubled_bracket_costs_only_its_own_tree(read: Read) -> None:
    first, second = read(f"{RUNS})\n{GO}\n")
    assert rejected(first) == [(0, 1, "unbalanced")]
    assert accepted(second) == [GO_TOKENS]
    mended, _ = read(f"{RUNS})\n{GO}\n", repair=True)
    assert accepted(mended) == [RUNS_TOKENS]
    assert mended.candidates[0].is_repaired


def test_a_damaged_file_ends_in_a_truncated_list(read: Read) -> None:
    texts = [f"(S (NN a{number * 7919}))\n" for number in range(2000)]
    packed = gzip.compress("".join(texts).encode())
    lists = read(packed[:-4])
    assert len(lists) == 2001
    assert rejected(lists[-1]) == [(0, 2000, "truncated")]


def test_berkeley_lists(read: Read) -> None:
    first, failed, last = read(BERKELEY)
    assert accepted(first) == [RUNS_TOKENS, FLAT_TOKENS]
    assert scores(first) == [-41.25, -43.5]  # nats already
    assert first.candidates[0].text == f"( {RUNS} )"
    assert (failed.line, accepted(failed), rejected(failed)) == (4, [], [(0, 4, "empty")])
    assert (last.id, last.line, accepted(last), scores(last)) == ("2", 6, [GO_TOKENS], [-7e-4])


def test_berkeley_without_a_last_blank_line(read: Read) -> None:
    assert len(read(BERKELEY.rstrip())) == 3
    assert [len(one.candidates) for one in read(f"-1 {RUNS}\n-2 {GO}\n")] == [1, 1]


@pytest.mark.parametrize("score", ["-Infinity", "NaN", "Infinity", "-inf", "nan"])
def test_a_score_that_is_no_number_does_not_cost_the_tree(read: Read, score: str) -> None:
    (nbest,) = read(f"{score}\t{RUNS}\n-3\t{FLAT}\n\n")
    assert scores(nbest) == [None, -3.0]


def test_berkeley_lists_without_scores(read: Read) -> None:
    first, failed, last = read(f"( {RUNS} )\n( {FLAT} )\n\n(())\n\n( {GO} )\n\n")
    assert accepted(first) == [RUNS_TOKENS, FLAT_TOKENS]
    assert rejected(failed) == [(0, 4, "empty")]
    assert accepted(last) == [GO_TOKENS]


def test_berkeley_may_print_the_sentence_s_likelihood_first(read: Read) -> None:
    # -sentence_likelihood -tree_likelihood: log P(words), log P(tree, words)
    (nbest,) = read(f"-40.5\t-41.25\t( {RUNS} )\n-40.5\t-43.5\t( {FLAT} )\n\n")
    assert scores(nbest) == [-41.25, -43.5]


def test_scored_parse_prints_the_parser_s_score_first(read: Read) -> None:
    # str(ScoredParse) of BLLIP's Python interface: parser (base 2), then reranker. Its n-best list
    # has them the other way round, see test_counted.py.
    first, second = read(f"-30.5 -8.25 (S1 {RUNS})\n-31 -9 (S1 {GO})\n")
    assert scores(first) == [pytest.approx(-30.5 * math.log(2))]
    assert scores(second) == [pytest.approx(-31 * math.log(2))]


def test_an_endless_number_is_no_trap(read: Read) -> None:
    (nbest,) = read(f"-1 {RUNS}\n{'1' * 500_000}\n\n")
    assert rejected(nbest) == [(1, 2, "not-a-tree")]
