"""``rerank parse`` as a user meets it: text in, a real parser process, trees and messages out."""

from __future__ import annotations

import gzip
import json
import os
import random
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from reranker.commands.main import main
from reranker.files.text import TextInMemory
from reranker.nbest import read_nbest
from reranker.outputs.conllu import from_conllu
from reranker.parsers.command import CommandParser
from reranker.parsers.parser import ParserSettings
from reranker.pipeline import Reranker
from reranker.trees.tree import Tree
from tests.checkout import TOY_PARSER
from tests.reranker.killed_runs import killed_run
from tests.reranker.parsers.hanging import Hanging, has_ended
from tests.reranker.small_files import break_off_after, standard_input, write

Capture = pytest.CaptureFixture[str]

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "ranked.schema.json").read_text())
TEXT = """We saw it. The man (with eyes) isn't
well-known!

We crash here. We saw the man."""


@pytest.fixture
def flags(models: list[str]) -> list[str]:
    return ["--parser-command", TOY_PARSER, "--models", *models, "--threads", "1", "--jobs", "1"]


def words(lines: str) -> list[str]:
    return [" ".join(Tree.from_string(line).leaves()) for line in lines.splitlines()]


def test_a_tree_for_each_sentence(tmp_path: Path, flags: list[str], capsys: Capture) -> None:
    file = write(tmp_path / "t.txt", TEXT)
    assert main(["parse", file, *flags]) == 1
    printed = capsys.readouterr()
    assert words(printed.out) == [
        "We saw it .",
        "The man -LRB- with eyes -RRB- is n't well - known !",
        "We crash here .",
        "We saw the man .",
    ]
    assert printed.out.splitlines()[2] == "(TOP (S (XX We) (XX crash) (XX here) (XX .)))"
    assert f"rerank: {file}:4: a flat tree: the parser ended with status 1" in printed.err
    assert " of 4 trees; 6 candidates ranked, 1 rejected, 1 sentence without" in printed.err


@pytest.mark.parametrize(
    ("more", "candidates"),
    [
        ((), 2),
        (("--output", "brackets"), 2),
        (("--candidates", "3"), 6),
        (("--output", "ranked"), 40),
        (("--output", "conllu"), 2),
        (("--least-sure", "2"), 40),
        (("--criterion", "token-perplexity"), 40),
        (("--models", "best"), 40),
    ],
)
def test_no_candidates_that_the_parsers_own_model_would_not_choose(
    more: tuple[str, ...], candidates: int, tmp_path: Path, capsys: Capture
) -> None:
    file = write(
        tmp_path / "t.txt", "They served coffee and cake to the guests.\nI saw her duck.\n"
    )
    assert main(["parse", file, "--sentences", "--models", "fast", "--threads", "1", *more]) == 0
    assert f" of 2 trees; {candidates} candidates ranked" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["best", "pretty", "conllu", "json", "brackets"])
