"""``rerank cluster``: what it refuses, without Ray, and whole runs with it."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from reranker.commands.main import main
from reranker.errors import InputError
from reranker.files.claim import claimed
from reranker.plugins.cluster.storage import Storage
from tests.checkout import TOY_PARSER
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.plugins.cluster.lists import printed, write_shard

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs the extra: pip install '.[ray]'"
)


def on_ray(test: Callable[..., None]) -> Callable[..., None]:
    """Use the Ray of this file, whose workers may warn."""
    marks = (pytest.mark.usefixtures("ray_here"), pytest.mark.filterwarnings("default"))
    for mark in (*marks, pytest.mark.slow, needs_ray):
        test = mark(test)
    return test


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """Write a folder with shards of 7 and 3 sentences."""
    folder = tmp_path / "lists"
    folder.mkdir()
    write_shard(folder / "a.txt", 0, 7)
    write_shard(folder / "b.txt", 7, 3)
    return folder


def _run(lists: Path, out: Path, models: list[str], *flags: str) -> int:
    return main(
        ["cluster", "--nbest", f"{lists}/*", "--out", str(out), "--models", *models, *flags]
    )


@needs_ray
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--address", "127.0.0.1:1"], "no Ray cluster at 127.0.0.1:1: Connection refused"),
        (["--address", "ray://127.0.0.1:1"], "no Ray cluster at ray://127.0.0.1:1: Connection ref"),
        (["--tokens", "sentences.txt"], "--tokens has the sentences of one file"),
        (["--top", "3"], "--top needs --output ranked"),
        (["--to", "jsonl"], "--to converts --nbest, without --models and --output"),
        (["--parser", "bllip"], "a parser is for --text; --nbest has its trees already"),
        (["--nbest", "none*"], "none*: no file matches"),
        (["--out", ""], "a folder needs a name; '.' is the current folder"),
    ],
)
def test_what_cannot_be_done_is_refused(
    lists: Path,
    models: list[str],
    flags: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _run(lists, lists / "../out", models, *flags) == 2
    assert f"rerank: {message}" in capsys.readouterr().err


def test_bounds_of_actors(lists: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        _run(lists, lists / "../out", ["x.pt"], "--actors", "3:2")
    assert stopped.value.code == 2
    assert "'3:2': the first number must be the smaller one" in capsys.readouterr().err


@needs_ray
@pytest.mark.parametrize(
    ("inputs", "out", "replaced"),
    [
        (["x.txt", "out/x.mrg"], "out", "out/x.mrg"),  # the output of another input
        (["x.txt", "links/x.mrg"], "out", "links/x.mrg"),
        (["x.mrg"], ".", "x.mrg"),
        (["out/_rerank/shards/x.txt"], "out", "out/_rerank/shards/x.txt"),
    ],
)
def test_no_input_is_replaced(
    inputs: list[str],
    out: str,
    replaced: str,
    models: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "links").symlink_to("out")
    for name in inputs:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        write_shard(Path(name), 0, 2)
    assert main(["cluster", "--nbest", *inputs, "--out", out, "--models", *models]) == 2
    message = f"rerank: {tmp_path / replaced}: is also an output; give --out another folder"
    assert message in capsys.readouterr().err
    assert [*tmp_path.rglob("*.json*")] == []


@needs_ray
@pytest.mark.parametrize(
    ("kind", "what"),
    [("file", ""), ("folder", ", but a folder"), ("link", ", but a link"), ("pipe", ", but a dev")],
)
def test_a_file_that_no_record_names_is_not_replaced(
    kind: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_shard(tmp_path / "dev.mrg", 0, 2)
    place = tmp_path / "dev.txt"
    makes: dict[str, Callable[[], object]] = {
        "file": lambda: place.write_text("notes"),
        "folder": place.mkdir,
        "link": lambda: place.symlink_to("/dev/null"),
        "pipe": lambda: os.mkfifo(place),
    }
    makes[kind]()
    before = place.lstat()
    given = ["--nbest", f"{tmp_path}/dev.mrg", "--out", str(tmp_path), "--to", "trees"]
    assert main(["cluster", *given]) == 2
    message = f"rerank: {place}: not a file that this run may replace{what}"
    assert message in capsys.readouterr().err
    assert place.lstat() == before
    assert {*os.listdir(tmp_path)} == {"dev.mrg", "dev.txt"}


@needs_ray
def test_links_in_the_output_folder_are_not_followed(
    lists: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (lists / "sub").mkdir()
    write_shard(lists / "sub/c.txt", 0, 2)
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    for link in ("sub", "_rerank"):
        (tmp_path / "out" / link).symlink_to("../elsewhere")
        given = ["--nbest", f"{lists}/**/*.txt", "--out", f"{tmp_path}/out", "--to", "jsonl"]
        assert main(["cluster", *given]) == 2
        assert f"rerank: {tmp_path}/out/{link}: a link; rename" in capsys.readouterr().err
        (tmp_path / "out" / link).unlink()
    assert [*(tmp_path / "elsewhere").iterdir()] == [*(tmp_path / "out").iterdir()] == []


@needs_ray
def test_a_folder_has_one_run(
    lists: Path, models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    with claimed(tmp_path / "out/_rerank"):
        assert _run(lists, tmp_path / "out", models) == 2
    message = f"rerank: {tmp_path}/out/_rerank: process {os.getpid()} is writing it"
    assert message in capsys.readouterr().err
    assert [*(tmp_path / "out").iterdir()] == []


@needs_ray
def test_an_output_is_not_one_of_the_runs_own_files(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lists/_rerank").mkdir(parents=True)
    for name in ("a.txt", "_rerank/rejected.txt"):
        write_shard(tmp_path / "lists" / name, 0, 2)
    given = ["--nbest", f"{tmp_path}/lists/**/*.txt", "--out", str(tmp_path / "out")]
    assert main(["cluster", *given, "--to", "jsonl"]) == 2
    message = "/_rerank/rejected.txt: would be written as _rerank/rejected.jsonl, among the run's"
    assert message in capsys.readouterr().err


@pytest.fixture
def guarded_bucket(bucket: str) -> Iterator[str]:
    """Yield the bucket while its server checks credentials, and accepts none."""
    address = f"{os.environ['AWS_ENDPOINT_URL']}/moto-api/reset-auth"
    plain = {"Content-Type": "text/plain"}
    before = httpx.post(address, content=b"0", headers=plain).raise_for_status()
    yield bucket
    # It remembers the connection of the last client, with credentials or without.
    pytest.importorskip("s3fs").S3FileSystem.clear_instance_cache()
    allowed = before.json()["PREVIOUS_INITIAL_NO_AUTH_ACTION_COUNT"]
    httpx.post(address, content=str(allowed), headers=plain).raise_for_status()


@needs_ray
def test_wrong_credentials_and_none_are_said(
    lists: Path,
    models: list[str],
    guarded_bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    storage, out = f"{guarded_bucket}/lists", str(lists / "../out")
    for name in (f"{storage}/a.txt", f"{storage}/*"):
        assert main(["cluster", "--nbest", name, "--out", out, "--models", *models]) == 2
        assert f"rerank: {name}: cannot be read: Forbidden" in capsys.readouterr().err
    given = ["--nbest", f"{lists}/*", "--out", guarded_bucket]
    assert main(["cluster", *given, "--models", *models]) == 2
    unknown = "The AWS Access Key Id you provided does not exist in our records."
    assert unknown in capsys.readouterr().err
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("HOME", str(lists))  # without a file of credentials
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    pytest.importorskip("s3fs").S3FileSystem.clear_instance_cache()
    assert main(["cluster", "--nbest", f"{storage}/*", "--out", out, "--models", *models]) == 2
    assert f"rerank: {storage}/*: cannot be read: Unable to locate cred" in capsys.readouterr().err


@pytest.fixture(scope="module")
def ray_here(bucket: str) -> Iterator[None]:
    """Start one Ray for all runs of this file, since starting it takes most of the time; it has two
    cores, whatever the machine has. Its workers have the environment of its start, including the
    credentials of the bucket."""
    import ray

    os.environ.setdefault("RAY_worker_niceness", "0")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@on_ray
@pytest.mark.parametrize(
    "flags",
    [("--actors", "1", "--block", "2"), ("--actors", "2:2", "--cores", "1", "--block", "3")],
)
def test_files_are_what_rerank_prints(
    lists: Path, models: list[str], tmp_path: Path, flags: tuple[str, ...]
) -> None:
    out = tmp_path / "out"
    assert _run(lists, out, models, "--output", "ranked", *flags) == 1  # some are rejected
    for name in ("a", "b"):
        shard = lists / f"{name}.txt"
        expected = printed(shard, models, tmp_path / "expected", "--output", "ranked")
        assert (out / f"{name}.jsonl").read_bytes() == expected


@on_ray
def test_a_broken_file_is_reported_the_others_done_and_what_changes_done_again(
    lists: Path,
    models: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    (lists / "c.txt").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    assert _run(lists, out, models) == 1
    assert "c.txt:1: not an n-best list: looks like binary data" in capsys.readouterr().err
    for name in ("a", "b"):
        expected = printed(lists / f"{name}.txt", models, tmp_path / "expected")
        assert (out / f"{name}.mrg").read_bytes() == expected
    rejected = list(map(json.loads, (out / "_rerank/rejected.jsonl").read_text().splitlines()))
    # Lists 0 and 5 of a.txt have a broken candidate; c.txt is none.
    assert [Path(entry["file"]).name for entry in rejected] == ["a.txt", "a.txt", "c.txt"]
    assert [entry.get("sentence") for entry in rejected] == [0, 5, None]

    write_shard(lists / "c.txt", 11, 3)
    unchanged = (out / "a.mrg").stat().st_mtime_ns
    capsys.readouterr()
    assert _run(lists, out, models) == 1
    assert "rerank: 2 files of 3 complete already\n" in capsys.readouterr().err
    expected = printed(lists / "c.txt", models, tmp_path / "expected")
    assert (out / "c.mrg").read_bytes() == expected
    assert (out / "a.mrg").stat().st_mtime_ns == unchanged


@on_ray
def test_damaged_parts_and_finished_files_are_made_again(
    lists: Path,
    models: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The part is one that the command itself has written, before its output's folder went."""
    out = tmp_path / "out"
    (out / "b.mrg").mkdir(parents=True)  # so that b's parts stay
    with monkeypatch.context() as patch:  # as if the folder came after the outputs were checked
        patch.setattr("reranker.plugins.cluster.parts.check_outputs", lambda *_: None)
        assert _run(lists, out, models, "--block", "2") == 2
    (part,) = out.glob("_rerank/parts/b.mrg/*/*0")
    part.write_bytes(part.read_bytes().replace(b"NN", b"NM", 1))
    (out / "b.mrg").rmdir()
    capsys.readouterr()
    assert _run(lists, out, models, "--block", "2") == 1
    assert f"{part}: damaged; its sentences are computed again" in capsys.readouterr().err

    (out / "a.mrg").write_bytes((out / "a.mrg").read_bytes().replace(b"NN", b"NM", 1))
    assert _run(lists, out, models, "--block", "2") == 1
    assert "rerank: 2 files of 2 complete already\n" in capsys.readouterr().err
    assert _run(lists, out, models, "--block", "2", "--verify") == 1
    assert "rerank: 1 file of 2 complete already\n" in capsys.readouterr().err
    for name in ("a", "b"):
        expected = printed(lists / f"{name}.txt", models, tmp_path / "expected")
        assert (out / f"{name}.mrg").read_bytes() == expected


