"""Files by URL: local ones, those in memory, and over HTTP."""

from __future__ import annotations

import gzip
import http.server
import os
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from reranker.errors import InputError, RerankError
from reranker.nbest import read_nbest
from reranker.ray.parts import shards
from reranker.ray.storage import Storage, expanded, open_text
from tests.reranker.ray.lists import write_shard


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(f"{tmp_path}/[out]/")


def _failing() -> Iterator[bytes]:
    yield b"a beginning"
    raise RerankError("the source failed")


def test_what_is_written_is_read_listed_and_removed(storage: Storage) -> None:
    assert storage.sizes() == {}
    assert storage.write("a/b", iter([b"one ", b"two"])) == 7
    assert storage.write("c", iter([b""])) == 0
    assert storage.sizes() == {"a/b": 7, "c": 0}
    assert storage.sizes("a") == {"a/b": 7}
    assert storage.read_all(["a/b", "c"]) == [b"one two", b""]
    storage.remove("a")
    storage.remove("a")
    assert storage.sizes() == {"c": 0}


def test_a_file_is_written_whole_or_not_at_all(storage: Storage) -> None:
    storage.write("a", iter([b"before"]))
    for name in ("a", "new"):
        with pytest.raises(RerankError, match="the source failed"):
            storage.write(name, _failing())
    assert storage.read_all(["a"]) == [b"before"]
    assert storage.sizes() == {"a": 6}


def test_a_file_that_the_disk_has_otherwise_than_it_was_written_gets_no_name(
    storage: Storage, tmp_path: Path
) -> None:
    def content() -> Iterator[bytes]:
        yield bytes(1 << 20)  # more than any buffer: it is in the file
        with _opened_in(tmp_path / "[out]").open("r+b") as file:
            file.write(b"\1")
        yield b"the end"

    with pytest.raises(RerankError, match="a: cannot be written: the file on disk differs"):
        storage.write("a", content())
    assert storage.sizes() == {}


def _opened_in(folder: Path) -> Path:
    """The file that this process has open there, which may have no name yet."""
    descriptors = Path("/proc/self/fd").iterdir()
    (file,) = (each for each in descriptors if os.path.realpath(each).startswith(f"{folder}/"))
    return file


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(RerankError, match="out/x: cannot be read: no such file"):
        Storage(f"{tmp_path}/out").read("x")
    with pytest.raises(InputError, match=r"/none\*: no file matches"):
        expanded([f"{tmp_path}/none*"])
    with pytest.raises(InputError, match="none: cannot be read: no such file"):
        expanded([f"{tmp_path}/none"])
    with pytest.raises(InputError, match="a folder; name its files"):
        expanded([str(tmp_path)])
    with pytest.raises(InputError, match="xyz://b/x: cannot be opened: Protocol not known: xyz"):
        expanded(["xyz://b/x"])
    with pytest.raises(InputError, match="memory://out: cannot be written: only local folders"):
        Storage("memory://out").check_writable()


def test_names_of_outputs(tmp_path: Path) -> None:
    for name in ("d/a.txt.gz", "d/e/b.1.zst", "c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    files = expanded([f"{tmp_path}/d/*.gz", f"{tmp_path}/d/e/*", f"{tmp_path}/c"])
    assert [shard.name for shard in shards(files, "best", {}, 1)] == [
        "d/a.mrg",
        "d/e/b.mrg",
        "c.mrg",
    ]
    assert [
        shard.name for shard in shards(expanded([f"{tmp_path}/d/a.txt.gz"]), "conllu", {}, 1)
    ] == ["a.conllu"]
    (tmp_path / "d/a.gz").touch()
    with pytest.raises(InputError, match=r"a\.gz and .*a\.txt\.gz would both be written as a\.mrg"):
        shards(expanded([f"{tmp_path}/d/*.gz"]), "best", {}, 1)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """An HTTP server of the folder."""
    handler = partial(_Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_lists_are_read_over_http_as_from_disk(address: str, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    write_shard(tmp_path / "a.txt", 0, 4)
    packed = tmp_path / "a.txt.gz"
    packed.write_bytes(gzip.compress((tmp_path / "a.txt").read_bytes()))
    url = f"{address}/a.txt.gz"
    assert list(expanded([url])) == [url]
    read = list(read_nbest(open_text(url)))
    assert [[c.text for c in nbest.candidates] for nbest in read] == [
        [c.text for c in nbest.candidates] for nbest in read_nbest(packed)
    ]
    with pytest.raises(InputError, match=r"none\.gz: cannot be read: no such file"):
        expanded([f"{address}/none.gz"])


def test_objects_appear_when_they_are_complete(bucket: str) -> None:
    storage = Storage(f"{bucket}/out")
    assert storage.write("a/[1]", iter([b"one ", b"two"])) == 7
    for name in ("a/[1]", "new"):
        with pytest.raises(RerankError, match="the source failed"):
            storage.write(name, _failing())
    large = [bytes([number]) * (1 << 20) for number in range(60)]  # uploaded in several parts
    assert storage.write("large", iter(large)) == 60 << 20
    assert storage.read_all(["a/[1]", "large"]) == [b"one two", b"".join(large)]
    assert storage.sizes() == {"a/[1]": 7, "large": 60 << 20}
    storage.remove("a")
    assert list(storage.sizes()) == ["large"]


def test_lists_of_a_bucket(bucket: str, tmp_path: Path) -> None:
    write_shard(tmp_path / "a.txt", 0, 4)
    packed = gzip.compress((tmp_path / "a.txt").read_bytes())
    Storage(f"{bucket}/lists").write("a.txt.gz", iter([packed]))
    (url, known) = next(iter(expanded([f"{bucket}/lists/*.gz"]).items()))
    assert url == f"{bucket}/lists/a.txt.gz"
    assert known.startswith(f"{len(packed)} ")
    lists = read_nbest(open_text(url))
    assert [nbest.id for nbest in lists] == ["0", "1", "2", "3"]
    with pytest.raises(InputError, match=r"none\.gz: cannot be read: no such file"):
        expanded([f"{bucket}/none.gz"])


def test_a_file_that_goes_while_it_is_read_is_an_error_and_not_its_end(bucket: str) -> None:
    storage = Storage(f"{bucket}/others")
    storage.write("a.txt", iter([b"1\t0\n-1\n(S (NN %s))\n\n" % (b"a" * 1000) * 20_000]))
    lists = read_nbest(open_text(f"{bucket}/others/a.txt"))
    next(lists)
    storage.remove_file("a.txt")
    with pytest.raises(InputError, match=r"a\.txt: cannot be read: "):
        list(lists)
