"""Claims of files: one process writes at a time, and nobody writes someone else's file."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import pytest

from reranker.errors import InputError, RerankError
from reranker.files import claim
from reranker.files.claim import NewFile, check_claims, claimed, has_name

HOLDER = """
import sys
from pathlib import Path
from reranker.files.claim import claimed
with claimed(Path(sys.argv[1])):
    print("claimed", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Yield another process that has claimed ``path``."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        yield process
        process.kill()


def test_another_process_is_named_and_nothing_of_it_touched(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with holder(path) as other:
        before = (tmp_path / "out.lock").read_bytes()
        match = f"out: process {other.pid} is writing it$"
        with pytest.raises(InputError, match=match), claimed(path):
            pass
        assert [*tmp_path.iterdir()] == [tmp_path / "out.lock"]
        assert (tmp_path / "out.lock").read_bytes() == before
        assert before.decode() == (
            f"parse-reranker: process {other.pid} on {socket.gethostname()} is writing\n"
        )
        with claimed(tmp_path / "another"):
            pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_claim_ends_with_its_process(number: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "out"
    with holder(path) as other:
        other.send_signal(number)
        other.wait()
        with claimed(path):
            assert str(os.getpid()) in (tmp_path / "out.lock").read_text()
            match = f"process {os.getpid()} is writing it"
            with pytest.raises(InputError, match=match), claimed(path):
                pass
            check_claims()
    assert [*tmp_path.iterdir()] == []


def test_a_process_that_is_killed_while_it_starts_another(tmp_path: Path) -> None:
    """A process between fork and exec holds the lock for a moment longer."""
    forks = "import os, time\n" + HOLDER.replace(
        'print("claimed"', 'os.fork() or (time.sleep(0.5), os._exit(0)); print("claimed"'
    )
    command = [sys.executable, "-W", "ignore", "-c", forks, str(tmp_path / "out")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"claimed\n"
        process.kill()
        process.wait()
        with claimed(tmp_path / "out"):
            assert str(os.getpid()) in (tmp_path / "out.lock").read_text()


def test_another_programs_lock_stays_as_it_is(tmp_path: Path) -> None:
    lock = tmp_path / "Cargo.lock"
    for content in ("", "[[package]]\n", "parse-reranker: process 1 on h is writing\nand more"):
        lock.write_text(content)
        match = r"Cargo\.lock: is not a lock of this program"
        with pytest.raises(InputError, match=match), claimed(tmp_path / "Cargo"):
            pass
        assert lock.read_text() == content
    lock.unlink()
    lock.mkdir()
    with pytest.raises(InputError, match="is not a lock"), claimed(tmp_path / "Cargo"):
        pass
    assert [*tmp_path.iterdir()] == [lock]


def test_who_loses_a_claim_notices_and_deletes_nothing(tmp_path: Path) -> None:
    path, lock = tmp_path / "out", tmp_path / "out.lock"
    with claimed(path):
        lock.unlink()
        with holder(path) as other:  # someone has deleted the file to start another run
            lost = re.escape("out: out.lock was deleted or replaced while this process was writing")
            with pytest.raises(RerankError, match=lost):
                check_claims()
            assert str(other.pid) in lock.read_text()
    check_claims()
    assert str(other.pid) in lock.read_text()


def test_a_claim_that_cannot_be_written(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "out", tmp_path / ("n" * 256)):
        with pytest.raises(InputError, match="cannot be written"), claimed(path):
            pass
    assert [*tmp_path.iterdir()] == []


def test_of_many_processes_one_at_a_time_has_a_claim(tmp_path: Path) -> None:
    program = """
import os, sys, time
from pathlib import Path
from reranker.errors import InputError
from reranker.files.claim import claimed
path, done = Path(sys.argv[1]), 0
while done < 300:
    try:
        with claimed(path):
            inside = os.open(f"{path}.inside", os.O_CREAT | os.O_EXCL)
            os.close(inside)
            os.unlink(f"{path}.inside")
            done += 1
    except InputError:
        pass
"""
    command = [sys.executable, "-c", program, str(tmp_path / "out")]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    for process in processes:
        _, messages = process.communicate(timeout=120)
        assert not process.returncode, messages.decode()
    assert [*tmp_path.iterdir()] == []


def test_a_lock_that_is_replaced_while_one_looks_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lock = tmp_path / "out", claim._lock
    with ExitStack() as before, ExitStack() as after:
        before.enter_context(claimed(path))
        looks = iter([True])

        def meanwhile(file: IO[bytes]) -> bool:
            if str(file.name) == f"{path}.lock" and next(looks, False):
                before.close()
                after.enter_context(claimed(path))
            return lock(file)

        monkeypatch.setattr(claim, "_lock", meanwhile)
        with pytest.raises(InputError, match="is writing it"), claimed(path):
            pass
        assert not any(looks)  # it was replaced
        check_claims()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("names", ["none", "temporary", "no links"])
def test_a_new_file_gets_its_name_only_once(
    names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three file systems: with files without a name, without them, and without links."""
    path = tmp_path / "out"
    if names != "none":
        monkeypatch.setattr(os, "O_TMPFILE", os.O_DIRECTORY)  # as older systems understand it
    if names == "no links":

        def link(*_: object) -> None:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(os, "link", link)
    for replace, content in ((False, b"first"), (False, b"second"), (True, b"third")):
        with contextlib.suppress(FileExistsError), NewFile(path) as new:
            assert len([*tmp_path.glob("*.tmp")]) == (names != "none")
            new.file.write(content)
            new.file.flush()
            new.give_name(replace=replace)
            assert has_name(new.file, path)
        assert new.file.closed == (content == b"second")
        new.file.close()
        assert path.read_bytes() == (b"third" if replace else b"first")
        assert [*tmp_path.iterdir()] == [path]
