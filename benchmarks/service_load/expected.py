"""What the command says of lists, and whether the service says the same."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.service.servers import RERANK

Row = dict[str, Any]
"""A line of ``rerank --output ranked``."""


def ranked(lists: Sequence[bytes], models: Sequence[str]) -> list[Row]:
    """What the command writes for these lists."""
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(b"".join(lists))
        command = [RERANK, "--nbest", file.name, "--models", *models, "--output", "ranked"]
        done = subprocess.run(command, check=True, capture_output=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def is_right(answer: bytes, rows: Sequence[Row]) -> bool:
    """Whether the service's figures for each list are those of the command, to the last digit."""
    sentences = json.loads(answer)["sentences"]
    return len(sentences) == len(rows) and all(map(_same, sentences, rows))


def _same(sentence: Row, row: Row) -> bool:
    for entry in sentence["ranking"]:
        entry["score"] = entry.pop("relevance_score")
    names = ("ranking", "best_index", "margin", "status")
    return all(sentence[name] == row[name] for name in names)
