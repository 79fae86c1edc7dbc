"""The lines of a file that may be damaged."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.files.digest import file_sha256
from reranker.files.text import read_lines


def test_every_line_of_a_file_then_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    packed = gzip.compress(b"one\r\ntwo\nthree")
    path.write_bytes(packed)
    assert list(read_lines(path)) == ["one\r\n", "two\n", "three"]
    path.write_bytes(packed[:-4])  # the length is missing, the text is not
    lines = read_lines(path)
    assert [next(lines) for _ in range(3)] == ["one\r\n", "two\n", "three"]
    with pytest.raises(InputError, match=r"a\.gz: cannot be read past line 3: Compressed"):
        next(lines)
    with pytest.raises(InputError, match=r"missing: cannot be read: No such file"):
        list(read_lines(tmp_path / "missing"))


def test_the_hash_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"one")
    assert file_sha256(tmp_path / "file") == hashlib.sha256(b"one").hexdigest()
    with pytest.raises(InputError, match="missing: cannot be read"):
        file_sha256(tmp_path / "missing")
