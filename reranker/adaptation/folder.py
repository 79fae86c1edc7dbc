"""What an adaptation has done so far: files that are written whole or not at all, a shard each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reranker.adaptation.choosing import Choice
from reranker.errors import InputError, RerankError
from reranker.files.output import open_whole, write_errors
from reranker.nbest import NBest, ReadOptions, read_nbest
from reranker.nbest.writing import list_text
from reranker.text.reading import Refused

_JSON_LINES = ReadOptions("jsonl")


class Folder:
    """``settings.json``; of each shard of sentences ``NNNNN.jsonl``, their lists, ``NNNNN.refused``
    and ``NNNNN.choices``; of each model a folder with the state of its training."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Create it, or go on with it. Raises InputError if it is that of a run with other
        settings, or if there are files in or beside a new one that would be overwritten,
        RerankError if it cannot be written."""
        self._path = path
        known = path / "settings.json"
        text = json.dumps(settings, indent=1, sort_keys=True) + "\n"
        if known.exists():
            if self._read(known) != text:
                raise InputError(
                    f"{path} is of a run with another text, parser or models: choose another --out"
                )
            return
        others = [*path.parent.glob("*.pt"), *path.parent.glob("report.md"), *path.glob("*")]
        if any(each.suffix != ".tmp" for each in others):  # what a kill may have left
            raise InputError(f"{path.parent} has files of something else: choose another --out")
        with write_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        self._write(known, text)

    def training(self, model: str, settings: Mapping[str, Any]) -> Path:
        """Where the training of a model with these settings keeps its state."""
        text = json.dumps(settings, sort_keys=True)
        return self._path / f"{model}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def is_parsed(self, shard: int) -> bool:
        return self._shard(shard, "jsonl").exists()

    def put_lists(self, shard: int, lists: Sequence[NBest], refused: Sequence[Refused]) -> None:
        lines = "".join(json.dumps(one) + "\n" for one in refused)
        self._write(self._shard(shard, "refused"), lines)
        text = "".join(list_text(nbest, place, "jsonl") for place, nbest in enumerate(lists))
        self._write(self._shard(shard, "jsonl"), text)

    def lists(self, shard: int) -> Iterator[NBest]:
        """None at all if none of the shard's sentences could be parsed."""
        path = self._shard(shard, "jsonl")
        if path.stat().st_size:
            yield from read_nbest(path, options=_JSON_LINES)

    def refused(self, shard: int) -> Iterator[Refused]:
        for line in self._read(self._shard(shard, "refused")).splitlines():
            yield Refused(*json.loads(line))

    def is_chosen(self, shard: int) -> bool:
        return self._shard(shard, "choices").exists()

    def put_choices(self, shard: int, made: Sequence[Choice]) -> None:
        lines = "".join(json.dumps(asdict(choice)) + "\n" for choice in made)
        self._write(self._shard(shard, "choices"), lines)

    def choices(self, shard: int) -> Iterator[Choice]:
        for line in self._read(self._shard(shard, "choices")).splitlines():
            yield Choice(**json.loads(line))

    def _shard(self, number: int, kind: str) -> Path:
        return self._path / f"{number:05}.{kind}"

    def _write(self, path: Path, text: str) -> None:
        with open_whole(path) as file:
            file.write(text)

    def _read(self, path: Path) -> str:
        try:
            return path.read_text("utf-8")
        except OSError as error:
            raise RerankError(f"{path}: cannot be read: {error.strerror}") from error
