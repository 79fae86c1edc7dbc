"""Ray's workers, called one after the other without Ray."""

from __future__ import annotations

import gzip
import json
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

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
    RankActor,
    RankTask,
    ShardReader,
    joined,
)
from reranker.work.conversion import ConvertSettings
from reranker.work.ranking import RankSettings
from reranker.work.texts import TextSettings
from tests.checkout import TOY_PARSER
from tests.reranker.plugins.cluster.lists import printed, write_shard


@pytest.fixture
def wanted(tmp_path: Path) -> list[Shard]:
    """Return two shards of 7 and 3 sentences."""
    (tmp_path / "lists").mkdir()
    write_shard(tmp_path / "lists/a.txt", 0, 7)
    write_shard(tmp_path / "lists/b.txt", 7, 3)
    return shards(expanded([f"{tmp_path}/lists/*.txt"]), ".jsonl", {}, 10)


class Workers(NamedTuple):
    """Workers of a run that writes below ``out``."""

    out: str
    models: list[str]

    @property
    def storage(self) -> Storage:
        return Storage(self.out)

    def ranker(
        self, wanted: list[Shard], output: str = "best", parser: ParserChoice | None = None
    ) -> RankActor:
        named = named_models(self.models, pins=map(file_sha256, self.models))
        settings = RankSettings(named, named.weighing, "sum", "cpu", 1, "exact", output)
        ranked = RankTask(settings, parser)
        return RankActor(
            wanted, self.out, ranked, [Path(path).read_bytes() for path in self.models]
        )

    def read(self, wanted: list[Shard]) -> list[Batch]:
        reading = ShardReader(tuple(wanted), self.out, ReadOptions())
        return list(reading({"shard": range(len(wanted))}))

    def rank(self, wanted: list[Shard]) -> list[Batch]:
        """Read and rank all of the shards."""
        return list(map(self.ranker(wanted), self.read(wanted)))

    def join(self, wanted: list[Shard], rows: Iterable[Batch]) -> None:
        for shard, end in zip(wanted, _ends(rows), strict=True):
            assert isinstance(joined(shard, self.out, **end), FinishedShard)

    def record(self, shard: Shard) -> FinishedShard:
        found = FinishedShard.from_bytes(self.storage.read(shard.record))
        assert found is not None
        return found

    def check(self, wanted: list[Shard], output: str = "best") -> None:
        """Assert that the outputs are what `rerank` prints."""
        for shard in wanted:
            expected = printed(
                shard.url, self.models, Path(f"{self.out}-expected"), "--output", output
            )
            assert Path(self.out, shard.name).read_bytes() == expected


@pytest.fixture
def workers(models: list[str], tmp_path: Path) -> Workers:
    return Workers(str(tmp_path / "out"), models)


def _ends(rows: Iterable[Batch]) -> list[dict[str, Any]]:
    """Return for each shard what ``joined`` takes of its last row."""
    return [json.loads(row["content"][0]) for row in rows if row["kind"] == [work.END]]


def _of(wanted: list[Shard], block: int) -> list[Shard]:
    return [replace(shard, block=block) for shard in wanted]


def _firsts(rows: Iterable[Batch], kind: str) -> list[int]:
    return [row["first"][0] for row in rows if row["kind"] == [kind]]


@pytest.mark.parametrize(("block", "output"), [(1, "best"), (3, "ranked"), (100, "best")])
def test_shards_are_what_rerank_prints_for_blocks_of_any_size_in_any_order(
    wanted: list[Shard], workers: Workers, block: int, output: str
) -> None:
    wanted = _of(wanted, block)
    ranker = workers.ranker(wanted, output)
    workers.join(wanted, [ranker(row) for row in reversed(workers.read(wanted))][::-1])
    workers.check(wanted, output)
    assert not workers.storage.sizes("_rerank/parts")


