"""The files that a run keeps: parts of shards, whole shards, and the records that describe both;
and its outcome.

Below the output folder, beside the finished shards:

    _rerank/parts/SHARD/KEY-N/FIRST   the answers to a block of N whole sentences, the first of
                                      them being FIRST, until the shard is complete
    _rerank/begun/SHARD.sha256        hashes of a shard that is about to get its name
    _rerank/shards/SHARD.json         the record of a finished shard
    _rerank/rejected.jsonl            every candidate that was rejected, and each shard that failed

A part is named after its first sentence and a KEY of everything its bytes depend on, and appears
whole. So a part whose hash is still right proves that its work is done, whichever run or process
did it, and two processes that do the same work write the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from reranker.errors import InputError, RerankError
from reranker.files.records import AnswerCounts
from reranker.nbest import NBest
from reranker.plugins.cluster.storage import Storage, absolute, is_local
from reranker.ranking import Ranking
from reranker.work.conversion import Converted
from reranker.work.sinks import ListSink

FOLDER = "_rerank"
REJECTED = f"{FOLDER}/rejected.jsonl"
_PACKED = (".gz", ".zst")
_LONGEST_NAME = 255 - len(".sha256")  # bytes; its record has a longer name
_SHA256 = re.compile("[0-9a-f]{64}")
_STRANGE = re.compile(r"[\\\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Shard:
    """An input file and its output."""

    url: str
    name: str  # the name of the output, below the output folder
    key: str  # a key that differs for other contents of the input and for other settings
    block: int  # sentences that are ranked at once

    @property
    def record(self) -> str:
        return f"{FOLDER}/shards/{self.name}.json"

    @property
    def begun(self) -> str:
        return f"{FOLDER}/begun/{self.name}.sha256"

    @property
    def parts(self) -> str:
        """Return the folder of all parts of the shard, including parts with other keys."""
        return f"{FOLDER}/parts/{self.name}"

    def part(self, first: int) -> str:
        return f"{self.parts}/{self.key}-{self.block}/{first:012}"


def shards(
    files: Mapping[str, str], suffix: str, settings: Mapping[str, Any], block: int
) -> list[Shard]:
    """Return the shards of input files, which come with an identifier of their content.

    An output is named like its input, without ``.gz`` and with the ``suffix`` of the output; its
    folder is that of the input below the folder that all inputs share. Raises InputError for a name
    that cannot be one below the output folder, and if two exclude each other.
    """
    places = [absolute(url).replace("://", "/").split("/") for url in files]
    folders = [place[:-1] for place in places]
    shared = 0
    for level in zip(*folders, strict=False):
        if len(set(level)) > 1:
            break
        shared += 1
    urls: dict[str, str] = {}
    made = []
    for place, (url, identity) in zip(places, files.items(), strict=True):
        stem, packed = os.path.splitext("/".join(place[shared:]).lstrip("/"))
        if packed in _PACKED:
            stem, _ = os.path.splitext(stem)
        name = stem + suffix
        if name in urls:
            raise InputError(f"{urls[name]} and {url} would both be written as {name}")
        if problem := _problem(name, place[-1], is_remote=not is_local(url)):
            raise InputError(f"{url}: would be written as {name:.300}, {problem}")
        urls[name] = url
        described = json.dumps([url, identity, settings], sort_keys=True)
        made.append(Shard(url, name, hashlib.sha256(described.encode()).hexdigest()[:16], block))
    _check_folders(made)
    return made


def _problem(name: str, given: str, is_remote: bool) -> str | None:
    """Return why an output cannot have this name, made of one that ends in ``given``; None if it
    can. On a disk, the input has shown that the name is possible, but for its length."""
    parts = name.split("/")
    if parts[0].casefold() == FOLDER:
        return "among the run's own files"
    if any(len(part.encode(errors="surrogatepass")) > _LONGEST_NAME for part in parts):
        return f"which has more than {_LONGEST_NAME} bytes"
    decoded, before = name, None
    while is_remote and decoded != before:  # a page may encode twice
        decoded, before = unquote(decoded), decoded
    read = decoded.split("/")
    if {"", ".", ".."} & {given, *parts, *read} or len(read) > len(parts):
        return "which leads to another folder"
    if is_remote and _STRANGE.search(decoded):
        return "with a backslash or control character"
    return None


def _check_folders(shards: Sequence[Shard]) -> None:
    """Raise InputError if one file would have to be the folder of another."""
    files = {name: shard.url for shard in shards for name in (shard.name, shard.record)}
    for name, url in files.items():
        for above in map(str, PurePosixPath(name).parents):
            if above in files:
                raise InputError(
                    f"{url}: would be written as {name}, but {files[above]} as {above}"
                )


def check_case(storage: Storage, shards: Iterable[Shard]) -> None:
    """Raise InputError if two outputs are one file where names do not differ by case alone. The run
    must have claimed its folder."""
    urls: dict[str, str] = {}
    for shard in shards if storage.folds_case(FOLDER) else ():
        other = urls.setdefault(_folded(shard.name), shard.url)
        if other != shard.url:
            raise InputError(f"{other} and {shard.url} would both be written as {shard.name}")


def _folded(name: str) -> str:
    """Return the name as file systems that ignore case compare it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


