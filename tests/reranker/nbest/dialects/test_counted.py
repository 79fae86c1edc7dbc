import contextlib
import gzip
import logging
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reranker.errors import InputError
from reranker.files.text import MAX_LINE, TextFile
from reranker.nbest import NBest, read_nbest
from reranker.nbest.dialects.counted import MAX_SURPLUS, read_counted
from reranker.nbest.faithful import ReadingRules, accept
from reranker.nbest.lines import HEAD_LINES, NumberedLines
from reranker.nbest.notation import Notation
from reranker.trees.tree import Tree

ROOT = Path(__file__).parents[4]
REAL_LISTS = ROOT.parent / "shared" / "data" / "nbest"

THIS_1 = "(S1 (S (NP (DT This)) (VP (AUX is) (NP (DT a) (NN sentence))) (. .)))"
THIS_2 = "(S1 (S (NP (DT This)) (VP (AUX is) (NP (NP (DT a) (NN sentence)))) (. .)))"
FLAT = "(S1 (S (NNP Go) (NN !)))"

# parseIt -N2 prints a tab and a blank line after each list. The second sentence failed.
COMMAND_LINE = f"2\t0\n-30.5\n{THIS_1}\n-31\n{THIS_2}\n\n1\t1\n-679.491\n{FLAT}\n\n"
# print(nbest_list) of the Python API, after reranking, with the default id and an empty list.
PYTHON = (
    f"2 x\n-8.88655845608 -30.3981669701\n{THIS_1}\n-9.1 -31.2\n{THIS_2}\n0 x\n1 last\n-7\n{FLAT}\n"
)
CHOE = f"2\n{THIS_1}\n{THIS_2}\n\n1\n{FLAT}\n\n"
CHOE_SCORED = f"2\n41.25\n{THIS_1}\n40\n{THIS_2}\n\n1\n7.5\n{FLAT}\n\n"

Read = Callable[[str | bytes], list[NBest]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read_text(text: str | bytes) -> list[NBest]:
        path = tmp_path / "parses.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return list(read_nbest(path))

    return read_text


class LinesFile(TextFile):
    """A stand-in for a file, with lines at hand."""

    def __init__(self, lines: Iterable[str]) -> None:
        super().__init__(os.devnull)
        self._lines = lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)


def from_lines(lines: Iterable[str]) -> list[NBest]:
    rules = ReadingRules("lines", Notation.BRACKETS, repair=False)
    with contextlib.closing(NumberedLines(LinesFile(lines))) as file:
        return [accept(raw, rules) for raw in read_counted(file)]


def summary(nbest: NBest) -> tuple[str, list[int], list[tuple[int, int, str]]]:
    """Return id, accepted places, and place, line and code of each rejection."""
    return (
        nbest.id,
        [candidate.index for candidate in nbest.candidates],
        [(rejected.index, rejected.line, rejected.code) for rejected in nbest.rejected],
    )


def scores(nbest: NBest) -> list[float | None]:
    return [candidate.parser_score for candidate in nbest.candidates]


def test_command_line_output(read: Read) -> None:
    first, second = read(COMMAND_LINE)
    assert summary(first) == ("0", [0, 1], [])
    assert summary(second) == ("1", [0], [])
    assert (first.line, second.line) == (1, 7)
    best, runner_up = first.candidates
    assert (best.text, best.line, runner_up.line) == (THIS_1, 3, 5)
    assert best.tree == Tree.from_string(THIS_1)
    # p = 2^-30.5, so ln p = -30.5 * ln 2 = -21.140989...
    assert scores(first) == pytest.approx([-21.140989, -21.487563], abs=1e-6)
    # A failed parse is a candidate as any other.
    assert second.candidates[0].tree.leaves() == ["Go", "!"]


def test_pretty_printed_command_line_output(read: Read) -> None:
    # parseIt -P: a tree ends with a blank line, and so does the list.
    pretty_1 = (
        "(S1 (S (NP (DT This))\n     (VP (AUX is)\n      (NP (DT a) (NN sentence)))\n     (. .)))"
    )
    pretty_2 = pretty_1.replace("(NP (DT a) (NN sentence))", "(NP (NP (DT a) (NN sentence)))")
    plain = read(COMMAND_LINE)
    pretty = read(f"2\t0\n-30.5\n{pretty_1}\n\n-31\n{pretty_2}\n\n\n1\t1\n-679.491\n{FLAT}\n\n\n")
    assert [c.text for n in pretty for c in n.candidates] == [THIS_1, THIS_2, FLAT]
    assert [scores(n) for n in pretty] == [scores(n) for n in plain]
    assert [c.line for c in pretty[0].candidates] == [3, 9]
    assert not any(n.rejected for n in pretty)


