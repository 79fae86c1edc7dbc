"""The lines of a journal: the identity of a run, then a record of each answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_FORMAT = "parse-reranker journal"
_VERSION = 3


class AnswerCounts(NamedTuple):
    """The counts of a sentence's answer, and its best candidate."""

    best_index: int | None
    ranked: int
    rejected: int
    repaired: int

    def totals(self) -> dict[str, int]:
        """Return the counts under the summary's names; their sums over all sentences are the
        summary."""
        return {
            "sentences": 1,
            "candidates": self.ranked,
            "rejected": self.rejected,
            "repaired": self.repaired,
            "changed": int(self.best_index not in (None, 0)),
            "failed": int(self.best_index is None),
        }


class Record(NamedTuple):
    """A line of the journal about an answer."""

    end: int  # of the answer, in bytes from the start of the file
    checksum: int  # CRC-32 of the answer, its line break included
    digest: str  # a digest of the sentence's input
    counts: AnswerCounts

    @classmethod
    def from_line(cls, line: bytes) -> Record | None:
        """Return the record in a line; None if it is incomplete."""
        try:
            end, checksum, digest, *counts = json.loads(line)
        except (ValueError, TypeError):
            return None
        is_complete = line.endswith(b"\n") and len(counts) == len(AnswerCounts._fields)
        is_record = is_complete and isinstance(end, int)
        return cls(end, checksum, digest, AnswerCounts(*counts)) if is_record else None

    def to_line(self) -> bytes:
        return (json.dumps([*self[:3], *self.counts]) + "\n").encode()


class JournalHead(Mapping[str, Any]):
    """The first line of a journal: the identity of a run, which is everything on which its answers
    depend, as plain data. Only a run with the same identity resumes it."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings: dict[str, Any] = json.loads(json.dumps(dict(settings)))

    @classmethod
    def from_line(cls, line: bytes) -> JournalHead | None:
        """Read the first line of a journal; return None for any other line."""
        try:
            content = json.loads(line)
            kind = content["format"], content["version"]
            settings = content["settings"]
        except (ValueError, KeyError, TypeError):
            return None
        is_ours = line.endswith(b"\n") and kind == (_FORMAT, _VERSION)
        return cls(settings) if is_ours and isinstance(settings, dict) else None

    def to_line(self) -> bytes:
        """Return the first line of a journal."""
        content = {"format": _FORMAT, "version": _VERSION, "settings": self._settings}
        return (json.dumps(content) + "\n").encode()

    def mismatch(self, before: Mapping[str, Any]) -> str | None:
        """Return which setting an earlier run had with another value, and both values; None if the
        two runs are the same."""
        for name in {**self, **before}:
            if before.get(name) != self.get(name):
                now, then = (json.dumps(each.get(name))[:80] for each in (self, before))
                return f"{name} is {now}, but was {then}"
        return None

    def __getitem__(self, name: str) -> Any:
        return self._settings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)
