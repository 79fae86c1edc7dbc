"""``rerank grep`` as a user meets it: files of every kind in, lines, counts and messages out."""

from __future__ import annotations

import gzip
import json
import math
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reranker.commands.main import main
from tests.reranker.small_files import bllip, standard_input, write

Capture = pytest.CaptureFixture[str]

MET = "(S1 (S (NP (PRP She)) (VP (VBD met) {})))"
HIGH = MET.format("(NP (DT the) (NN man)) (PP (IN on) (NP (NNP Monday)))")
LOW = MET.format("(NP (NP (DT the) (NN man)) (PP (IN on) (NP (NNP Monday))))")
BARE = "( (S\n  (NP-SBJ (-NONE- *))\n  (VP (VB Go) (ADVP (RB now)))))"


def test_a_match_has_place_context_and_tree(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "t.mrg", f"{BARE}\n{HIGH}")
    assert main(["grep", "VP|NP-SBJ", file]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{file}:1\t-\t\tGo now\t\t(VP (VB Go) (ADVP (RB now)))",
        f"{file}:1\t-\t\t\tGo now\t(NP-SBJ (-NONE- *))",
        f"{file}:4\t-\tShe\tmet the man on Monday\t\t"
        "(VP (VBD met) (NP (DT the) (NN man)) (PP (IN on) (NP (NNP Monday))))",
    ]


def test_probabilities_are_shares_of_exp_score(tmp_path: Path, capsys: Capture) -> None:
    """Base 2: scores one apart are two to one; a tree that comes twice counts once."""
    file = write(tmp_path / "n.txt", bllip([LOW, HIGH, HIGH]))
    run = ["grep", "PP > /^[NV]P/=x > =x", file, "--json", "--at-least", "0"]
    assert main(run) == 0
    (either,) = map(json.loads, capsys.readouterr().out.splitlines())
    named = [(each["start"], each["label"], each["probability"]) for each in either["named"]["x"]]
    assert named == [(1, "VP", 0.3333), (2, "NP", 0.6667)]
    assert either == {
        "named": either["named"],
        "file": file, "line": 1, "id": "0", "sentence": "She met the man on Monday",
        "match": "on Monday", "start": 4, "end": 6, "characters": None, "label": "PP",
        "tree": "(PP (IN on) (NP (NNP Monday)))", "probability": 1.0,
    }  # fmt: skip
    for flags, expected in [([], 2 / 3), (["--temperature", "2"], 1 / (1 + math.sqrt(0.5)))]:
        assert main(["grep", "PP > NP", file, "--json", *flags]) == 0
        (low,) = map(json.loads, capsys.readouterr().out.splitlines())
        assert low["probability"] == round(expected, 4)
    for flags in ([], ["--csv"], ["--json"], ["--count"]):
        assert main(["grep", "PP > NP", file, "--at-least", "0.7", *flags]) == 0
        printed = capsys.readouterr()
        assert "She" not in printed.out
        assert "1 match is less probable than 0.7 and left out (--at-least 0 " in printed.err
        assert main(["grep", "PP > NP", file, "--at-least", "0", *flags]) == 0
        assert "left out" not in capsys.readouterr().err
    assert main(["grep", "PP > NP", file, "--count", "--at-least", "0.9"]) == 0
    assert capsys.readouterr().out.endswith(f"{file}\t1\t0\t0.67\n")


@pytest.mark.parametrize("order", ["aa", "aaba", "aba", "abba"])
def test_counts_of_a_file_that_is_there_twice(order: str, tmp_path: Path, capsys: Capture) -> None:
    files = [write(tmp_path / f"{name}.mrg", HIGH) for name in order]
    assert main(["grep", "PP", *files, "--count"]) == 2
    printed = capsys.readouterr()
    assert ".mrg is there twice" in printed.err and not printed.out
    assert main(["grep", "PP", *files, str(tmp_path)]) == 0
    assert main(["grep", "PP", files[0], str(tmp_path), "--count"]) == 2
    assert f"{files[0]} is there twice" in capsys.readouterr().err
    assert main(["grep", "PP", str(tmp_path), "--count"]) == 0


