"""Files whose names the program chose replace nothing that it did not make."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.files.journal import open_output
from reranker.files.output import open_whole
from reranker.files.own import always, check_new, check_own, make_folder, never, record_in

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
    with pytest.raises(InputError, match="a contains files of another kind: choose another --work"):
        check_new(tmp_path / "a", "choose another --work")
    for name in ("a/b/c.lock", "a/b/c.lock/d"):
        with pytest.raises(InputError, match=r"c\.lock.*: cannot be written: "):
            make_folder(tmp_path / name)


def test_the_record_of_a_folder(tmp_path: Path) -> None:
    assert record_in(tmp_path / "settings.json") is None
    (tmp_path / "settings.json").write_text("{}\n")
    assert record_in(tmp_path / "settings.json") == "{}\n"
