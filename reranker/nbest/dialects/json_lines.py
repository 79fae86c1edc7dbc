"""Our own JSON lines: one object for each sentence.

What ``rerank convert --to jsonl`` writes and ``POST /rerank`` reads::

    {"id": "s1", "tokens": ["It", "runs"], "tags": ["PRP", "VBZ"],
     "candidates": [{"tree": "(S (NP ...", "score": -30.4}, "(S ..."]}

or what ``rerank --output ranked`` writes. Scores are natural logarithms.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from reranker.nbest.data import RawCandidate, RawList, Sentence
from reranker.nbest.faithful import printable
from reranker.nbest.lines import NumberedLines
from reranker.nbest.words import escaped, split_words

_LINE_BREAK = re.compile(r"[\r\n\f\v]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json_lines(file: NumberedLines) -> Iterator[RawList]:
    """A list for every line that is not blank; a broken line is a list without candidates."""
    position = 0
    for number, line in file:
        if not line.strip():
            continue
        try:
            yield raw_list(json.loads(line), position, number)
        except RecursionError:
            yield _broken(position, number, line, "nested too deep")
        except KeyError as error:
            yield _broken(position, number, line, f"no {error}")
        except (ValueError, TypeError, OverflowError) as error:
            yield _broken(position, number, line, str(error) or type(error).__name__)
        position += 1
    if file.damage:
        problem = ("truncated", f"the file is cut short: {file.damage}")
        yield RawList(str(position), number, [RawCandidate(number, "", problem=problem)])


def _broken(position: int, number: int, line: str, reason: str) -> RawList:
    problem = ("not-json", f"not a sentence in JSON: {reason}"[:200])
    return RawList(str(position), number, [RawCandidate(number, line[:200], problem=problem)])


def raw_list(data: Any, position: int, number: int) -> RawList:
    """The list that a JSON object tells, ``position`` being its name if it has none.

    Raises ValueError, TypeError, KeyError or OverflowError if it tells none.
    """
    if not isinstance(data, dict):
        raise ValueError("not an object")
    given = data.get("id")
    name = str(position) if given is None else printable(str(given))
    if "ranking" in data:
        entries = sorted(_given_list(data, "ranking"), key=lambda one: int(one["index"]))
        found = [_candidate(one["tree"], one.get("parser_score"), number) for one in entries]
    elif "candidates" in data:
        found = [
            _candidate(one, None, number)
            if isinstance(one, str)
            else _candidate(one["tree"], one.get("score"), number)
            for one in _given_list(data, "candidates")
        ]
    else:
        raise ValueError("neither 'candidates' nor 'ranking'")
    return RawList(name, number, found, _sentence(data))


def _candidate(tree: Any, score: Any, number: int) -> RawCandidate:
    if not isinstance(tree, str):
        return RawCandidate(number, "", problem=("not-a-tree", "the tree is not a string"))
    is_number = isinstance(score, (int, float)) and not isinstance(score, bool)
    usable = float(score) if is_number and math.isfinite(score) else None
    return RawCandidate(number, _LINE_BREAK.sub(" ", tree), usable)


def _sentence(data: dict[str, Any]) -> Sentence | None:
    if not data.get("tokens"):
        return None
    words = _symbols(data, "tokens")
    tags = _symbols(data, "tags") if data.get("tags") else ()
    if tags and len(tags) != len(words):
        raise ValueError(f"{len(tags)} tags for {len(words)} tokens")
    return Sentence(words, tags)


def _given_list(data: dict[str, Any], key: str) -> list[Any]:
    found = data[key]
    if not isinstance(found, list):
        raise ValueError(f"{key!r} is not a list")
    return found


def _symbols(data: dict[str, Any], key: str) -> tuple[str, ...]:
    """What can stand in a tree: strings without white space."""
    found = _given_list(data, key)
    for one in found:
        if not isinstance(one, str) or split_words(one) != [one] or _SURROGATE.search(one):
            raise ValueError(f"{key!r} holds something that is not one word: {one!r}")
    return tuple(escaped(one) for one in found)