class Part(ListSink[Any]):
    """The answers to a block of sentences: a sink, whose bytes ``read_part`` reads."""

    def __init__(self, first: int, text: Callable[[Any, int], str]) -> None:
        """Take the place of the first sentence in its shard, and a function that returns the text
        of an answer with its number, counted from 1 in the block."""
        self._first, self._text = first, text
        self._counts: Counter[str] = Counter()
        self._rejected: list[dict[str, Any]] = []

    def write(self, answer: Any, counts: AnswerCounts, digest: str) -> None:
        """Keep the text of a ranking or a converted list, its counts and what is rejected."""
        given: Ranking | NBest = answer.given if isinstance(answer, Converted) else answer
        self._counts.update(counts.totals())
        self._rejected += [
            {
                "file": entry.file,
                "line": entry.line,
                "sentence": self._first + len(self),
                "list": given.id,
                "candidate": entry.index,
                "code": entry.code,
                "message": entry.message,
            }
            for entry in given.rejected
        ]
        self.append(self._text(answer, len(self) + 1))

    def to_bytes(self) -> bytes:
        """Return the part as bytes: a line with the SHA-256 of all that follows, a line about the
        answers, the answers."""
        about = {"counts": self._counts, "rejected": self._rejected}
        answers = "".join(self).encode("utf-8", "surrogateescape")
        content = json.dumps(about).encode() + b"\n" + answers
        return _sha256_line(content) + content


def read_part(storage: Storage, name: str) -> tuple[dict[str, int], list[dict[str, Any]], bytes]:
    """Return the counts, the rejected candidates and the answers of a part. Raises RerankError for
    a file that cannot be read or is no undamaged part."""
    begin, _, content = storage.read(name).partition(b"\n")
    if begin + b"\n" != _sha256_line(content):
        raise RerankError(f"{storage.path(name)}: damaged")
    line, _, answers = content.partition(b"\n")
    about = json.loads(line)
    return about["counts"], about["rejected"], answers


@dataclass(frozen=True, slots=True)
class FinishedShard:
    """The record of a finished shard."""

    url: str
    key: str
    size: int  # the size in bytes
    sha256: str
    counts: dict[str, int]
    rejected: list[dict[str, Any]]
    warnings: list[str]

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_bytes(cls, content: bytes) -> FinishedShard | None:
        """Return the record; None for a record of another version."""
        try:
            return cls(**json.loads(content))
        except (ValueError, TypeError):
            return None


