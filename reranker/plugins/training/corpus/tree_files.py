"""Training trees that do not fit into memory: they are read in two passes, one for the vocabulary
and one that writes their tokens to disk, from where batches take them.

Batches are the same as of trees in memory, whose order is drawn again for every epoch.
"""

from __future__ import annotations

import json
import logging
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, overload

import torch
from torch import Tensor

from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import InputError, TreeError
from reranker.files.opening import read_text
from reranker.files.output import check_own, open_whole, whole_file, write_errors
from reranker.plugins.training.processes import Processes
from reranker.trees.linearize import linearize, linearize_tagged
from reranker.trees.tagged import with_tags
from reranker.trees.treebank import Name, named, placed_trees, treebank_files

logger = logging.getLogger(__name__)

_AT_ONCE = 1 << 20  # tokens
Reads = Literal["words", "tags"]


class TokenFile(Sequence[list[int]]):
    """The sequences of ids on disk, 4 bytes per token, which the system caches as far as memory
    allows.

    Several processes may open the same file.
    """

    def __init__(self, path: Path) -> None:
        """Open a file that ``write`` has written."""
        ends = _ends(path)
        self.ends = torch.from_file(str(ends), size=ends.stat().st_size // 8, dtype=torch.int64)
        size = path.stat().st_size // 4
        self.stream = torch.from_file(str(path), size=size, dtype=torch.int32)
        """``<eos>`` followed by all sequences, one after another, [1 + tokens]."""

    @staticmethod
    def write(path: Path, sequences: Iterable[Sequence[int]], eos: int) -> None:
        """Write ``path``, and beside it where each sequence ends."""
        with whole_file(path, _is_ours) as tokens, whole_file(_ends(path), _is_ours) as ends:
            array("i", [eos]).tofile(tokens)
            position = 1
            for sequence in sequences:
                position += len(sequence)
                array("i", sequence).tofile(tokens)
                array("q", [position]).tofile(ends)

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
        """Return the lengths of all sequences."""
        lengths: list[int] = self.ends.diff(prepend=torch.ones(1, dtype=torch.int64)).tolist()
        return lengths

    def counts(self, size: int) -> Tensor:
        """Return the frequency of each id below ``size``, [size]."""
        counts = torch.zeros(size, dtype=torch.int64)
        for some in torch.split(self.stream[1:], _AT_ONCE):
            counts += torch.bincount(some, minlength=size)
        return counts


def read_tokens(
    names: Sequence[Name], reads: Reads, say: Callable[[str], None] = logger.warning
) -> Iterator[tuple[str, ...]]:
    """Yield the tokens of every tree of the files that has words, with tags in their place if a
    model is to read those; ``say`` which trees are skipped. Raises InputError as ``read_treebank``
    does, for a word without a tag, and if no tree has words."""
    is_empty = True
    for place, tree in placed_trees(names, say=say):
        try:
            tokens = linearize(tree) if reads == "words" else with_tags(*linearize_tagged(tree))
        except TreeError as error:
            raise InputError(f'{place}: {error}; reads = "tags" needs tagged trees') from error
        if tokens:  # a tree may hold nothing but traces
            is_empty = False
            yield tokens
    if is_empty:
        raise InputError(f"{named(names)}: the trees have no words")


class StreamedTrees(Iterable[tuple[str, ...]]):
    """The linearised trees of treebank files, read again on each pass."""

    def __init__(
        self,
        names: Sequence[Name],
        folder: Path,
        processes: Processes = Processes(),
        reads: Reads = "words",
    ) -> None:
        """Take the ``folder`` for the tokens, which all ``processes`` have to see. Raises
        InputError as ``treebank_files`` does."""
        self.paths, self.folder, self.processes = treebank_files(names), folder, processes
        self._reads, self._say = reads, logger.warning

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        say, self._say = self._say, logger.debug  # each warning once
        return read_tokens(self.paths, self._reads, say)

    def encoded(self, vocabulary: Vocabulary) -> TokenFile:
        """Return the ids of the trees, which are written unless a run has done so before with the
        same files and vocabulary."""
        path = self.folder / "tokens.bin"
        with self.processes.agreeing():  # and waiting for the first
            if self.processes.is_first:
                files = [_known_by(each) for each in self.paths]
                with write_errors(str(path)):
                    self._write(path, vocabulary, files)
        return TokenFile(path)

    def _write(self, path: Path, vocabulary: Vocabulary, files: list[list[Any]]) -> None:
        made_of = {"vocabulary": vocabulary.digest, "files": files}
        self.folder.mkdir(parents=True, exist_ok=True)
        known, *_ = token_files(self.folder)
        if _made_of(known) == made_of:
            return
        _say(known, _INCOMPLETE)
        TokenFile.write(path, map(vocabulary.encode, self), vocabulary.eos)
        _say(known, made_of)


def _known_by(path: str) -> list[Any]:
    """Return the signs of a changed file. Raises InputError for a missing one."""
    try:
        stat = os.stat(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    return [path, stat.st_size, stat.st_mtime_ns]


def token_files(folder: Path) -> list[Path]:
    """Return the files that ``StreamedTrees`` writes, what they were made from first. Raises
    InputError if there are files of these names that no run has written."""
    path = folder / "tokens.bin"
    files = [path.with_suffix(".json"), path, _ends(path)]
    for file in files:
        check_own(
            file, _is_ours, "choose another --log-folder", "not written by a run with --stream"
        )
    return files


def _is_ours(file: Path) -> bool:
    """Return whether the file, of tokens or beside them, was written by a run with --stream."""
    made_of = _made_of(file.with_suffix(".json"))
    return made_of is not None and made_of.keys() >= _INCOMPLETE.keys()


_INCOMPLETE: dict[str, Any] = {"vocabulary": "", "files": []}


def _made_of(known: Path) -> dict[str, Any] | None:
    """Return the file's statement of what its tokens were made from; None if there is none."""
    try:
        made_of = json.loads(read_text(known))
    except (OSError, ValueError):
        return None
    return made_of if isinstance(made_of, dict) else None


def _say(known: Path, made_of: dict[str, Any]) -> None:
    with open_whole(known, _is_ours) as file:
        file.write(json.dumps(made_of))


def _ends(path: Path) -> Path:
    return path.with_suffix(".ends")
