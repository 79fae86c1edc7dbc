"""The lines of a file that may be damaged."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from reranker.errors import InputError
from reranker.files.opening import file_sha256
from reranker.files.text import open_text, read_lines


def test_every_line_of_a_file_then_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    packed = gzip.compress(b"one\r\ntwo\nthree")
    path.write_bytes(packed)
    assert list(read_lines(path)) == ["one\r\n", "two\n", "three"]
    path.write_bytes(packed[:-4])  # the length is missing, the text is not
    lines = read_lines(path)
    assert [next(lines) for _ in range(3)] == ["one\r\n", "two\n", "three"]
    with pytest.raises(InputError, match=r"a\.gz: .*line 3: "):
        next(lines)
    with pytest.raises(InputError, match=r"missing: cannot be read: No such file"):
        list(read_lines(tmp_path / "missing"))
    with pytest.raises(InputError, match=r"https://x\.org/a: .*download the file first"):
        list(read_lines("https://x.org/a"))


def test_an_incomplete_frame_of_zstd_is_damage(tmp_path: Path) -> None:
    """Wherever it ends: within a frame, the text is not all there; between two, it may be."""
    path, first = tmp_path / "a.zst", zstandard.compress(b"one\ntwo\n")
    packed = first + zstandard.compress(b"three\n")
    for end in range(4, len(packed) + 1):  # with fewer bytes it is not known to be packed
        path.write_bytes(packed[:end])
        if end in (len(first), len(packed)):
            whole = ["one\n", "two\n"] + ["three\n"] * (end == len(packed))
            assert list(read_lines(path)) == whole
        else:
            with pytest.raises(InputError, match="Compressed file ended before"):
                list(read_lines(path))


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_looking_at_the_beginning_uses_nothing_up(
    tmp_path: Path, packed: Callable[[bytes], bytes]
) -> None:
    (tmp_path / "t").write_bytes(packed(b"\xef\xbb\xbfIt\xff\nruns\n"))
    with open_text(tmp_path / "t") as file:
        assert file.head() == file.head() == "It\udcff\nruns\n"
        assert list(file) == ["It\udcff\n", "runs\n"]
    (tmp_path / "t").write_bytes(b"")
    with open_text(tmp_path / "t") as file:
        assert file.head() == "" and list(file) == []


def test_the_hash_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"one")
    assert file_sha256(tmp_path / "file") == hashlib.sha256(b"one").hexdigest()
    with pytest.raises(InputError, match="missing: cannot be read"):
        file_sha256(tmp_path / "missing")