def _sha256_line(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode() + b"\n"


def finished(
    storage: Storage, wanted: Sequence[Shard], verify: bool = False
) -> dict[str, FinishedShard]:
    """Return the records, by name, of finished shards that are up to date, without their rejected
    candidates, of which there may be many. With ``verify``, every shard is read, and left out if
    its SHA-256 differs from its record's."""
    sizes = storage.sizes()
    there = [shard for shard in wanted if shard.name in sizes and shard.record in sizes]
    records = storage.read_all([shard.record for shard in there])
    done = {}
    for shard, content in zip(there, records, strict=True):
        record = FinishedShard.from_bytes(content)
        if record is not None and (record.key, record.size) == (shard.key, sizes[shard.name]):
            done[shard.name] = replace(record, rejected=[])
    if verify:
        hashes = storage.sha256_all([*done])
        return {name: done[name] for name in done if hashes[name] == done[name].sha256}
    return done


def check_outputs(storage: Storage, missing: Sequence[Shard]) -> None:
    """Raise InputError if a file to be written would replace something that no run has made, as far
    as the records tell."""
    records = {name for shard in missing for name in (shard.record, shard.begun)}
    storage.own(records, lambda name: bool(_hashes(storage, name)))
    shards = {shard.name: shard for shard in missing}
    storage.own(shards, lambda name: _is_recorded(storage, shards[name]))
    storage.own([REJECTED], lambda _: _is_rejected(storage))


def _hashes(storage: Storage, record: str) -> list[str]:
    """Return the SHA-256 of each file that a record, of whatever version, may stand for; nothing
    for a missing file or one that is no record."""
    try:
        content = storage.read(record).decode()
        hashes = [json.loads(content)["sha256"]] if record.endswith(".json") else content.split()
        return hashes if all(map(_SHA256.fullmatch, hashes)) else []
    except (RerankError, ValueError, LookupError, TypeError):
        return []


def _is_recorded(storage: Storage, shard: Shard) -> bool:
    """Return whether a run made a file: the file has the record of a finished shard, or is one that
    a run was about to name when it was killed."""
    if _hashes(storage, shard.record):
        return True
    begun = _hashes(storage, shard.begun)
    return bool(begun) and storage.sha256_all([shard.name])[shard.name] in begun


def _is_rejected(storage: Storage) -> bool:
    """Return whether the list of rejected candidates was written by a run."""
    try:
        first, *_ = storage.read(REJECTED).split(b"\n", 1)
        return {"file", "message"} <= {*json.loads(first)}
    except (ValueError, TypeError):
        return False


def join(
    storage: Storage, shard: Shard, firsts: Sequence[int], warnings: list[str], faults: int
) -> FinishedShard:
    """Write a shard from its parts, then its record, and remove the parts; ``faults`` is the number
    of sentences with replaced characters. Raises RerankError, also for a damaged part."""
    counts = Counter({"faults": faults})
    rejected: list[dict[str, Any]] = []
    digest = hashlib.sha256()

    def answers() -> Iterator[bytes]:
        for first in firsts:
            try:
                part_counts, part_rejected, texts = read_part(storage, shard.part(first))
            except RerankError as error:
                again = "the same command computes its sentences again"
                raise RerankError(f"{error}; {again}") from error
            counts.update(part_counts)
            rejected.extend(part_rejected)
            digest.update(texts)
            yield texts
        # After a kill from here on, the earlier record would describe other content.
        names = (shard.record, shard.begun)
        known = [digest.hexdigest(), *(each for name in names for each in _hashes(storage, name))]
        storage.write(shard.begun, (f"{each}\n".encode() for each in dict.fromkeys(known)))
        storage.remove_file(shard.record)

    was_ours = storage.check_own(shard.name, lambda: _is_recorded(storage, shard))
    # A process that was thought dead may have written the same file meanwhile.
    size = storage.write(shard.name, answers(), lambda: was_ours or _is_recorded(storage, shard))
    record = FinishedShard(
        shard.url, shard.key, size, digest.hexdigest(), dict(counts), rejected, warnings
    )
    storage.write(shard.record, iter([record.to_bytes()]))
    storage.remove_file(shard.begun)
    storage.remove(shard.parts)
    return replace(record, rejected=[])


@dataclass(slots=True)
class ClusterOutcome:
    """The work of a run, and the shards that exist now."""

    records: dict[str, FinishedShard]  # the records of complete shards, by name
    failed: dict[str, str] = field(default_factory=dict)
    """The reasons why shards could not be read, by the names of these."""
    sentences: int = 0  # the number of sentences that this run ranked
    computing: float = 0.0  # the core-seconds that actors took for these
    startup: float = 0.0  # seconds until the first block was ranked, or found
    seconds: float = 0.0  # seconds from then until the last shard was complete

    @property
    def counts(self) -> Counter[str]:
        """Return the counts of all complete shards together."""
        total: Counter[str] = Counter()
        for record in self.records.values():
            total.update(record.counts)
        return total

    def write_rejected(self, storage: Storage, shards: Sequence[Shard]) -> None:
        """Write a line of JSON for each rejected candidate and each failed shard, including those
        of earlier runs; no file if there are none. Raises RerankError."""
        if self.failed or self.counts["rejected"]:
            rejected = self._rejected(storage, shards)
            storage.write(REJECTED, rejected, lambda: _is_rejected(storage))
        elif storage.check_own(REJECTED, lambda: _is_rejected(storage)):
            storage.remove_file(REJECTED)

    def _rejected(self, storage: Storage, shards: Sequence[Shard]) -> Iterator[bytes]:
        for shard in shards:
            if shard.name in self.failed:
                entry = {"file": shard.url, "message": self.failed[shard.name]}
                yield json.dumps(entry).encode() + b"\n"
            elif self.records[shard.name].counts.get("rejected"):
                record = FinishedShard.from_bytes(storage.read(shard.record))
                for rejected in record.rejected if record else ():
                    yield json.dumps(rejected).encode() + b"\n"
