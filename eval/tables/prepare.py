"""The files of a run in its work folder, and the data written there in the forms `rerank` reads:
one tree a line, and lists in our own JSON. Text is read where it is."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from study import EvaluationSet, Study

from reranker.errors import InputError, TreeError
from reranker.files.output import open_whole
from reranker.nbest import NBest, ReadOptions, read_nbest
from reranker.nbest.writing import list_text
from reranker.trees.linearize import cleaned
from reranker.trees.treebank import read_treebank


@dataclass(frozen=True, slots=True)
class StudyFiles:
    """Where everything is in a work folder, and in ``root``, the folder of the study's data."""

    folder: Path
    root: Path = Path()

    def config(self, model: str) -> Path:
        return self.folder / "configs" / f"{model}.toml"

    def checkpoint(self, run: str) -> Path:
        return self.folder / "models" / f"{run}.pt"

    def data(self, name: str) -> Path:
        """``train.mrg`` and ``dev.mrg``; of each set ``SET.text.jsonl``, its trees, each the only
        candidate of a list, ``SET.lists.jsonl`` and ``SET.gold.mrg``, the lists' gold trees."""
        return self.folder / "data" / name

    def scored(self, run: str, name: str) -> Path:
        """Scores of ``SET.text`` or ``SET.lists``, and what ``rerank analyse`` says of a set."""
        return self.folder / "scored" / f"{run}.{name}.jsonl"

    def sources(self, patterns: Iterable[str]) -> list[Path]:
        """The files of the study's data."""
        return _matching(self.root, patterns)


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
    for name, evaluated in study.sets.items():
        if evaluated.passages and len(files := _matching(root, evaluated.trees)) > 1:
            raise InputError(f"{study.path}: sets.{name}: {len(files)} files of passages, not one")
    return list(dict.fromkeys(path for matching in paths.values() for path in matching))


def prepare(study: Study, files: StudyFiles, sentences: int) -> None:
    """Write what is not there yet; of the lists, ``sentences`` of each set, evenly spread (0: all).

    Raises InputError for files that cannot be used.
    """
    if study.data.text:
        return
    root = files.root
    files.data("").mkdir(parents=True, exist_ok=True)
    for name, patterns in (("train.mrg", study.data.train), ("dev.mrg", study.data.dev)):
        _write(files.data(name), (f"{tree}\n" for tree in _trees(root, patterns)))
    for name, evaluated in study.sets.items():
        trees = enumerate(_trees(root, evaluated.trees))
        content = ({"id": str(number), "candidates": [tree]} for number, tree in trees)
        texts = (json.dumps(each, ensure_ascii=False) + "\n" for each in content)
        _write(files.data(f"{name}.text.jsonl"), texts)
        lists = files.data(f"{name}.lists.jsonl")
        if evaluated.nbest and not lists.exists():
            gold_patterns = [evaluated.gold] if evaluated.gold else evaluated.trees
            gold = list(_trees(root, gold_patterns))
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


def _trees(root: Path, patterns: Sequence[str]) -> Iterator[str]:
    """The trees of the files, without line ends."""
    for tree in read_treebank(_matching(root, patterns)):
        try:
            yield cleaned(tree).to_string()
        except TreeError as error:
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


def _matching(root: Path, patterns: Iterable[str]) -> list[Path]:
    return [Path(path) for each in patterns for path in sorted(glob.glob(str(root / each)))]
