"""The Wall Street Journal's trees as the treebank has them, in every command that takes gold trees:
files in a folder, trees over several lines, nameless roots, traces and function tags."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reranker.commands.main import main
from reranker.plugins.training.corpus.tree_files import StreamedTrees
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank
from tests.checkout import COMMANDS
from tests.reranker.small_files import bllip, write

Capture = pytest.CaptureFixture[str]

ROOT = Path(__file__).resolve().parents[3]
WSJ = ROOT.parent / "shared/data/treebanks/wsj_sample/dev.mrg.gz"
COUNT = 30


@pytest.fixture
def plain() -> list[str]:
    """Return 30 trees, one per line, root TOP, no traces, no function tags."""
    if not WSJ.exists():
        pytest.skip(f"no {WSJ}")
    with gzip.open(WSJ, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for line, _ in zip(lines, range(COUNT), strict=False)]


def as_distributed(line: str) -> str:
    """Return the tree as in a file of the Penn Treebank, with a trace in its first verb phrase and
    a function tag at its first noun phrase, if it has these."""
    line = line.replace("(TOP (", "( (", 1).replace("(NP (", "(NP-SBJ-1 (", 1)
    line = line.replace("(VP (", "(VP (S (NP-SBJ (-NONE- *-1) )) (", 1)
    indented, depth = "", 0
    for piece in re.findall(r"\([^()]* [^()]+\)|\([^()]*|\)", line):
        is_phrase = piece[0] == "(" and piece[-1] != ")"
        if is_phrase and depth > 1:
            indented = f"{indented.rstrip()}\n{'  ' * depth}"
        depth += is_phrase - (piece == ")")
        indented += f"{piece.strip()} "
    return f"{indented.rstrip()}\n"


@pytest.fixture
def treebank(tmp_path: Path, plain: list[str]) -> Path:
    """Write a section in three files, with the other files of such folders."""
    folder = tmp_path / "23"
    folder.mkdir()
    for number in range(3):
        trees = map(as_distributed, plain[10 * number : 10 * number + 10])
        write(folder / f"wsj_230{number}.mrg", "\n" + "".join(trees))
    write(folder / "README", "Section 23\n")
    with gzip.open(folder / "wsj_2302.mrg.gz", "wt", encoding="utf-8") as file:
        file.write((folder / "wsj_2302.mrg").read_text())
    (folder / "wsj_2302.mrg").unlink()
    return folder


@pytest.fixture
def best(tmp_path: Path, plain: list[str]) -> str:
    """Return the output of a parser that makes no mistakes."""
    lines = (f"{tree.replace('TOP', 'S1', 1)}\n" for tree in plain)
    return write(tmp_path / "best.txt", "".join(lines))


@pytest.fixture
def nbest(tmp_path: Path, plain: list[str], models: list[str]) -> list[str]:
    """Return the flags for lists of one tree each."""
    file = write(tmp_path / "lists.txt", bllip(*([tree] for tree in plain)))
    return ["--nbest", file, "--models", models[0], "--device", "cpu"]


def test_the_layout_is_the_treebanks(treebank: Path, plain: list[str]) -> None:
    text = (treebank / "wsj_2300.mrg").read_text()
    assert text.startswith("\n( (S\n    (NP-SBJ-1 (DT The) (NNP Treasury) )\n    (VP\n      (S\n")
    assert text.count("\n( (") == 10
    assert "\n        (NP-SBJ (-NONE- *-1) ) )\n" in text
    assert [linearize(tree) for tree in read_treebank([treebank])] == [
        linearize(Tree.from_string(tree)) for tree in plain
    ]


def figures(report: str) -> list[str]:
    """Return sentences, errors and F1 in a report of EVALB."""
    rows = [line.split(" = ") for line in report.splitlines() if " = " in line]
    values = {name.strip(): value.strip() for name, value in reversed(rows)}
    return [values[f"Number of {name}"] for name in ("sentence", "Error sentence")] + [
        values["Bracketing FMeasure"]
    ]


def test_eval(treebank: Path, best: str, capsys: Capture) -> None:
    files = sorted(map(str, treebank.glob("*.mrg*")))
    for gold in ([str(treebank)], [f"{treebank}/*.mrg*"], [f"{treebank}/**/"], files):
        assert main(["eval", *gold, best]) == 0
        printed = capsys.readouterr()
        assert (figures(printed.out), printed.err) == (["30", "0", "100.00"], "")
    # Which of the two sides it is does not matter.
    assert main(["eval", best, str(treebank)]) == 0
    assert figures(capsys.readouterr().out) == ["30", "0", "100.00"]
    # S1, and the treebank's nameless roots, are a bracket each that does not match.
    assert main(["eval", str(treebank), best, "--count-roots"]) == 0
    assert figures(capsys.readouterr().out)[2] == "93.99"


def test_evalb_sh(treebank: Path, best: str) -> None:
    path = f"{COMMANDS}:/usr/bin:/bin"
    for gold in ([treebank], sorted(treebank.glob("*.mrg*"))):
        done = subprocess.run(
            [ROOT / "eval/evalb.sh", *gold, best, ROOT / "eval/collins.prm"],
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert figures(done.stdout) == ["30", "0", "100.00"]


@pytest.mark.parametrize("flags", [[], ["--gold-tags"]])
def test_gold_of_rerank_compare_tune_and_show(
    flags: list[str], treebank: Path, best: str, nbest: list[str], tmp_path: Path, capsys: Capture
) -> None:
    gold, ranked = str(treebank), str(tmp_path / "ranked.jsonl")
    assert main([*nbest, "--output", "ranked", "--out", ranked, "--gold", gold, *flags]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [
        [name, "100.00", "100.00", "100.00", "100.00", "30", "0"]
        for name in ("parser", "reranked", "oracle")
    ]
    assert main(["compare", gold, best, ranked, "--samples", "10", *flags]) == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in table[1:3]] == ["100.00", "100.00"]
    assert main(["tune", ranked, gold, *flags]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[-1] == "100.00"
    assert main(["show", ranked, "--gold", gold, "--brief", *flags]) == 0
    assert "F1 100.00" in capsys.readouterr().out


def test_convert_clean_makes_what_parsers_learn_from(
    treebank: Path, plain: list[str], tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "train.mrg"
    assert main(["convert", str(treebank), "--to", "trees", "--clean", "--out", str(out)]) == 0
    assert capsys.readouterr().err == "rerank: 30 trees written, 0 rejected\n"
    assert out.read_text().splitlines() == plain


def test_train_takes_folders(treebank: Path, tmp_path: Path, capsys: Capture) -> None:
    streamed = StreamedTrees([treebank], tmp_path)
    assert len(streamed.paths) == 3
    assert len(list(streamed)) == COUNT
    shutil.rmtree(treebank)
    treebank.mkdir()
    files = ["--train", str(treebank), "--dev", str(treebank), "--out", str(tmp_path / "m.pt")]
    assert main(["train", "--config", str(ROOT / "models/configs/small.toml"), *files]) == 2
    assert "23: no file in this folder ends in" in capsys.readouterr().err


# Found out before anything is scored.


def test_a_broken_gold_tree_is_named_before_models_are_loaded(
    treebank: Path, nbest: list[str], tmp_path: Path, capsys: Capture
) -> None:
    file = treebank / "wsj_2301.mrg"
    file.write_text(file.read_text() + "( (NP (NN end) )\n")
    line = file.read_text().count("\n")
    out = tmp_path / "out"
    nbest[3] = str(tmp_path / "none.pt")
    assert main([*nbest, "--gold", str(treebank), "--out", str(out)]) == 2
    assert f"{file}:{line}: not a gold tree: 1 bracket(s) left open" in capsys.readouterr().err


@pytest.mark.parametrize("first", [1, 0])
def test_gold_trees_of_other_lists_are_refused_before_scoring(
    first: int, plain: list[str], nbest: list[str], tmp_path: Path, capsys: Capture
) -> None:
    # A tree too few; or the last one first, so that no list has its own.
    shifted = plain[1:] if first else [plain[-1], *plain[:-1]]
    gold = write(tmp_path / "gold.mrg", "".join(f"{tree}\n" for tree in shifted))
    out = tmp_path / "out"
    assert main([*nbest, "--gold", gold, "--out", str(out)]) == 2
    reason = "29 gold trees for 30 n-best lists"
    if not first:
        moved = f"{nbest[1]}:1 has the words of {gold}:2: is one of the files shifted?"
        reason = f"EVALB finds no list that has the words of its gold tree; {moved}"
    assert f"{gold}: {reason}" in capsys.readouterr().err
    assert not list(tmp_path.glob("out*"))  # nothing scored, nothing to be resumed


def test_ranked_output_keeps_its_lines(tmp_path: Path, plain: list[str], capsys: Capture) -> None:
    rows = [{"ranking": [{"tree": tree}]} for tree in [*plain[:2], plain[3]]]
    ranked = write(tmp_path / "r.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    gold = write(tmp_path / "gold.mrg", "".join(f"{tree}\n" for tree in plain[:3]))
    assert main(["eval", gold, ranked]) == 1
    assert capsys.readouterr().err.startswith(f"{ranked}:3: error: ")


def test_lists_from_a_pipe_that_are_not_of_the_gold_trees(
    nbest: list[str], tmp_path: Path, capsys: Capture
) -> None:
    gold = write(tmp_path / "gold.mrg", "(TOP (NP (NN tea)))\n" * COUNT)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = Path(nbest[1]).read_text()
    with ThreadPoolExecutor(1) as writer:
        written = writer.submit(pipe.write_text, content)
        assert main(["--nbest", str(pipe), *nbest[2:], "--gold", gold]) == 2
        written.result()
    assert "EVALB finds no list that has the words of its gold tree" in capsys.readouterr().err


# Lines that are no trees, in every command.

NOTICE = "*x*x*x*x*x*\n*x*  Copyright (C) 1995  *x*\n*x*x*x*x*x*\n\n"
REMARKED = (
    f"{NOTICE}# by hand\n( (S (NP (PRP It))\n# here, too\n    (VP (VBZ runs)) (. .)))\n"
    "<S ID=2>\n( (S (VP (VB Go)) (. .)))\n# the end (of it\n"
)
CLEAN = "(TOP (S (NP (PRP It)) (VP (VBZ runs)) (. .)))\n(TOP (S (VP (VB Go)) (. .)))\n"


def test_remarks_and_notices_are_skipped_and_that_is_said_once(
    tmp_path: Path, capsys: Capture
) -> None:
    treebank, clean = write(tmp_path / "a.mrg", REMARKED), str(tmp_path / "clean.mrg")
    skipped = (
        f"rerank: {treebank}:1: remarks and notices between trees are skipped: '*x*x*x*x*x*'\n"
    )
    assert main(["convert", treebank, "--to", "trees", "--clean", "--out", clean]) == 0
    messages = capsys.readouterr().err
    assert messages == f"{skipped}rerank: 2 trees written, 0 rejected\n"
    assert Path(clean).read_text() == CLEAN
    for files in ([treebank, clean], [clean, treebank]):
        assert main(["eval", *files]) == 0
        printed = capsys.readouterr()
        assert figures(printed.out) == ["2", "0", "100.00"]
        assert printed.err == skipped
    for command in (["grep", "VP"], ["measure"], ["show"], ["convert", "--to", "trees"]):
        outputs: list[str] = []
        for content in (REMARKED, CLEAN.replace("TOP", "")):
            assert main([*command, write(tmp_path / "a.mrg", content)]) == 0
            printed = capsys.readouterr()
            outputs.append(re.sub("a.mrg:[0-9]+", "", printed.out))
            assert printed.err.count(skipped) == (content == REMARKED), command
        assert outputs[0] == outputs[1]


def test_evalb_reads_lines_as_it_did(tmp_path: Path, capsys: Capture) -> None:
    # A blank line is a sentence; EVALB itself stops at a remark.
    gold = write(tmp_path / "gold", f"{CLEAN}\n{CLEAN}")
    test = write(tmp_path / "test", f"# best\n{CLEAN}\n{CLEAN}")
    assert main(["eval", gold, test]) == 0
    assert figures(capsys.readouterr().out)[0] == "5"


# Trees that lose their words in other readers.


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        ("(S (NP (NN (Kera))) (VP (VB makan)))", "a word without a label: '(Kera)'"),
        ("(S (PRN (-LRB- () (NN x) (-RRB- ))) (VB go))", "brackets that are words are -LRB-"),
        ("(S (NP (NN dog)) (ran))", "a word without a label: '(ran)'"),
    ],
)
def test_no_word_is_lost_without_a_word(
    tree: str, reason: str, tmp_path: Path, capsys: Capture
) -> None:
    file = write(tmp_path / "a.mrg", f"{CLEAN}{tree}\n{CLEAN}")
    for command in (["convert", "--to", "trees", "--clean"], ["grep", "S"]):
        assert main([*command, file]) == 1
        printed = capsys.readouterr()
        assert f"{file}:3: tree rejected, not-a-tree: " in printed.err
        assert reason in printed.err
        assert tree not in printed.out


# A blank line within a tree.


def test_a_tree_goes_on_after_a_blank_line(tmp_path: Path, capsys: Capture) -> None:
    half = "( (S (NP (PRP It))\n\n"
    file = write(tmp_path / "a.mrg", f"{half}    (VP (VBZ runs)) (. .)))\n{CLEAN}")
    assert main(["convert", file, "--to", "trees", "--clean"]) == 0
    assert capsys.readouterr().out == CLEAN.splitlines(True)[0] + CLEAN
    assert main(["convert", file, "--to", "trees"]) == 0
    assert capsys.readouterr().out.count("\n") == 3
    file = write(tmp_path / "a.mrg", f"{half}    (VP (VBZ runs))\n\n{CLEAN}")
    assert main(["convert", file, "--to", "trees", "--clean"]) == 1
    printed = capsys.readouterr()
    assert printed.out == CLEAN
    assert f"{file}:1: tree rejected, unbalanced: 2 bracket(s) left open" in printed.err