@on_ray
def test_names_are_those_of_the_folder_that_the_command_was_given_in(
    lists: Path, models: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray's processes were started in another one."""
    monkeypatch.chdir(tmp_path)
    assert _run(Path("lists"), Path("out"), models) == 1  # some are rejected
    for name in ("a", "b"):
        expected = printed(lists / f"{name}.txt", models, tmp_path / "expected")
        assert (tmp_path / "out" / f"{name}.mrg").read_bytes() == expected


@on_ray
def test_texts_become_what_rerank_parse_prints(models: list[str], tmp_path: Path) -> None:
    flags = ["--parser-command", TOY_PARSER, "--models", *models]
    texts = {"a.txt": "We saw it. " * 7, "b.txt": "The man (with eyes) isn't there! We saw it.\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    arguments = ["--text", f"{tmp_path}/*.txt", "--out", f"{tmp_path}/out", "--block", "3"]
    assert main(["cluster", *arguments, *flags, "--output", "json"]) == 0
    for name in texts:
        expected = tmp_path / "expected"
        given = ["parse", f"{tmp_path}/{name}", "--output", "json", "--out", str(expected)]
        assert main([*given, *flags]) == 0
        written = tmp_path / "out" / name.replace(".txt", ".jsonl")
        assert written.read_bytes() == expected.read_bytes()


@on_ray
@pytest.mark.parametrize("chosen", [["--language", "id"], ["--parser-model", "indonesian"]])
def test_texts_in_another_language(chosen: list[str], tmp_path: Path) -> None:
    text, out = tmp_path / "teks.txt", tmp_path / "out"
    text.write_text('Ibu guru membaca bukunya. Lagu "I cannot wait" populer.\n')
    how = [*chosen, "--output", "ranked"]
    assert main(["cluster", "--text", str(text), "--out", str(out), *how]) == 0
    expected = tmp_path / "expected"
    assert main(["parse", str(text), "--out", str(expected), *how]) == 0
    assert (out / "teks.jsonl").read_bytes() == expected.read_bytes()


@on_ray
def test_a_bucket_to_another(lists: Path, models: list[str], tmp_path: Path, bucket: str) -> None:
    storage = Storage(bucket)
    for path in lists.iterdir():
        storage.write(f"lists/{path.name}", iter([path.read_bytes()]))
    arguments = ["--nbest", f"{bucket}/lists/*.txt", "--out", f"{bucket}/trees"]
    assert main(["cluster", *arguments, "--models", *models]) == 1
    for name in ("a", "b"):
        expected = printed(lists / f"{name}.txt", models, tmp_path / "expected")
        assert storage.read(f"trees/{name}.mrg") == expected


@on_ray
def test_a_data_set_gets_the_trees_that_python_gets(models: list[str]) -> None:
    import ray.data

    from reranker import Reranker
    from reranker.plugins.cluster import map_lists

    lists = [list(CANDIDATES[:1]), list(CANDIDATES), ["no tree"]]
    rows = [{"id": number, "trees": trees} for number, trees in enumerate(lists)]
    mapped = map_lists(ray.data.from_items(rows), models, candidates="trees", batch_size=2)
    expected = list(Reranker.load(models, threads=1).rerank_lists(lists))
    for row in mapped.take_all():
        ranking = expected[row["id"]]
        assert row["trees"] == lists[row["id"]]
        assert (row["tree"], row["answer"]) == (ranking.tree, ranking.to_json())
        assert row["best_index"] == (ranking.best.index if ranking.best else None)
    with pytest.raises(InputError, match=r"candidates.* id, trees"):
        map_lists(ray.data.from_items(rows), models)


NAMESPACE = ["unshare", "--map-root-user", "--mount"]


def _may_mount() -> bool:
    try:
        return not subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode
    except FileNotFoundError:
        return False


@needs_ray
@pytest.mark.slow
@pytest.mark.skipif(not _may_mount(), reason="this machine permits no mount namespaces")
def test_a_full_disk_ends_the_run_which_resumes_when_there_is_room(
    lists: Path, models: list[str], tmp_path: Path
) -> None:
    write_shard(lists / "a.txt", 0, 200)
    small, kept = tmp_path / "small", tmp_path / "kept"
    small.mkdir()
    given = ["--nbest", f"{lists}/a.txt", "--out", str(small), "--models", *models]
    flags = ["--output", "ranked", "--block", "10", "--cores", "1"]
    command = shlex.join([sys.executable, "-m", "reranker", "cluster", *given, *flags])
    script = f"""
        mount -t tmpfs -o size=100k none {small} || exit 99
        {command}; echo "first: $?" >&2
        mount -o remount,size=10m {small} || exit 99
        {command}; echo "second: $?" >&2
        cp {small}/a.jsonl {kept}
    """
    run = subprocess.run([*NAMESPACE, "sh", "-c", script], capture_output=True, text=True)
    assert "cannot be written: No space left on device\nfirst: 2\n" in run.stderr
    assert run.stderr.endswith("second: 1\n"), run.stderr  # some are rejected
    assert "Traceback" not in run.stderr
    expected = printed(lists / "a.txt", models, tmp_path / "expected", "--output", "ranked")
    assert kept.read_bytes() == expected


@needs_ray
@pytest.mark.slow
def test_it_can_be_terminated(lists: Path, models: list[str], tmp_path: Path) -> None:
    write_shard(lists / "a.txt", 0, 2000)
    given = ["--nbest", f"{lists}/a.txt", "--out", f"{tmp_path}/out", "--models", *models]
    command = [sys.executable, "-m", "reranker", "cluster", *given, "--block", "5", "--cores", "1"]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 240
    while not list((tmp_path / "out").rglob("*/0*")) and time.monotonic() < until:
        time.sleep(0.1)
    run.terminate()
    _, messages = run.communicate(timeout=60)
    assert run.returncode == 130
    assert messages.endswith("rerank: interrupted\n")
    assert "Traceback" not in messages
