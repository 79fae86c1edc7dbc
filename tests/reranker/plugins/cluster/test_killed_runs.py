"""Workers, actors and the command itself killed while they work: nothing is lost or doubled."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.reranker.plugins.cluster.lists import printed, write_shard

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs '.[ray]'"),
]

KILLS = int(os.environ.get("KILLS", "20"))
SEED = int(os.environ.get("SEED", time.time_ns() % 1_000_000))
SHARDS, SENTENCES, BLOCK = 3, 20 * KILLS, 4
SECONDS = 3600.0


def _processes() -> dict[int, tuple[int, str]]:
    """Return the parent and the command of every process."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        found[int(folder.name)] = parent, command
    return found


def _workers(run: int) -> dict[int, str]:
    """Return the processes of a run that read, rank or join, and their tasks."""
    processes = _processes()
    found = {}
    for process, (_, command) in processes.items():
        above = process
        while above in processes and above != run:
            above = processes[above][0]
        for role in ("RankActor", "ShardReader", "joined"):
            if above == run and role in command:
                found[process] = role
    return found


def _parts(out: Path) -> int:
    return sum(1 for path in out.rglob("*") if path.is_file() and path.suffix != ".tmp")


def _start(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "RAY_worker_niceness": "0"}
    with log.open("ab") as messages:
        return subprocess.Popen(command, stderr=messages, env=environment)


def test_whatever_is_killed_the_files_are_what_rerank_prints(
    models: list[str], tmp_path: Path
) -> None:
    """One kill of five ends the command, which is started again; the others end a worker. Each
    comes a random time after the run has gone on from the one before. ``SEED=N`` repeats one."""
    print(f"seed: {SEED}")
    (tmp_path / "lists").mkdir()
    shards = [tmp_path / "lists" / f"{number}.txt" for number in range(SHARDS)]
    for number, shard in enumerate(shards):
        write_shard(shard, number * SENTENCES, SENTENCES)
    out, log, draw = tmp_path / "out", tmp_path / "log", random.Random(SEED)
    command = [sys.executable, "-m", "reranker.commands.main", "cluster", "--block", str(BLOCK)]
    command += ["--nbest", f"{tmp_path}/lists/*", "--out", str(out), "--models", *models]
    killed: Counter[str] = Counter()
    deadline = time.monotonic() + SECONDS
    run = _start(command, log)
    try:
        while killed.total() < KILLS and not all((out / f"{n}.mrg").exists() for n in "012"):
            before = _parts(out)
            while run.poll() is None and _parts(out) == before and time.monotonic() < deadline:
                time.sleep(0.2)
            time.sleep(draw.uniform(0, 2))
            assert run.poll() in (None, 1), log.read_text()
            if run.poll() == 1:
                break  # complete before the last kill
            if killed.total() % 5 == 1:
                run.kill()
                run.wait()
                killed["command"] += 1
                run = _start(command, log)
            elif workers := _workers(run.pid):
                process = draw.choice(sorted(workers))
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.kill(process, signal.SIGKILL)
                    killed[workers[process]] += 1
        assert run.wait(max(1, deadline - time.monotonic())) == 1, log.read_text()  # some rejected
    finally:
        run.kill()
    print(f"killed: {dict(killed)}, {killed.total()} in all")
    assert killed.total() == KILLS, f"too little to do for {KILLS} kills: {killed}"
    for number, shard in enumerate(shards):
        assert (out / f"{number}.mrg").read_bytes() == printed(shard, models, tmp_path / "expected")
    assert not list(out.rglob("*.tmp")) and not list((out / "_rerank/parts").rglob("0*"))