def test_blocks_whose_parts_are_there_are_not_ranked_again(
    wanted: list[Shard], workers: Workers
) -> None:
    wanted = _of(wanted, 2)
    ranker, before = workers.ranker(wanted), workers.read(wanted)
    assert _firsts(before, work.LISTS) == [0, 2, 4, 6, 0, 2]
    ranker(before[1])
    after = workers.read(wanted)
    assert _firsts(after, work.LISTS) == [0, 4, 6, 0, 2]
    assert _firsts(after, work.DONE) == [2]
    workers.join(wanted, map(ranker, after))
    workers.check(wanted)


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
    damage: Callable[[bytes], bytes], wanted: list[Shard], workers: Workers
) -> None:
    wanted = _of(wanted, 2)
    ranker = workers.ranker(wanted)
    for row in workers.read(wanted)[:3]:
        ranker(row)
    part = Path(workers.out, wanted[0].part(2))
    part.write_bytes(damage(part.read_bytes()))
    rows = workers.read(wanted)
    assert _firsts(rows, work.LISTS) == [2, 6, 0, 2]
    assert _firsts(rows, work.DONE) == [0, 4]
    workers.join(wanted, map(ranker, rows))
    workers.check(wanted)
    warning = f"{part}: damaged; its sentences are computed again"
    assert workers.record(wanted[0]).warnings == [warning]


def test_a_shard_is_not_made_of_a_part_that_was_damaged_meanwhile(
    wanted: list[Shard], workers: Workers
) -> None:
    wanted = _of(wanted, 2)
    end, _ = _ends(workers.rank(wanted))
    part = Path(workers.out, wanted[0].part(2))
    part.write_bytes(_flipped(part.read_bytes()))
    assert joined(wanted[0], workers.out, **end) == (
        f"{part}: damaged; the same command computes its sentences again"
    )
    assert not Path(workers.out, wanted[0].name).exists()
    workers.join(wanted, workers.rank(wanted))
    workers.check(wanted[:1])


def test_finished_shards_are_compared_with_their_hash_where_that_is_asked_for(
    wanted: list[Shard], workers: Workers
) -> None:
    workers.join(wanted, workers.rank(wanted))
    assert sorted(finished(workers.storage, wanted, verify=True)) == ["a.jsonl", "b.jsonl"]
    shard = Path(workers.out, "a.jsonl")
    shard.write_bytes(_flipped(shard.read_bytes()))
    assert sorted(finished(workers.storage, wanted)) == ["a.jsonl", "b.jsonl"]
    assert list(finished(workers.storage, wanted, verify=True)) == ["b.jsonl"]


def test_parts_of_another_block_size_are_not_mistaken_for_ones_of_this(
    wanted: list[Shard], workers: Workers
) -> None:
    wanted, other = _of(wanted, 2), _of(wanted, 3)
    workers.ranker(other)(workers.read(other)[0])
    workers.join(wanted, workers.rank(wanted))
    workers.check(wanted[:1])


def test_finished_shards_are_known_until_they_their_input_or_settings_change(
    wanted: list[Shard], workers: Workers, tmp_path: Path
) -> None:
    workers.join(wanted, workers.rank(wanted))
    records = finished(workers.storage, wanted)
    # Lists 0 and 5 have a broken candidate; lists of 1 to 4 usable ones.
    assert records["a.jsonl"].counts["sentences"] == 7
    assert records["a.jsonl"].counts["rejected"] == 2
    assert records["a.jsonl"].counts["candidates"] == 1 + 2 + 3 + 4 + 1 + 2 + 3
    (tmp_path / "out/a.jsonl").write_text("cut off")
    assert list(finished(workers.storage, wanted)) == ["b.jsonl"]
    files = expanded([f"{tmp_path}/lists/*.txt"])
    assert not finished(workers.storage, shards(files, ".jsonl", {"lm_weight": 0.5}, 10))
    write_shard(tmp_path / "lists/b.txt", 7, 4)
    files = expanded([f"{tmp_path}/lists/*.txt"])
    assert not finished(workers.storage, shards(files, ".jsonl", {}, 10))


class _KilledBeforeTheRecord(Storage):
    def write(
        self, name: str, content: Iterator[bytes], is_own: Callable[[], bool] | None = None
    ) -> int:
        if name.endswith(".json"):
            raise KeyboardInterrupt
        return super().write(name, content, is_own)


def test_a_shard_without_its_record_is_not_taken_for_the_one_before(
    wanted: list[Shard], workers: Workers
) -> None:
    """The older shard has other settings, and by chance the same length."""
    workers.join(wanted, workers.rank(wanted))
    size = workers.storage.sizes()[wanted[0].name]
    changed = [replace(shard, key="b" * 16) for shard in wanted]
    end, _ = _ends(workers._replace(models=workers.models[:1]).rank(changed))
    with pytest.raises(KeyboardInterrupt):
        join(_KilledBeforeTheRecord(workers.out), changed[0], **end)
    Path(workers.out, wanted[0].name).write_bytes(b"x" * size)
    assert list(finished(workers.storage, wanted)) == ["b.jsonl"]