def test_pretty_printed_trees_may_start_every_line_at_the_margin(read: Read) -> None:
    margin = THIS_1.replace(" (", "\n(")
    (nbest,) = read(f"2\t0\n-30.5\n{margin}\n-31\n{THIS_2}\n")
    assert [candidate.text for candidate in nbest.candidates] == [THIS_1, THIS_2]


def test_python_output_with_a_reranker_score_first(read: Read) -> None:
    first, empty, last = read(PYTHON)
    assert summary(first) == ("x", [0, 1], [])
    assert scores(first) == pytest.approx([-30.3981669701 * math.log(2), -31.2 * math.log(2)])
    assert summary(empty) == ("x", [], [])
    assert summary(last) == ("last", [0], [])
    assert scores(last) == pytest.approx([-7 * math.log(2)])


def test_choe_and_charniak_blocks(read: Read) -> None:
    first, second = read(CHOE)
    assert summary(first) == ("0", [0, 1], [])
    assert summary(second) == ("1", [0], [])
    assert scores(first) == [None, None]
    # Their own script prints no blank line between blocks, and 0 for no parse.
    assert [summary(n) for n in read("0\n" + CHOE.replace("\n\n", "\n"))] == [
        ("0", [], []),
        ("1", [0, 1], []),
        ("2", [0], []),
    ]


def test_choe_and_charniak_losses_are_negated_nats(read: Read) -> None:
    first, second = read(CHOE_SCORED)
    assert scores(first) == [-41.25, -40.0]
    assert scores(second) == [-7.5]
    assert not first.rejected


@pytest.mark.parametrize("text", [COMMAND_LINE, PYTHON, CHOE, CHOE_SCORED])
def test_windows_line_ends_and_a_byte_order_mark_change_nothing(read: Read, text: str) -> None:
    assert read("\ufeff" + text.replace("\n", "\r\n")) == read(text)


@pytest.mark.parametrize("score", ["nan", "-inf", "-Infinity", "oops", "-1 -inf", "- 3 4"])
def test_a_score_that_is_no_number_does_not_cost_the_tree(
    read: Read, caplog: pytest.LogCaptureFixture, score: str
) -> None:
    with caplog.at_level(logging.WARNING, "reranker"):
        first, second = read(f"2\t0\n{score}\n{THIS_1}\n-31\n{THIS_2}\n\n1\t1\n{score}\n{FLAT}\n\n")
    assert scores(first) == [None, pytest.approx(-31 * math.log(2))]
    assert scores(second) == [None]
    assert not first.rejected
    # Said once, not for every line.
    (record,) = caplog.records
    expected = f"{score!r}; in format bllip a score line has one or two numbers; candidates"
    assert f"parses.txt:2: not a usable score: {expected}" in record.message


@pytest.mark.parametrize("score", ["-41.25", "nan", "41.25 40"])
def test_a_loss_that_cannot_be_used_names_its_format(
    read: Read, caplog: pytest.LogCaptureFixture, score: str
) -> None:
    with caplog.at_level(logging.WARNING, "reranker"):
        (nbest,) = read(f"1\n{score}\n{THIS_1}\n")
    assert scores(nbest) == [None]
    expected = f"{score!r}; in format choe-charniak a score line has one number, 0 or more;"
    assert f"parses.txt:2: not a usable score: {expected}" in caplog.text


def test_whole_numbers_and_zero_can_be_scores(read: Read) -> None:
    (nbest,) = read(f"3\t0\n0\n{THIS_1}\n-31\n{THIS_2}\n\n-0\n{THIS_1}\n\n")
    assert scores(nbest) == [0.0, pytest.approx(-31 * math.log(2)), 0.0]
    (nbest,) = read(f"2 x\n3 -31\n{THIS_1}\n0 -31\n{THIS_2}\n")
    assert scores(nbest) == pytest.approx([-31 * math.log(2)] * 2)


