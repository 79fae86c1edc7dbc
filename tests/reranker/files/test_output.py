"""Files that appear only when they are complete, and those that must not be overwritten."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reranker.errors import InputError, RerankError
from reranker.files.output import open_whole, output_path


class Stopped(Exception):
    """Stands for whatever ends a run."""


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
    with pytest.raises(InputError, match=r"out: there is no folder .*/no; create it first"):
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
