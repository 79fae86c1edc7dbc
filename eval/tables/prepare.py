"""Data as a study needs them, in its work folder: trees a line, and lists in our own JSON."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from study import Data, EvaluationSet, Study

from reranker.errors import InputError, TreeError
from reranker.files.output import open_whole
from reranker.files.text import open_text
from reranker.nbest import ReadOptions, read_nbest
from reranker.nbest.writing import list_text
from reranker.trees.linearize import delinearize, linearize
from reranker.trees.tree import TRACE, Tree
from reranker.trees.treebank import read_treebank

LINE_END = "¶"


@dataclass(frozen=True, slots=True)
class Prepared:
    """Files of a study in ``folder``."""

    folder: Path

    @property
    def train(self) -> Path:
        return self.folder / "train.mrg"

    @property
    def dev(self) -> Path:
        return self.folder / "dev.mrg"

    def text(self, name: str) -> Path:
        """The trees of a set, each the only candidate of a list."""
        return self.folder / f"{name}.text.jsonl"

    def lists(self, name: str) -> Path:
        return self.folder / f"{name}.lists.jsonl"

    def gold(self, name: str) -> Path:
        """The lists' gold trees."""
        return self.folder / f"{name}.gold.mrg"


def source_files(study: Study, root: Path) -> list[Path]:
    """Every file the study reads. Raises InputError naming all that are missing."""
    sets = study.sets.values()
    patterns = [*study.data.train, *study.data.dev]
    for one in sets:
        patterns += [*one.trees, *filter(None, (one.nbest, one.gold, one.tokens))]
    missing = [pattern for pattern in dict.fromkeys(patterns) if not _found(root, pattern)]
    if missing:
        listed = "".join(f"\n  {root / pattern}" for pattern in missing)
        raise InputError(
            f"{study.path} needs data that are not here:{listed}\n"
            "Say where they are with --data FOLDER, or `make tables DATA=FOLDER`; where they come "
            "from: docs/results.md"
        )
    return list(dict.fromkeys(path for pattern in patterns for path in _found(root, pattern)))


def prepare(study: Study, root: Path, folder: Path, sentences: int) -> Prepared:
    """Write what is not there yet; of the lists, ``sentences`` of each set, evenly spread (0: all).

    Raises InputError for files that cannot be used.
    """
    folder.mkdir(parents=True, exist_ok=True)
    prepared = Prepared(folder)
    for path, patterns in ((prepared.train, study.data.train), (prepared.dev, study.data.dev)):
        if not path.exists():
            _write(path, (f"{tree}\n" for tree in _trees(study.data, root, patterns)))
    for name, one in study.sets.items():
        if not prepared.text(name).exists():
            lines = (
                json.dumps({"id": str(number), "candidates": [tree]}, ensure_ascii=False) + "\n"
                for number, tree in enumerate(_trees(study.data, root, one.trees))
            )
            _write(prepared.text(name), lines)
        if one.nbest and not prepared.lists(name).exists():
            _write_lists(prepared, name, one, study.data, root, sentences)
    return prepared


def spread(count: int, wanted: int) -> list[int]:
    """``wanted`` of the numbers below ``count``, evenly spread; all of them for 0.

    >>> spread(7, 3)
    [1, 3, 5]
    """
    if not 0 < wanted < count:
        return list(range(count))
    return [(2 * place + 1) * count // (2 * wanted) for place in range(wanted)]


def word(text: str) -> str:
    """A word of plain text as a tree holds it: vocabularies know lower case only, so capitals are
    marked, and no two words become one.

    >>> [word(one) for one in ("The", "WW2", "n't", "(")]
    ['^the', '^w^w2', "n't", '-LRB-']
    """
    marked = "".join(f"^{one.lower()}" if one != one.lower() else one for one in text)
    return marked.replace("(", "-LRB-").replace(")", "-RRB-")


def text_trees(lines: Iterator[str], words_per_tree: int) -> Iterator[str]:
    """Flat trees of whole lines, each of at least ``words_per_tree`` words but the last.

    Linearised they are the text: a line ends in ``¶``, a tree's last one in ``<eos>``, so there
    are as many tokens as words and lines, and a model reads on from line to line.
    """
    words: list[str] = []
    for line in lines:
        words += [*map(word, line.split()), LINE_END]
        if len(words) > words_per_tree:
            yield _flat(words[:-1])
            words = []
    if len(words) > 1:
        yield _flat(words[:-1])


def cleaned(tree: Tree) -> str:
    """The tree without traces and function tags, its root called TOP."""
    leaves = zip(tree.leaves(), tree.tags(), strict=True)
    kept = [(leaf, tag) for leaf, tag in leaves if tag != TRACE]
    words, tags = [leaf for leaf, _ in kept], [tag for _, tag in kept]
    return delinearize(linearize(tree), words, tags).to_string()


def _trees(data: Data, root: Path, patterns: Sequence[str]) -> Iterator[str]:
    """The trees of the files, a line each."""
    paths = [path for pattern in patterns for path in _found(root, pattern)]
    if data.text:
        for path in paths:
            with open_text(path) as lines:
                yield from text_trees(iter(lines), data.words_per_tree)
        return
    for tree in read_treebank(paths):
        try:
            yield cleaned(tree)
        except (TreeError, ValueError) as error:
            raise InputError(f"{', '.join(patterns)}: {error}: {tree.to_string()[:80]}") from error


def _write_lists(
    prepared: Prepared, name: str, one: EvaluationSet, data: Data, root: Path, sentences: int
) -> None:
    gold = list(_trees(data, root, [one.gold] if one.gold else one.trees))
    options = ReadOptions(tokens=root / one.tokens if one.tokens else None)
    lists = list(read_nbest(root / one.nbest, options=options))
    if len(lists) != len(gold):
        raise InputError(f"{root / one.nbest}: {len(lists)} lists for {len(gold)} gold trees")
    chosen = spread(len(lists), sentences)
    _write(prepared.gold(name), (f"{gold[place]}\n" for place in chosen))
    # Last, because that it is there says that both are.
    _write(prepared.lists(name), (list_text(lists[place], place, "jsonl") for place in chosen))


def _write(path: Path, lines: Iterator[str]) -> None:
    with open_whole(path) as file:
        for line in lines:
            file.write(line)


def _flat(words: Sequence[str]) -> str:
    return f"(TOP {' '.join(f'(W {one})' for one in words)})"


def _found(root: Path, pattern: str) -> list[Path]:
    return [Path(one) for one in sorted(glob.glob(str(root / pattern)))]