def test_a_missing_score_is_none(read: Read) -> None:
    (nbest,) = read(f"2\t0\n{THIS_1}\n-31\n{THIS_2}\n\n")
    assert scores(nbest) == [None, pytest.approx(-31 * math.log(2))]


@pytest.mark.parametrize(
    ("tree", "code"),
    [
        (THIS_1 + ")", "unbalanced"),
        (THIS_1[:-1], "unbalanced"),
        (THIS_1[:30], "unbalanced"),
        (THIS_1[1:], "not-a-tree"),
        ("(S1 (S (NP)))", "empty"),
        ("(" * 5_000 + ")" * 5_000, "too-deep"),
        ("(S" + " (NN a)" * 10_001 + ")", "too-long"),
        ("(NN " + "a" * MAX_LINE + ")", "too-long"),
        (THIS_1.replace("(. .)", ""), "wrong-length"),
        (THIS_1.replace("This", "That"), "wrong-words"),
    ],
)
def test_a_broken_candidate_costs_only_itself(read: Read, tree: str, code: str) -> None:
    first, second = read(f"3\t0\n-1\n{THIS_1}\n-2\n{tree}\n-3\n{THIS_2}\n\n1\t1\n-4\n{FLAT}\n\n")
    assert summary(first) == ("0", [0, 2], [(1, 5, code)])
    assert scores(first) == pytest.approx([-math.log(2), -3 * math.log(2)])
    (rejected,) = first.rejected
    assert rejected.text == (tree if len(tree) < MAX_LINE else tree[:200])
    assert summary(second) == ("1", [0], [])


def test_a_broken_first_candidate_leaves_the_words_to_the_next(read: Read) -> None:
    (nbest,) = read(f"3\t0\n-1\n(S (NN\n-2\n{THIS_1}\n-3\n{THIS_2}\n\n")
    assert summary(nbest) == ("0", [1, 2], [(0, 3, "unbalanced")])


def test_a_difference_in_words_is_named(read: Read) -> None:
    (nbest,) = read(f"2\t0\n-1\n{THIS_1}\n-2\n{THIS_1.replace('(NN sentence)', '(NN phrase)')}\n")
    (rejected,) = nbest.rejected
    assert rejected.message == "word 4 is 'phrase' where the list has 'sentence'"


def test_escaped_brackets_are_the_same_word(read: Read) -> None:
    (nbest,) = read(
        "3\n(NP (-LRB- -LRB-) (NN a))\n(NP (-LRB- \\() (NN a))\n(NP (X -RRB-) (NN a))\n"
    )
    assert summary(nbest) == ("0", [0, 1], [(2, 4, "wrong-words")])


def test_bytes_that_are_not_utf8_cost_only_their_candidate(read: Read) -> None:
    utf8 = "(NP (NN café))".encode()
    latin1 = "(NP (NN café))".encode("latin-1")
    (nbest,) = read(b"3\t7\n-1\n" + utf8 + b"\n-2\n" + latin1 + b"\n-3\n" + utf8 + b"\n")
    assert summary(nbest) == ("7", [0, 2], [(1, 5, "encoding")])
    assert nbest.candidates[0].tree.leaves() == ["café"]
    assert nbest.rejected[0].message == "byte 0xe9 is not UTF-8"
    assert nbest.rejected[0].text == "(NP (NN caf\ufffd))"
    (named,) = read(b"1\tcaf\xe9\n-1\n" + utf8 + b"\n")
    assert named.id == "caf\ufffd"


@pytest.mark.parametrize(
    ("text", "rejected"),
    [
        # The next header follows a complete candidate, a score, a blank line, an unfinished tree.
        (f"3\t0\n-1\n{THIS_1}\n1\t1\n-2\n{FLAT}\n", [(1, 3, "truncated")]),
        (f"3\t0\n-1\n{THIS_1}\n-2\n1\t1\n-2\n{FLAT}\n", [(1, 4, "truncated")]),
        (f"3\t0\n-1\n{THIS_1}\n\n1\t1\n-2\n{FLAT}\n", [(1, 4, "truncated")]),
        (
            f"3\t0\n-1\n{THIS_1}\n-2\n(S1 (S\n1\t1\n-2\n{FLAT}\n",
            [(1, 5, "unbalanced"), (2, 5, "truncated")],
        ),
        (f"3 0\n-1\n{THIS_1}\n1 1\n-2\n{FLAT}\n", [(1, 3, "truncated")]),
        (f"3 0\n-9 -1\n{THIS_1}\n1 1\n-9 -2\n{FLAT}\n", [(1, 3, "truncated")]),
        (f"3\n{THIS_1}\n1\n{FLAT}\n", [(1, 2, "truncated")]),
        (f"3\n{THIS_1}\n\n1\n{FLAT}\n", [(1, 3, "truncated")]),
        (f"3\n2.5\n{THIS_1}\n\n1\n2.5\n{FLAT}\n", [(1, 4, "truncated")]),
    ],
)
def test_a_short_list_is_reported_and_the_next_one_found(
    read: Read, text: str, rejected: list[tuple[int, int, str]]
) -> None:
    short, following = read(text)
    assert summary(short) == ("0", [0], rejected)
    assert summary(following) == ("1", [0], [])
    assert [candidate.text for candidate in following.candidates] == [FLAT]


