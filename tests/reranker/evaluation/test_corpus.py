"""EVALB's rules one by one, each on trees small enough to count by hand.

Spans count words from 0, half-open. COLLINS' settings unless a test names others.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from reranker.commands.evaluate import add_arguments, run
from reranker.errors import ConfigError, InputError
from reranker.evaluation.brackets import corpus_f1, f1_by_row
from reranker.evaluation.corpus import Gold, Parameters, Summary, evaluate
from reranker.evaluation.lines import read_line
from reranker.evaluation.report import format_report, to_json
from reranker.evaluation.sentence import SentenceScore, f1, score_pair
from tests.program import rerank

Capture = pytest.CaptureFixture[str]

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT.parent / "shared" / "data"
COLLINS = Parameters.collins()

CAT = "(TOP (S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NNP Ann))) (. .)))"


def score(gold: str, test: str, parameters: Parameters = COLLINS) -> SentenceScore:
    return score_pair(gold, test, parameters)


def brackets(gold: str, test: str, parameters: Parameters = COLLINS) -> tuple[int, int, int]:
    """Return (matched, gold, test) of a pair that must be valid."""
    found = score(gold, test, parameters)
    assert found.status == "valid", found.reason
    return found.matched, found.gold, found.test


def open_data(name: str) -> Iterator[str]:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"no {path}")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from file


def first_trees(lines: Iterator[str], count: int = 1) -> Iterator[list[str]]:
    """Yield the first ``count`` trees of each list in a BLLIP n-best file."""
    trees: list[str] = []
    for line in lines:
        if re.match(r"\d+\t", line):
            trees = []
        elif line.startswith("(") and len(trees) < count:
            trees.append(line)
        elif not line.strip():
            yield trees


# A whole pair, every figure by hand.


def test_every_figure_of_one_pair() -> None:
    # Words without the full stop: the cat sees Ann with glasses, 0 to 6.
    # Gold: S[0,6] NP[0,2] VP[2,6] NP[3,4] PP[4,6] NP[5,6].
    # Test: S[0,6] NP[0,2] VP[2,6] NP[3,6] NP[3,4] PP[4,6] NP[5,6]: NP[3,6] is the one extra, and
    # it crosses nothing. One tag differs: glasses.
    gold = (
        "(TOP (S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NNP Ann)) "
        "(PP (IN with) (NP (NNS glasses)))) (. .)))"
    )
    test = (
        "(TOP (S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NP (NNP Ann)) "
        "(PP (IN with) (NP (NN glasses))))) (. .)))"
    )
    assert score(gold, test) == SentenceScore(
        status="valid", length=7, matched=6, gold=6, test=7, crossing=0, words=6, correct_tags=5
    )
    found = score(gold, test)
    assert (found.recall, round(found.precision, 2), round(found.f1, 2)) == (100.0, 85.71, 92.31)


def test_crossing_counts_test_brackets_once_each() -> None:
    # Gold A[0,2] B[2,4] over a b c d. Test X[1,3] crosses both A and B, and counts once; Y[1,4]
    # crosses A only; T[0,4] crosses none.
    gold = "(T (A (N a) (N b)) (B (N c) (N d)))"
    test = "(T (N a) (Y (X (N b) (N c)) (N d)))"
    assert score(gold, test).crossing == 2


# 1. Lines are read as evalb.c reads them.


def test_a_forest_counts_as_one_sentence() -> None:
    # NP[0,2] and VP[2,3]; nothing spans all three words.
    forest = "(NP (DT the) (NN cat)) (VP (VBZ sees))"
    assert brackets(forest, forest) == (2, 2, 2)


def test_an_empty_word_is_a_word() -> None:
    # (NN ) is the second of three words, so VP is [2,3] on both sides.
    gold = "(S (NP (DT the) (NN )) (VP (VBZ sees)))"
    assert score(gold, gold).words == 3
    assert brackets(gold, gold) == (3, 3, 3)


def test_only_ascii_space_separates() -> None:
    # The no-break space stays in the word: one word each, and not the same one.
    assert read_line("(NN a\u00a0b)\t\v(NN c)\r\n", COLLINS).words == ["a\u00a0b", "c"]
    assert score("(NP (NN a\u00a0b))", "(NP (NN ab))").status == "error"


@pytest.mark.parametrize("odd", ["()", "(())", "( (NP (NN x)))", "((NP (NN x)))", "(X )", "(X)"])
def test_odd_brackets_are_read(odd: str) -> None:
    tree = f"(S {odd} (NN y))"
    assert score(tree, tree).f1 == 100.0


def test_depth_is_no_limit() -> None:
    # 5,000 brackets with one label and one span are 5,000 brackets.
    deep = "(NP " * 5_000 + "(NN x)" + ")" * 5_000
    assert brackets(deep, deep) == (5_000, 5_000, 5_000)


# 2. Deleted tags take their words along; length keeps punctuation and drops traces.


def test_deleted_tags_and_length() -> None:
    # the cat -> sees Ann: 4 words scored; length adds the full stop, not the trace.
    gold = CAT.replace("(VBZ sees)", "(VBZ sees) (NP (-NONE- *T*-1))")
    found = score(gold, CAT)
    assert (found.words, found.length) == (4, 5)
    assert (found.matched, found.gold, found.test) == (4, 4, 4)


def test_a_tag_is_deleted_only_if_it_is_exactly_the_label() -> None:
    # .-X is not the tag "."; cut at the hyphen it would be.
    assert read_line("(S (NN x) (.-X .) (. .))", COLLINS).words == ["x", "."]


# 3. Skipped and erroneous sentences.


@pytest.mark.parametrize("test", ["", "\n", "(TOP (S (. .)))", "()"])
def test_a_test_tree_without_words_is_skipped(test: str) -> None:
    found = score(CAT, test)
    assert (found.status, found.length, found.gold) == ("skip", 5, 0)
    assert "no words" in found.reason


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        (CAT.replace("(DT the) ", ""), "4 gold words, 3 test words"),
        (CAT.replace("Ann", "Bob"), "gold word 'Ann', test word 'Bob'"),
        (CAT[:-1], "test tree: unbalanced: 1 '(' left open"),
        (CAT + ")", "test tree: unbalanced: one ')' too many"),
        (
            CAT.replace("(NN cat)", "(NN cat dog)"),
            "test tree: text that is not '(TAG word)': 'cat'",
        ),
        ("the cat sees Ann .", "test tree: text that is not '(TAG word)': 'the'"),
        (CAT.replace("Ann", "Ann "), "test tree: text that is not '(TAG word)': 'Ann'"),
        (CAT.replace("Ann", "\udcff"), r"gold word 'Ann', test word '\udcff'"),
    ],
)
def test_trees_that_cannot_be_compared_are_errors(test: str, reason: str) -> None:
    assert score(CAT, test) == SentenceScore("error", 5, reason)


def test_words_that_only_look_alike_are_explained() -> None:
    reason = score(CAT.replace("Ann", "Zo\xeb"), CAT.replace("Ann", "Zoe\u0308")).reason
    assert "the same in another Unicode form: convert one file" in reason


def test_a_broken_gold_tree_is_an_error() -> None:
    assert score(CAT[:-2], CAT).reason == "gold tree: unbalanced: 2 '(' left open"


QUOTES = Parameters(delete_labels=frozenset({"''"}), quote_labels=frozenset({"''", "POS"}))


def test_quotes_are_repaired_when_the_lengths_differ() -> None:
    # Gold keeps the quote as POS, the test tree deletes it as ''. Put back, it is the test tree's
    # word 1: NP[0,2] VP[2,3] S[0,3] on both sides; its tag stays wrong.
    gold = "(S (NP (NNS cats) (POS ')) (VP (VBP see)))"
    test = "(S (NP (NNS cats) ('' ')) (VP (VBP see)))"
    found = score(gold, test, QUOTES)
    assert (found.matched, found.gold, found.test) == (3, 3, 3)
    assert (found.words, found.correct_tags) == (3, 2)
    assert score(test, gold, QUOTES).matched == 3
    assert score(gold, test).status == "error"  # COLLINS' settings name no quote labels


def test_quotes_put_back_move_the_later_ones() -> None:
    # The second quote is test word 1 when read and word 2, as in gold, once the first is back.
    gold = "(S (POS ') (NP (NN x) (POS ')))"
    test = "(S ('' ') (NP (NN x) ('' ')))"
    assert brackets(gold, test, QUOTES) == brackets(test, gold, QUOTES) == (2, 2, 2)


def test_quotes_are_left_alone_when_the_lengths_agree() -> None:
    # Each side deletes the quote that the other keeps. Put back, both would read ' cats '; but
    # both have two words, so nothing is put back: cats ' is not ' cats.
    gold = "(S ('' ') (NNS cats) (POS '))"
    test = "(S (POS ') (NNS cats) ('' '))"
    assert score(gold, test, QUOTES).reason == "gold word 'cats', test word \"'\""


def test_errors_and_skips_stay_out_of_the_totals() -> None:
    report = evaluate([CAT] * 3, [CAT, CAT[:-1], ""], COLLINS)
    assert [row.status for row in report.rows] == ["valid", "error", "skip"]
    assert (report.all.sentences, report.all.errors, report.all.skipped) == (3, 1, 1)
    assert (report.all.valid, report.all.gold, report.all.f1) == (1, 4, 100.0)


# 4. Brackets that do not count, and labels cut short.


def test_brackets_without_words_do_not_count() -> None:
    # The trace leaves WHNP and NP without width.
    gold = "(S (WHNP (-NONE- 0)) (NP (-NONE- *)) (VP (VBZ runs)))"
    assert brackets(gold, "(S (VP (VBZ runs)))") == (2, 2, 2)


@pytest.mark.parametrize("label", ["NP-SBJ", "NP=2", "NP-SBJ=1", "NP=1-X", "NP-"])
def test_function_tags_are_cut(label: str) -> None:
    assert brackets(f"({label} (NN x))", "(NP (NN x))") == (1, 1, 1)


def test_labels_are_cut_before_they_are_deleted() -> None:
    # TOP-X is TOP once cut; -NONE- as a constituent is cut to nothing, and that counts.
    assert brackets("(TOP-X (NP (NN x)))", "(NP (NN x))") == (1, 1, 1)
    assert brackets("(-NONE- (NP (NN x)))", "(NP (NN x))") == (1, 2, 1)


def test_tags_are_not_cut() -> None:
    assert score("(NP (NN-X x))", "(NP (NN x))").correct_tags == 0


# 5. Labels and words that count as one.


def test_equal_labels_hold_for_brackets_and_tags() -> None:
    # PRT for ADVP as bracket and as tag; VP[0,2] as well.
    found = score("(VP (VB go) (PRT (PRT on)))", "(VP (VB go) (ADVP (ADVP on)))")
    assert (found.matched, found.gold, found.test, found.correct_tags) == (2, 2, 2, 2)


def test_equal_words() -> None:
    british = Parameters(equal_words=(("colour", "color"),))
    assert brackets("(NP (NN colour))", "(NP (NN color))", british) == (1, 1, 1)
    assert score("(NP (NN colour))", "(NP (NN color))").status == "error"


def test_equal_labels_widen_deletion_of_brackets_but_not_of_tags() -> None:
    parameters = Parameters(delete_labels=frozenset({"PRT"}), equal_labels=(("ADVP", "PRT"),))
    # Both brackets over "on" go; the word tagged ADVP stays.
    assert brackets("(VP (ADVP (ADVP on)))", "(VP (ADVP on))", parameters) == (1, 1, 1)


def test_unlabeled() -> None:
    unlabeled = Parameters(labeled=False, delete_labels=frozenset({"TOP"}))
    assert brackets("(TOP (A (B (NN x))))", "(TOP (C (NN x)))", unlabeled) == (1, 2, 1)


# 6. Repeated brackets are a multiset.


@pytest.mark.parametrize(
    ("gold_copies", "test_copies", "expected"),
    [(2, 2, (2, 2, 2)), (3, 1, (1, 3, 1)), (1, 3, (1, 1, 3)), (2, 3, (2, 2, 3))],
)
def test_repeated_brackets(
    gold_copies: int, test_copies: int, expected: tuple[int, int, int]
) -> None:
    def nested(copies: int) -> str:
        return "(NP " * copies + "(NN x)" + ")" * copies

    assert brackets(nested(gold_copies), nested(test_copies)) == expected


# 7. No brackets at all.


def test_no_brackets() -> None:
    assert brackets("(NN x)", "(NN x)") == (0, 0, 0)
    assert brackets("(NN x)", "(NP (NN x))") == (0, 0, 1)
    assert brackets("(NP (NN x))", "(NN x)") == (0, 1, 0)
    # evalb.c prints 0.00 for both rates; the sentence is a complete match all the same.
    found = score("(TOP (NN x))", "(TOP (NN x))")
    assert (found.recall, found.precision, found.f1) == (0.0, 0.0, 100.0)
    assert Summary.of([found]).complete_match == 100.0


# 8. Corpus figures are of summed counts, not means of sentences.

LONG = f"(TOP (S {'(NP (NN x)) ' * 41}))"
SHORT_WRONG = CAT.replace("VP", "PP")


def test_corpus_figures() -> None:
    # Row 1: 4 of 4, complete. Row 2: 3 of 4. Row 3, 41 words: 42 of 42, complete.
    # Row 4: gold S[0,4] A[0,2] B[2,4], test S[0,4] X[1,3]: 1 of 3 and 1 of 2, X crosses.
    gold = [CAT, CAT, LONG, "(S (A (N a) (N b)) (B (N c) (N d)))"]
    test = [CAT, SHORT_WRONG, LONG, "(S (N a) (X (N b) (N c)) (N d))"]
    report = evaluate(gold, test, COLLINS)
    whole, short = report.all, report.short
    assert (whole.matched, whole.gold, whole.test) == (50, 53, 52)
    assert whole.recall == pytest.approx(100 * 50 / 53)
    assert whole.precision == pytest.approx(100 * 50 / 52)
    assert whole.f1 == pytest.approx(100 * 2 * 50 / (53 + 52))
    assert (whole.complete_match, whole.average_crossing) == (50.0, 0.25)
    assert (whole.no_crossing, whole.two_or_less_crossing) == (75.0, 100.0)
    assert whole.tagging_accuracy == 100.0
    assert (short.sentences, short.matched, short.gold, short.test) == (3, 8, 11, 10)


def test_the_cutoff_counts_gold_words_with_punctuation() -> None:
    # 40 words and a full stop are 41.
    forty = f"(TOP (S {'(NN x) ' * 40}))"
    report = evaluate([forty, forty[:-2] + "(. .)))"], [forty, forty[:-2] + "(. .)))"], COLLINS)
    assert [row.length for row in report.rows] == [40, 41]
    assert report.short.sentences == 1


# Real files.


@pytest.mark.parametrize("name", ["gum/dev", "wsj_sample/dev"])
def test_a_treebank_against_itself(name: str) -> None:
    lines = list(open_data(f"treebanks/{name}.mrg.gz"))
    whole = evaluate(lines, lines, COLLINS).all
    assert (whole.errors, whole.skipped, whole.recall, whole.precision) == (0, 0, 100.0, 100.0)
    assert (whole.f1, whole.complete_match, whole.tagging_accuracy) == (100.0, 100.0, 100.0)


def test_figures_of_evalb_on_a_real_parser() -> None:
    # The output of evalb.c with COLLINS.prm for the parser's first trees, to its last digit.
    gold = list(open_data("treebanks/gum/dev.mrg.gz"))
    firsts = [trees[0] for trees in first_trees(open_data("nbest/gum_dev_50best.txt.gz"))]
    report = evaluate(gold, firsts, COLLINS)
    figures = re.findall(r"= +([0-9.]+)$", format_report(report), re.MULTILINE)
    assert " ".join(figures) == (
        "1575 15 0 1560 83.34 83.42 83.38 39.23 1.26 68.33 83.14 95.31 "
        "1466 9 0 1457 85.76 85.84 85.80 41.87 0.83 72.48 87.51 95.53"
    )
    assert report.too_many_errors
    # Of the same files: the trees' S1 is a bracket for evalb.c.
    report = evaluate(gold, firsts, replace(COLLINS, count_roots=True))
    figures = re.findall(r"= +([0-9.]+)$", format_report(report), re.MULTILINE)
    assert " ".join(figures[:7]) == "1575 15 0 1560 83.34 78.20 80.69"


def test_quick_f1_and_oracle_agree_with_the_scorer_on_a_real_list() -> None:
    golds = open_data("treebanks/gum/dev.mrg.gz")
    lists = first_trees(open_data("nbest/gum_dev_50best.txt.gz"), count=20)
    for line, candidates in islice(zip(golds, lists, strict=False), 1, 15):
        gold = Gold(line, COLLINS)
        scores = [gold.score(candidate) for candidate in candidates]
        valid = [found.status == "valid" for found in scores]
        assert [gold.f1(candidate) for candidate in candidates] == [
            found.f1 if is_valid else None for found, is_valid in zip(scores, valid, strict=True)
        ]
        best = max((found.f1 for found in scores if found.status == "valid"), default=None)
        expected = 0
        if best is not None:
            expected = next(
                i for i, found in enumerate(scores) if found.status == "valid" and found.f1 == best
            )
        assert gold.oracle(candidates) == expected


def test_oracle_takes_the_first_of_equals_and_never_an_invalid_tree() -> None:
    gold = Gold(CAT, COLLINS)
    other_wrong = CAT.replace("NP", "QP", 1)
    assert gold.f1(SHORT_WRONG) == gold.f1(other_wrong) == 75.0
    assert gold.f1("") is None
    assert gold.oracle([CAT[:-1], SHORT_WRONG, other_wrong, ""]) == 1
    assert gold.oracle([SHORT_WRONG, CAT]) == 1
    # All brackets wrong is still better than broken; when all are broken, the parser's first.
    assert gold.oracle(["", "(X (DT the) (NN cat) (VBZ sees) (NNP Ann))"]) == 1
    assert gold.oracle(["", CAT[:-1]]) == 0
    with pytest.raises(InputError):
        gold.oracle([])


# Roots.


WITH_ROOTS = replace(COLLINS, count_roots=True)


@pytest.mark.parametrize(
    "line",
    [
        "(S1 (NP (NN x)))",
        "(ROOT(NP (NN x)))",
        "( (NP (NN x)) )",
        "((NP (NN x)))",
        "(TOP (NP (NN x)))",
        "(NP (NN x))",
    ],
)
def test_the_name_of_a_root_does_not_count(line: str) -> None:
    own = Parameters(delete_labels=frozenset({"ROOT"}))
    for parameters in (COLLINS, Parameters(), own):
        assert brackets("(TOP (NP (NN x)))", line, parameters) == (1, 1, 1)
        assert brackets(line, "(NP (NN x))", parameters) == (1, 1, 1)


def test_roots_count_as_in_evalb_if_asked() -> None:
    # S1 is one bracket more than gold has; TOP is a deleted label.
    assert brackets("(TOP (NP (NN x)))", "(S1 (NP (NN x)))", WITH_ROOTS) == (1, 1, 2)
    assert brackets("( (NP (NN x)))", "(S1 (NP (NN x)))", WITH_ROOTS) == (1, 2, 2)
    assert brackets("(S1 (NP (NN x)))", "(S1 (NP (NN x)))", WITH_ROOTS) == (2, 2, 2)


def test_only_the_outermost_bracket_around_others_is_a_root() -> None:
    assert brackets("(S1 (NN x)) (TOP (S (NN y)))", "(S1 (NN x)) (TOP (S (NN y)))") == (1, 1, 1)
    assert brackets("(S (S1 (NN x)))", "(S (NP (NN x)))") == (1, 2, 2)
    assert read_line("(S1 x)", COLLINS).words == ["x"]
    assert read_line("(S1 (NP (NN x))", COLLINS).problem is not None


# Parameters.


def test_collins_settings_are_those_of_the_file() -> None:
    assert Parameters.from_file(ROOT / "eval" / "collins.prm") == COLLINS


def test_parameter_file(tmp_path: Path) -> None:
    path = tmp_path / "own.prm"
    path.write_text(
        "## a comment\n\nDEBUG 1\nMAX_ERROR 3\n CUTOFF_LEN\t70 \nLABELED 0\r\n"
        "DELETE_LABEL ROOT\nDELETE_LABEL #\nDELETE_LABEL_FOR_LENGTH ,\nQUOTE_LABEL POS\n"
        "EQ_LABEL ADVP PRT\nEQ_LABEL PRT RP\nEQ_WORD  colour color\n",
        encoding="utf-8",
    )
    parameters = Parameters.from_file(path)
    assert parameters == Parameters(
        debug=1,
        max_error=3,
        cutoff_length=70,
        labeled=False,
        delete_labels=frozenset({"ROOT", "#"}),
        delete_labels_for_length=frozenset({","}),
        quote_labels=frozenset({"POS"}),
        equal_labels=(("ADVP", "PRT"), ("PRT", "RP")),
        equal_words=(("colour", "color"),),
    )
    assert parameters.standard_labels == {"ADVP": "ADVP", "PRT": "ADVP", "RP": "ADVP"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("DELETE_LABELS TOP", "unknown setting 'DELETE_LABELS'"),
        ("MAX_ERROR ten", "MAX_ERROR cannot be 'ten'"),
        ("CUTOFF_LEN -1", "CUTOFF_LEN cannot be '-1'"),
        ("LABELED 2", "LABELED cannot be '2'"),
        ("DELETE_LABEL", "DELETE_LABEL takes 1 value(s), not ''"),
        ("DELETE_LABEL TOP # the root", "DELETE_LABEL takes 1 value(s), not 'TOP # the root'"),
        ("EQ_LABEL ADVP", "EQ_LABEL takes 2 value(s), not 'ADVP'"),
    ],
)
def test_parameter_file_mistakes_name_file_and_line(
    tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "own.prm"
    path.write_text(f"# mine\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        Parameters.from_file(path)
    assert str(raised.value) == f"{path}:2: {message}"


def test_unreadable_parameter_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.prm: No such file"):
        Parameters.from_file(tmp_path / "none.prm")
    (tmp_path / "latin.prm").write_bytes(b"EQ_WORD \xe9 e\n")
    with pytest.raises(InputError, match="not UTF-8"):
        Parameters.from_file(tmp_path / "latin.prm")


# F1, of numbers and of arrays.


def test_f1_of_counts() -> None:
    # P = 3/3, R = 3/4: 2 * 1 * 0.75 / 1.75; no bracket at all is 0, but of a valid sentence 100.
    counts = np.array([[3, 4, 3], [0, 4, 4], [4, 4, 4], [0, 0, 0]])
    assert [f1(*row) for row in counts.tolist()] == [pytest.approx(600 / 7), 0.0, 100.0, 0.0]
    assert f1_by_row(counts).tolist() == [f1(*row) for row in counts.tolist()]
    assert f1_by_row(counts / 2).tolist() == f1_by_row(counts).tolist()
    assert corpus_f1(counts) == pytest.approx(100 * 2 * 7 / (12 + 11))
    assert SentenceScore("valid", 1).f1 == 100
    assert SentenceScore("skip", 1).f1 == 0


# The printed block and the command.

BLOCK = """\
  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy
