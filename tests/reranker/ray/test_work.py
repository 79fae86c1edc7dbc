"""What Ray's workers do, called one after the other without Ray."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from reranker.checkpoints.ensemble_file import named_models
from reranker.files.digest import file_sha256
from reranker.nbest import ReadOptions
from reranker.ray import work
from reranker.ray.parts import Record, Shard, finished, shards
from reranker.ray.storage import Storage, expanded
from reranker.ray.work import Batch, Ranked, Ranker, Reading, joined
from tests.reranker.ray.lists import printed, write_shard


@pytest.fixture(scope="module")
def checkpoints(models: list[str]) -> list[bytes]:
    return [Path(path).read_bytes() for path in models]


@pytest.fixture
def wanted(tmp_path: Path) -> list[Shard]:
    """Two shards of 7 and 3 sentences."""
    (tmp_path / "lists").mkdir()
    write_shard(tmp_path / "lists/a.txt", 0, 7)
    write_shard(tmp_path / "lists/b.txt", 7, 3)
    return shards(expanded([f"{tmp_path}/lists/*.txt"]), "ranked", {}, 10)


def _ranker(
    wanted: list[Shard], out: str, models: list[str], checkpoints: list[bytes], output: str
) -> Ranker:
    named = named_models(models, pins=map(file_sha256, models))
    ranked = Ranked(named, "sum", "cpu", 1, "exact", output, False, None)
    return Ranker(wanted, out, ranked, checkpoints)


def _rows(wanted: list[Shard], out: str) -> list[Batch]:
    reading = Reading(tuple(wanted), out, ReadOptions())
    return list(reading({"shard": range(len(wanted))}))


def _of(wanted: list[Shard], block: int) -> list[Shard]:
    return [replace(shard, block=block) for shard in wanted]


def _joined(wanted: list[Shard], out: str, rows: Iterable[Batch]) -> None:
    for row in rows:
        if row["kind"] == [work.END]:
            end = json.loads(row["content"][0])
            record = joined(wanted[row["shard"][0]], out, end["firsts"], end["warnings"])
            assert isinstance(record, Record)


@pytest.mark.parametrize("block", [1, 3, 100])
@pytest.mark.parametrize("output", ["best", "ranked"])
def test_shards_are_what_rerank_prints_for_blocks_of_any_size_in_any_order(
    wanted: list[Shard],
    models: list[str],
    checkpoints: list[bytes],
    tmp_path: Path,
    block: int,
    output: str,
) -> None:
    out, wanted = str(tmp_path / "out"), _of(wanted, block)
    ranker = _ranker(wanted, out, models, checkpoints, output)
    rows = _rows(wanted, out)
    _joined(wanted, out, [ranker(row) for row in reversed(rows)][::-1])
    for shard in wanted:
        expected = printed(shard.url, models, tmp_path / "expected", "--output", output)
        assert (tmp_path / "out" / shard.name).read_bytes() == expected
    assert not Storage(out).sizes("_rerank/parts")


def test_blocks_whose_parts_are_there_are_not_ranked_again(
    wanted: list[Shard], models: list[str], checkpoints: list[bytes], tmp_path: Path
) -> None:
    out, wanted = str(tmp_path / "out"), _of(wanted, 2)
    ranker = _ranker(wanted, out, models, checkpoints, "best")
    before = _rows(wanted, out)
    assert [row["first"][0] for row in before if row["kind"] == [work.LISTS]] == [0, 2, 4, 6, 0, 2]
    ranker(before[1])
    after = _rows(wanted, out)
    assert [row["first"][0] for row in after if row["kind"] == [work.LISTS]] == [0, 4, 6, 0, 2]
    assert [row["first"][0] for row in after if row["kind"] == [work.DONE]] == [2]
    _joined(wanted, out, [ranker(row) for row in after])
    for shard in wanted:
        assert (tmp_path / "out" / shard.name).read_bytes() == printed(
            shard.url, models, tmp_path / "expected"
        )


def test_parts_of_another_block_size_are_not_mistaken_for_ones_of_this(
    wanted: list[Shard], models: list[str], checkpoints: list[bytes], tmp_path: Path
) -> None:
    out, wanted = str(tmp_path / "out"), _of(wanted, 2)
    other = _of(wanted, 3)
    _ranker(other, out, models, checkpoints, "best")(_rows(other, out)[0])
    ranker = _ranker(wanted, out, models, checkpoints, "best")
    _joined(wanted, out, [ranker(row) for row in _rows(wanted, out)])
    assert (tmp_path / "out/a.jsonl").read_bytes() == printed(
        wanted[0].url, models, tmp_path / "expected"
    )


def test_finished_shards_are_known_until_they_their_input_or_settings_change(
    wanted: list[Shard], models: list[str], checkpoints: list[bytes], tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    ranker = _ranker(wanted, out, models, checkpoints, "best")
    _joined(wanted, out, [ranker(row) for row in _rows(wanted, out)])
    records = finished(Storage(out), wanted)
    # Lists 0 and 5 have a broken candidate; lists of 1 to 4 usable ones.
    assert records["a.jsonl"].counts["sentences"] == 7
    assert records["a.jsonl"].counts["rejected"] == 2
    assert records["a.jsonl"].counts["candidates"] == 1 + 2 + 3 + 4 + 1 + 2 + 3
    (tmp_path / "out/a.jsonl").write_text("cut off")
    assert list(finished(Storage(out), wanted)) == ["b.jsonl"]
    files = expanded([f"{tmp_path}/lists/*.txt"])
    assert not finished(Storage(out), shards(files, "ranked", {"lm_weight": 0.5}, 10))
    write_shard(tmp_path / "lists/b.txt", 7, 4)
    assert not finished(
        Storage(out), shards(expanded([f"{tmp_path}/lists/*.txt"]), "ranked", {}, 10)
    )


def test_a_shard_that_is_no_nbest_file_fails_alone(wanted: list[Shard], tmp_path: Path) -> None:
    Path(wanted[0].url).write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    rows = _rows(wanted, str(tmp_path / "out"))
    assert [(row["shard"], row["kind"]) for row in rows] == [
        ([0], [work.FAILED]),
        ([1], [work.LISTS]),
        ([1], [work.END]),
    ]
    assert b"a.txt:1: not an n-best list: looks like binary data" in rows[0]["content"][0]


def test_an_output_that_cannot_be_written_is_told(
    wanted: list[Shard], models: list[str], checkpoints: list[bytes], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ranker = _ranker(wanted, str(out), models, checkpoints, "best")
    rows = _rows(wanted, str(out))
    out.write_text("a file where the folder should be")
    answer = ranker(rows[0])
    assert answer["kind"] == [work.BROKEN]
    assert b"cannot be written" in answer["content"][0]
