"""The work from shards to shards, on the machines of a Ray cluster or the cores of this one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ray
import ray.data
from ray.data import ActorPoolStrategy, DataContext, TaskPoolStrategy

from reranker.errors import RerankError
from reranker.plugins.cluster import work
from reranker.plugins.cluster.connection import Actors, ray_errors
from reranker.plugins.cluster.parts import ClusterOutcome, FinishedShard, Shard
from reranker.plugins.cluster.work import Converter, RankActor, RankTask, ShardReader
from reranker.work.conversion import ConvertSettings

_READERS_FOR = 8
"""Actors that one reader feeds: reading takes a tenth of the time of scoring, or less."""


class _Assembly:
    """The finished blocks of each shard, and the tasks that join them."""

    def __init__(self, shards: Sequence[Shard], out: str) -> None:
        self._shards, self._out = shards, out
        self._there: dict[int, set[int]] = {}
        self._ends: dict[int, tuple[list[int], list[str], int]] = {}
        self._joining: dict[Any, Shard] = {}
        self._join = ray.remote(work.joined).options(num_cpus=0, max_retries=-1)

    def add(self, shard: int, first: int) -> None:
        """Count a part as finished; a part may be reported twice if a worker died."""
        self._there.setdefault(shard, set()).add(first)
        self._check(shard)

    def end(self, shard: int, firsts: list[int], warnings: list[str], faults: int) -> None:
        """Store the blocks of a shard that has been read to its end."""
        self._ends[shard] = firsts, warnings, faults
        self._check(shard)

    def _check(self, shard: int) -> None:
        if shard in self._ends and self._there.get(shard, set()) >= set(self._ends[shard][0]):
            end = self._ends.pop(shard)
            del self._there[shard]
            task = self._join.remote(self._shards[shard], self._out, *end)
            self._joining[task] = self._shards[shard]

    def records(self, wait: bool) -> Iterator[tuple[Shard, FinishedShard]]:
        """Yield the joined shards; with ``wait``, all shards. Raises RerankError."""
        while self._joining:
            ready, _ = ray.wait([*self._joining], timeout=None if wait else 0)
            if not ready:
                return
            for task in ready:
                record = ray.get(task)
                if isinstance(record, str):
                    raise RerankError(record)
                yield self._joining.pop(task), record


def run(
    shards: Sequence[Shard],
    reading: ShardReader,
    task: RankTask | ConvertSettings,
    actors: Actors,
    outcome: ClusterOutcome,
    report: Callable[[], None] = lambda: None,
) -> None:
    """Rank or convert shards, and add the results to ``outcome``; Ray must be connected.

    ``report`` is called when something was added. Raises RerankError if an output cannot be written
    or Ray fails; what has been written is kept, and the same call resumes from there.
    """
    begin = time.monotonic()
    with ray_errors():
        assembly = _Assembly(shards, reading.out)
        dataset = _dataset(shards, reading, task, actors)
        for batch in dataset.iter_batches(batch_size=None, prefetch_batches=0):
            outcome.startup = outcome.startup or time.monotonic() - begin
            columns = (batch[name] for name in ("shard", "first", "kind", "content"))
            for place, first, kind, content in zip(*columns, strict=True):
                if kind == work.BROKEN:
                    raise RerankError(content.decode())
                if kind == work.FAILED:
                    outcome.failed[shards[place].name] = content.decode()
                elif kind == work.END:
                    assembly.end(int(place), **json.loads(content))
                else:
                    assembly.add(int(place), int(first))
                    sentences, seconds = json.loads(content or b"[0, 0]")
                    outcome.sentences += sentences
                    outcome.computing += seconds
            _collect(assembly, outcome, wait=False)
            report()
        _collect(assembly, outcome, wait=True)
        report()
    outcome.seconds = time.monotonic() - begin - outcome.startup


def _collect(assembly: _Assembly, outcome: ClusterOutcome, wait: bool) -> None:
    for shard, record in assembly.records(wait):
        outcome.records[shard.name] = record


def _dataset(
    shards: Sequence[Shard], reading: ShardReader, task: RankTask | ConvertSettings, actors: Actors
) -> ray.data.Dataset:
    context = DataContext.get_current()
    context.enable_progress_bars = False
    # Every block of sentences is a block of Ray's: it is sent on as soon as it is read, and reading
    # waits when those that wait fill their part of the object store.
    context.target_max_block_size = 1
    context.print_on_execution_start = False
    worker: type[RankActor | Converter] = Converter
    checkpoints: list[Any] = []
    if isinstance(task, RankTask):
        worker = RankActor
        checkpoints = [ray.put(path.read_bytes()) for path in task.settings.models.paths]
    places = [{"shard": place} for place in range(len(shards))]
    readers = min(len(shards), 1 + actors.most // _READERS_FOR)
    return (
        ray.data.from_items(places, override_num_blocks=len(places))
        # Readers need no cores of their own: they wait for the actors most of the time, and actors
        # that have taken all cores wait for them.
        .map_batches(reading, batch_size=1, num_cpus=0, compute=TaskPoolStrategy(size=readers))
        .map_batches(
            worker,
            batch_size=1,
            compute=ActorPoolStrategy(min_size=actors.least, max_size=actors.most),
            num_cpus=actors.cores,
            num_gpus=actors.gpus,
            fn_constructor_args=(shards, reading.out, task, checkpoints),
        )
    )
