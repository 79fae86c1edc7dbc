"""Several files of the same sentences, sentences that do not fit, and options."""

from __future__ import annotations

import contextlib
import gc
import logging
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.nbest import ReadOptions, read_nbest
from tests.reranker.nbest.summaries import Read, accepted, rejected, scores

RUNS = "(S (NP (PRP It)) (VP (VBZ runs)))"
FLAT = "(S (NP (PRP It) (VBZ runs)))"
GO = "(S (VP (VB Go)))"
RUNS_TOKENS = "(S (NP It )NP (VP runs )VP )S"
FLAT_TOKENS = "(S (NP It runs )NP )S"
GO_TOKENS = "(S (VP Go )VP )S"

BLLIP = f"2\ta\n-30.5\n{RUNS}\n-31\n(S (\n\n1\tb\n-7\n{GO}\n\n"
BERKELEY = f"-20.5\t( {FLAT} )\n\n-5\t( {GO} )\n-6\t( (S (VB Go)) )\n\n"


def test_candidates_are_pooled_sentence_by_sentence(read: Read) -> None:
    first, second = read(BLLIP, BERKELEY)
    assert (first.id, first.line) == ("a", 1)
    assert accepted(first) == [RUNS_TOKENS, FLAT_TOKENS]
    assert [one.index for one in first.candidates] == [0, 2]
    assert [one.line for one in first.candidates] == [3, 1]
    assert scores(first) == [pytest.approx(-21.140989), -20.5]
    assert rejected(first) == [(1, 5, "unbalanced")]
    assert first.rejected[0].file.endswith("0.txt")
    assert accepted(second) == [GO_TOKENS, GO_TOKENS, "(S Go )S"]
    assert [one.index for one in second.candidates] == [0, 1, 2]


def test_the_order_of_the_files_is_the_order_of_the_candidates(read: Read) -> None:
    first, _ = read(BERKELEY, BLLIP)
    assert accepted(first) == [FLAT_TOKENS, RUNS_TOKENS]
    assert rejected(first) == [(2, 5, "unbalanced")]
    assert first.rejected[0].file.endswith("1.txt")


def test_any_dialects_go_together(read: Read) -> None:
    (nbest,) = read(
        f"{RUNS}\n",
        "0 ||| -2 ||| (S (NP UNK-INITC UNK-LC-s))\n",
        "S-0\tIt runs\nH-0\t-1\t(S (NP XX )NP (VP XX )VP )S\n",
        "(S (NP XX )NP XX )S\n",
    )
    assert accepted(nbest) == [RUNS_TOKENS, FLAT_TOKENS, RUNS_TOKENS, "(S (NP It )NP runs )S"]


def test_other_words_than_the_first_file_s_are_rejected(read: Read) -> None:
    (nbest,) = read(f"{RUNS}\n", f"{RUNS.replace('It', 'He')}\n")
    assert rejected(nbest) == [(1, 1, "wrong-words")]


def test_a_file_that_ends_early(read: Read) -> None:
    first, second = read(f"{RUNS}\n", BERKELEY)
    assert rejected(first) == []
    assert accepted(second) == [GO_TOKENS, "(S Go )S"]
    assert rejected(second) == [(0, 0, "missing")]
    assert second.rejected[0].message.endswith("0.txt ends before the list of sentence 2")


def test_a_list_without_candidates_is_not_missing(read: Read) -> None:
    first, second = read(BLLIP, f"\n{GO}\n")
    assert accepted(first) == [RUNS_TOKENS]
    assert [one.code for one in first.rejected] == ["unbalanced"]
    assert accepted(second) == [GO_TOKENS, GO_TOKENS]


def test_sentences_for_pooled_files(read: Read) -> None:
    first, second = read(BLLIP, BERKELEY, sentences="it runs\nGO\n")
    assert accepted(first) == [text.replace("It", "it") for text in (RUNS_TOKENS, FLAT_TOKENS)]
    assert [one.words for one in second.candidates] == [["GO"]] * 3