def test_the_parsers_own_model_chooses_its_first_tree(
    output: str, tmp_path: Path, capsys: Capture
) -> None:
    """Outputs do not depend on trees that cannot be the best."""
    file = write(
        tmp_path / "t.txt", "They served coffee and cake to the guests.\nI saw her duck.\n"
    )
    printed = []
    for more in ((), ("--candidates", "20")):
        flags = ["--sentences", "--models", "fast", "--threads", "1", *more]
        assert main(["parse", file, "--output", output, *flags]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""


def test_ranked_output_says_where_words_are(tmp_path: Path, flags: list[str]) -> None:
    file, out = write(tmp_path / "t.txt", TEXT), tmp_path / "out"
    arguments = ["parse", file, *flags, "--output", "ranked", "--lm-weight", "0.5"]
    assert main([*arguments, "--out", str(out)]) == 1
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    for number, row in enumerate(rows):
        jsonschema.validate(row, SCHEMA)
        assert row["id"] == str(number) and row["origin"]["file"] == file
        offsets = row["origin"]["offsets"]
        assert TEXT[offsets[0][0] : offsets[-1][1]] == row["origin"]["text"]
        tree = row["ranking"][0]["tree"] if row["ranking"] else row["fallback"]
        assert len(Tree.from_string(tree).leaves()) == len(offsets)
    spelled = [TEXT[start:end] for start, end in rows[1]["origin"]["offsets"]]
    assert spelled == [
        "The",
        "man",
        "(",
        "with",
        "eyes",
        ")",
        "is",
        "n't",
        "well",
        "-",
        "known",
        "!",
    ]
    assert [row["origin"]["line"] for row in rows] == [1, 1, 4, 4]
    assert rows[2]["rejected"][0]["code"] == "unparsed"


@pytest.mark.parametrize("output", ["pretty", "conllu", "json"])
def test_other_outputs_have_the_same_trees(
    output: str, tmp_path: Path, flags: list[str], capsys: Capture
) -> None:
    file, out = write(tmp_path / "t.txt", TEXT), tmp_path / "out"
    main(["parse", file, *flags])
    best = [Tree.from_string(line) for line in capsys.readouterr().out.splitlines()]
    arguments = ["parse", file, *flags, "--output", output]
    assert main(arguments) == 1
    printed = capsys.readouterr().out
    if output == "pretty":
        trees = [
            nbest.candidates[0].tree for nbest in read_nbest(TextInMemory(printed.encode(), ""))
        ]
    elif output == "conllu":
        trees = list(filter(None, from_conllu(printed.split("\n"))))
    else:
        trees = [Tree.from_string(json.loads(line)["tree"]) for line in printed.splitlines()]
    assert trees == best

    assert main([*arguments, "--out", str(out)]) == 1 and out.read_text() == printed


def test_the_same_from_python(tmp_path: Path, models: list[str], flags: list[str]) -> None:
    file, out = write(tmp_path / "t.txt", TEXT), tmp_path / "out"
    main(["parse", file, *flags, "--output", "ranked", "--out", str(out)])
    parser = CommandParser(ParserSettings(command=TOY_PARSER))
    for ranking, line in zip(
        Reranker.load(models).parse(TEXT, parser), out.read_text().splitlines(), strict=True
    ):
        row, expected = ranking.to_dict(), json.loads(line)
        for each in (row, expected):
            del each["origin"]["file"]
            for rejected in each["rejected"]:
                del rejected["file"]
        assert json.loads(json.dumps(row)) == expected


def test_lines_tokens_packed_files_and_pipes(
    tmp_path: Path, flags: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tmp_path / "one.gz"
    one.write_bytes(gzip.compress(b"We saw. It is\n\nThe man (isn't)\n"))
    two = write(tmp_path / "two", "It is")
    assert main(["parse", str(one), two, "--sentences", *flags]) == 0
    assert words(capsys.readouterr().out) == [
        "We saw. It is",
        "The man -LRB- is n't -RRB-",
        "It is",
    ]
    assert main(["parse", str(one), "--tokens", *flags]) == 0
    assert words(capsys.readouterr().out) == ["We saw. It is", "The man -LRB-isn't-RRB-"]
    with standard_input(TEXT):
        assert main(["parse", "-", *flags]) == 1
    given = capsys.readouterr().out
    assert main(["parse", write(tmp_path / "t.txt", TEXT), *flags]) == 1
    assert given == capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    [
        "word " * 10_000,
        "x" * 200_000,
        "It is\x00 a\x1b[31m test. Bell\x07.",
        "Emoji \U0001f600\u200d\U0001f525 are fine. "
        "\u4e2d\u6587\u3002 \u0645\u0631\u062d\u0628\u0627.",
        "Oh",
        "((((]]]]{{{{",
        "\ufeffWe saw\u2028the man.\u00a0It is\x85here.",
    ],
)
def test_strange_text_is_answered_and_nothing_is_lost(
    content: str, tmp_path: Path, flags: list[str], capsys: Capture
) -> None:
    file = write(tmp_path / "t.txt", content)
    assert main(["parse", file, *flags, "--output", "ranked"]) in (0, 1)
    rows = [json.loads(line) for line in capsys.readouterr().out.split("\n")[:-1]]
    covered = "".join(
        content[start:end] if content[0] != "\ufeff" else content[start + 1 : end + 1]
        for row in rows
        for start, end in row["origin"]["offsets"]
    )
    assert "".join(content.removeprefix("\ufeff").split()) == "".join(covered.split())
    for row in rows:
        jsonschema.validate(row, SCHEMA)
        tree = row["ranking"][0]["tree"] if row["ranking"] else row["fallback"]
        assert len(Tree.from_string(tree).leaves()) == len(row["origin"]["offsets"])
        assert "\x00" not in tree and "\x1b" not in tree


def test_what_never_ends_is_named_once(tmp_path: Path, flags: list[str], capsys: Capture) -> None:
    endless = "we saw the man " * 8_000  # 120,000 characters
    file = write(tmp_path / "t.txt", f"We saw it.\n\n{endless}.\n\nWe saw it.\n\n{endless}\n")
    assert main(["parse", file, *flags]) == 1
    printed = capsys.readouterr()
    counts = [line.count(" ") for line in words(printed.out)]
    assert [count > 5_000 for count in counts] == [False, *[True] * 4, False, *[True] * 4]
    assert sum(counts) + len(counts) == 2 * (4 + 32_000) + 1
    named = [line for line in printed.err.splitlines() if "characters" in line]
    assert named == [
        f"rerank: {file}:{line}: 32,768 characters without an end of a sentence: from here to the "
        "next end, parts of this size get flat trees"
        for line in (3, 7)
    ]


@pytest.mark.slow
def test_memory_does_not_grow_with_a_text_that_never_ends(tmp_path: Path, flags: list[str]) -> None:
    peaks = []
    for size in (1_500_000, 6_000_000):  # both fill the buffer that is read ahead
        file = write(tmp_path / "t.txt", "we saw the man " * (size // 15))
        command = [sys.executable, "-m", "reranker.commands.main", "parse", file, *flags]
        process = subprocess.Popen([*command, "--out", str(tmp_path / "o")])
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 1
        peaks.append(used.ru_maxrss)  # KB
    assert peaks[1] < peaks[0] + 30_000


def test_bytes_that_are_not_utf8_are_replaced_and_named(
    tmp_path: Path, flags: list[str], capsys: Capture
) -> None:
    file = tmp_path / "t.txt"
    file.write_bytes(b"We saw \xff it.\n\nWe saw the man.")
    assert main(["parse", str(file), *flags]) == 1
    printed = capsys.readouterr()
    assert words(printed.out) == ["We saw \ufffd it .", "We saw the man ."]
    assert f"{file}:1: byte 0xff is not UTF-8; U+FFFD is in its place" in printed.err


@pytest.mark.plugins
@pytest.mark.parametrize(
    "change, message",
    [
        (
            ["--parser", "none"],
            "there is no parser 'none'; there are beam, benepar, bllip, chart, command, encdec, "
            "stanza",
        ),
        (["--parser-command", "false"], "sentences in a row could not be parsed"),
        (["--parser-command", "/no/such"], "No such file"),
        (["--top", "2"], "--top needs --output ranked"),
        (["--resume"], "standard output cannot be resumed"),
        (["--format", "opennmt"], "--format opennmt needs --beam K"),
        (["--models", "none.pt"], "none.pt: no such file"),
    ],
)
def test_wrong_flags(
    tmp_path: Path, flags: list[str], capsys: Capture, change: list[str], message: str
) -> None:
    file = write(tmp_path / "t.txt", "We saw it. " * 30)
    assert main(["parse", file, *flags, *change]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "content, message", [("", "no text"), (" \n\n\t ", "no text"), (None, "cannot be read")]
)
def test_no_text(
    tmp_path: Path, flags: list[str], capsys: Capture, content: str | None, message: str
) -> None:
    file = tmp_path / "t.txt"
    if content is not None:
        file.write_text(content)
    assert main(["parse", str(file), *flags]) == 2
    assert message in capsys.readouterr().err


ROOT = Path(__file__).parents[3]
PENN = "( (S \n    (NP-SBJ (PRP It))\n    (VP (VBZ runs))\n    (. .) ))\n" * 20


@pytest.mark.parametrize(
    "content, message",
    [
        ((ROOT / "examples" / "short.txt").read_bytes(), "trees; to rank them, rerank --nbest"),
        (gzip.compress((ROOT / "examples" / "short.mrg").read_bytes()), "looks like trees"),
        (PENN.encode(), "looks like trees"),
        (b"0 ||| -3.1 ||| (S (NP It ) (VP runs ) . )\n", "looks like trees"),
        (
            (ROOT / "ckpt" / "rnn-forward.pt").read_bytes(),
            "a checkpoint: language models are named by --models",
        ),
        (b"%PDF-1.7\n", "PDF or PostScript"),
        ("It runs.".encode("utf-16"), "convert it to UTF-8 first, or name its encoding: --enc"),
    ],
)
def test_files_that_are_not_text(
    tmp_path: Path, flags: list[str], capsys: Capture, content: bytes, message: str
) -> None:
    file = tmp_path / "t.txt"
    file.write_bytes(content)
    assert main(["parse", str(file), *flags]) == 2
    printed = capsys.readouterr()
    assert f"{file}: not text: looks like " in printed.err and message in printed.err
    assert not printed.out

    with standard_input(content):
        assert main(["parse", "-", *flags]) == 2
    assert "standard input: not text: looks like " in capsys.readouterr().err


@pytest.mark.parametrize("command", ["parse", "surprisal"])
def test_tokens_have_no_speakers(command: str, tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path / "t.txt", "ANNA : It runs .\nBEN : It runs .\n")
    assert main([command, file, "--tokens", "--speakers"]) == 2
    assert "--speakers is not for tokens" in capsys.readouterr().err


def test_brackets_in_text_are_words(tmp_path: Path, flags: list[str], capsys: Capture) -> None:
    file = write(tmp_path / "t.txt", "(A (B) c.)\n\n(SEE (ALSO THE LIST (OF WORKS CITED) BELOW))\n")
    assert main(["parse", file, *flags]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    "names, is_sentence",
    [
        (["Did she meet the man?"], True),
        (["She", "met", "the", "man"], True),
        (["When the U.S. team left."], True),
        (["a.txt", "b.txt", "c.txt"], False),
        (["my old notes.txt"], False),
        (["texts"], False),
    ],
)
def test_a_sentence_instead_of_a_file(
    capsys: Capture, flags: list[str], names: list[str], is_sentence: bool
) -> None:
    assert main(["parse", *names, *flags]) == 2
    printed = capsys.readouterr().err
    assert ('echo "..." | rerank parse -' in printed) == is_sentence
    assert names[0] in printed


def test_two_parsers_together(
    tmp_path: Path, flags: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them is another package's: an entry point."""
    package = tmp_path / "another-1.0.dist-info"
    package.mkdir()
    write(package / "METADATA", "Name: another\nVersion: 1.0\n")
    write(package / "entry_points.txt", "[reranker.parsers]\nmine = another:Mine\n")
    write(tmp_path / "another.py", ANOTHER)
    monkeypatch.syspath_prepend(tmp_path)
    file, out = write(tmp_path / "t.txt", "We saw it. We crash it."), tmp_path / "out"
    both = ["--parser", "command", "--parser", "mine", "--parser-model", "mine=here"]
    arguments = ["parse", file, *flags, *both, "--output", "ranked", "--out", str(out)]
    assert main(arguments) == 1
    first, second = [json.loads(line) for line in out.read_text().splitlines()]
    trees = {entry["index"]: entry["tree"] for entry in first["ranking"]}
    assert trees == {
        0: "(S1 (S (NN We) (NN saw) (NN it) (NN .)))",
        1: "(S1 (S (NP (NN We) (NN saw)) (NN it) (NN .)))",
        2: "(here (XX We) (XX saw) (XX it) (XX .))",
    }
    assert [entry["index"] for entry in second["ranking"]] == [1]
    (missing,) = second["rejected"]
    assert missing["code"] == "missing" and missing["message"].startswith("command: the parser")
    assert (
        f"{file}:1: candidate 1 of list 2 rejected, missing: command: " in capsys.readouterr().err
    )

    assert main([*arguments, "--lm-weight", "0.5"]) == 1
    printed = capsys.readouterr().err
    assert "scores of command and mine are mixed in (--lm-weight 0.5)" in printed
    assert "no parser score to mix with" in printed
    assert main([*arguments, "--parser-model", "x"]) == 2
    assert "--parser-model x: name its parser, for instance command=x" in capsys.readouterr().err
    assert main([*arguments, "--parser", "mine"]) == 2
    assert "--parser mine is named twice" in capsys.readouterr().err


ANOTHER = """
from reranker.nbest import from_candidates

class Mine:
    batch_sizes = (4,)

    def __init__(self, settings):
        self.label = settings.model

    def parse(self, sentences):
        trees = (each.flat_tree().replace("(TOP (S", f"({self.label}")[:-1] for each in sentences)
        return [from_candidates([tree], sentence=each) for tree, each in zip(trees, sentences)]

    def stop(self):
        pass
"""


def long_text(sentences: int) -> str:
    chance = random.Random(3)
    choices = ["we", "saw", "the", "man", "with", "eyes", "it", "is", "crash"]
    weights = [4, 4, 4, 4, 4, 4, 4, 4, 0.02]
    return "".join(
        " ".join(chance.choices(choices, weights, k=9)).capitalize() + ".\n\n"
        for _ in range(sentences)
    )


@pytest.mark.slow
@pytest.mark.parametrize("output", [["ranked", "--top", "1"], ["conllu"], ["json"]], ids=" ".join)
@pytest.mark.parametrize("parser", ["chart", "command"])
def test_a_run_that_is_killed_twenty_times_ends_in_the_same_bytes(
    tmp_path: Path, flags: list[str], parser: str, output: list[str]
) -> None:
    file, whole, out = write(tmp_path / "t.txt", long_text(1_000)), tmp_path / "w", tmp_path / "o"
    status = 1  # some sentences crash the toy parser
    if parser == "chart":  # with the models that ship
        flags, status = ["--candidates", "10", "--threads", "1"], 0
    arguments = ["parse", file, *flags, "--output", *output]
    assert main([*arguments, "--out", str(whole)]) == status
    chance = random.Random(5)
    kept = []
    for _ in range(20):
        seconds = chance.choice([0, 0.05, 0.3])
        kill = (signal.SIGKILL, seconds, seconds < 0.3)
        left = killed_run(arguments, out, *kill)
        assert left.status == -signal.SIGKILL
        if out.exists():  # complete, by the time it was killed
            break
        part = out.with_name("o.part")
        content = part.read_bytes() if part.exists() else b""
        assert whole.read_bytes().startswith(content[: content.rfind(b"\n") + 1])
        kept.append(left.kept)
    lines = whole.read_bytes().count(b"\n")
    assert kept == sorted(kept) and len(set(kept)) > 3 and kept[-1] <= lines
    assert main([*arguments, "--resume", "--out", str(out)]) == status
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("output", ["ranked", "pretty", "conllu", "json"])
def test_a_run_continues_after_what_is_written(
    tmp_path: Path, flags: list[str], output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that are killed: test_nothing_is_lost.py."""
    file, whole, out = write(tmp_path / "t.txt", long_text(8)), tmp_path / "w", tmp_path / "o"
    run = ["parse", file, *flags, "--output", output, "--resume", "--out"]
    main([*run, str(whole)])
    with monkeypatch.context() as patch:
        break_off_after(3, patch)
        assert main([*run, str(out)]) == 2
    main([*run, str(out)])
    assert out.read_bytes() == whole.read_bytes()


def test_a_command_that_hangs_ends_with_a_run_that_is_killed(
    tmp_path: Path, models: list[str]
) -> None:
    hanging = Hanging(tmp_path)
    file = write(tmp_path / "t.txt", "We saw it.")
    flags = ["--parser-command", shlex.join(hanging.command), "--models", *models]
    command = [sys.executable, "-m", "reranker.commands.main", "parse", file, *flags]
    with subprocess.Popen(command) as run, hanging.opened() as pipe:
        assert not has_ended(pipe, 0.2)
        run.kill()
        assert run.wait() == -signal.SIGKILL
        assert has_ended(pipe, 60)
