"""What `rerank cluster` would do on many machines: measures its parts here, and draws a model.

    python -m benchmarks.scaling --nbest lists.txt.gz --models ckpt/rnn-forward.pt

Measured are core-seconds and bytes a sentence without Ray, and what a block costs the command that
hands them out. docs/scaling.md explains the model and shows a run.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from reranker.checkpoints.ensemble_file import named_models
from reranker.files.text import read_lines
from reranker.nbest import ReadOptions
from reranker.ray import cluster, connection, work
from reranker.ray.outcome import Outcome
from reranker.ray.parts import Record, Shard, shards
from reranker.ray.storage import expanded
from reranker.ray.work import Ranked, Ranker, Reading, joined, self_contained

MACHINES = (1, 3, 10, 30, 100, 300, 1000)
SENTENCES = 1_000_000_000


@dataclass(frozen=True)
class Measured:
    """Core-seconds and bytes a sentence, and seconds a block."""

    reading: float
    ranking: float
    input: float
    """Bytes of the lists, packed with gzip."""
    block: float
    """Bytes that go from reader to actor."""
    output: float
    scheduling: float
    """Core-seconds of the command for each block of Ray's."""


@dataclass(frozen=True)
class Cluster:
    """Machines, and what they share."""

    cores: int = 16
    """Of each machine."""
    block: int = 200
    """Sentences."""
    store: float = 10e9
    """Bytes a second of the object store, for all machines together."""


def seconds(measured: Measured, machines: int, shared: Cluster) -> dict[str, float]:
    """How long each part takes for ``SENTENCES``; all go on at once, so the longest decides."""
    core_seconds = measured.reading + measured.ranking
    # Answers are written as parts, read again, and written as shards.
    stored = measured.input + 3 * measured.output
    return {
        "computing": SENTENCES * core_seconds / (machines * shared.cores),
        "handing out": SENTENCES / shared.block * measured.scheduling,
        "the store": SENTENCES * stored / shared.store,
    }


def table(measured: Measured, shared: Cluster) -> str:
    """Hours for each number of machines, and what they wait for."""
    rows = [
        "| machines | hours | sentences/s | bound by | share of perfect |",
        "|--:|--:|--:|---|--:|",
    ]
    for machines in MACHINES:
        parts = seconds(measured, machines, shared)
        bound = max(parts, key=lambda name: parts[name])
        longest, share = parts[bound], parts["computing"] / parts[bound]
        rows.append(
            f"| {machines:,} | {longest / 3600:,.2f} | {SENTENCES / longest:,.0f} | {bound} "
            f"| {share:.0%} |"
        )
    return "\n".join(rows)


def measure(nbest: str, models: Sequence[str], sentences: int) -> Measured:
    """Read and rank lists without Ray; then pass blocks that are ranked already through it."""
    named = named_models(list(models))
    ranked = Ranked(
        self_contained(named, "sum", named.weighing), "sum", "cpu", 1, "exact", "best", False, None
    )
    checkpoints = [file.read_bytes() for file in named.paths]
    with tempfile.TemporaryDirectory() as folder:
        out, path = f"{folder}/out", Path(folder, "lists.txt")
        path.write_text(_first_lists(nbest, sentences), errors="surrogateescape")
        (shard,) = shards(expanded([str(path)]), "best", {}, sentences)
        ranker = Ranker([shard], out, ranked, checkpoints)
        begin = time.process_time()
        lists, end = Reading((shard,), out, ReadOptions())({"shard": [0]})
        reading = time.process_time() - begin
        begin = time.process_time()
        ranker(lists)
        ranking = time.process_time() - begin
        record = joined(shard, out, **json.loads(end["content"][0]))
        assert isinstance(record, Record)
        count = record.counts["sentences"]
        return Measured(
            reading / count,
            ranking / count,
            len(gzip.compress(path.read_bytes())) / count,
            len(lists["content"][0]) / count,
            record.size / count,
            _scheduling(replace(shard, block=1), out, ranked, checkpoints),
        )


def _first_lists(nbest: str, count: int) -> str:
    """The first lists of a file in which a blank line ends each."""
    lines = []
    for line in read_lines(nbest):
        lines.append(line)
        count -= not line.strip()
        if not count:
            break
    return "".join(lines)


def _scheduling(shard: Shard, out: str, ranked: Ranked, checkpoints: Sequence[bytes]) -> float:
    """Core-seconds of this process for each block, where there is nothing left to compute; what it
    takes to begin and to end is measured with one block, and left out."""
    reading = Reading((shard,), out, ReadOptions())
    ranker = Ranker([shard], out, ranked, checkpoints)
    blocks = [row for row in reading({"shard": [0]}) if row["kind"] == [work.LISTS]]
    with connection.connected("local"):
        actors = connection.actors(1, 1, 1, 0)
        taken = []
        for block in (len(blocks), 1):  # sentences: one block, then one for each
            each = replace(shard, block=block)
            if block == 1:
                for row in blocks:
                    ranker(row)
            begin = time.process_time()
            again = Reading((each,), out, ReadOptions())
            cluster.rank([each], again, ranked, actors, Outcome({}))
            taken.append(time.process_time() - begin)
    return (taken[1] - taken[0]) / (len(blocks) - 1)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nbest", required=True)
    parser.add_argument("--models", nargs="+", required=True)
    parser.add_argument("--sentences", type=int, default=100, help="to measure with")
    parser.add_argument("--cores", type=int, default=Cluster.cores, help="of each machine")
    parser.add_argument("--block", type=int, default=Cluster.block, help="sentences")
    parser.add_argument("--measured", type=json.loads, help="figures of an earlier run")
    given = parser.parse_args(argv)
    if given.measured:
        measured = Measured(**given.measured)
    else:
        measured = measure(given.nbest, given.models, given.sentences)
    print(json.dumps({name: float(f"{value:.3g}") for name, value in asdict(measured).items()}))
    print(table(measured, Cluster(given.cores, given.block)))


if __name__ == "__main__":
    main()