def test_a_shard_whose_record_a_kill_prevented_is_the_runs_own(
    wanted: list[Shard], workers: Workers
) -> None:
    """Killed after the file has got its name, once where there was none and once where there was
    that of other settings."""
    for shard in (wanted[0], replace(wanted[0], key="b" * 16)):
        (end,) = _ends(workers.rank([shard]))
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                join(_KilledBeforeTheRecord(workers.out), shard, **end)
            check_outputs(workers.storage, [shard])
        assert isinstance(joined(shard, workers.out, **end), FinishedShard)
        assert list(finished(workers.storage, [shard])) == [shard.name]
        begun = Path(workers.out, "_rerank/begun")
        assert not [each for each in begun.rglob("*") if each.is_file()]


def test_a_file_that_no_record_names_is_not_replaced(wanted: list[Shard], workers: Workers) -> None:
    """Neither before the first run nor after a killed one."""
    place = Path(workers.out, wanted[0].name)
    end, _ = _ends(workers.rank(wanted))
    message = f"{place}: not a file that this run may replace"
    for was_killed in (False, True):
        if was_killed:
            place.unlink()
            with pytest.raises(KeyboardInterrupt):
                join(_KilledBeforeTheRecord(workers.out), wanted[0], **end)
        place.write_text("somebody's")
        with pytest.raises(InputError, match=message):
            check_outputs(workers.storage, wanted)
        assert message in str(joined(wanted[0], workers.out, **end))
    assert place.read_text() == "somebody's"


@pytest.mark.parametrize("name", ["shards/a.jsonl.json", "begun/a.jsonl.sha256", "rejected.jsonl"])
@pytest.mark.parametrize("content", ["{}\n", "notes", "[]", ""])
def test_the_runs_own_folder_may_be_somebody_elses(
    name: str, content: str, wanted: list[Shard], tmp_path: Path
) -> None:
    place = tmp_path / "out/_rerank" / name
    place.parent.mkdir(parents=True)
    place.write_text(content)
    with pytest.raises(InputError, match=f"{place}: not a file"):
        check_outputs(Storage(f"{tmp_path}/out"), wanted)
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(InputError, match=f"{place}: not a file that .*, but a device or pipe"):
        check_outputs(Storage(f"{tmp_path}/out"), wanted)


def test_a_shard_that_is_no_nbest_file_fails_alone(wanted: list[Shard], workers: Workers) -> None:
    Path(wanted[0].url).write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    rows = workers.read(wanted)
    assert [(row["shard"], row["kind"]) for row in rows] == [
        ([0], [work.FAILED]),
        ([1], [work.LISTS]),
        ([1], [work.END]),
    ]
    assert b"a.txt:1: not an n-best list: looks like binary data" in rows[0]["content"][0]


