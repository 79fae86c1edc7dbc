"""Trees from treebanks as they are distributed: files, folders and patterns; a tree on one line or
over several; plain, gzip or zstd."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reranker import registry
from reranker.errors import InputError, TreeError
from reranker.files.kinds import is_treebank, kind_of, refuse_other_than_trees
from reranker.files.opening import expanded, text_digest
from reranker.files.text import TextFile, encoding_fault, open_text, read_lines
from reranker.trees import psd
from reranker.trees.splitting import is_remark, open_brackets, split_trees
from reranker.trees.tree import WHITE_SPACE, Tree

logger = logging.getLogger(__name__)

# The endings of treebanks' files of trees. Not .prd: in the Penn Treebank, .mrg has the same trees,
# with tags.
ENDINGS = (".mrg", ".ptb", ".tree", ".trees", ".parse", psd.ENDING)
_PACKED = (".gz", ".zst")
_HEAD_LINES = 400  # show whether a file is a historical corpus and has lemmas
_SHOWN = 40

Name = str | os.PathLike[str]  # a file, a folder, a pattern, or ``-`` for standard input


class TreeText(NamedTuple):
    """A tree on one line, otherwise unchanged, and the line where it begins, counted from 1."""

    file: str
    line: int
    text: str
    problem: tuple[str, str] | None = None
    """A code and a message about a text that the file should not hold."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def digest(self) -> str:
        """Return a digest by which the tree is recognised when it is read again."""
        return text_digest(self.file, str(self.line), self.text)

    def tree(self) -> Tree:
        """Return the tree. Raises TreeError as ``Tree.from_string`` does, and for a ``problem`` or
        bytes that are not UTF-8: no output is to have these, and no model is to learn them."""
        if self.problem:
            raise TreeError(*self.problem)
        if fault := encoding_fault(self.text):
            raise TreeError("encoding", fault)
        return Tree.from_string(self.text)


class TreePiece(NamedTuple):
    """An item of ``TreeReader``: a ``splitting.Piece`` as a tree of plain words."""

    line: int
    end: int
    text: str
    problem: tuple[str, str] | None = None  # see ``TreeText``

    @property
    def is_spread(self) -> bool:
        """Return whether the piece is a finished tree over several lines."""
        return self.end > self.line and open_brackets(self.text) == 0


def treebank_files(names: Name | Iterable[Name]) -> list[str]:
    """Return the files that one or several names stand for: for a folder, its files, at any depth,
    that end in one of ``ENDINGS``, packed or not, sorted by name, folder by folder.

    Raises InputError for anything but names, for a pattern that matches nothing and for a folder
    without such files.
    """
    several = [names] if isinstance(names, str | os.PathLike) else names
    try:
        known = [*map(os.fsdecode, several)]
    except TypeError:
        raise InputError(f"expected the names of treebank files, got {names!r:.60}") from None
    files: list[str] = []
    for name in expanded(known):
        if not os.path.isdir(name):
            files.append(name)
            continue
        inside = sorted(path for path in Path(name).rglob("*") if _holds_trees(path))
        if not inside:
            raise InputError(f"{name}: no file in this folder ends in {', '.join(ENDINGS)}")
        files += map(str, inside)
    return files


def named(names: Iterable[Name]) -> str:
    """Return the name of a treebank in messages.

    >>> named(["23/1.mrg"]), named(["23/1.mrg", "23/2.mrg", "23/3.mrg"])
    ('23/1.mrg', '23/1.mrg and 2 more')
    """
    first, *others = map(str, names)
    return f"{first} and {len(others)} more" if others else first


def _holds_trees(path: Path) -> bool:
    return _unpacked(path.name).endswith(ENDINGS) and path.name[0] != "." and path.is_file()


def _unpacked(name: str) -> str:
    """Return a file's name without the ending of its compression."""
    name = name.lower()
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return name


class Remarks:
    """A warning, given once for all files of a treebank, that lines between trees are skipped."""

    def __init__(self, say: Callable[[str], None] = logger.warning) -> None:
        self.say = say
        self._is_said = False

    def skip(self, file: str, line: int, text: str) -> None:
        """Skip a line of this text."""
        if not self._is_said:
            what = "remarks and notices between trees are skipped"
            self.say(f"{file}:{line}: {what}: {text[:_SHOWN]!r}")
        self._is_said = True


