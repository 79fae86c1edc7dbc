"""Files that appear only when they are complete, and those that must not be overwritten."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reranker.errors import InputError, RerankError
from reranker.files.claim import claimed
from reranker.files.journal import open_output
from reranker.files.output import (
    always,
    check_new,
    check_own,
    files_of,
    make_folder,
    never,
    open_whole,
    output_path,
    output_paths,
    record_in,
    whole_file,
)
from tests.reranker.files.disk_order import disk_order


class Stopped(Exception):
    """A stand-in for any end of a run."""


def test_open_whole_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped), open_whole(path) as file:
        file.write("half")
        raise Stopped
    assert list(tmp_path.iterdir()) == []
    with open_whole(path) as file:
        file.write("one\n")
        file.write("two\n")
    assert path.read_text() == "one\ntwo\n"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "out", Path("/dev/full/out")):
        with pytest.raises(RerankError, match="cannot be written"), open_whole(path):
            pass
    with pytest.raises(InputError, match=r"out: .*/no"):
        output_path(tmp_path / "no" / "out")


def test_what_must_not_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("lists")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    for path in (Path(""), Path("/"), Path("."), tmp_path):
        with pytest.raises(InputError, match="it is a directory"):
            output_path(path)
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(InputError, match="not a regular file"):
            output_path(path)
    for path in (tmp_path / "file", tmp_path / "link"):
        with pytest.raises(InputError, match="is also an input"):
            output_path(path, ["-", "missing", str(tmp_path / "file")])
        assert output_path(path, ["-", "missing"]) == tmp_path / "file"
    assert output_path(None) is None


def test_a_name_of_ones_own(tmp_path: Path) -> None:
    path, notes = tmp_path / "out", tmp_path / "out.tmp"
    notes.write_text("my notes")
    with open_whole(path) as file, open_whole(path) as other:  # as two processes might
        file.write("one\n")
        other.write("two\n")
    assert path.read_text() == "one\n"
    assert notes.read_text() == "my notes"
    assert {*tmp_path.iterdir()} == {path, notes}
    long = tmp_path / ("\N{PILE OF POO}" * 63)
    with open_whole(long) as file:
        file.write("three\n")
    assert long.read_text() == "three\n"


def test_a_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    with open_whole(tmp_path / "out"):
        pass
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_what_is_complete_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = disk_order(tmp_path, monkeypatch)
    with whole_file(tmp_path / "out") as file:
        file.write(b"one\n")
    assert order == ["write new", "replace out", "write folder"]


def test_who_has_lost_a_claim_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("another run's\n")
    with (
        claimed(tmp_path / "state"),
        pytest.raises(RerankError, match=r"state\.lock was deleted or replaced"),
        open_whole(path) as file,
    ):
        file.write("one\n")
        (tmp_path / "state.lock").unlink()
    assert [*tmp_path.iterdir()] == [path]
    assert path.read_text() == "another run's\n"


def test_inputs_under_other_names(tmp_path: Path) -> None:
    folder = tmp_path / "encoder"
    folder.mkdir()
    (folder / "vocab.txt").write_text("words")
    (tmp_path / "link").symlink_to(folder / "vocab.txt")
    (tmp_path / "hard").hardlink_to(folder / "vocab.txt")
    for path in (tmp_path / "link", tmp_path / "hard"):
        with pytest.raises(InputError, match="is also an input"):
            output_path(path, [folder / "vocab.txt"])
        with pytest.raises(InputError, match="is also an input"):
            output_path(path, files_of([folder, "", tmp_path / "none"]))
        output_path(path, [folder])
    with pytest.raises(InputError, match="new: "):
        output_paths([tmp_path / "new", None, folder / ".." / "new"])
    assert output_paths([None, tmp_path / "new"]) == [None, tmp_path / "new"]


IN_THE_PLACE: dict[str, Callable[[Path], object]] = {
    "a folder": Path.mkdir,
    "a link": lambda path: path.symlink_to(path.parent / "target"),
    "a device or pipe": os.mkfifo,
}


def test_only_what_is_ours_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert not check_own(path, never)
    path.write_text("somebody's")
    message = f"{path}: not a file that this run may replace; rename or delete it, or choose "
    with pytest.raises(InputError, match=message), open_whole(path, never):
        raise AssertionError("the work has begun")
    with open_whole(path, lambda there: there.read_text() == "somebody's") as file:
        file.write("ours")
    assert path.read_text() == "ours"


@pytest.mark.parametrize("kind", IN_THE_PLACE)
def test_what_is_no_file_is_never_replaced(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    IN_THE_PLACE[kind](path)
    before = path.lstat()
    message = f"not a file that this run may replace, but {kind}; rename or delete it"
    with pytest.raises(InputError, match=message):
        check_own(path, always)
    with pytest.raises(InputError, match=message):
        record_in(path)
    with pytest.raises(InputError, match=message), open_whole(path, always):
        pass
    assert path.lstat().st_ino == before.st_ino


@pytest.mark.parametrize("kind", IN_THE_PLACE)
@pytest.mark.parametrize("beside", ["part", "journal"])
def test_no_journal_or_answers_but_files(beside: str, kind: str, tmp_path: Path) -> None:
    IN_THE_PLACE[kind](tmp_path / f"x.{beside}")
    message = f"x.{beside}: not a file that this run may replace, but {kind}"
    with pytest.raises(InputError, match=message), open_output(tmp_path / "x", True, {}):
        pass
    assert [each.name for each in tmp_path.iterdir()] == [f"x.{beside}"]


def test_what_appears_during_the_work_stays(tmp_path: Path) -> None:
    path = tmp_path / "curve"
    with pytest.raises(InputError, match="curve: not a file"), open_whole(path, never) as file:
        file.write("ours")
        path.write_text("somebody's")
    assert path.read_text() == "somebody's"
    assert [*tmp_path.iterdir()] == [path]


def test_folders(tmp_path: Path) -> None:
    make_folder(tmp_path / "a/b")
    (tmp_path / "a/b/c.lock").touch()
    make_folder(tmp_path / "a/b")
    check_new(tmp_path / "a/b", "choose another --work")
    check_new(tmp_path / "none", "choose another --work")
    with pytest.raises(InputError, match=r"a .*choose another --work"):
        check_new(tmp_path / "a", "choose another --work")
    for name in ("a/b/c.lock", "a/b/c.lock/d"):
        with pytest.raises(InputError, match=r"c\.lock.*: cannot be written: "):
            make_folder(tmp_path / name)


def test_the_record_of_a_folder(tmp_path: Path) -> None:
    assert record_in(tmp_path / "settings.json") is None
    (tmp_path / "settings.json").write_text("{}\n")
    assert record_in(tmp_path / "settings.json") == "{}\n"