============================================================================
   1    5    0  100.00 100.00     4      4    4      0      4     4   100.00
   2    5    0   75.00  75.00     3      4    4      0      4     4   100.00
   3    5    2    0.00   0.00     0      0    0      0      0     0     0.00
   4    5    1    0.00   0.00     0      0    0      0      0     0     0.00
============================================================================
                 87.50  87.50      7     8     8      0      8     8   100.00
=== Summary ===

-- All --
Number of sentence        =      4
Number of Error sentence  =      1
Number of Skip  sentence  =      1
Number of Valid sentence  =      2
Bracketing Recall         =  87.50
Bracketing Precision      =  87.50
Bracketing FMeasure       =  87.50
Complete match            =  50.00
Average crossing          =   0.00
No crossing               = 100.00
2 or less crossing        = 100.00
Tagging accuracy          = 100.00

-- len<=40 --
"""


def test_the_block_that_users_of_evalb_know() -> None:
    report = evaluate([CAT] * 4, [CAT, SHORT_WRONG, "", CAT[:-1]], COLLINS)
    block = format_report(report, sentences=True)
    summary = BLOCK[BLOCK.index("Number of") : BLOCK.index("\n-- len")]
    assert block == BLOCK + summary  # all four are short
    assert format_report(report) == block[block.index("=== Summary") :]


def test_too_many_errors_flag_the_figures() -> None:
    lines = [CAT] * 3, [CAT, CAT[:-1], CAT + ")"]
    assert not evaluate(*lines, COLLINS, max_error=2).too_many_errors
    report = evaluate(*lines, COLLINS, max_error=1)
    assert report.too_many_errors
    assert report.all.f1 == 100.0
    assert format_report(report).endswith(
        "\nNOT COMPARABLE: 2 sentences with errors left out, more than the 1 allowed\n"
    )


def test_json() -> None:
    found = json.loads(to_json(evaluate([CAT, CAT], [SHORT_WRONG, ""], COLLINS)))
    assert found["all"]["f1"] == 75.0
    assert (found["all"]["valid"], found["all"]["skipped"]) == (1, 1)
    assert [row["status"] for row in found["rows"]] == ["valid", "skip"]
    assert found["rows"][1]["line"] == 2
    assert found["parameters"]["delete_labels"] == ["''", ",", "-NONE-", ".", ":", "TOP", "``"]


@pytest.mark.parametrize(("gold", "test"), [(2, 1), (1, 2), (0, 0)])
def test_files_of_different_length_are_refused(gold: int, test: int) -> None:
    with pytest.raises(InputError, match=f"{gold} gold lines|no gold lines"):
        evaluate([CAT] * gold, [CAT] * test, COLLINS)


def run_eval(*words: str | Path) -> int:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args([str(word) for word in words]))


def write(path: Path, *lines: str) -> Path:
    text = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def test_command_scores_files(tmp_path: Path, capsys: Capture) -> None:
    gold, test = write(tmp_path / "gold.gz", CAT), write(tmp_path / "test", SHORT_WRONG)
    assert run_eval(gold, test) == 0
    out, err = capsys.readouterr()
    assert "Bracketing FMeasure       =  75.00\n" in out
    assert err == ""
    assert run_eval(gold, test, "--json") == 0
    assert json.loads(capsys.readouterr().out)["all"]["f1"] == 75.0


def test_command_counts_roots_only_if_asked(tmp_path: Path, capsys: Capture) -> None:
    gold = write(tmp_path / "gold", CAT)
    test = write(tmp_path / "test", CAT.replace("TOP", "S1"))
    # With S1 4 of 5 test brackets are right.
    for flags, percent in (([], 100), (["--count-roots"], 80)):
        assert run_eval(gold, test, *flags) == 0
        assert f"Bracketing Precision      = {percent:6.2f}\n" in capsys.readouterr().out


def test_command_names_each_sentence_left_out(tmp_path: Path, capsys: Capture) -> None:
    gold = write(tmp_path / "gold", *[CAT] * 4)
    test = write(tmp_path / "test", CAT, "", CAT[:-1], CAT.replace("Ann", "\udcff"))
    assert run_eval(gold, test, "--max-error", "1") == 1
    out, err = capsys.readouterr()
    assert "Bracketing FMeasure       = 100.00\n" in out
    assert "NOT COMPARABLE: 2 sentences" in out
    assert err.splitlines() == [
        f"{test}:2: skip: no words left in the test tree",
        f"{test}:3: error: test tree: unbalanced: 1 '(' left open",
        rf"{test}:4: error: gold word 'Ann', test word '\udcff'",
        f"{test}: 2 of 4 sentences could not be compared, more than --max-error 1",
    ]
    assert run_eval(gold, test) == 1
    assert "NOT COMPARABLE" not in capsys.readouterr().out


def test_command_without_a_single_valid_sentence(tmp_path: Path, capsys: Capture) -> None:
    assert run_eval(write(tmp_path / "gold", CAT), write(tmp_path / "test", "")) == 2
    assert "no sentence could be scored" in capsys.readouterr().err


@pytest.mark.parametrize(
    "fault", ["(S (X (DT The) (NN cat)", "The cat", "(S (X (DT The)))) (NN cat)"]
)
def test_the_file_at_fault_is_named(fault: str, tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good", CAT), write(tmp_path / "bad", fault)
    for files in ((bad, good), (good, bad)):
        done = rerank("eval", *files)
        first, *_, last = done.stderr.splitlines()
        assert done.returncode == 2
        assert first.startswith(f"{bad}:1: error: ")
        assert last == f"{bad}: no sentence could be scored"
    words = write(tmp_path / "words", CAT.replace("cat", "dog"))
    last = rerank("eval", words, good).stderr.splitlines()[-1]
    assert last == f"{good}: no sentence could be scored"


def test_command_refuses_files_it_cannot_compare(tmp_path: Path) -> None:
    gold, empty = write(tmp_path / "gold", CAT, CAT), write(tmp_path / "empty")
    with pytest.raises(InputError, match=r"gold .*2 .*empty .*0"):
        run_eval(gold, empty)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(CAT.encode())[:-12])
    with pytest.raises(InputError, match=r"cut\.gz: cannot be read past line"):
        run_eval(cut, gold)
    with pytest.raises(InputError, match="standard input"):
        run_eval("-", "-")
    with pytest.raises(SystemExit):
        run_eval(gold, gold, "--max-error", "-1")