class TreeReader:
    """An iterator over the pieces of a treebank's file: trees, finished or not, lines of text
    between trees, and blank lines between trees as pieces without text.

    Every command reads its treebanks with this class. Remarks and notices are skipped. In a
    historical corpus, blank lines and trees without words are left out, and the other trees are
    plain. Of treebanks in other notations there are only trees.
    """

    def __init__(
        self,
        file: str,
        lines: Iterable[str],
        remarks: Remarks | None = None,
        head: Sequence[str] | None = None,
    ) -> None:
        """Examine ``head``, the beginning of ``lines``, or read it ahead if it is not given."""
        if head is None:
            lines = iter(lines)
            head = list(itertools.islice(lines, _HEAD_LINES))
            lines = itertools.chain(head, lines)
        self._read = _reader(head)
        self.is_historical = _unpacked(file).endswith(psd.ENDING) or any(map(psd.has_id, head))
        self._has_lemmas = self.is_historical and psd.has_lemmas(head)
        self._file, self._lines = file, lines
        self._remarks = remarks or Remarks()

    @property
    def has_blank_lines(self) -> bool:
        """Return whether blank lines between trees are yielded."""
        return not (self._read or self.is_historical)

    def __iter__(self) -> Iterator[TreePiece]:
        if self._read:
            yield from self._read(self._file, self._lines, self._remarks.say)
            return
        for line, end, text in split_trees(self._lines):
            if is_remark(text):
                self._remarks.skip(self._file, line, text)
            elif not self.is_historical:
                yield TreePiece(line, end, text)
            elif text:
                try:
                    plain = psd.plain(text, has_lemmas=self._has_lemmas)
                except TreeError as error:
                    yield TreePiece(line, end, text, (error.code, str(error)))
                else:
                    if plain is not None:
                        yield TreePiece(line, end, plain)


def _reader(head: Sequence[str]) -> Any:
    """Return the reader of a treebank that is not in brackets; None for one that is."""
    first = next(filter(None, map(str.strip, head)), "")
    if first[:1] in ("", "("):
        return None
    kind = kind_of("".join(head))
    return registry.load("treebanks", kind.treebank) if kind and is_treebank(kind) else None


def tree_lines(file: str | TextFile) -> Iterator[str]:
    """Yield the lines of a file of trees. Raises KindError for a file of another kind, InputError
    for one that cannot be read to its end."""
    opened = open_text(file)
    try:
        refuse_other_than_trees(opened.name, opened.head())
    except BaseException:
        opened.close()
        raise
    yield from read_lines(opened)


def read_texts(names: Iterable[Name], remarks: Remarks | None = None) -> Iterator[TreeText]:
    """Yield every tree of the files, in order, including broken ones; ignore blank lines.

    Raises InputError for a file that cannot be read to its end.
    """
    remarks = remarks or Remarks()
    for file in treebank_files(names):
        for piece in TreeReader(file, tree_lines(file), remarks):
            if piece.text:
                yield TreeText(file, piece.line, piece.text, piece.problem)


def read_treebank(names: Iterable[Name]) -> Iterator[Tree]:
    """Yield every tree of the files, in order; skip a broken tree and log its file, line and
    reason. Raises InputError for a file that cannot be read to its end or contains no tree."""
    return (tree for _, tree in placed_trees(names))


def placed_trees(
    names: Name | Iterable[Name], *, say: Callable[[str], None] = logger.warning
) -> Iterator[tuple[TreeText, Tree]]:
    """Yield every tree of ``read_treebank`` with its place; raise what ``read_treebank`` raises."""
    remarks = Remarks(say)
    for file in treebank_files(names):
        count = 0
        for place in read_texts([file], remarks):
            try:
                tree = place.tree()
            except TreeError as error:
                say(f"{place}: skipped, {error.code}: {error}")
                continue
            yield place, tree
            count += 1
        if count == 0:
            raise InputError(f"{file}: contains no trees")


def read_sentences(names: Iterable[Name]) -> list[TreeText]:
    """Return every sentence of the files, in order, to be compared with the sentences of other
    files. See ``sentences``; raises InputError as ``read_texts`` does."""
    return sentences((file, list(tree_lines(file))) for file in treebank_files(names))


def sentences(files: Iterable[tuple[str, list[str]]]) -> list[TreeText]:
    """Return the sentences in the lines of files, including broken ones.

    Where no tree takes up several lines, each line is a sentence, as EVALB reads it, with any
    number of trees. Where one does, blank lines are ignored.
    """
    places: list[TreeText] = []
    remarks = Remarks()
    is_spread = False
    for file, lines in files:
        reader = TreeReader(file, lines, remarks)
        pieces = list(reader)
        if not reader.has_blank_lines or any(piece.is_spread for piece in pieces):
            is_spread = True
        else:
            whole = enumerate((line.strip(WHITE_SPACE) for line in lines), 1)
            pieces = [TreePiece(line, line, text) for line, text in whole if not is_remark(text)]
        places += [TreeText(file, piece.line, piece.text, piece.problem) for piece in pieces]
    return [place for place in places if place.text or not is_spread]
