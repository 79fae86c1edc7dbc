"""Ray's workers, called one after the other without Ray."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from reranker.checkpoints.ensemble_file import named_models
from reranker.commands.main import main
from reranker.errors import InputError
from reranker.files.opening import file_sha256
from reranker.nbest import ReadOptions
from reranker.parsers.choice import ParserChoice
from reranker.plugins.cluster import work
from reranker.plugins.cluster.parts import (
    FinishedShard,
    Shard,
    check_outputs,
    finished,
    join,
    shards,
)
from reranker.plugins.cluster.storage import Storage, expanded
from reranker.plugins.cluster.work import (
    Batch,
    Converter,
    ConvertTask,
    RankActor,
    RankTask,
    ShardReader,
    TextOptions,
    joined,
)
from tests.checkout import TOY_PARSER
from tests.reranker.plugins.cluster.lists import printed, write_shard


@pytest.fixture(scope="module")
def checkpoints(models: list[str]) -> list[bytes]:
    return [Path(path).read_bytes() for path in models]


@pytest.fixture
def wanted(tmp_path: Path) -> list[Shard]:
    """Return two shards of 7 and 3 sentences."""
    (tmp_path / "lists").mkdir()
    write_shard(tmp_path / "lists/a.txt", 0, 7)
    write_shard(tmp_path / "lists/b.txt", 7, 3)
    return shards(expanded([f"{tmp_path}/lists/*.txt"]), "ranked", {}, 10)


def _ranker(
    wanted: list[Shard], out: str, models: list[str], checkpoints: list[bytes], output: str
) -> RankActor:
    named = named_models(models, pins=map(file_sha256, models))
    ranked = RankTask(named, "sum", "cpu", 1, "exact", output, False, None)
    return RankActor(wanted, out, ranked, checkpoints)


def _rows(wanted: list[Shard], out: str) -> list[Batch]:
    reading = ShardReader(tuple(wanted), out, ReadOptions())
    return list(reading({"shard": range(len(wanted))}))


def _of(wanted: list[Shard], block: int) -> list[Shard]:
    return [replace(shard, block=block) for shard in wanted]


def _joined(wanted: list[Shard], out: str, rows: Iterable[Batch]) -> None:
    for row in rows:
        if row["kind"] == [work.END]:
            end = json.loads(row["content"][0])
            record = joined(wanted[row["shard"][0]], out, **end)
            assert isinstance(record, FinishedShard)


def _make(wanted: list[Shard], out: str, models: list[str], checkpoints: list[bytes]) -> None:
    """Read, rank and join all of the shards."""
    ranker = _ranker(wanted, out, models, checkpoints, "best")
    _joined(wanted, out, [ranker(row) for row in _rows(wanted, out)])


@pytest.mark.parametrize(("block", "output"), [(1, "best"), (3, "ranked"), (100, "best")])
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


def _truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flipped(content: bytes) -> bytes:
    """Flip one bit of the last word but one, which stays ASCII."""
    place = content.rindex(b"NN") + 1
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def _zeroed(content: bytes) -> bytes:
    """Return zeros of the right size, as after a crash of the machine."""
    return content[: len(content) // 2].ljust(len(content), b"\0")


def _emptied(content: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [_truncated, _flipped, _zeroed, _emptied])
def test_a_damaged_part_is_computed_again(
    damage: Callable[[bytes], bytes],
    wanted: list[Shard],
    models: list[str],
    checkpoints: list[bytes],
    tmp_path: Path,
) -> None:
    out, wanted = str(tmp_path / "out"), _of(wanted, 2)
    ranker = _ranker(wanted, out, models, checkpoints, "best")
    for row in _rows(wanted, out)[:3]:
        ranker(row)
    part = tmp_path / "out" / wanted[0].part(2)
    part.write_bytes(damage(part.read_bytes()))
    rows = _rows(wanted, out)
    assert [row["first"][0] for row in rows if row["kind"] == [work.LISTS]] == [2, 6, 0, 2]
    assert [row["first"][0] for row in rows if row["kind"] == [work.DONE]] == [0, 4]
    _joined(wanted, out, [ranker(row) for row in rows])
    for shard in wanted:
        assert (tmp_path / "out" / shard.name).read_bytes() == printed(
            shard.url, models, tmp_path / "expected"
        )
    record = FinishedShard.from_bytes(Storage(out).read(wanted[0].record))
    assert record is not None
    assert record.warnings == [f"{part}: damaged; its sentences are computed again"]


def test_a_shard_is_not_made_of_a_part_that_was_damaged_meanwhile(
    wanted: list[Shard], models: list[str], checkpoints: list[bytes], tmp_path: Path
) -> None:
    out, wanted = str(tmp_path / "out"), _of(wanted, 2)
    ranker = _ranker(wanted, out, models, checkpoints, "best")
    rows = [ranker(row) for row in _rows(wanted, out)]
    part = tmp_path / "out" / wanted[0].part(2)
    part.write_bytes(_flipped(part.read_bytes()))
    end = next(json.loads(row["content"][0]) for row in rows if row["kind"] == [work.END])
    assert joined(wanted[0], out, **end) == (
        f"{part}: damaged; the same command computes its sentences again"
    )
    assert not (tmp_path / "out" / wanted[0].name).exists()
    _joined(wanted, out, [ranker(row) for row in _rows(wanted, out)])
    assert (tmp_path / "out" / wanted[0].name).read_bytes() == printed(
        wanted[0].url, models, tmp_path / "expected"
    )


def test_finished_shards_are_compared_with_their_hash_where_that_is_asked_for(
    wanted: list[Shard], models: list[str], checkpoints: list[bytes], tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    _make(wanted, out, models, checkpoints)
    assert sorted(finished(Storage(out), wanted, verify=True)) == ["a.jsonl", "b.jsonl"]
    shard = tmp_path / "out/a.jsonl"
    shard.write_bytes(_flipped(shard.read_bytes()))
    assert sorted(finished(Storage(out), wanted)) == ["a.jsonl", "b.jsonl"]
    assert list(finished(Storage(out), wanted, verify=True)) == ["b.jsonl"]


def test_parts_of_another_block_size_are_not_mistaken_for_ones_of_this(
    wanted: list[Shard], models: list[str], checkpoints: list[bytes], tmp_path: Path
) -> None:
    out, wanted = str(tmp_path / "out"), _of(wanted, 2)
    other = _of(wanted, 3)
    _ranker(other, out, models, checkpoints, "best")(_rows(other, out)[0])
    _make(wanted, out, models, checkpoints)
    assert (tmp_path / "out/a.jsonl").read_bytes() == printed(
        wanted[0].url, models, tmp_path / "expected"
    )


def test_finished_shards_are_known_until_they_their_input_or_settings_change(
    wanted: list[Shard], models: list[str], checkpoints: list[bytes], tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    _make(wanted, out, models, checkpoints)
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


class _KilledBeforeTheRecord(Storage):
    def write(self, name: str, content: Iterator[bytes]) -> int:
        if name.endswith(".json"):
            raise KeyboardInterrupt
        return super().write(name, content)


def test_a_shard_without_its_record_is_not_taken_for_the_one_before(
    wanted: list[Shard], models: list[str], checkpoints: list[bytes], tmp_path: Path
) -> None:
    """The older shard has other settings, and by chance the same length."""
    out = str(tmp_path / "out")
    ranker = _ranker(wanted, out, models, checkpoints, "best")
    _joined(wanted, out, [ranker(row) for row in _rows(wanted, out)])
    size = Storage(out).sizes()[wanted[0].name]
    changed = [replace(shard, key="b" * 16) for shard in wanted]
    ranker = _ranker(changed, out, models[:1], checkpoints[:1], "best")
    rows = [ranker(row) for row in _rows(changed, out)]
    (end,) = (row for row in rows if row["kind"] == [work.END] and row["shard"] == [0])
    with pytest.raises(KeyboardInterrupt):
        join(_KilledBeforeTheRecord(out), changed[0], **json.loads(end["content"][0]))
    (tmp_path / "out" / wanted[0].name).write_bytes(b"x" * size)
    assert list(finished(Storage(out), wanted)) == ["b.jsonl"]


def test_a_shard_whose_record_a_kill_prevented_is_the_runs_own(
    wanted: list[Shard], models: list[str], checkpoints: list[bytes], tmp_path: Path
) -> None:
    """Killed after the file has got its name, once where there was none and once where there was
    that of other settings."""
    out = str(tmp_path / "out")
    for shard in (wanted[0], replace(wanted[0], key="b" * 16)):
        ranker = _ranker([shard], out, models, checkpoints, "best")
        rows = [ranker(row) for row in _rows([shard], out)]
        (end,) = (json.loads(row["content"][0]) for row in rows if row["kind"] == [work.END])
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                join(_KilledBeforeTheRecord(out), shard, **end)
            check_outputs(Storage(out), [shard])
        assert isinstance(joined(shard, out, **end), FinishedShard)
        assert list(finished(Storage(out), [shard])) == [shard.name]
        assert not [each for each in (tmp_path / "out/_rerank/begun").rglob("*") if each.is_file()]


def test_a_file_that_no_record_names_is_not_replaced(
    wanted: list[Shard], models: list[str], checkpoints: list[bytes], tmp_path: Path
) -> None:
    out, place = str(tmp_path / "out"), tmp_path / "out" / wanted[0].name
    ranker = _ranker(wanted, out, models, checkpoints, "best")
    rows = [ranker(row) for row in _rows(wanted, out)]
    (end, _) = (json.loads(row["content"][0]) for row in rows if row["kind"] == [work.END])
    message = f"{place}: not a file that this run may replace"
    place.write_text("somebody's")
    with pytest.raises(InputError, match=message):
        check_outputs(Storage(out), wanted)
    assert message in str(joined(wanted[0], out, **end))
    place.unlink()
    with pytest.raises(KeyboardInterrupt):
        join(_KilledBeforeTheRecord(out), wanted[0], **end)
    place.write_text("somebody's")  # in place of the killed run's file
    with pytest.raises(InputError, match=message):
        check_outputs(Storage(out), wanted)
    assert message in str(joined(wanted[0], out, **end))
    assert place.read_text() == "somebody's"


@pytest.mark.parametrize("name", ["shards/a.jsonl.json", "begun/a.jsonl.sha256", "rejected.jsonl"])
@pytest.mark.parametrize("content", ["{}\n", "notes", "[]", ""])
def test_the_runs_own_folder_may_be_somebody_elses(
    name: str, content: str, wanted: list[Shard], tmp_path: Path
) -> None:
    place = tmp_path / "out/_rerank" / name
    place.parent.mkdir(parents=True)
    place.write_text(content)
    with pytest.raises(InputError, match=f"{place}: not a file that this run may replace"):
        check_outputs(Storage(f"{tmp_path}/out"), wanted)
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(InputError, match=f"{place}: not a file that .*, but a device or pipe"):
        check_outputs(Storage(f"{tmp_path}/out"), wanted)


def test_a_shard_that_is_no_nbest_file_fails_alone(wanted: list[Shard], tmp_path: Path) -> None:
    Path(wanted[0].url).write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    rows = _rows(wanted, str(tmp_path / "out"))
    assert [(row["shard"], row["kind"]) for row in rows] == [
        ([0], [work.FAILED]),
        ([1], [work.LISTS]),
        ([1], [work.END]),
    ]
    assert b"a.txt:1: not an n-best list: looks like binary data" in rows[0]["content"][0]


def test_what_is_left_of_a_damaged_file_is_ranked_and_the_damage_reported(
    wanted: list[Shard], models: list[str], checkpoints: list[bytes], tmp_path: Path
) -> None:
    packed = gzip.compress(Path(wanted[0].url).read_bytes())
    damaged = tmp_path / "damaged.txt.gz"
    damaged.write_bytes(packed[: len(packed) // 2])
    cut, out = shards(expanded([str(damaged)]), "best", {}, 2), str(tmp_path / "out")
    _make(cut, out, models, checkpoints)
    expected = printed(str(damaged), models, tmp_path / "expected")
    assert (tmp_path / "out" / cut[0].name).read_bytes() == expected
    record = FinishedShard.from_bytes(Storage(out).read(cut[0].record))
    assert record is not None
    assert "cut short" in record.rejected[-1]["message"]


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


@pytest.mark.parametrize(("block", "output"), [(1, "best"), (3, "ranked"), (100, "json")])
def test_text_becomes_what_rerank_parse_prints(
    models: list[str], checkpoints: list[bytes], tmp_path: Path, block: int, output: str
) -> None:
    """The parser crashes at a sentence, and a byte of the last one is not UTF-8."""
    text, out, expected = tmp_path / "a.txt", tmp_path / "out", tmp_path / "expected"
    text.write_bytes(b"We saw it. We crash here.\n\nThe man (with eyes) isn't\nthere! We \xff it.")
    flags = ["--parser-command", TOY_PARSER, "--models", *models, "--threads", "1", "--jobs", "1"]
    arguments = ["parse", str(text), *flags, "--output", output, "--out", str(expected)]
    assert main(arguments) == 1

    wanted = shards(expanded([str(text)]), output, {}, block)
    reading = ShardReader(tuple(wanted), str(out), TextOptions("text", "gum", 200))
    named = named_models(models, pins=map(file_sha256, models))
    parser = ParserChoice(command=TOY_PARSER)
    ranked = RankTask(named, "sum", "cpu", 1, "exact", output, False, None, parser)
    ranker = RankActor(wanted, str(out), ranked, checkpoints)
    _joined(wanted, str(out), [ranker(row) for row in reading({"shard": [0]})])
    assert (out / wanted[0].name).read_bytes() == expected.read_bytes()
    record = finished(Storage(str(out)), wanted)[wanted[0].name]
    assert record.counts["sentences"] == 4
    assert record.counts["faults"] == 1
    assert record.warnings == [f"{text}:4: byte 0xff is not UTF-8; U+FFFD is in its place"]


def test_what_is_not_text_fails_alone(tmp_path: Path) -> None:
    for name, content in {
        "a": b"\x89PNG\r\n\x1a\n\x00\x00",
        "b": b" \n",
        "c": b"We saw it.",
    }.items():
        (tmp_path / name).write_bytes(content)
    wanted = shards(expanded([f"{tmp_path}/[abc]"]), "best", {}, 10)
    reading = ShardReader(tuple(wanted), str(tmp_path / "out"), TextOptions("text", "gum", 200))
    rows = list(reading({"shard": range(3)}))
    assert [(row["shard"], row["kind"]) for row in rows] == [
        ([0], [work.FAILED]),
        ([1], [work.FAILED]),
        ([2], [work.LISTS]),
        ([2], [work.END]),
    ]
    assert b"binary" in rows[0]["content"][0]
    assert rows[1]["content"] == [f"{tmp_path}/b: no text".encode()]


@pytest.mark.parametrize(("block", "to"), [(1, "jsonl"), (3, "berkeley"), (100, "opennmt")])
def test_lists_are_converted_as_rerank_convert_does(
    wanted: list[Shard], tmp_path: Path, block: int, to: str
) -> None:
    out, wanted = str(tmp_path / "out"), _of(wanted, block)
    converter = Converter(wanted, out, ConvertTask(to, 5))
    _joined(wanted, out, [converter(row) for row in _rows(wanted, out)])
    for shard in wanted:
        flags = ["--to", to, "--to-beam", "5", "--out", f"{tmp_path}/expected"]
        assert main(["convert", shard.url, *flags]) in (0, 1)
        assert (tmp_path / "out" / shard.name).read_bytes() == (tmp_path / "expected").read_bytes()
    record = finished(Storage(out), wanted)[wanted[0].name]
    # As in the test of finished shards above.
    assert (record.counts["sentences"], record.counts["rejected"]) == (7, 2)
    assert record.counts["candidates"] == 1 + 2 + 3 + 4 + 1 + 2 + 3


def test_a_list_longer_than_the_beam_fails_its_shard(wanted: list[Shard], tmp_path: Path) -> None:
    converter = Converter(wanted, str(tmp_path / "out"), ConvertTask("opennmt", 1))
    answer = converter(_rows(wanted, str(tmp_path / "out"))[0])
    assert answer["kind"] == [work.FAILED]
    assert answer["content"][0].endswith(b"a.txt: list 2 has 2 candidates, more than the beam of 1")
