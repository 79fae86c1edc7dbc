"""Small shards of n-best lists, and what `rerank --nbest` prints for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reranker.commands.main import main
from tests.reranker.ensembles import CANDIDATES


def write_shard(path: Path, first: int, count: int) -> None:
    """Write lists named ``first`` and up, of 1 to 6 candidates; every fifth list has a broken
    one."""
    lists = []
    for name in range(first, first + count):
        trees = [*CANDIDATES[name % 3 : name % 3 + 1 + name % 4]]
        if name % 5 == 0:
            trees.insert(1, "(S1 (S (NP")
        scored = "".join(f"-{10 + place}.5\n{tree}\n" for place, tree in enumerate(trees))
        lists.append(f"{len(trees)}\t{name}\n{scored}\n")
    path.write_text("".join(lists))


def printed(shard: Path | str, models: Sequence[str], out: Path, *flags: str) -> bytes:
    """Return the output of `rerank --nbest shard`."""
    arguments = ["--nbest", str(shard), "--models", *models, "--threads", "1", "--out", str(out)]
    assert main([*arguments, *flags]) in (0, 1)
    return out.read_bytes()
