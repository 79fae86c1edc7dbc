"""No file, name or word controls the terminal; many rejections are ten lines and a number."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import sys
from pathlib import Path

import pytest

from reranker.commands.main import main
from reranker.commands.progress import SHOWN_REJECTIONS
from tests.reranker.small_files import bllip, write

Capture = pytest.CaptureFixture[str]

ROOT = Path(__file__).resolve().parents[3]
TITLE = "\x1b]0;X\x07"
EVIL = f"x{TITLE}\x9b31m\u202e\x7f"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# More text than controls: a file of which these are a twentieth is refused as binary data.
TREE = f"(S1 (S (NP{EVIL} (PRP It{EVIL})) (VP (VBZ {'runs' * 50}))))"
BROKEN = "(S1 (S (NP (PRP It))"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def commands(folder: Path) -> list[list[str]]:
    """Return commands whose messages and answers have the names of files, sentences, labels and
    words."""
    trees = write(folder / f"{EVIL}.mrg", f"{TREE}\n{BROKEN}\n")
    lists = write(
        folder / f"lists{EVIL}",
        f"2\t{EVIL}\n-1\n{TREE}\n-2\n{BROKEN}\n\n",
    )
    other = write(folder / f"other{EVIL}.mrg", "(S1 (NP (NN tea)))\n(S1 (NP (NN tea)))\n")
    text = write(folder / f"text{EVIL}", f"It{EVIL} runs.{' It runs.' * 20}")
    missing = str(folder / f"no{EVIL}")
    return [
        ["convert", lists, "--to", "berkeley"],
        ["convert", trees, "--to", "trees", "--clean"],
        ["show", lists, "--all"],
        ["show", lists, "--all", "--width", "20"],
        ["show", lists, "--brief", "--all", "--gold", other],
        ["show", lists, "--sentence", missing],
        ["grep", "NP", trees],
        ["grep", f"/x{EVIL}(/", trees],
        ["measure", trees],
        ["validate", lists],
        ["validate", lists, "--json"],
        ["eval", other, trees],
        ["compare", other, trees, other],
        ["parse", missing],
        ["parse", text, "--models", missing],
        ["--nbest", lists, "--models", missing],
        ["--nbest", lists, f"--{EVIL}"],
        ["train", "--config", missing, "--train", trees, "--dev", trees, "--out", missing],
        [missing],
        [EVIL],
    ]


@pytest.mark.parametrize("place", range(20))
def test_a_hostile_file_controls_no_terminal(
    place: int, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("NO_COLOR", "1")
    arguments = commands(tmp_path)[place]
    with contextlib.suppress(SystemExit):  # argparse's, for a flag that does not exist
        main(arguments)
    written = screen.getvalue() + capsys.readouterr().err
    assert written
    assert not CONTROL.search(written), ascii(written)


@pytest.mark.plugins
def test_colours_are_ours_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.delenv("NO_COLOR", raising=False)
    main(["grep", "/^NP/", write(tmp_path / "t.mrg", f"{TREE}\n")])
    assert "\x1b[1;31m" in screen.getvalue()
    left = re.sub("\x1b\\[[0-9;]*m", "", screen.getvalue())
    assert not CONTROL.search(left), ascii(left)


def test_files_and_pipes_get_the_bytes(tmp_path: Path, capsys: Capture) -> None:
    lists = write(tmp_path / "lists", bllip([TREE]))
    assert main(["convert", lists, "--to", "trees"]) == 0
    assert capsys.readouterr().out == f"{TREE}\n"
    assert main(["convert", lists, "--to", "trees", "--out", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text() == f"{TREE}\n"


def test_no_command_prints_past_the_functions_that_make_text_visible() -> None:
    """All of standard error goes through commands/progress.py and main.py, all of standard output
    through files/output.py. A worker's answers go to its parent."""
    allowed = {"commands/progress.py", "commands/main.py", "plugins/other_parsers/bllip_worker.py"}
    allowed.add("process/flags.py")  # of eval's scripts
    for path in (ROOT / "reranker").rglob("*.py"):
        name = str(path.relative_to(ROOT / "reranker"))
        if name in allowed or name.startswith("models/"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            assert not (isinstance(called, ast.Name) and called.id == "print"), name
            written = ast.unparse(called) if called is not None else ""
            assert written not in ("sys.stdout.write", "sys.stderr.write"), name


@pytest.mark.plugins
def test_of_many_rejections_ten_are_printed_and_the_others_counted(
    tmp_path: Path, capsys: Capture
) -> None:
    lists = write(tmp_path / "lists", bllip(*[[FINE, BROKEN]] * 25))
    trees = write(tmp_path / "t.mrg", f"{FINE}\n{'(S1 (NP (NN x y)))))' + chr(10)}" * 25)
    ranked = {"id": "a", "best_index": 0, "ranking": [{"index": 0, "tree": FINE}], "rejected": []}
    broken = {**ranked, "ranking": [{"index": 0, "tree": BROKEN}]}
    rows = write(tmp_path / "r.jsonl", "".join(f"{json.dumps(broken)}\n" for _ in range(25)))
    for command in (
        ["convert", lists, "--to", "trees"],
        ["convert", trees, "--to", "trees", "--clean"],
        ["show", rows, "--all"],
        ["grep", "NP", lists],
        ["measure", lists],
    ):
        assert main(command) == 1, command
        lines = [line for line in capsys.readouterr().err.splitlines() if "rejected, " in line]
        assert len(lines) == SHOWN_REJECTIONS, command


def test_the_number_of_the_others_comes_before_the_summary(tmp_path: Path, capsys: Capture) -> None:
    lists = write(tmp_path / "lists", bllip(*[[FINE, BROKEN]] * 1000))
    assert main(["convert", lists, "--to", "trees"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 13  # the format, ten, the number, the summary
    assert lines[-2:] == [
        "rerank: ... and 990 more",
        "rerank: 1000 sentences, 1000 candidates written, 1000 rejected",
    ]


FINE = "(S1 (S (NP (PRP It)) (VP (VBZ runs))))"
