"""The files of a run in its work folder, and the data written there in the forms `rerank` reads:
one tree a line, and lists in our own JSON."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from study import Data, EvaluationSet, Study

from reranker.errors import InputError, TreeError
from reranker.files.output import open_whole
from reranker.files.text import open_text
from reranker.nbest import NBest, ReadOptions, read_nbest
from reranker.nbest.writing import list_text
from reranker.trees.linearize import delinearize, linearize
from reranker.trees.tree import TRACE, Tree
from reranker.trees.treebank import read_treebank

LINE_END = "¶"


@dataclass(frozen=True, slots=True)
class Files:
    """Where everything is in a work folder."""

    folder: Path

    def config(self, model: str) -> Path:
        return self.folder / "configs" / f"{model}.toml"

    def checkpoint(self, run: str) -> Path:
        return self.folder / "models" / f"{run}.pt"

    def data(self, name: str) -> Path:
        """``train.mrg`` and ``dev.mrg``; of each set ``SET.text.jsonl``, its trees, each the only
        candidate of a list, ``SET.lists.jsonl`` and ``SET.gold.mrg``, the lists' gold trees."""
        return self.folder / "data" / name

    def scored(self, run: str, name: str) -> Path:
        """Scores of ``SET.text`` or ``SET.lists``."""
        return self.folder / "scored" / f"{run}.{name}.jsonl"


def source_files(study: Study, root: Path) -> list[Path]:
    """Every file the study reads. Raises InputError naming all that are missing."""
    patterns = [*study.data.train, *study.data.dev]
    for evaluated in study.sets.values():
        patterns += [*evaluated.trees, evaluated.nbest, evaluated.gold, evaluated.tokens]
    paths = {pattern: _matching(root, [pattern]) for pattern in patterns if pattern}
    if missing := [pattern for pattern, matching in paths.items() if not matching]:
        listed = "".join(f"\n  {root / pattern}" for pattern in missing)
        raise InputError(
            f"{study.path} needs data that are not here:{listed}\n"
            "Say where they are with --data FOLDER, or `make tables DATA=FOLDER`; where they come "
            "from: docs/tables.md"
        )
    return list(dict.fromkeys(path for matching in paths.values() for path in matching))


def prepare(study: Study, root: Path, files: Files, sentences: int) -> None:
    """Write what is not there yet; of the lists, ``sentences`` of each set, evenly spread (0: all).

    Raises InputError for files that cannot be used.
    """
    files.data("").mkdir(parents=True, exist_ok=True)
    for name, patterns in (("train.mrg", study.data.train), ("dev.mrg", study.data.dev)):
        _write(files.data(name), (f"{tree}\n" for tree in _trees(study.data, root, patterns)))
    for name, evaluated in study.sets.items():
        trees = enumerate(_trees(study.data, root, evaluated.trees))
        content = ({"id": str(number), "candidates": [tree]} for number, tree in trees)
        texts = (json.dumps(each, ensure_ascii=False) + "\n" for each in content)
        _write(files.data(f"{name}.text.jsonl"), texts)
        lists = files.data(f"{name}.lists.jsonl")
        if evaluated.nbest and not lists.exists():
            gold_patterns = [evaluated.gold] if evaluated.gold else evaluated.trees
            gold = list(_trees(study.data, root, gold_patterns))
            kept = _read_lists(root, evaluated, len(gold))
            chosen = spread(len(gold), sentences)
            _write(files.data(f"{name}.gold.mrg"), (f"{gold[place]}\n" for place in chosen))
            # Last, because its presence means that both files are complete.
            _write(lists, (list_text(kept[place], place, "jsonl") for place in chosen))


def spread(count: int, wanted: int) -> list[int]:
    """``wanted`` of the numbers below ``count``, evenly spread; all of them for 0.

    >>> spread(7, 3)
    [1, 3, 5]
    """
    if not 0 < wanted < count:
        return list(range(count))
    return [(2 * place + 1) * count // (2 * wanted) for place in range(wanted)]


def text_trees(lines: Iterable[str], words_per_tree: int) -> Iterator[str]:
    """Flat trees of whole lines, each of at least ``words_per_tree`` words but the last.

    Linearised they are the text: a line ends in ``¶``, a tree's last one in ``<eos>``, so there
    are as many tokens as words and lines, and a model reads on from line to line.
    """
    words: list[str] = []
    for line in lines:
        words += [*map(_word, line.split()), LINE_END]
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
    """The trees of the files, without line ends."""
    paths = _matching(root, patterns)
    if data.text:
        for path in paths:
            with open_text(path) as lines:
                yield from text_trees(lines, data.words_per_tree)
        return
    for tree in read_treebank(paths):
        try:
            yield cleaned(tree)
        except (TreeError, ValueError) as error:
            raise InputError(f"{', '.join(patterns)}: {error}: {tree.to_string()[:80]}") from error


def _read_lists(root: Path, evaluated: EvaluationSet, count: int) -> list[NBest]:
    """Raises InputError unless there are ``count``."""
    options = ReadOptions(tokens=root / evaluated.tokens if evaluated.tokens else None)
    lists = list(read_nbest(root / evaluated.nbest, options=options))
    if len(lists) != count:
        raise InputError(f"{root / evaluated.nbest}: {len(lists)} lists for {count} gold trees")
    return lists


def _write(path: Path, lines: Iterable[str]) -> None:
    """Unless it is there."""
    if not path.exists():
        with open_whole(path) as file:
            for line in lines:
                file.write(line)


def _word(text: str) -> str:
    """A word of plain text as a tree holds it: vocabularies know lower case only, so capitals are
    marked (``The`` is ``^the``), and no two words become one."""
    marked = "".join(
        f"^{letter.lower()}" if letter != letter.lower() else letter for letter in text
    )
    return marked.replace("(", "-LRB-").replace(")", "-RRB-")


def _flat(words: Sequence[str]) -> str:
    return f"(TOP {' '.join(f'(W {word})' for word in words)})"


def _matching(root: Path, patterns: Iterable[str]) -> list[Path]:
    return [Path(path) for each in patterns for path in sorted(glob.glob(str(root / each)))]
