"""Files of trees, one on each line, and files of rankings, as several commands read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from reranker.errors import InputError


def is_ranked(line: str) -> bool:
    """Whether a file that starts with this line is output of ``rerank --output ranked``."""
    return line.lstrip().startswith("{") and '"ranking"' in line


def read_ranked(name: str, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The sentences of ``rerank --output ranked``, with the keys that docs/output.md lists.

    Raises InputError, naming file and line, for a line that is none.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            sentence = json.loads(line)
            _check(sentence)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else error
            raise InputError(
                f"{name}:{number}: not a sentence of `rerank --output ranked`: {reason}"
            ) from error
        yield sentence


def best_tree(sentence: dict[str, Any]) -> str:
    """The best tree of a sentence of ``read_ranked``; where all were rejected, the fallback."""
    ranking = sentence["ranking"]
    tree: str = ranking[0]["tree"] if ranking else sentence["fallback"]
    return tree


def _check(sentence: Any) -> None:
    """Raises ValueError, LookupError or TypeError for what is not a sentence."""
    ranking = sentence["ranking"]
    if not isinstance(ranking, list):
        raise TypeError("ranking is not a list")
    indexes = [entry["index"] for entry in ranking]
    if sentence["best_index"] not in (indexes or [None]):
        raise ValueError("best_index is not the index of a candidate")
    trees = [entry["tree"] for entry in ranking] or [sentence["fallback"]]
    if not all(isinstance(tree, str) for tree in trees):
        raise TypeError("a tree is not a string")
