"""The outcome of a run over many shards, and the report of everything that was rejected."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from reranker.ray.parts import REJECTED, FinishedShard, Shard
from reranker.ray.storage import Storage


@dataclass(slots=True)
class ClusterOutcome:
    """What a run did, and what exists now."""

    records: dict[str, FinishedShard]  # the records of complete shards, by name
    failed: dict[str, str] = field(default_factory=dict)
    """The shards that could not be read, by name, and why."""
    sentences: int = 0  # the number of sentences that this run ranked
    computing: float = 0.0  # the core-seconds that actors took for these
    startup: float = 0.0  # seconds until the first block was ranked, or found
    seconds: float = 0.0  # seconds from then until the last shard was complete

    @property
    def counts(self) -> Counter[str]:
        """The counts of all complete shards together."""
        total: Counter[str] = Counter()
        for record in self.records.values():
            total.update(record.counts)
        return total

    def write_rejected(self, storage: Storage, shards: Sequence[Shard]) -> None:
        """Write a line of JSON for each rejected candidate and each failed shard, including those
        of earlier runs; no file if there are none. Raises RerankError."""
        if self.failed or self.counts["rejected"]:
            storage.write(REJECTED, self._rejected(storage, shards))
        else:
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
