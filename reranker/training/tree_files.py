"""Training trees that do not fit into memory: they are read in two passes, one for the vocabulary
and one that writes their tokens to disk, from where batches take them.

Batches are the same as of trees in memory, whose order is drawn anew for every epoch.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, overload

import torch
from torch import Tensor

from reranker.checkpoints.vocabulary import Vocabulary
from reranker.files.output import write_errors
from reranker.training.processes import Processes
from reranker.trees.linearize import linearize
from reranker.trees.treebank import read_treebank

_AT_ONCE = 1 << 20  # tokens


class TokenFile(Sequence[list[int]]):
    """Sequences of ids on disk, 4 bytes a token, of which the system keeps in memory what fits.

    Several processes may have the same one.
    """

    def __init__(self, path: Path) -> None:
        """Opens what ``write`` has written."""
        ends = _ends(path)
        self.ends = torch.from_file(str(ends), size=ends.stat().st_size // 8, dtype=torch.int64)
        size = path.stat().st_size // 4
        self.stream = torch.from_file(str(path), size=size, dtype=torch.int32)
        """[1 + tokens]: ``<eos>``, and all sequences, one after the other."""

    @staticmethod
    def write(path: Path, sequences: Iterable[Sequence[int]], eos: int) -> None:
        """Write ``path``, and beside it where each sequence ends."""
        with path.open("wb") as tokens, _ends(path).open("wb") as ends:
            array("i", [eos]).tofile(tokens)
            position = 1
            for sequence in sequences:
                position += len(sequence)
                array("i", sequence).tofile(tokens)
                array("q", [position]).tofile(ends)
            for file in (tokens, ends):
                _to_disk(file)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, number: int) -> list[int]: ...
    @overload
    def __getitem__(self, number: slice) -> list[list[int]]: ...
    def __getitem__(self, number: int | slice) -> list[int] | list[list[int]]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        start = int(self.ends[number - 1]) if number else 1
        ids: list[int] = self.stream[start : int(self.ends[number])].tolist()
        return ids

    def lengths(self) -> list[int]:
        """Of all sequences."""
        lengths: list[int] = self.ends.diff(prepend=torch.ones(1, dtype=torch.int64)).tolist()
        return lengths

    def counts(self, size: int) -> Tensor:
        """How often each of the ids up to ``size`` occurs, [size]."""
        counts = torch.zeros(size, dtype=torch.int64)
        for some in torch.split(self.stream[1:], _AT_ONCE):
            counts += torch.bincount(some, minlength=size)
        return counts


class TreeFiles(Iterable[tuple[str, ...]]):
    """The linearised trees of treebank files, read anew whenever they are gone through."""

    def __init__(
        self, paths: Sequence[Path], folder: Path, processes: Processes = Processes()
    ) -> None:
        """``folder`` is where tokens are written; all ``processes`` have to see it."""
        self.paths, self.folder, self.processes = paths, folder, processes

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return map(linearize, read_treebank(self.paths))

    def encoded(self, vocabulary: Vocabulary) -> TokenFile:
        """The ids of the trees, which are written unless a run has done so before with the same
        files and vocabulary."""
        path = self.folder / "tokens.bin"
        with self.processes.agreeing():  # and waiting for the first
            if self.processes.is_first:
                with write_errors(str(path)):
                    self._write(path, vocabulary)
        return TokenFile(path)

    def _write(self, path: Path, vocabulary: Vocabulary) -> None:
        known = path.with_suffix(".json")
        stats = [os.stat(each) for each in self.paths]
        files = [
            [str(each), stat.st_size, stat.st_mtime_ns]
            for each, stat in zip(self.paths, stats, strict=True)
        ]
        made_of = {"vocabulary": vocabulary.digest, "files": files}
        if known.exists() and json.loads(known.read_text("utf-8")) == made_of:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        known.unlink(missing_ok=True)
        TokenFile.write(path, map(vocabulary.encode, self), vocabulary.eos)
        temporary = known.with_suffix(".tmp")  # only once all else is there
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(made_of, file)
            _to_disk(file)
        temporary.replace(known)


def _ends(path: Path) -> Path:
    return path.with_suffix(".ends")


def _to_disk(file: IO[bytes] | IO[str]) -> None:
    file.flush()
    os.fsync(file.fileno())
