"""What an adaptation has done so far: files that are written whole or not at all, a shard each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reranker.adaptation.choosing import Choice
from reranker.adaptation.text import Refused
from reranker.errors import InputError, RerankError
from reranker.files.output import open_whole, write_errors


class Folder:
    """``settings.json``; of each shard of sentences ``NNNNN.lists`` (as the parser printed them),
    ``NNNNN.refused`` and ``NNNNN.choices``; of each model a folder with the state of its
    training."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Create it, or go on with it. Raises InputError if it is that of another run, RerankError
        if it cannot be written."""
        self._path = path
        with write_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        known = path / "settings.json"
        text = json.dumps(settings, indent=1, sort_keys=True) + "\n"
        if not known.exists():
            self._write(known, text)
        elif self._read(known) != text:
            raise InputError(
                f"{path} is of a run with other text, models or flags; "
                "choose another folder, or delete this one"
            )

    def training(self, model: str) -> Path:
        """Where the training of a model keeps its state."""
        return self._path / model

    def is_parsed(self, shard: int) -> bool:
        return self._shard(shard, "lists").exists()

    def put_lists(self, shard: int, lists: str, refused: Sequence[Refused]) -> None:
        lines = "".join(json.dumps(one) + "\n" for one in refused)
        self._write(self._shard(shard, "refused"), lines)
        self._write(self._shard(shard, "lists"), lists)

    def lists(self, shard: int) -> str:
        """As the parser printed them; empty if it could parse none of the shard's sentences."""
        return self._read(self._shard(shard, "lists"))

    def refused(self, shard: int) -> Iterator[Refused]:
        for line in self._read(self._shard(shard, "refused")).splitlines():
            yield Refused(*json.loads(line))

    def is_chosen(self, shard: int) -> bool:
        return self._shard(shard, "choices").exists()

    def put_choices(self, shard: int, made: Sequence[Choice]) -> None:
        lines = "".join(json.dumps(asdict(choice)) + "\n" for choice in made)
        self._write(self._shard(shard, "choices"), lines)

    def choices(self, shard: int) -> list[Choice]:
        lines = self._read(self._shard(shard, "choices")).splitlines()
        return [Choice(**json.loads(line)) for line in lines]

    def _shard(self, number: int, kind: str) -> Path:
        return self._path / f"{number:05}.{kind}"

    def _write(self, path: Path, text: str) -> None:
        with open_whole(path) as file:
            file.write(text)

    def _read(self, path: Path) -> str:
        try:
            return path.read_text("utf-8", "surrogateescape")
        except OSError as error:
            raise RerankError(f"{path}: cannot be read: {error.strerror}") from error
