"""The work of Ray's workers: they read shards as blocks of whole sentences, rank blocks (parsing
those of text first), and join parts to shards. They pass on rows of ``shard``, ``first``, ``kind``
and ``content``; ranking leaves rows of any kind but ``lists`` unchanged."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reranker.errors import RerankError
from reranker.files.encoding import encoding
from reranker.files.opening import file_sha256
from reranker.nbest import NBest, ReadOptions, read_nbest
from reranker.parsers.choice import ParserChoice
from reranker.parsers.running import ParsedLists
from reranker.plugins.cluster.parts import FinishedShard, Part, Shard, join, read_part
from reranker.plugins.cluster.storage import Storage, open_text
from reranker.text.reading import Text, TextSentence
from reranker.work import loop
from reranker.work.conversion import Convert, ConvertSettings
from reranker.work.loop import Source
from reranker.work.ranking import Rank, RankSettings
from reranker.work.texts import TextSettings

if TYPE_CHECKING:  # it imports torch, which readers do without
    from reranker.pipeline import Reranker

Batch = dict[str, Any]  # columns of rows, as Ray Data passes them

LISTS, DONE, FAILED, END, BROKEN = "lists", "done", "failed", "end", "broken"
"""Kinds of rows: lists to rank; a finished part; a shard that cannot be read; the end of a shard,
with its blocks; an output that cannot be written, which ends the run."""


def row(shard: int, first: int, kind: str, content: bytes = b"") -> Batch:
    """Return a batch of one row."""
    return {"shard": [shard], "first": [first], "kind": [kind], "content": [content]}


@dataclass(frozen=True, slots=True)
class ShardReader:
    """A reader of shards, as n-best lists or as text for a parser."""

    shards: tuple[Shard, ...]
    out: str
    options: ReadOptions | TextSettings
    encoding: str | None = None
    """The encoding that the command was told; None: found by the text."""

    def __call__(self, batch: Batch) -> Iterator[Batch]:
        """Yield the rows of the shards at these places; blocks that already have an undamaged part
        are not passed on."""
        with encoding(self.encoding):
            for place in map(int, batch["shard"]):
                yield from self._rows(place, self.shards[place])

    def _rows(self, place: int, shard: Shard) -> Iterator[Batch]:
        storage = Storage(self.out)
        firsts: list[int] = []
        warnings: list[str] = []
        faults: list[str] = []
        try:
            there = storage.sizes(shard.parts)
            sentences: Iterator[NBest | TextSentence]
            if isinstance(self.options, TextSettings):
                sentences = _text(shard.url, self.options, faults.append)
            else:
                source = open_text(shard.url)
                sentences = read_nbest(source, options=self.options, warn=warnings.append)
            first = 0
            while block := list(itertools.islice(sentences, shard.block)):
                firsts.append(first)
                if _is_usable(storage, shard.part(first), there, warnings.append):
                    yield row(place, first, DONE)
                else:
                    content = pickle.dumps(block, protocol=pickle.HIGHEST_PROTOCOL)
                    yield row(place, first, LISTS, content)
                first += len(block)
            if not firsts:
                what = "text" if isinstance(self.options, TextSettings) else "n-best lists"
                raise RerankError(f"{shard.url}: no {what}")
        except RerankError as error:
            yield row(place, 0, FAILED, str(error).encode())
            return
        end = {"firsts": firsts, "warnings": warnings + faults, "faults": len(faults)}
        yield row(place, 0, END, json.dumps(end).encode())


def _is_usable(
    storage: Storage, name: str, there: Container[str], warn: Callable[[str], None]
) -> bool:
    """Return whether a part exists and is undamaged; call ``warn`` for a damaged part, which is
    then computed again."""
    if name in there:
        try:
            read_part(storage, name)
        except RerankError as error:
            warn(f"{error}; its sentences are computed again")
            return False
    return name in there


def _text(url: str, options: TextSettings, warn: Callable[[str], None]) -> Iterator[TextSentence]:
    """Yield the sentences of a text; call ``warn`` for each sentence in which characters are
    replaced. Raises InputError unless the file is text."""
    assert options.words is not None  # the command has chosen a convention
    form, words, longest = options.form, options.words, options.longest
    for sentence in Text([open_text(url)], form, words, longest, speakers=options.speakers):
        if sentence.warning:
            warn(sentence.warning)
        yield sentence


@dataclass(frozen=True, slots=True)
class RankTask:
    """The things to compute for each sentence, and how."""

    settings: RankSettings
    """Has the hash of each checkpoint, so the place of the files does not matter."""
    parser: ParserChoice | None = None  # the parser for text; None for n-best lists
    jobs: int = 1  # parsers that run at once


def self_contained(settings: RankSettings) -> RankSettings:
    """Return settings with everything that actors, who see no other files, need: the hash of each
    checkpoint. Raises InputError."""
    models = settings.models
    hashes = models.sha256 or tuple(map(file_sha256, models.paths))
    return replace(settings, models=replace(models, sha256=hashes))


def loaded(settings: RankSettings, checkpoints: Sequence[Any]) -> Reranker:
    """Load the ensemble; ``checkpoints`` are the files' bytes, or references to bytes in Ray's
    object store, so that the machine need not have them on disk. Raises RerankError."""
    # Lanes use the cores that the actor has, not threads within a product.
    os.environ["OMP_NUM_THREADS"] = "1"
    folder = tempfile.mkdtemp(prefix="rerank-")
    try:
        paths = []
        for place, (path, content) in enumerate(
            zip(settings.models.paths, checkpoints, strict=True)
        ):
            # Numbered: checkpoints of two folders can have one name.
            paths.append(Path(folder, str(place), path.name))
            paths[-1].parent.mkdir()
            paths[-1].write_bytes(content if isinstance(content, bytes) else _fetched(content))
        models = replace(settings.models, paths=tuple(paths))
        return replace(settings, models=models).load()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fetched(reference: Any) -> bytes:
    import ray

    content: bytes = ray.get(reference)
    return content


class _Actor:
    """A worker that turns blocks of sentences into parts."""

    def __init__(self, shards: Sequence[Shard], out: str) -> None:
        self._shards, self._storage = shards, Storage(out)

    def __call__(self, batch: Batch) -> Batch:
        """Write the part of a block; return the row that reports it, with the CPU time."""
        if batch["kind"][0] != LISTS:
            return batch
        begin = time.process_time()
        place, first = int(batch["shard"][0]), int(batch["first"][0])
        sentences = pickle.loads(batch["content"][0])
        part = self._part(first, sentences)
        try:
            self._storage.write(self._shards[place].part(first), iter([part.to_bytes()]))
        except RerankError as error:
            return row(place, first, BROKEN, str(error).encode())
        seconds = time.process_time() - begin
        return row(place, first, DONE, json.dumps([len(sentences), seconds]).encode())

    def _part(self, first: int, sentences: list[Any]) -> Part:
        """Return the answers to a block; ``first`` is the place of its first sentence."""
        raise AssertionError(f"{type(self).__name__} makes no part")


class RankActor(_Actor):
    """An actor: it loads the ensemble once, then ranks block after block."""

    def __init__(
        self, shards: Sequence[Shard], out: str, task: RankTask, checkpoints: Sequence[Any]
    ) -> None:
        """Take ``checkpoints`` as ``loaded`` does."""
        super().__init__(shards, out)
        self._task = task
        self._job = Rank(loaded(task.settings, checkpoints), task.settings)
        self._parser = task.parser.create() if task.parser else None

    def _part(self, first: int, sentences: list[Any]) -> Part:
        form = self._task.settings.form
        part = Part(first, lambda ranking, number: form.line(ranking, number) + "\n")
        loop.run(Source(self._lists(first, sentences)), self._job, part)
        return part

    def _lists(self, first: int, sentences: list[Any]) -> Iterable[NBest]:
        """Yield the lists; sentences of text are parsed while others are ranked."""
        if self._parser is None:
            return sentences
        parsing = ParsedLists(self._parser, sentences, self._task.jobs)
        return (replace(nbest, id=str(place)) for place, nbest in enumerate(parsing, first))


class Converter(_Actor):
    """An actor that writes lists in another format; it needs no models."""

    def __init__(
        self, shards: Sequence[Shard], out: str, task: ConvertSettings, checkpoints: Sequence[Any]
    ) -> None:
        super().__init__(shards, out)
        self._task = task

    def __call__(self, batch: Batch) -> Batch:
        try:
            return super().__call__(batch)
        except RerankError as error:
            place = int(batch["shard"][0])
            return row(place, 0, FAILED, f"{self._shards[place].url}: {error}".encode())

    def _part(self, first: int, sentences: list[Any]) -> Part:
        part = Part(first, lambda converted, _: converted.text)
        loop.run(Source(sentences), Convert(self._task, first), part)
        return part


def joined(
    shard: Shard, out: str, firsts: Sequence[int], warnings: list[str], faults: int
) -> FinishedShard | str:
    """Return the record of a shard, joined from its parts, or the reason why it cannot be
    written."""
    try:
        return join(Storage(out), shard, firsts, warnings, faults)
    except RerankError as error:
        return str(error)
