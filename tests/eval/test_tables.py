"""eval/tables: a study from data to figures, on a dozen sentences."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from reranker.trees.tree import Tree
from tests.eval.toy_study import DATA, LSTM, STUDY, command, make, trees, write_data

FLAGS = ("--budget", "0.02", "--shrink", "4")
ONE_ROW = (
    DATA
    + LSTM
    + """
[tables.one]
title = "One"
kind = "F1"
sets = ["dev"]
rows = [{ name = "LSTM", models = ["lstm"] }]
"""
)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    write_data(tmp_path / "data")
    path = tmp_path / "toy.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


@pytest.mark.slow
def test_one_command_fills_a_table(study: Path, tmp_path: Path) -> None:
    study.write_text(ONE_ROW, "utf-8")
    done = make(study, tmp_path / "data", tmp_path / "work", "--epochs", "1", "--shrink", "4")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("**One.** Models were trained for 1 epoch each on the same trees, 2")
    head = (
        "| model | seeds | parameters | perplexity | F1 alone | F1 mixed | gap closed | p, parser"
    )
    assert f"{head} | seconds |" in lines
    # 42 of 48 gold brackets matched by 42, as below.
    assert "| parser | - | - | - | 93.33 | - | - | - | - |" in lines
    [row] = [line for line in lines if line.startswith("| LSTM | 1 |")]
    assert "failed" not in row
    figures = json.loads((tmp_path / "work" / "one.json").read_text("utf-8"))
    assert "rerank train --config" in figures["rows"][0]["commands"][0]
    assert figures["rows"][0]["commands"][0].endswith("--epochs 1 --device cpu --threads 1")
    assert figures["rows"][0]["trained_tokens"][0] == sum(map(_tokens, trees()[:36]))


@pytest.mark.slow
def test_every_row_is_filled_and_an_interrupted_run_goes_on(study: Path, tmp_path: Path) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    first = work / "models" / "doc-1.pt"
    running = subprocess.Popen(command(study, data, work, *FLAGS, "--workers", "1"))
    while not first.exists():
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)
    assert running.wait() == 130
    assert not (work / "models" / "lstm-1.pt").exists()
    trained_at = first.stat().st_mtime_ns

    done = make(study, data, work, *FLAGS, "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert first.stat().st_mtime_ns == trained_at
    assert sorted(path.name for path in (work / "training").glob("*/state.pt")) == []
    assert len(list((work / "training").glob("*/log.jsonl"))) == 3
    choice = json.loads((work / "choice.json").read_text("utf-8"))
    assert choice["sets"]["dev"]["sentences"] == 12
    # Gold is first in every second list. FRAG for S costs one bracket of four, the flat tree VP:
    # its S, NP and NP match of 4.  12 lists: 6 * 4 + 6 * 3 matched, 48 gold, 24 + 18 brackets.
    assert choice["sets"]["dev"]["parser"] == pytest.approx(100 * 2 * 42 / (48 + 42))
    assert choice["sets"]["dev"]["oracle"] == 100
    # One of the three at random: 4 + 3 + 3 matched of 4 + 3 + 4.
    assert choice["sets"]["dev"]["random"] == pytest.approx(100 * 2 * 10 / (12 + 11))
    rows = {row["name"]: row for row in choice["rows"]}
    assert {name: len(row["sets"]["dev"]["alone"]) for name, row in rows.items()} == {
        "LSTM": 1,
        "DOC": 2,
        "DOC x 2": 1,
    }
    for row in rows.values():
        figures = row["sets"]["dev"]
        assert all(1 < one < 100 for one in figures["perplexity"])
        assert all(0 < one["f1"] <= 100 for one in figures["alone"] + figures["mixed"])
        assert 0 < figures["mixed_against_parser"]["randomisation_p"] <= 1
        assert ("mixed_against_reference" in figures) == (row["name"] != "DOC")
        assert min(figures["seconds"]) > 0
        assert row["signature"].startswith("version=")
        assert all(one.startswith("rerank train --config") for one in row["commands"])
    singles = rows["DOC"]["sets"]["dev"]["perplexity"]
    assert rows["DOC x 2"]["sets"]["dev"]["perplexity"][0] < sum(singles) / 2

    words = (work / "words.md").read_text("utf-8")
    assert "| model | seeds | parameters | trained tokens | toy dev | printed |" in words
    assert "failed" not in words

    # Nothing is left to do but to print the table.
    again = make(study, data, work, *FLAGS, "--workers", "1", "--only", "choice")
    assert again.returncode == 0, again.stderr
    assert "doc-1" not in again.stderr
    assert again.stdout.startswith("**Which chooses best.**")
    other = make(study, data, work, *FLAGS, "--workers", "2")
    assert other.returncode == 2
    assert "was begun with minutes of training for each model" in other.stderr


def _tokens(tree: str) -> int:
    """Count the tree's words, two for each constituent but TOP and parts of speech, and <eos>."""
    words = len(Tree.from_string(tree).leaves())
    return words + 2 * (tree.count("(") - words - 1) + 1
