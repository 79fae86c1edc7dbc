"""Our own JSON lines: one object per sentence.

``rerank convert --to jsonl`` writes and ``POST /rerank`` reads::

    {"id": "s1", "tokens": ["It", "runs"], "tags": ["PRP", "VBZ"],
     "candidates": [{"tree": "(S (NP ...", "score": -30.4}, "(S ..."]}

``rerank --output ranked`` writes another form, which is read too. Scores are natural logarithms.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from reranker.errors import InputError
from reranker.files.json_text import read_json
from reranker.nbest.candidates import raw_list
from reranker.nbest.data import NBest, RawCandidate, RawList, Sentence
from reranker.nbest.dialects.registry import Dialect
from reranker.nbest.lines import NumberedLines


def _read(file: NumberedLines) -> Iterator[RawList]:
    """Yield a list for every line that is not blank; a broken line is a list without candidates."""
    position = 0
    for number, line in file:
        if not line.strip():
            continue
        try:
            yield _parse(read_json(line), position, number, file)
        except RecursionError:
            yield _broken(position, number, line, "nested too deep")
        except KeyError as error:
            yield _broken(position, number, line, f"no {error}")
        except (InputError, ValueError, TypeError, OverflowError) as error:
            yield _broken(position, number, line, str(error) or type(error).__name__)
        position += 1
    if report := file.damage_report():
        yield RawList(str(position), report[0].line, report)


def _broken(position: int, number: int, line: str, reason: str) -> RawList:
    problem = ("not-json", f"not a sentence in JSON: {reason}"[:200])
    return RawList(str(position), number, [RawCandidate(number, line[:200], problem=problem)])


def _parse(data: Any, position: int, number: int, file: NumberedLines) -> RawList:
    """Return the list in a JSON object; ``position`` is its id if it has none.

    The first unusable score is reported. Raises InputError, ValueError, TypeError, KeyError or
    OverflowError if the object does not hold a list.
    """
    if not isinstance(data, dict):
        raise ValueError("not an object")
    if "ranking" in data:
        entries = sorted(_list_of(data, "ranking"), key=lambda entry: int(entry["index"]))
        candidates = [(entry["tree"], entry.get("parser_score")) for entry in entries]
    elif "candidates" in data:
        candidates = [
            (entry, None) if isinstance(entry, str) else (entry["tree"], entry.get("score"))
            for entry in _list_of(data, "candidates")
        ]
    else:
        raise ValueError("neither 'candidates' nor 'ranking'")
    sentence = None
    if data.get("tokens"):
        tags = _list_of(data, "tags") if data.get("tags") else ()
        sentence = Sentence.of(_list_of(data, "tokens"), tags)
    for _, score in candidates:
        if score is not None and _score(score) is None:
            file.report_score(number, json.dumps(score), "jsonl a score is a number or null")
    return raw_list(
        [tree for tree, _ in candidates],
        [_score(score) for _, score in candidates],
        id=str(position if data.get("id") is None else data["id"]),
        line=number,
        sentence=sentence,
    )


def _score(score: Any) -> float | None:
    return score if isinstance(score, int | float) and not isinstance(score, bool) else None


def _list_of(data: dict[str, Any], key: str) -> list[Any]:
    entries = data[key]
    if not isinstance(entries, list):
        raise ValueError(f"{key!r} is not a list")
    return entries


def _candidate_texts(head: Iterable[str]) -> Iterator[str]:
    for line in head:
        try:
            data = json.loads(line)
            for entry in data.get("candidates") or data.get("ranking") or ():
                yield str(entry["tree"] if isinstance(entry, dict) else entry)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue


def _write(nbest: NBest, position: int) -> str:
    tags = list(nbest.sentence.tags) if nbest.sentence else []
    data = {
        "id": nbest.id,
        "tokens": list(nbest.words),
        **({"tags": tags} if tags else {}),
        "candidates": [
            {"tree": candidate.bracketed, "score": candidate.parser_score}
            for candidate in nbest.candidates
        ],
    }
    return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"


JSONL = Dialect(
    read=_read,
    write=_write,
    notation=None,
    candidate_texts=_candidate_texts,
)
