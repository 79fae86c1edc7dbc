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
from collections.abc import Iterable, Iterator
from typing import Any

from reranker.nbest.data import NBest, RawCandidate, RawList, Sentence
from reranker.nbest.dialects.candidate_text import bracketed
from reranker.nbest.dialects.dialect import Dialect
from reranker.nbest.faithful import printable
from reranker.nbest.lines import NumberedLines
from reranker.nbest.words import escaped, split_words

_LINE_BREAK = re.compile(r"[\r\n\f\v]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _read(file: NumberedLines) -> Iterator[RawList]:
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
    yield from file.rest(position)


def _broken(position: int, number: int, line: str, reason: str) -> RawList:
    problem = ("not-json", f"not a sentence in JSON: {reason}"[:200])
    return RawList(str(position), number, [RawCandidate(number, line[:200], problem=problem)])


def raw_list(data: Any, position: int, number: int) -> RawList:
    """The list in a JSON object, named ``position`` if it has no id.

    Raises ValueError, TypeError, KeyError or OverflowError if there is none.
    """
    if not isinstance(data, dict):
        raise ValueError("not an object")
    given = data.get("id")
    name = str(position) if given is None else printable(str(given))
    if "ranking" in data:
        entries = sorted(_given_list(data, "ranking"), key=lambda entry: int(entry["index"]))
        candidates = [
            _candidate(entry["tree"], entry.get("parser_score"), number) for entry in entries
        ]
    elif "candidates" in data:
        candidates = [
            _candidate(entry, None, number)
            if isinstance(entry, str)
            else _candidate(entry["tree"], entry.get("score"), number)
            for entry in _given_list(data, "candidates")
        ]
    else:
        raise ValueError("neither 'candidates' nor 'ranking'")
    return RawList(name, number, candidates, _sentence(data))


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
    entries = data[key]
    if not isinstance(entries, list):
        raise ValueError(f"{key!r} is not a list")
    return entries


def _symbols(data: dict[str, Any], key: str) -> tuple[str, ...]:
    """What can stand in a tree: strings without white space."""
    symbols = _given_list(data, key)
    for symbol in symbols:
        if (
            not isinstance(symbol, str)
            or split_words(symbol) != [symbol]
            or _SURROGATE.search(symbol)
        ):
            raise ValueError(f"{key!r} holds something that is not one word: {symbol!r}")
    return tuple(map(escaped, symbols))


def _candidate_texts(head: Iterable[str]) -> Iterator[str]:
    for line in head:
        try:
            data = json.loads(line)
            for entry in data.get("candidates") or data.get("ranking") or ():
                yield str(entry["tree"] if isinstance(entry, dict) else entry)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue


def _write(nbest: NBest, position: int) -> str:
    words = nbest.candidates[0].words if nbest.candidates else []
    tags: list[str] = []
    if nbest.sentence:
        words, tags = list(nbest.sentence.words), list(nbest.sentence.tags)
    data = {
        "id": nbest.id,
        "tokens": words,
        **({"tags": tags} if tags else {}),
        "candidates": [
            {"tree": bracketed(candidate), "score": candidate.parser_score}
            for candidate in nbest.candidates
        ],
    }
    return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"


JSONL = Dialect(
    name="jsonl",
    description="one JSON object a sentence, ours (docs/formats.md)",
    recognise=lambda head: head.first[:1] == "{",
    read=_read,
    write=_write,
    notation=None,
    candidate_texts=_candidate_texts,
)
