"""Our own JSON lines: one object for each sentence.

What ``rerank convert --to jsonl`` writes and ``POST /rerank`` reads::

    {"id": "s1", "tokens": ["It", "runs"], "tags": ["PRP", "VBZ"],
     "candidates": [{"tree": "(S (NP ...", "score": -30.4}, "(S ..."]}

or what ``rerank --output ranked`` writes. Scores are natural logarithms.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from reranker.nbest.data import RawCandidate, RawList, Sentence
from reranker.nbest.source import NumberedLines
from reranker.nbest.words import escaped


def read_json_lines(file: NumberedLines) -> Iterator[RawList]:
    """A list for every line that is not blank; a broken line is a list without candidates."""
    position = 0
    for number, line in file:
        if not line.strip():
            continue
        try:
            yield _list(json.loads(line), position, number)
        except RecursionError:
            yield _broken(position, number, line, "nested too deep")
        except (ValueError, TypeError, KeyError) as error:
            yield _broken(position, number, line, str(error) or type(error).__name__)
        position += 1
    if file.damage:
        problem = ("truncated", f"the file is cut short: {file.damage}")
        yield RawList(str(position), number, [RawCandidate(number, "", problem=problem)])


def _broken(position: int, number: int, line: str, reason: str) -> RawList:
    problem = ("not-json", f"not a sentence in JSON: {reason}"[:200])
    return RawList(str(position), number, [RawCandidate(number, line[:200], problem=problem)])


def _list(data: Any, position: int, number: int) -> RawList:
    if not isinstance(data, dict):
        raise ValueError("not an object")
    name = str(data.get("id", position))
    if "ranking" in data:
        entries = sorted(data["ranking"], key=lambda one: int(one["index"]))
        found = [_candidate(one["tree"], one.get("parser_score"), number) for one in entries]
    elif "candidates" in data:
        found = [
            _candidate(one, None, number)
            if isinstance(one, str)
            else _candidate(one["tree"], one.get("score"), number)
            for one in data["candidates"]
        ]
    else:
        raise ValueError("neither 'candidates' nor 'ranking'")
    return RawList(name, number, found, _sentence(data))


def _candidate(tree: Any, score: Any, number: int) -> RawCandidate:
    if not isinstance(tree, str):
        return RawCandidate(number, "", problem=("not-a-tree", "the tree is not a string"))
    is_number = isinstance(score, (int, float)) and not isinstance(score, bool)
    usable = float(score) if is_number and math.isfinite(score) else None
    return RawCandidate(number, " ".join(tree.splitlines()), usable)


def _sentence(data: dict[str, Any]) -> Sentence | None:
    tokens = data.get("tokens")
    if not tokens:
        return None
    words = tuple(escaped(word) for word in tokens)
    if any(not word or word.split() != [word] for word in words):
        raise ValueError("'tokens' holds something that is not one word")
    tags = tuple(escaped(tag) for tag in data.get("tags") or ())
    if tags and len(tags) != len(words):
        raise ValueError(f"{len(tags)} tags for {len(words)} tokens")
    return Sentence(words, tags)