def test_a_file_cut_anywhere_is_read_up_to_there() -> None:
    first_list, _ = COMMAND_LINE.split("\n\n", 1)
    for size in range(1, len(COMMAND_LINE) - 2):
        text = COMMAND_LINE[:size]
        lists = from_lines(text.splitlines(True))
        accepted = [candidate.text for nbest in lists for candidate in nbest.candidates]
        assert accepted == [tree for tree in (THIS_1, THIS_2, FLAT) if tree in text]
        is_between_lists = text.strip() == first_list
        assert bool(lists[-1].rejected) != is_between_lists
        assert len(lists) == 1 or not lists[0].rejected


def test_surplus_candidates_are_reported(read: Read) -> None:
    first, second = read(f"1\t0\n-1\n{THIS_1}\n-2\n{THIS_2}\n-3\n\n1\t1\n-4\n{FLAT}\n\n")
    assert summary(first) == ("0", [0], [(1, 5, "surplus"), (2, 6, "surplus")])
    assert first.rejected[0].text == THIS_2
    assert summary(second) == ("1", [0], [])
    (flood,) = read(f"1\n{FLAT}\n" + f"{FLAT}\n" * (MAX_SURPLUS + 7))
    assert len(flood.rejected) == MAX_SURPLUS + 1
    assert flood.rejected[-1].message.startswith("7 more")