def test_what_is_left_of_a_damaged_file_is_ranked_and_the_damage_reported(
    wanted: list[Shard], workers: Workers, tmp_path: Path
) -> None:
    packed = gzip.compress(Path(wanted[0].url).read_bytes())
    damaged = tmp_path / "damaged.txt.gz"
    damaged.write_bytes(packed[: len(packed) // 2])
    cut = shards(expanded([str(damaged)]), ".mrg", {}, 2)
    workers.join(cut, workers.rank(cut))
    workers.check(cut)
    assert "the list is cut short" in workers.record(cut[0]).rejected[-1]["message"]


def test_an_output_that_cannot_be_written_is_told(wanted: list[Shard], workers: Workers) -> None:
    ranker, rows = workers.ranker(wanted), workers.read(wanted)
    Path(workers.out).write_text("a file where the folder should be")
    answer = ranker(rows[0])
    assert answer["kind"] == [work.BROKEN]
    assert b"cannot be written" in answer["content"][0]


@pytest.mark.parametrize(("block", "output"), [(1, "best"), (3, "ranked"), (100, "json")])
def test_text_becomes_what_rerank_parse_prints(
    workers: Workers, tmp_path: Path, block: int, output: str
) -> None:
    """The parser crashes at a sentence, and a byte of the last one is not UTF-8."""
    text, expected, models = tmp_path / "a.txt", tmp_path / "expected", workers.models
    text.write_bytes(b"We saw it. We crash here.\n\nThe man (with eyes) isn't\nthere! We \xff it.")
    flags = ["--parser-command", TOY_PARSER, "--models", *models, "--threads", "1", "--jobs", "1"]
    arguments = ["parse", str(text), *flags, "--output", output, "--out", str(expected)]
    assert main(arguments) == 1

    wanted = shards(expanded([str(text)]), ".txt", {}, block)
    reading = ShardReader(tuple(wanted), workers.out, TextSettings("text", "gum", 200))
    ranker = workers.ranker(wanted, output, ParserChoice(command=TOY_PARSER))
    workers.join(wanted, map(ranker, reading({"shard": [0]})))
    assert Path(workers.out, wanted[0].name).read_bytes() == expected.read_bytes()
    record = finished(workers.storage, wanted)[wanted[0].name]
    assert record.counts["sentences"] == 4
    assert record.counts["faults"] == 1
    assert record.warnings == [f"{text}:4: byte 0xff is not UTF-8; U+FFFD is in its place"]


@pytest.mark.parametrize("name", ["cp1250", "koi8_r", "utf_16"])
def test_workers_read_in_the_encoding_that_the_command_was_told(name: str, tmp_path: Path) -> None:
    text = (
        "Krak\u00f3w \u0141\u00f3d\u017a."
        if name != "koi8_r"
        else "\u041c\u043e\u0441\u043a\u0432\u0430."
    )
    (tmp_path / "a.txt").write_bytes(text.encode(name))
    wanted = shards(expanded([f"{tmp_path}/a.txt"]), ".mrg", {}, 10)
    options = TextSettings("text", "gum", 200)
    told = pickle.loads(pickle.dumps(ShardReader(tuple(wanted), str(tmp_path), options, name)))
    lists, _ = told({"shard": [0]})
    (sentence,) = pickle.loads(lists["content"][0])
    assert sentence.origin.text == text


def test_what_is_not_text_fails_alone(tmp_path: Path) -> None:
    for name, content in {
        "a": b"\x89PNG\r\n\x1a\n\x00\x00",
        "b": b" \n",
        "c": b"We saw it.",
    }.items():
        (tmp_path / name).write_bytes(content)
    wanted = shards(expanded([f"{tmp_path}/[abc]"]), ".mrg", {}, 10)
    reading = ShardReader(tuple(wanted), str(tmp_path / "out"), TextSettings("text", "gum", 200))
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
    wanted: list[Shard], workers: Workers, tmp_path: Path, block: int, to: str
) -> None:
    wanted = _of(wanted, block)
    converter = Converter(wanted, workers.out, ConvertSettings(to, 5), [])
    workers.join(wanted, map(converter, workers.read(wanted)))
    for shard in wanted:
        flags = ["--to", to, "--to-beam", "5", "--out", f"{tmp_path}/expected"]
        assert main(["convert", shard.url, *flags]) in (0, 1)
        assert Path(workers.out, shard.name).read_bytes() == (tmp_path / "expected").read_bytes()
    record = finished(workers.storage, wanted)[wanted[0].name]
    # As in the test of finished shards above.
    assert (record.counts["sentences"], record.counts["rejected"]) == (7, 2)
    assert record.counts["candidates"] == 1 + 2 + 3 + 4 + 1 + 2 + 3


def test_a_list_without_candidates_counts_as_failed_when_it_is_converted(
    workers: Workers, tmp_path: Path
) -> None:
    gap = tmp_path / "n.rnng"
    gap.write_text("0 ||| -1 ||| (S (VP Go))\n2 ||| -1 ||| (S (VP Go))\n")
    wanted = shards(expanded([str(gap)]), ".txt", {}, 10)
    converter = Converter(wanted, workers.out, ConvertSettings("trees"), [])
    workers.join(wanted, map(converter, workers.read(wanted)))
    counts = workers.record(wanted[0]).counts
    assert (counts["sentences"], counts["candidates"], counts["failed"]) == (3, 2, 1)


def test_a_list_longer_than_the_beam_fails_its_shard(wanted: list[Shard], workers: Workers) -> None:
    converter = Converter(wanted, workers.out, ConvertSettings("opennmt", 1), [])
    answer = converter(workers.read(wanted)[0])
    assert answer["kind"] == [work.FAILED]
    assert answer["content"][0].endswith(b"a.txt: list 2 has 2 candidates, more than the beam of 1")
