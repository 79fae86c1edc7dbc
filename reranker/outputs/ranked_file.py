"""The output of ``rerank --output ranked``, read by other commands."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from reranker.errors import InputError, KindError
from reranker.files.json_text import read_json
from reranker.files.kinds import LONGEST_START, kind_of
from reranker.files.text import open_text, read_lines
from reranker.ranking import OUTPUT_VERSION
from reranker.trees.treebank import TreeText, sentences, tree_lines, treebank_files


def is_ranked(line: str) -> bool:
    """Return whether a file that starts with this line is output of ``rerank --output ranked``."""
    return line.lstrip().startswith("{") and '"ranking"' in line


def ranked_lines(name: str, other: str) -> Iterator[str]:
    """Return the lines of the file ``name``. Raises InputError if the first line is not ranked
    output; if the file ``other`` is, the message asks whether the two are swapped."""
    lines = read_lines(name)
    first = next(lines, "")
    if first and not is_ranked(first):
        is_swapped = is_ranked(next(read_lines(other), ""))
        hint = " (are the two files swapped?)" if is_swapped else ""
        head = first
        while len(head) < LONGEST_START and (line := next(lines, "")):
            head += line
        kind = kind_of(head)
        if kind and not is_swapped:
            hint = f": looks like {kind.name}"
        raise KindError(f"{name}: not the output of `rerank --output ranked`{hint}")
    return itertools.chain([first] if first else [], lines)


def best_trees(name: str) -> list[TreeText]:
    """Return the trees of a file, a folder or a pattern, or the best trees of ranked output."""
    files = treebank_files([name])
    with open_text(files[0]) as first:  # standard input opens only once
        if is_ranked(first.head().partition("\n")[0]):
            ranked = enumerate(read_ranked(files[0], read_lines(first)), 1)
            return [TreeText(files[0], number, best_tree(sentence)) for number, sentence in ranked]
        others = ((file, list(tree_lines(file))) for file in files[1:])
        return sentences([(files[0], list(tree_lines(first))), *others])


def read_ranked(
    name: str, lines: Iterable[str], with_indexes: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the sentences of ``rerank --output ranked``; docs/output.md describes them.

    Raises InputError, naming file and line, for a line without trees or, if requested, without the
    candidates' indexes.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        with reading_sentence(name, number):
            sentence = read_sentence(line)
            _check_trees(sentence)
            if with_indexes:
                _check_indexes(sentence)
        yield sentence


def read_sentence(line: str) -> Any:
    """Return the data of a line. Raises ValueError if the line is not JSON, or names another
    version."""
    sentence = read_json(line)
    version = OUTPUT_VERSION
    if isinstance(sentence, dict):
        version = sentence.get("version", OUTPUT_VERSION)
    if type(version) is not int or version != OUTPUT_VERSION:
        raise ValueError(f"of version {version!r:.20}, and this program reads {OUTPUT_VERSION}")
    return sentence


@contextmanager
def reading_sentence(name: str, number: int) -> Iterator[None]:
    """Raise InputError, naming file and line, if the data read there are not a sentence."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        if isinstance(error, json.JSONDecodeError):
            reason = "not JSON"
        raise InputError(
            f"{name}:{number}: not a sentence of `rerank --output ranked`: {reason}"
        ) from error


def best_tree(sentence: dict[str, Any]) -> str:
    """Return the best tree of a sentence of ``read_ranked``; if all were rejected, the fallback."""
    ranking = sentence["ranking"]
    tree: str = ranking[0]["tree"] if ranking else sentence["fallback"]
    return tree


def _check_trees(sentence: Any) -> None:
    """Raise ValueError, LookupError or TypeError unless ``sentence`` is a sentence."""
    ranking = sentence["ranking"]
    if not isinstance(ranking, list):
        raise TypeError("ranking is not a list")
    trees = [entry["tree"] for entry in ranking] or [sentence["fallback"]]
    if not all(isinstance(tree, str) for tree in trees):
        raise TypeError("a tree is not a string")


def distinct_indexes(ranking: Iterable[dict[str, Any]]) -> list[Any]:
    """Return the indexes of a ranking's candidates. Raises LookupError if one is missing, and
    ValueError if one is not a whole number or occurs twice."""
    indexes = _indexes(ranking)
    if len(set(indexes)) < len(indexes):
        raise ValueError("two candidates have the same index")
    return indexes


def _indexes(entries: Iterable[dict[str, Any]]) -> list[Any]:
    indexes = [entry["index"] for entry in entries]
    if not all(type(index) is int and index >= 0 for index in indexes):
        raise ValueError("an index is not a whole number of at least 0")
    return indexes


def _check_indexes(sentence: dict[str, Any]) -> None:
    """Check the indexes of the best candidate, the ranked ones and the rejected ones."""
    indexes = distinct_indexes(sentence["ranking"])
    _indexes(sentence["rejected"])
    if sentence["best_index"] not in (indexes or [None]):
        raise ValueError("best_index is not the index of a candidate")
