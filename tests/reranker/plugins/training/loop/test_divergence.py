"""Runs that diverge after a good evaluation. Weight decay of more than twice the inverse of the
learning rate makes weights grow by a factor a step, until they are too large for float32."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import reranker.plugins.training.loop.train as training
from reranker.checkpoints.archive import read_archive, write_atomically
from reranker.errors import ConfigError
from reranker.plugins.training.processes import Processes
from tests.reranker.plugins.generation import test_pair_run
from tests.reranker.plugins.training.forked import in_processes
from tests.reranker.plugins.training.loop import test_train
from tests.reranker.plugins.training.runs import train
from tests.reranker.plugins.training.spans import test_run
from tests.reranker.toy_trees import DEV, TREES

Train = Callable[..., float]

GROWING: dict[str, Any] = {"learning_rate": 0.1, "weight_decay": 500.0}
GROWING |= {"warmup_batches": 1, "validate_every": 1, "epochs": 40}
FAST = replace(test_train.FAST, **GROWING)
PAPER = replace(test_train.PAPER, **GROWING)
RUNS: dict[str, Train] = {
    "fast": partial(train, FAST, TREES, DEV),
    "paper": partial(train, PAPER, TREES, DEV),
    # Perplexities stop improving at once; the averages' perplexities are infinite from the start.
    "averaged": partial(
        train, replace(PAPER, weight_decay=200.0, non_monotone_interval=2), TREES, DEV
    ),
    "shards": partial(train, replace(FAST, shards=2), TREES, DEV),
    "spans": partial(
        train,
        replace(test_run.CONFIG, **GROWING | {"weight_decay": 50.0}),
        test_run.TREES,
        test_run.DEV,
    ),
    "pairs": partial(
        train,
        replace(test_pair_run.CONFIG, **GROWING),
        test_pair_run.TRAIN,
        test_pair_run.DEV,
    ),
}
MESSAGE = (
    r"training diverged: (?:in|after) batch (\d+) .*(?:inf|nan|not finite); the best weights "
    r"before, dev perplexity \S+, are in \S+/m\.pt; try a lower learning_rate than 0\.1"
)


def check_stopped(train: Train, folder: Path) -> None:
    """Assert that training ends at the first number that is not finite, with the best
    checkpoint."""
    done: list[int] = []
    with pytest.raises(ConfigError) as error:
        train(
            folder / "m.pt",
            folder / "log",
            report=lambda progress, loss, share: done.append(progress.batches),
        )
    named = re.fullmatch(MESSAGE, str(error.value))
    assert named, error.value
    assert len(done) - int(named[1]) in (0, -1), "no batch more"
    rows = map(json.loads, (folder / "log" / "log.jsonl").read_text().splitlines())
    evaluated = [row["dev_perplexity"] for row in rows if "dev_perplexity" in row]
    checkpoint = read_archive(folder / "m.pt").content
    assert checkpoint["information"]["dev_perplexity"] == min(evaluated)
    assert all(weight.isfinite().all() for weight in checkpoint["weights"].values())


@pytest.mark.parametrize("run", RUNS)
def test_a_run_that_diverges_ends_at_once_and_keeps_the_best(run: str, tmp_path: Path) -> None:
    check_stopped(RUNS[run], tmp_path)


def test_a_run_of_several_processes_ends_in_all_of_them(tmp_path: Path) -> None:
    def work(processes: Processes) -> None:
        if processes.is_first:
            check_stopped(partial(RUNS["shards"], processes=processes), tmp_path)
        else:
            with pytest.raises(ConfigError, match=MESSAGE):
                RUNS["shards"](tmp_path / "m.pt", tmp_path / "log", processes=processes)

    assert in_processes(2, tmp_path / "meeting", work) == [0, 0]


@pytest.mark.parametrize("run", ["fast", "paper"])
def test_a_run_that_resumes_does_not_resume_into_what_diverged(
    run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "STATE_INTERVAL", -1.0)  # after every batch
    files = tmp_path / "m.pt", tmp_path / "log"
    messages = []
    for _ in range(2):
        with pytest.raises(ConfigError) as error:
            RUNS[run](*files)
        messages.append(str(error.value))
    assert messages[0] == messages[1], "the second begins with the last good state"
    state = read_archive(tmp_path / "log/state.pt").content
    assert all(weight.isfinite().all() for weight in state["weights"].values())

    # A saved state may have diverged, however that came about.
    next(iter(state["weights"].values())).fill_(torch.nan)
    write_atomically(tmp_path / "log/state.pt", state)
    (tmp_path / "m.pt").unlink()
    with pytest.raises(ConfigError, match=MESSAGE):
        RUNS[run](*files)
    assert (tmp_path / "m.pt").exists()
