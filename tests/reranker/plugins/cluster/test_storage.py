"""Files by URL: local ones, those in memory, and over HTTP."""

from __future__ import annotations

import gzip
import http.server
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from reranker.errors import InputError, RerankError
from reranker.nbest import read_nbest
from reranker.plugins.cluster.parts import check_case, shards
from reranker.plugins.cluster.storage import Storage, expanded, open_text
from tests.answering import Answers, answering
from tests.reranker.plugins.cluster.lists import write_shard


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

    with pytest.raises(RerankError, match=r"a: .*differs"):
        storage.write("a", content())
    assert storage.sizes() == {}


def _opened_in(folder: Path) -> Path:
    """Return the file that this process has open in the folder, which may have no name yet."""
    descriptors = Path("/proc/self/fd").iterdir()
    (file,) = (each for each in descriptors if os.path.realpath(each).startswith(f"{folder}/"))
    return file


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(RerankError, match="out/x: "):
        Storage(f"{tmp_path}/out").read("x")
    with pytest.raises(InputError, match=r"/none\*: no file matches"):
        expanded([f"{tmp_path}/none*"])
    with pytest.raises(InputError, match="none: "):
        expanded([f"{tmp_path}/none"])
    with pytest.raises(InputError, match="a folder; name its files"):
        expanded([str(tmp_path)])
    with pytest.raises(InputError, match="xyz://b/x: "):
        expanded(["xyz://b/x"])
    with pytest.raises(InputError, match="memory://out: "):
        Storage("memory://out").check_writable()


