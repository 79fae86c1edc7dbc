"""Runs that are interrupted, killed or not read to their end, and what is left of them."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import random
import shlex
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reranker.commands.main import main
from reranker.commands.progress import ProgressBar
from reranker.pipeline import Reranker
from reranker.ranking import Ranking
from reranker.scoring import pools
from reranker.work import sinks
from tests.checkout import RERANK
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.killed_runs import (
    LOST_SECONDS,
    Killed,
    killed_run,
    said_to_be_kept,
)
from tests.reranker.small_files import bllip, break_off_after, standard_input, write
from tests.reranker.span_models import save_spans

Capture = pytest.CaptureFixture[str]

ROOT = Path(__file__).parents[3]
GOLD = CANDIDATES[1].replace("(S1 ", "(TOP ")


@pytest.fixture(autouse=True)
def _signals_are_not_ignored() -> Iterator[None]:
    """Handle signals as in a terminal: `rerank` leaves those ignored that nohup or a shell's &
    ignores."""
    interrupted = signal.signal(signal.SIGINT, signal.default_int_handler)
    hung_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGHUP, hung_up)


def test_an_interrupted_run_is_resumed(
    tmp_path: Path, models: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "BATCH_TOKENS", 1)  # one list at a time
    lists = bllip(*(CANDIDATES[number % 4 :] for number in range(6)))
    gold = write(tmp_path / "gold.mrg", f"{GOLD}\n" * 6)
    arguments = ["--nbest", write(tmp_path / "n.txt", lists), "--models", *models, "--gold", gold]
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert main([*arguments, "--out", str(whole)]) == 0
    expected = capsys.readouterr().out
    with monkeypatch.context() as patch:
        break_off_after(4, patch)
        assert main([*arguments, "--out", str(out)]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "rerank: unusable from here; 4 sentences are kept: correct this and run the same command "
        "with --resume to continue"
    )
    assert not out.exists()
    resume = [*arguments, "--out", str(out), "--resume"]
    assert (tmp_path / "out.part").read_text().splitlines() == whole.read_text().splitlines()[:4]
    assert main([*resume, "--lm-weight", "0.5"]) == 2
    assert "lm_weight" in capsys.readouterr().err
    assert main(resume) == 0
    assert out.read_bytes() == whole.read_bytes()
    printed = capsys.readouterr()
    assert printed.out == expected
    assert "resuming after sentence 4" in printed.err
    assert main(resume) == 0  # nothing to resume: a run as any other
    long = write(tmp_path / "long.mrg", f"{GOLD}\n" * 7)
    assert main([*resume, "--gold", long]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert message == f"rerank: {long}: 7 gold trees for 6 n-best lists"
    assert main(resume) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("form", [[], ["--csv"]], ids=["tabs", "commas"])
def test_a_table_of_brackets_is_resumed(
    tmp_path: Path, form: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row has its sentence's number, and the heading stands once."""
    model = save_spans(tmp_path / "spans.pt", 3)
    text = write(tmp_path / "t.txt", "We saw the man.\n\n" * 5)
    flags = ["--models", model, "--parser-model", model, "--output", "brackets", *form]
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert main(["parse", text, *flags, "--out", str(whole)]) == 0
    with monkeypatch.context() as patch:
        break_off_after(3, patch)
        assert main(["parse", text, *flags, "--out", str(out)]) == 2
    part = (tmp_path / "out.part").read_text()
    assert part.startswith("sentence") and whole.read_text().startswith(part)
    resume = ["parse", text, *flags, "--out", str(out), "--resume"]
    other = ["--csv"] if not form else []
    assert main([*[flag for flag in resume if flag != "--csv"], *other]) == 2
    assert "csv" in capsys.readouterr().err
    assert main(resume) == 0
    assert "resuming after sentence 3" in capsys.readouterr().err
    assert out.read_bytes() == whole.read_bytes()
    separator = "," if form else "\t"
    numbers = [line.partition(separator)[0] for line in out.read_text().splitlines()]
    assert list(dict.fromkeys(numbers)) == ["sentence", *"12345"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_a_run_that_says_how_to_continue(
    number: signal.Signals,
    tmp_path: Path,
    models: list[str],
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pools, "BATCH_TOKENS", 1)  # one list at a time
    monkeypatch.setattr(sinks, "_LONGEST_ADVICE", 1000)  # temporary folders may have long names
    file = write(tmp_path / "n.txt", bllip(*(CANDIDATES[start % 4 :] for start in range(5))))
    out = tmp_path / "out"
    to_file = ["--nbest", file, "--models", models[0], "--out", str(out)]
    answered, calls = ProgressBar.answered, itertools.count(1)

    def interrupted(bar: ProgressBar, answer: Ranking, place: int) -> None:
        answered(bar, answer, place)
        if next(calls) == 4:
            signal.raise_signal(number)

    with monkeypatch.context() as patched:
        patched.setattr(ProgressBar, "answered", interrupted)
        assert main(to_file) == 130
    command = shlex.join(["rerank", *to_file, "--resume"])
    expected = f"rerank: interrupted; 3 sentences are kept; to continue: {command}"
    assert capsys.readouterr().err.splitlines()[-1] == expected
    assert main([*to_file, "--resume"]) == 0
    resumed = capsys.readouterr()
    assert "resuming after sentence 3" in resumed.err
    calls = itertools.count(4)
    with monkeypatch.context() as patched:
        patched.setattr(ProgressBar, "answered", interrupted)
        assert main(to_file[:-2]) == 130  # nothing is kept of standard output
    assert capsys.readouterr().err.splitlines()[-1] == "rerank: interrupted"
    assert main(to_file[:-2]) == 0
    assert capsys.readouterr().out == out.read_text()


def test_a_full_disk_is_reported(tmp_path: Path, models: list[str], capsys: Capture) -> None:
    """Its exit status is not 1, as if candidates were rejected."""
    file = write(tmp_path / "n.txt", bllip(*[CANDIDATES] * 400))
    with open("/dev/full", "w") as full, contextlib.redirect_stdout(full):
        assert main(["--nbest", file, "--models", models[0]]) == 2
    message = "rerank: standard output: cannot be written: No space left on device"
    assert message in capsys.readouterr().err


def test_messages_that_cannot_be_written_end_a_run() -> None:
    command = [sys.executable, "-m", "reranker.commands.main", "--nbest", "examples/short.txt"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=full)
    assert done.returncode == 2


def test_a_reader_that_has_seen_enough(tmp_path: Path, models: list[str], capsys: Capture) -> None:
    file = write(tmp_path / "n.txt", bllip(*[CANDIDATES] * 1_000))
    read_end, write_end = os.pipe()

    def read_a_line() -> str:
        with open(read_end) as lines:
            return lines.readline()

    with ThreadPoolExecutor(1) as thread, open(write_end, "w") as out:
        first = thread.submit(read_a_line)
        with contextlib.redirect_stdout(out):
            status = main(["--nbest", file, "--models", *models, "--output", "ranked"])
        assert first.result().startswith("{")
    assert (status, capsys.readouterr().err) == (
        128 + signal.SIGPIPE,
        f"rerank: {file}: format bllip\n",
    )


def examples(path: Path, lists: int, times: int = 1) -> str:
    """Write a file of the first lists of the example, repeated."""
    blocks = (ROOT / "examples" / "parses.txt").read_text().split("\n\n")[:lists]
    return write(path, "".join(f"{block}\n\n" for block in blocks) * times)


def test_an_interruption_waits_while_pytorch_loads(tmp_path: Path) -> None:
    file = examples(tmp_path / "n.txt", 26, times=100)
    command = [RERANK, "--nbest", file, "--models", str(ROOT / "ckpt/rnn-forward.pt")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=-1, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().endswith("format bllip\n")  # loading comes next
        process.send_signal(signal.SIGTERM)
        assert process.stderr.read() == "rerank: interrupted\n"
    assert process.returncode == 130


@pytest.mark.slow
def test_twenty_kills(tmp_path: Path) -> None:
    file = examples(tmp_path / "n.txt", 26, times=4)
    paths = [str(ROOT / "ckpt" / name) for name in ("rnn-forward.pt", "doc/doc-1.pt")]
    arguments = ["--nbest", file, "--models", *paths, "--threads", "1"]
    rankings = Reranker.load(paths, threads=1).rerank_file(file)
    expected, out = "".join(f"{ranking.tree}\n" for ranking in rankings), tmp_path / "out"
    generator, kills, lost = random.Random(7), 0, [0.0]
    while kills < 20:
        number = generator.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
        # Of computing; until the arguments are read, Python itself answers signals.
        killed = killed_run(arguments, out, number, generator.uniform(1, 6))
        if out.exists():
            assert out.read_text() == expected
            out.unlink()
        else:
            check(killed, number, out, expected)
            kills += 1
            lost.append(killed.lost)
            assert killed.lost < LOST_SECONDS
    print(f"computing lost: {max(lost):.2f} s at most, {statistics.mean(lost):.2f} s on average")
    assert killed_run(arguments, out, signal.SIGKILL, math.inf).status == 0
    assert out.read_text() == expected


def check(killed: Killed, number: signal.Signals, out: Path, expected: str) -> None:
    """Assert the properties that hold after any kill."""
    part = out.with_name(out.name + ".part")
    assert not part.exists() or expected.startswith(part.read_text())
    if number == signal.SIGKILL:
        assert killed.status == -signal.SIGKILL
    else:
        assert killed.status == 130
        if killed.last_line != "rerank: interrupted":  # before it examined the existing files
            reported = said_to_be_kept(killed.last_line)
            assert killed.kept - reported in (0, 1)  # struck between the two


def test_input_shorter_than_what_was_written_is_refused(
    tmp_path: Path, models: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "BATCH_TOKENS", 1)
    out = str(tmp_path / "out")
    arguments = ["--models", *models, "--out", out, "--nbest", "-"]
    gold = write(tmp_path / "gold.mrg", f"{GOLD}\n" * 4)
    five, one = (bllip(*[CANDIDATES] * count) for count in (5, 1))
    with standard_input(five):
        assert main([*arguments, "--gold", gold]) == 2  # one gold tree is missing
    capsys.readouterr()
    with standard_input(one):
        assert main([*arguments, "--resume"]) == 2
    assert "there are fewer sentences than the interrupted run wrote" in capsys.readouterr().err
    with standard_input(five):
        assert main([*arguments, "--resume"]) == 0
    assert len(Path(out).read_text().splitlines()) == 5