def test_more_sentences_than_lists(read: Read) -> None:
    lists = read(BLLIP, sentences="It runs\nGo\nand more\nstill\n")
    assert [len(one.candidates) for one in lists] == [1, 1, 0, 0]
    assert rejected(lists[2]) == [(0, 0, "missing")]
    assert lists[2].rejected[0].message.endswith("0.txt ends before the list of sentence 3")
    assert lists[2].fallback == "(TOP (S (XX and) (XX more)))"
    pooled = read(BLLIP, BERKELEY, sentences="It runs\nGo\nand more\n")
    assert [one.code for one in pooled[2].rejected] == ["missing", "missing"]


def test_more_lists_than_sentences_are_an_input_error(read: Read) -> None:
    message = r"sentences\.txt holds 1 sentences, but .*0\.txt, .*1\.txt has more lists"
    with pytest.raises(InputError, match=message):
        read(BLLIP, BERKELEY, sentences="It runs\n")


def test_what_comes_before_an_error_is_read(tmp_path: Path) -> None:
    path, tokens = tmp_path / "parses.txt", tmp_path / "sentences.txt"
    path.write_text(BLLIP)
    tokens.write_text("It runs\n")
    with contextlib.closing(read_nbest(path, options=ReadOptions(tokens=tokens))) as lists:
        assert accepted(next(lists)) == [RUNS_TOKENS]
        with pytest.raises(InputError, match="has more lists"):
            next(lists)


def test_the_format_can_be_given(read: Read) -> None:
    # Two trees of a sentence, or of two?
    text = f"( {RUNS} )\n( {FLAT} )\n"
    assert len(read(text)) == 2
    (nbest,) = read(text + "\n", format="berkeley")
    assert accepted(nbest) == [RUNS_TOKENS, FLAT_TOKENS]
    with pytest.raises(InputError, match=r"'conll'.* jsonl, "):
        read(text, format="conll")


SAMPLES = {
    "bllip": BLLIP,
    "berkeley": BERKELEY,
    "rnng": f"0 ||| -1.5 ||| {RUNS}\n0 ||| -2 ||| {FLAT}\n",
    "jsonl": f'{{"candidates": ["{RUNS}", "{FLAT}"]}}\n',
    "choe-charniak": f"2\n{RUNS}\n{FLAT}\n",
    "corenlp": f"# Parse 1 with score -1\n{RUNS}\n\n# Parse 2 with score -2\n{FLAT}\n\n",
}


READABLE = {
    ("bllip", "choe-charniak"), ("choe-charniak", "bllip"),
    ("bllip", "corenlp"), ("choe-charniak", "corenlp"),
}  # fmt: skip
"""Files that the reader of another format takes for lists, or for a tree a list."""


@pytest.mark.parametrize("wrong", [name for name in SAMPLES if name != "berkeley"])
@pytest.mark.parametrize("right", SAMPLES)
def test_the_right_format_is_named_in_place_of_a_wrong_one(
    right: str, wrong: str, read: Read
) -> None:
    if (right, wrong) in READABLE or right == wrong:
        assert read(SAMPLES[right], format=wrong)[0].candidates
        return
    with pytest.raises(InputError, match=f"looks like {right}|not an n-best list"):
        read(SAMPLES[right], format=wrong)


def test_a_format_is_believed_if_a_candidate_is_in_it(read: Read) -> None:
    text = SAMPLES["rnng"] + BLLIP * 30
    assert read(text, format="rnng")[0].candidates
    broken = "0 ||| -1.5 ||| (S (NP\n" + SAMPLES["rnng"].replace("0 |||", "1 |||")
    assert {one.code for one in read(broken, format="rnng")[0].rejected} == {"unbalanced"}


@pytest.mark.parametrize(
    ("text", "description"),
    [
        (BLLIP, "bllip"),
        (BERKELEY, "berkeley"),
        ("0 ||| -1 ||| (S (NP It there) runs)\n", "rnng (without part-of-speech nodes)"),
        (f"0 ||| -1 ||| {RUNS}\n", "rnng"),
        (
            "(S XX )S\n(S XX )S\n",
            "seq2seq (one line per list; broken candidates are repaired)",
        ),
        (
            "S-0\ta\nH-0\t-1\t(S XX )S\n",
            "fairseq (linearised trees; broken candidates are repaired)",
        ),
        (
            "1\n(S XX )S\n",
            "seq2seq (a count before each list; broken candidates are repaired)",
        ),
    ],
)
def test_descriptions(tmp_path: Path, text: str, description: str) -> None:
    path = tmp_path / "lists.txt"
    path.write_text(text)
    with contextlib.closing(read_nbest(path)) as lists:
        assert [file.description for file in lists.files] == [description]