@pytest.mark.parametrize("other", [["--encoding", "latin2"], ["--encoding", "utf-8"], []])
def test_a_run_is_resumed_only_in_its_encoding(
    other: list[str], tmp_path: Path, capsys: Capture
) -> None:
    packed = gzip.compress("".join(f"(TOP (PP w{n}))\n" for n in range(3_000)).encode())
    file = write(tmp_path / "t.mrg.gz", packed[: len(packed) * 2 // 3])
    run = ["grep", "PP", file, "--out", str(tmp_path / "out")]
    assert main([*run, "--encoding", "latin1"]) == 2  # it is cut
    assert main([*run, "--resume", *other]) == 2
    assert "encoding is " in capsys.readouterr().err
    write(tmp_path / "t.mrg.gz", packed[: len(packed) * 2 // 3])
    main([*run, "--resume", "--encoding", "iso8859-1"])
    assert "resuming after sentence" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["tree", "file", "line", "id", "match", "before", "probability"])
def test_a_name_in_a_pattern_is_no_second_column(
    name: str, tmp_path: Path, capsys: Capture
) -> None:
    file = write(tmp_path / "t.mrg", HIGH)
    assert main(["grep", f"PP < NP={name}", file, "--csv"]) == 2
    printed = capsys.readouterr()
    assert f"={name} in the pattern would be a second column" in printed.err and not printed.out
    assert main(["grep", f"PP < NP={name}", file]) == 0
    assert main(["grep", f"PP < NP=of_{name}", file, "--csv"]) == 0


def test_one_tree_has_no_probability(tmp_path: Path, capsys: Capture) -> None:
    assert main(["grep", "PP", write(tmp_path / "n.txt", bllip([HIGH, HIGH]))]) == 0
    assert capsys.readouterr().out.count("\t-\t") == 1


def test_lists_without_scores_have_no_probabilities(tmp_path: Path, capsys: Capture) -> None:
    rows = [json.dumps({"candidates": [HIGH, LOW]})] * 2
    file = write(tmp_path / "n.jsonl", "\n".join(rows))
    assert main(["grep", "PP", file]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("\t-\t") == 2
    assert printed.err.count("without scores: only the first") == 1


RIVAL = "(S1 (S (NP (PRP She)) (VP (VBD met) (NP (DT the) (NN man) (IN on) (NNP Monday)))))"


@pytest.mark.parametrize(
    "lists",
    [
        f"nan\t{HIGH}\n-5\t{LOW}\n-6\t{RIVAL}\n\n",
        f"-5\t{HIGH}\nnan\t{LOW}\n-6\t{RIVAL}\n\n",
        f"{HIGH}\n\n# Parse 1 with score -23.5\n{LOW}\n\n# Parse 2 with score -31\n{RIVAL}\n\n",
    ],
    ids=["first without", "second without", "CoreNLP, factored"],
)
def test_one_tree_without_a_score_leaves_all_probabilities_open(
    lists: str, tmp_path: Path, capsys: Capture
) -> None:
    file = write(tmp_path / "n.txt", lists)
    assert main(["grep", "PP > VP", file, "--at-least", "0"]) == 0
    printed = capsys.readouterr()
    assert (
        printed.out
        == f"{file}:1\t-\tShe met the man\ton Monday\t\t(PP (IN on) (NP (NNP Monday)))\n"
    )
    assert "trees without scores: only the first of such a list is read" in printed.err
    assert main(["measure", file]) == 0
    printed = capsys.readouterr()
    assert f"{file}\tCN\t0.0\t0.0\t0.0" in printed.out  # as in HIGH; LOW has one
    assert "trees without scores: only the first of such a list is read" in printed.err


def test_white_space_makes_no_other_tree(tmp_path: Path, capsys: Capture) -> None:
    spaced = HIGH.replace(" (VP", "  (VP").replace("(NN man))", "(NN man) )")
    file = write(tmp_path / "n.txt", f"-1\t{LOW}\n-1\t{HIGH}\n-1\t{spaced}\n\n")
    assert main(["grep", "PP > VP", file, "--at-least", "0"]) == 0
    assert "\t0.50\t" in capsys.readouterr().out
    same = write(tmp_path / "s.txt", f"-1\t{HIGH}\n-1\t{spaced}\n\n")
    assert main(["grep", "PP > VP", same]) == 0
    assert "without scores" not in capsys.readouterr().err


def test_trees_need_no_parser_and_a_file_has_no_colours(tmp_path: Path, capsys: Capture) -> None:
    file, out = write(tmp_path / "t.mrg", f"{HIGH}\n{LOW}"), tmp_path / "out"
    assert main(["grep", "NNP", file]) == 0
    printed = capsys.readouterr().out
    assert main(["grep", "NNP", file, "--out", str(out), "--parser-model", "none.pt"]) == 0
    assert out.read_text() == printed and capsys.readouterr().out == ""


def test_a_list_without_a_tree_is_named(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "n.txt", f"0\ts1\n\n{bllip([HIGH])}")
    assert main(["grep", "PP", file, "--format", "bllip"]) == 1
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 1
    assert f"{file}:1: a list without a tree" in printed.err


def test_broken_trees_are_named_and_the_rest_is_searched(tmp_path: Path, capsys: Capture) -> None:
    broken = b"(S (NP\n\n(S (NP \xff))"
    file = write(tmp_path / "t.mrg", b"%s\n%s\n%s" % (HIGH.encode(), broken, LOW.encode()))
    assert main(["grep", "PP", file]) == 1
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 2
    assert f"{file}:2: tree rejected, unbalanced" in printed.err
    assert f"{file}:4: tree rejected, encoding: byte 0xff" in printed.err


def test_no_match_is_no_fault_and_no_tree_is(tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "t.mrg", HIGH)
    assert main(["grep", "SBAR", file]) == 0
    empty = write(tmp_path / "empty.mrg", "")
    assert main(["grep", "SBAR", "--as", "trees", empty]) == 2
    assert main(["grep", "SBAR", "--as", "trees", empty, file]) == 1
    assert f"{empty}: there is no sentence" in capsys.readouterr().err
    assert main(["grep", "SBAR", str(tmp_path / "none")]) == 2
    assert main(["grep", "SBAR", write(tmp_path / "t.pdf", "%PDF-1.4")]) == 2
    assert "looks like PDF or PostScript" in capsys.readouterr().err


def test_a_bad_pattern_is_shown_with_a_caret(tmp_path: Path, capsys: Capture) -> None:
    assert main(["grep", "NP < (SBAR <", write(tmp_path / "t.mrg", HIGH)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        'rerank: pattern: expected a node, such as NP, /^NP/, "." or __',
        "  NP < (SBAR <",
        "              ^",
    ]


def test_names_for_too_many_nodes_cost_one_sentence(tmp_path: Path, capsys: Capture) -> None:
    hard = "(S " + "".join(f"(NP (NN w{n}))" for n in range(20)) + "(VP (VB x)))"
    file = write(tmp_path / "t.mrg", f"{hard}\n{HIGH}\n")
    pattern = "VP <1 __=a <1 __=b <1 __=c : =a == =b : =b == =c"
    assert main(["grep", pattern, file]) == 1
    printed = capsys.readouterr()
    assert f"{file}:1: left out: there are too many nodes" in printed.err
    assert printed.out.startswith(f"{file}:2\t")


def test_packed_files_folders_and_standard_input(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "bank"
    folder.mkdir()
    (folder / "1.mrg.gz").write_bytes(gzip.compress(f"{HIGH}\n{LOW}\n".encode()))
    (folder / "2.mrg").write_text(HIGH)
    assert main(["grep", "PP", str(folder), "--count"]) == 0
    assert capsys.readouterr().out.endswith("\nall\t3\t3\t3.00\n")
    with standard_input((folder / "1.mrg.gz").read_bytes()):
        assert main(["grep", "PP", "-"]) == 0
    assert capsys.readouterr().out.count("standard input:") == 2


def test_text_is_parsed_and_matches_have_their_characters(
    tmp_path: Path, span_model: str, capsys: Capture
) -> None:
    text = "We saw it.\n\nThe (old)  man isn't here!"
    file = write(tmp_path / "t.txt", text)
    run = ["grep", "NP|S|VP", file, "--parser-model", span_model, "--jobs", "1", "--json"]
    assert main([*run, "--at-least", "0.01"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["line"] for row in rows} == {1, 3}
    for row in rows:
        start, end = row["characters"]
        assert text[start:end] == row["match"] != ""
    # The same distribution as the list's with the model's own temperature.
    assert main([*run, "--at-least", "0.01", "--temperature", "2"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == rows
    assert main([*run, "--at-least", "0.01", "--temperature", "0.5"]) == 0
    sharper = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sharper != rows


def test_what_is_not_parsed_is_named(tmp_path: Path, span_model: str, capsys: Capture) -> None:
    text = "\n".join(["word " * 300, "", "x", "\u4e2d\u6587 \u3002", "\x00"])
    file = write(tmp_path / "t.txt", text)
    run = ["grep", "__", file, "--as", "tokens", "--parser-model", span_model, "--candidates", "1"]
    assert main([*run, "--count"]) == 1
    printed = capsys.readouterr()
    assert f"{file}:1: not parsed: 300 words, more than 200" in printed.err
    assert f"{file}:5: " in printed.err and "U+FFFD" in printed.err
    assert printed.out.splitlines()[1].startswith(f"{file}\t3\t")


def test_colours_on_a_terminal_only(tmp_path: Path) -> None:
    file = write(tmp_path / "t.mrg", HIGH)
    command = [sys.executable, "-m", "reranker", "grep", "NNP", file]
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    plain = subprocess.run(command, capture_output=True, env=environment, timeout=120).stdout
    own_end, theirs = pty.openpty()
    subprocess.run(command, stdout=theirs, env=environment, timeout=120, check=True)
    os.close(theirs)
    coloured = os.read(own_end, 10_000)
    os.close(own_end)
    assert b"\x1b" not in plain and b"\x1b[1;31mMonday\x1b[0m" in coloured
    assert re.sub(rb"\x1b\[[0-9;]*m", b"", coloured).replace(b"\r\n", b"\n") == plain


def test_memory_does_not_grow_with_the_stream(tmp_path: Path) -> None:
    """9,000 trees take no more than 1,000, each with words of its own."""
    peaks = []
    for count in (1_000, 9_000):
        program = (
            "import resource, sys\n"
            "from reranker.commands.main import main\n"
            "assert main(['grep', '/^w1/ > (NN > NP)', '-', '--count']) == 0\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
        )
        trees = "".join(
            f"(S (NP (DT the) (NN w{n})) (VP (VBD v{n}) (NP (NN x{n}))))\n" for n in range(count)
        )
        run = subprocess.run(
            [sys.executable, "-c", program],
            input=trees,
            capture_output=True,
            text=True,
            timeout=300,
        )
        peaks.append(int(run.stdout.splitlines()[-1]))
    assert peaks[1] - peaks[0] < 8_500  # kilobytes: 8,000 trees in memory would take 19,000


@pytest.mark.parametrize("command", [["grep", "NP"], ["measure"]])
def test_scores_that_are_no_log_probabilities_are_named_once_a_file(
    command: list[str], tmp_path: Path, capsys: Capture
) -> None:
    trees = "0.9\t(S (NP (NN a)))\n0.8\t(S (VP (VB a)))\n\n"
    file = write(tmp_path / "n.txt", trees * 2)
    main([*command, file])
    warning = f"rerank: {file}:1: score 0.9 is no log-probability"
    assert capsys.readouterr().err.count(warning) == 1