def test_lost_lines_do_not_shift_the_rest(read: Read) -> None:
    # A score without its tree, then a stray line where a score should be.
    first, second = read(f"3\t0\n-1\n-2\n{THIS_1}\nstray\n-3\n{THIS_2}\n\n1\t1\nstray\nstray\n")
    assert summary(first) == ("0", [1, 2], [(0, 2, "empty")])
    assert scores(first) == pytest.approx([-2 * math.log(2), -3 * math.log(2)])
    assert summary(second) == ("1", [], [(0, 11, "not-a-tree")])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "parses.txt:1: .* found '\ufffdPNG'"),
        (b"\nIt was a dark night.\n", "parses.txt:2: .* found 'It was"),
        (b"12 monkeys\nsat there\nand ate.\n", "parses.txt:1: .*plain sentences.*'12 monkeys'"),
        ("2\tx\n".encode("utf-16"), "parses.txt:1: not an n-best list"),
    ],
)
def test_another_kind_of_file_is_an_input_error(read: Read, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(content)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["12 monkeys\n", "sat there\n", "and ate.\n"], "2: .*plain sentences.*'sat there'"),
        (["12 x\n", "% %\n", "% %\n"], "2: .*expected a score or a tree; found '% %'"),
    ],
)
def test_prose_that_begins_like_a_list_is_an_input_error(lines: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_lines(lines)


def test_a_path_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.txt", tmp_path, "a\0b"):
        with pytest.raises(InputError, match="cannot be read"):
            read_nbest(path)


def test_gzip_is_told_by_its_content(read: Read) -> None:
    assert read(gzip.compress(COMMAND_LINE.encode())) == read(COMMAND_LINE)


def test_a_gzip_file_cut_short_is_used_up_to_there(read: Read) -> None:
    text = "".join(
        f"1\t{n}\n-{n}.5\n(S1 (NP (CD {n * 7919}) (CD {n * n * 104729})))\n\n" for n in range(400)
    )
    whole = read(text)
    packed = gzip.compress(text.encode())
    # Without its trailer all text is there, and only the check of it missing.
    lists = read(packed[:-4])
    assert [n.candidates for n in lists] == [n.candidates for n in whole]
    assert summary(lists[-1]) == ("399", [0], [(1, 1600, "truncated")])
    assert "Compressed file ended" in lists[-1].rejected[0].message
    lists = read(packed[: len(packed) // 2])
    assert len(lists) > 150
    assert lists[:-1] == whole[: len(lists) - 1]
    assert lists[-1].rejected[-1].code == "truncated"
    with pytest.raises(InputError, match=r"no n-best lists \(Compressed file ended"):
        read(packed[:5])


@pytest.mark.parametrize("content", [COMMAND_LINE.encode(), gzip.compress(COMMAND_LINE.encode())])
def test_standard_input(content: bytes) -> None:
    script = (
        "from reranker.nbest import read_nbest\n"
        "for nbest in read_nbest('-'): print(nbest.id, len(nbest.candidates))"
    )
    process = subprocess.run(
        [sys.executable, "-c", script], input=content, cwd=ROOT, capture_output=True, check=True
    )
    assert process.stdout.decode() == f"0 2{os.linesep}1 1{os.linesep}"


def test_an_endless_line_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("(" * 3_000_000 + "\n" + "é" * MAX_LINE + "\nend")
    with TextFile(path) as file:
        assert [len(line) for line in file] == [MAX_LINE + 1, MAX_LINE + 1, 3]


def test_an_endless_tree_is_cut() -> None:
    def lines() -> Iterator[str]:
        yield "2\t0\n"
        yield "(S (S1\n"
        for _ in range(30):
            yield " (NN " + "a" * 50_000 + ")\n"
        yield f"))\n{FLAT}\n"

    (nbest,) = from_lines(line for text in lines() for line in text.splitlines(True))
    assert summary(nbest) == ("0", [1], [(0, 2, "too-long")])
    (brackets,) = from_lines(["1\t0\n", *["(\n"] * 5_000])
    assert summary(brackets)[2][0] == (0, 2, "unbalanced")
    assert len(brackets.rejected) == 1 + MAX_SURPLUS + 1


def test_lists_are_streamed() -> None:
    lines_read = 0

    def endless() -> Iterator[str]:
        nonlocal lines_read
        while True:
            for line in COMMAND_LINE.splitlines(True):
                lines_read += 1
                yield line

    with contextlib.closing(NumberedLines(LinesFile(endless()))) as file:
        lists = read_counted(file)
        for count in range(2 * HEAD_LINES // 10):  # 10 lines for 2 lists
            next(lists)
            # Once past the head of the file, no list is read ahead of the current one.
            assert lines_read == max(HEAD_LINES, count // 2 * 10 + (7 if count % 2 == 0 else 11))


LINES = st.sampled_from(
    [*COMMAND_LINE.splitlines(), "", "2 x", "1", "-3.5", "4.5", "0", "(S1 (S", "))", "junk", "é("]
)


@settings(deadline=None, max_examples=50)
@given(st.lists(LINES, max_size=15))
def test_any_lines_give_lists_or_an_input_error(lines: list[str]) -> None:
    try:
        lists = from_lines(f"{line}\n" for line in lines)
    except InputError:
        return
    for nbest in lists:
        _, accepted, rejected = summary(nbest)
        # Every place in the parser's list is accounted for once, in order.
        assert sorted([*accepted, *(index for index, _, _ in rejected)]) == list(
            range(len(accepted) + len(rejected))
        )
    # No tree line is lost.
    texts = [c.text for n in lists for c in n.candidates]
    texts += [r.text for n in lists for r in n.rejected]
    together = " ".join(texts)
    for tree in (THIS_1, THIS_2, FLAT):
        assert together.count(tree) == lines.count(tree)


@pytest.mark.parametrize(
    ("name", "last_id"), [("gum_dev_50best", "1574"), ("craft_dev_first1200_50best", "1199")]
)
def test_real_lists(name: str, last_id: str) -> None:
    path = REAL_LISTS / f"{name}.txt.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    for position, nbest in zip(range(20), read_nbest(path), strict=False):
        assert nbest.id == str(position)
        assert not nbest.rejected
        assert 1 <= len(nbest.candidates) <= 50
        ordered = scores(nbest)
        assert ordered == sorted(ordered, key=lambda score: -(score or 0))