def test_repair_is_off_for_brackets_and_on_for_seq2seq(read: Read) -> None:
    assert rejected(read(f"{RUNS[:-1]}\n")[0]) == [(0, 1, "unbalanced")]
    assert accepted(read(f"{RUNS[:-1]}\n", repair=True)[0]) == [RUNS_TOKENS]
    broken = "(S (NP XX )NP (VP XX\n"
    assert accepted(read(broken, sentences="It runs\n", format="seq2seq")[0]) == [RUNS_TOKENS]
    strict = read(broken, sentences="It runs\n", format="seq2seq", repair=False)
    assert rejected(strict[0]) == [(0, 1, "unbalanced")]


@pytest.mark.parametrize("text", ["", "\n\n \n", "\ufeff", "\ufeff\n"])
@pytest.mark.parametrize("format_name", ["auto", "rnng", "jsonl", "trees", "seq2seq"])
def test_an_empty_file_is_an_input_error(read: Read, text: str, format_name: str) -> None:
    with pytest.raises(InputError, match=r"0\.txt has no n-best lists"):
        read(text, format=format_name)


@pytest.mark.parametrize(
    "hiding", ["0 ||| -1 ||| (S (NP UNK-INITC) there)\n", "(S (NP XX )NP XX )S\n"]
)
@pytest.mark.parametrize("order", [1, -1])
def test_pooled_files_may_hide_words_that_another_tells(
    hiding: str, order: int, tmp_path: Path
) -> None:
    (tmp_path / "hiding").write_text(hiding)
    (tmp_path / "telling").write_text("(S (NP (PRP It)) (RB there))\n")
    paths = [tmp_path / "hiding", tmp_path / "telling"][::order]
    (nbest,) = read_nbest(*paths)
    assert not nbest.rejected
    assert [one.words for one in nbest.candidates] == [["It", "there"]] * 2


def test_files_are_closed_when_a_later_one_cannot_be_read(tmp_path: Path) -> None:
    # Warnings are errors: one for a file left open would fail this test.
    (tmp_path / "one").write_text("(S (NP (PRP It)) (RB there))\n")
    with pytest.raises(InputError, match="cannot be read"):
        read_nbest(tmp_path / "one", tmp_path / "none")
    gc.collect()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("0 ||| -1 ||| (S a b)\n1 ||| x ||| (S a)\n1 ||| y ||| (S a)\n", 2,
         "'x'; in format rnng a score is one number"),
        ("-1\t(S (NN a))\nabc\t(S (NN a))\nabc\t(S (NN a))\n\n", 2,
         "'abc'; in format berkeley scores are numbers before the tree"),
        ('{"candidates": [{"tree": "(S (NN a))", "score": "x"}, "(S (NN a))"]}\n' * 2, 1,
         "'\"x\"'; in format jsonl a score is a number or null"),
    ],
)  # fmt: skip
def test_an_unusable_score_is_reported_once_and_its_tree_kept(
    read: Read, caplog: pytest.LogCaptureFixture, text: str, line: int, message: str
) -> None:
    with caplog.at_level(logging.WARNING, "reranker"):
        lists = read(text)
    assert not any(nbest.rejected for nbest in lists)
    assert scores(lists[-1])[-1] is None
    (record,) = caplog.records
    assert f"0.txt:{line}: not a usable score: {message}; candidates" in record.message


@pytest.mark.parametrize(
    "text",
    [
        "0 ||| nan ||| (S a b)\n0 ||| -inf ||| (S a b)\n0 ||| ||| (S a b)\n0 ||| (S a b)\n",
        "-Infinity\t(())\n\nnan\t(S (NN a))\n\n(S (NN\ta))\n\n",
        '{"candidates": [{"tree": "(S (NN a))", "score": null}, "(S (NN a))"]}\n',
    ],
)
def test_a_missing_score_is_not_reported(
    read: Read, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    with caplog.at_level(logging.WARNING, "reranker"):
        read(text)
    assert not caplog.records