def test_names_of_outputs(tmp_path: Path) -> None:
    for name in ("d/a.txt.gz", "d/e/b.1.zst", "c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    files = expanded([f"{tmp_path}/d/*.gz", f"{tmp_path}/d/e/*", f"{tmp_path}/c"])
    assert [shard.name for shard in shards(files, ".mrg", {}, 1)] == [
        "d/a.mrg",
        "d/e/b.mrg",
        "c.mrg",
    ]
    assert [
        shard.name for shard in shards(expanded([f"{tmp_path}/d/a.txt.gz"]), ".conllu", {}, 1)
    ] == ["a.conllu"]
    (tmp_path / "d/a.gz").touch()
    with pytest.raises(InputError, match=r"a\.gz and .*a\.txt\.gz .*a\.mrg"):
        shards(expanded([f"{tmp_path}/d/*.gz"]), ".mrg", {}, 1)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("lists/../../x.txt", "which leads to another folder"),
        ("lists/..", "which leads to another folder"),
        ("lists//../x.txt", "which leads to another folder"),
        ("lists/", "which leads to another folder"),
        ("lists//x.txt", "which leads to another folder"),
        ("./x.txt", "which leads to another folder"),
        ("%2e%2e/x.txt", "which leads to another folder"),
        ("%2e%2e%2fx.txt", "which leads to another folder"),
        ("%252e%252e%252Fx.txt", "which leads to another folder"),
        ("..\\x.txt", "with a backslash or control character"),
        ("%2e%2e%5Cx.txt", "with a backslash or control character"),
        ("x%00.txt", "with a backslash or control character"),
        ("x\x1b.txt", "with a backslash or control character"),
        ("x" * 246 + ".txt", "which has more than 248 bytes"),
        ("é" * 124 + ".txt", "which has more than 248 bytes"),
        ("_rerank/x.txt", "among the run's own files"),
        ("_Rerank/x.txt", "among the run's own files"),
    ],
)
def test_names_that_lead_out_of_the_output_folder(name: str, problem: str) -> None:
    for scheme in ("s3://bucket", "https://host", "file://"):
        urls = dict.fromkeys([f"{scheme}/first.txt", f"{scheme}/{name}"], "")
        with pytest.raises(InputError, match=f"would be written as .*, {problem}$"):
            shards(urls, ".mrg", {}, 1)


def test_names_that_stay(tmp_path: Path) -> None:
    signed = "https://host/a.txt?X-Amz-Credential=AKIA%2F20250101%2Fs3&X-Amz-Signature=" + "f" * 200
    assert [shard.name for shard in shards({signed: ""}, ".mrg", {}, 1)] == ["a.mrg"]
    urls = {"s3://b/x.txt": "", "gs://c/..x/y%20z.txt": "", f"{tmp_path}/a\\b%2e.txt": ""}
    assert [shard.name for shard in shards(urls, ".mrg", {}, 1)] == [
        "s3/b/x.mrg",
        "gs/c/..x/y%20z.mrg",
        f"{tmp_path}/a\\b%2e.mrg".removeprefix("/"),
    ]


@pytest.mark.parametrize("names", [("a.txt", "a.mrg/x.txt"), ("a.txt", "_/a.txt")])
def test_no_output_is_the_folder_of_another(names: tuple[str, str]) -> None:
    urls = dict.fromkeys([f"s3://b/{name}" for name in names], "")
    if names[1].startswith("a.mrg"):
        with pytest.raises(InputError, match=r"as a.mrg/x.mrg, but s3://b/a.txt as a.mrg$"):
            shards(urls, ".mrg", {}, 1)
    else:
        assert [shard.name for shard in shards(urls, ".mrg", {}, 1)] == ["a.mrg", "_/a.mrg"]


def test_names_that_differ_in_case_where_that_does_not_count(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    names = ["s3://b/Stra\u00dfe.txt", "s3://b/c.txt", "s3://b/STRASSE.txt"]
    wanted = shards(dict.fromkeys(names, ""), ".mrg", {}, 1)
    with storage.claimed("_rerank"):
        check_case(storage, wanted)
        # As a file system looks that does not see case.
        os.link(tmp_path / "_rerank.lock", tmp_path / "_RERANK.LOCK")
        with pytest.raises(InputError, match=r"e\.txt and .*/STRASSE\.txt"):
            check_case(storage, wanted)
        check_case(storage, wanted[:2])


def test_nothing_is_written_read_or_removed_elsewhere(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "other/sub").mkdir(parents=True)
    (tmp_path / "other/sub/x").write_text("somebody's")
    (out / "link").symlink_to("../other")
    storage = Storage(str(out))
    for name in ("../other/sub", "link/sub", "a/../../other/sub", "/sub", "a//b", "./a"):
        for use in (
            lambda name: storage.write(f"{name}/x", iter([b"ours"])),
            lambda name: storage.write(f"{name}/x", iter([b"ours"]), lambda: True),
            lambda name: storage.read(f"{name}/x"),
            lambda name: storage.remove_file(f"{name}/x"),
            storage.remove,
            storage.sizes,
        ):
            with pytest.raises(InputError, match=r"leads out of the folder|a link; rename"):
                use(name)
    assert (tmp_path / "other/sub/x").read_text() == "somebody's"


@pytest.mark.parametrize("where", ["disk", "bucket"])
def test_only_what_a_run_made_is_replaced(where: str, request: pytest.FixtureRequest) -> None:
    if where == "disk":
        storage: Storage = request.getfixturevalue("storage")
    else:
        storage = Storage(f"{request.getfixturevalue('bucket')}/own")

    def appears() -> Iterator[bytes]:
        yield b"ours"
        storage.write("b", iter([b"somebody's"]))

    storage.write("a", iter([b"somebody's"]))
    message = "not a file that this run may replace; rename or delete it, or"
    with pytest.raises(InputError, match=f"a: {message} give --out another folder"):
        storage.write("a", iter([b"ours"]), lambda: False)
    with pytest.raises(InputError, match=f"b: {message}"):
        storage.write("b", appears(), lambda: False)
    assert storage.read_all(["a", "b"]) == [b"somebody's", b"somebody's"]
    storage.write("a", iter([b"ours"]), lambda: True)
    storage.write("c", iter([b"ours"]), lambda: False)
    assert storage.read_all(["a", "c"]) == [b"ours", b"ours"]


class _Page(Answers):
    """An index page with names that lead elsewhere."""

    def do_GET(self) -> None:
        links = ("a.txt", "%2e%2e%2fup.txt", "../../far.txt")
        page = "".join(f'<a href="{link}">' for link in links).encode()
        self.answer(page, 404 if "*" in self.path else 200)

    do_HEAD = do_GET


@pytest.mark.parametrize(("pattern", "name"), [("*", "%2e%2e%2fup"), ("**", "../../far")])
def test_an_index_page_leads_nowhere_else(pattern: str, name: str) -> None:
    pytest.importorskip("aiohttp")
    with answering(_Page) as port:
        address = f"http://127.0.0.1:{port}"
        urls = [*expanded([f"{address}/lists/{pattern}"])]
    (strange,) = (url for url in urls if url == f"{address}/lists/{name}.txt")
    message = f"{strange}: would be written as {re.escape(name)}.mrg, which leads to another"
    with pytest.raises(InputError, match=message):
        shards(dict.fromkeys([f"{address}/lists/a.txt", strange], ""), ".mrg", {}, 1)


class _Files(Answers, http.server.SimpleHTTPRequestHandler):
    """A handler that answers with the files of a folder, and logs nothing."""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Start an HTTP server of the folder; yield its address."""
    with answering(partial(_Files, directory=str(tmp_path))) as port:
        yield f"http://127.0.0.1:{port}"


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
    with pytest.raises(InputError, match=r"none\.gz: "):
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
    with pytest.raises(InputError, match=r"none\.gz: "):
        expanded([f"{bucket}/none.gz"])


def test_a_file_that_goes_while_it_is_read_is_an_error_and_not_its_end(bucket: str) -> None:
    storage = Storage(f"{bucket}/others")
    storage.write("a.txt", iter([b"1\t0\n-1\n(S (NN %s))\n\n" % (b"a" * 1000) * 20_000]))
    lists = read_nbest(open_text(f"{bucket}/others/a.txt"))
    next(lists)
    storage.remove_file("a.txt")
    with pytest.raises(InputError, match=r"a\.txt: cannot be read: "):
        list(lists)
