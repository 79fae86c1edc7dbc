"""The search for a BLLIP model, and its unpacking."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reranker.checkpoints.installed import user_folder
from reranker.errors import InputError
from reranker.files.opening import file_sha256
from reranker.plugins.other_parsers.bllip_model import (
    bllip_model,
    cache_folder,
    remove_temporary_models,
)
from tests.waiting import at_once

FILES = {"terms.txt": b"NN 2\n", "r.g": b"0 1 2\n" * 1000}


def packed(path: Path, files: dict[str, bytes], folder: str = "") -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(folder + name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()
    yield
    remove_temporary_models()


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] != "."}


@pytest.mark.parametrize("inside", ["", "model/"])
def test_a_packed_model_is_unpacked_once(tmp_path: Path, inside: str) -> None:
    path = packed(tmp_path / "m.tar.gz", FILES, inside)
    folder = bllip_model(str(path)).folder()
    assert folder.parent == cache_folder() and content(folder) == FILES
    assert os.listdir(cache_folder()) == [folder.name]
    before = (folder / "r.g").stat()
    assert bllip_model(str(path)).folder() == folder
    assert (folder / "r.g").stat().st_mtime_ns == before.st_mtime_ns


def test_what_has_been_tidied_up_is_unpacked_again(tmp_path: Path) -> None:
    path = packed(tmp_path / "m.tar.gz", FILES)
    folder = bllip_model(str(path)).folder()
    (folder / "r.g").unlink()
    assert content(bllip_model(str(path)).folder()) == FILES
    (folder / "r.g").write_bytes(b"")
    (folder / "notes").write_text("mine")
    assert content(bllip_model(str(path)).folder()) == {**FILES, "notes": b"mine"}


def test_another_file_of_the_same_name_is_another_model(tmp_path: Path) -> None:
    path = packed(tmp_path / "m.tar.gz", FILES)
    first = bllip_model(str(path)).folder()
    packed(path, {**FILES, "r.g": b"other"})
    assert bllip_model(str(path)).folder() != first


@pytest.mark.parametrize("cache", ["file", "relative"])
def test_where_nothing_can_be_kept_a_temporary_folder_will_do(
    cache: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")  # even root cannot make a folder in it
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache) if cache == "file" else cache)
    path = packed(tmp_path / "m.tar.gz", FILES)
    folder = bllip_model(str(path)).folder()
    assert folder.parent == tmp_path / "temporary" and content(folder) == FILES
    assert not (tmp_path / "relative").exists()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder where models are unpacked, as there is no cache."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    return tmp_path / "temporary"


def test_a_temporary_folder_is_filled_once_until_it_is_removed(
    tmp_path: Path, temporary: Path
) -> None:
    path = packed(tmp_path / "m.tar.gz", FILES)
    (folder,) = {*at_once(4, lambda: bllip_model(str(path)).folder())}
    assert list(temporary.iterdir()) == [folder]
    other = bllip_model(str(packed(tmp_path / "other.tar.gz", {"terms.txt": b""}))).folder()
    assert other != folder
    (folder / "r.g").unlink()  # as a cleanup of temporary files does
    again = bllip_model(str(path)).folder()
    assert content(again) == FILES and {*temporary.iterdir()} == {again, other}
    remove_temporary_models()
    assert not list(temporary.iterdir())
    assert content(bllip_model(str(path)).folder()) == FILES


def test_nothing_is_left_of_what_is_not_a_model(tmp_path: Path, temporary: Path) -> None:
    with pytest.raises(InputError, match=r"no terms\.txt"):
        bllip_model(str(packed(tmp_path / "m.tar.gz", {"r.g": b""}))).folder()
    assert not list(temporary.iterdir())


def test_a_program_that_ends_leaves_no_temporary_folder(tmp_path: Path, temporary: Path) -> None:
    path = packed(tmp_path / "m.tar.gz", FILES)
    program = (
        "import sys; from reranker.plugins.other_parsers.bllip_model import bllip_model; "
        "print(bllip_model(sys.argv[1]).folder())"
    )
    command = [sys.executable, "-c", program, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert Path(ended.stdout.strip()).parent == temporary
    assert not list(temporary.iterdir())


def test_a_folder_is_used_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"terms\.txt"):
        bllip_model(str(tmp_path))
    (tmp_path / "terms.txt").write_text("")
    assert bllip_model(str(tmp_path)).folder() == tmp_path


@pytest.mark.parametrize(
    "files, message",
    [
        ({"r.g": b""}, r"not a BLLIP model: no terms\.txt"),
        ({"a/terms.txt": b"", "b/terms.txt": b""}, r"two files are called terms\.txt"),
        ({".files.json": b"", "terms.txt": b""}, r"'\.files\.json' is in it"),
        ({f"{number}": b"" for number in range(300)}, "too large"),
    ],
)
def test_what_is_not_a_model(tmp_path: Path, files: dict[str, bytes], message: str) -> None:
    with pytest.raises(InputError, match=message):
        bllip_model(str(packed(tmp_path / "m.tar.gz", files))).folder()
    assert os.listdir(cache_folder()) == []


def test_nothing_is_written_elsewhere(tmp_path: Path) -> None:
    path = packed(tmp_path / "m.tar.gz", {"../../../escaped": b"x", **FILES})
    assert content(bllip_model(str(path)).folder()) == {"escaped": b"x", **FILES}
    assert not list(tmp_path.glob("escaped"))


def test_links_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        entry = tarfile.TarInfo("terms.txt")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    with pytest.raises(InputError, match=r"'terms\.txt' is in it"):
        bllip_model(str(path)).folder()


@pytest.mark.parametrize(
    "name",
    ["\N{EURO SIGN}\0.txt", "n" * 300, "\N{EURO SIGN}" * 100, ".."],
    ids=["nul", "letters", "bytes", "parent"],
)
def test_names_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path / "m.tar.gz", {name: b"", **FILES})
    with pytest.raises(InputError, match=r"m\.tar\.gz: not a BLLIP model: '.*is in it") as refused:
        bllip_model(str(path)).folder()
    assert len(str(refused.value)) < len(str(path)) + 100


def test_headers_that_make_no_sense(tmp_path: Path) -> None:
    path = tmp_path / "m.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        entry = tarfile.TarInfo("terms.txt")
        entry.pax_headers = {"GNU.sparse.map": "a,b"}
        archive.addfile(entry)
    with pytest.raises(InputError, match=r"m\.tar\.gz: not a packed BLLIP model"):
        bllip_model(str(path)).folder()


@pytest.mark.parametrize("damage", ["cut", "no gzip", "no tar", "flipped"])
def test_damaged_files(tmp_path: Path, damage: str) -> None:
    path = packed(tmp_path / "m.tar.gz", FILES)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[-6] ^= 1  # of the check sum
    path.write_bytes(
        {
            "cut": whole[: len(whole) // 2],
            "no gzip": b"words",
            "no tar": gzip.compress(b"words" * 1000),
            "flipped": bytes(flipped),
        }[damage]
    )
    with pytest.raises(InputError, match=r"m\.tar\.gz: not a packed BLLIP model"):
        bllip_model(str(path)).folder()


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    entry = tarfile.TarInfo("terms.txt")
    entry.size = 1 << 40
    path = tmp_path / "m.tar.gz"
    path.write_bytes(gzip.compress(entry.tobuf() + bytes(10_000)))
    with pytest.raises(InputError, match="too large"):
        bllip_model(str(path)).folder()


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
@pytest.mark.parametrize("size", [100_000, 600_000_000])
def test_a_long_header_is_refused_before_it_is_inflated(
    tmp_path: Path, kind: bytes, size: int
) -> None:
    """600 MB of it would take a second, 600 MB of memory and more."""
    header = tarfile.TarInfo("header")
    header.type, header.size = kind, size
    path = packed(tmp_path / "m.tar.gz", FILES)
    rest = gzip.decompress(path.read_bytes())
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(header.tobuf())
        if size < 1_000_000:
            file.write(b"9" * (size + -size % 512))
            file.write(rest)
        else:
            file.write(bytes(1_000_000))  # the rest would have come from here
    with pytest.raises(InputError, match=r"not a packed BLLIP model.*a header of \d+ bytes"):
        bllip_model(str(path)).folder()


def test_short_headers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "m.tar.gz"
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, text in FILES.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(text), 1.5  # a header of its own for half a second
            archive.addfile(entry, io.BytesIO(text))
    assert content(bllip_model(str(path)).folder()) == FILES


def test_models_of_the_user_by_name(tmp_path: Path) -> None:
    own = user_folder() / "mine"
    own.mkdir(parents=True)
    (own / "terms.txt").write_text("")
    assert bllip_model("mine").folder() == own
    with pytest.raises(InputError, match=r"none: no such folder or file, .*mine"):
        bllip_model("none")


def test_a_file_that_was_not_published_is_refused(tmp_path: Path) -> None:
    own = user_folder() / "mine"
    own.mkdir(parents=True)
    path = packed(own / "m.tar.gz", FILES)
    about = '[[parser_models]]\nname = "packed"\nfile = "m.tar.gz"\nsha256 = "{}"\n'
    (own / "about.toml").write_text(about.format(file_sha256(path)))
    assert content(bllip_model("packed").folder()) == FILES
    packed(path, {**FILES, "r.g": b"other"})
    with pytest.raises(InputError, match=r"m\.tar\.gz: its SHA-256 is .* not the file that was"):
        bllip_model("packed")
