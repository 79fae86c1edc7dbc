"""The contents of n-best lists, counted for ``rerank validate`` and ``POST /validate``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reranker.nbest.data import NBest

SHOWN_LINES = 10
SHOWN_WORDS = 10


@dataclass(slots=True)
class Report:
    """The counts, exactly as ``rerank validate --json`` prints them."""

    files: list[dict[str, str]] = field(default_factory=list)
    sentences: int = 0
    without_candidates: int = 0
    candidates: int = 0
    duplicates: int = 0
    repaired: int = 0
    rejected: int = 0
    rejected_by_code: dict[str, int] = field(default_factory=dict)
    rejected_lines: dict[str, list[str]] = field(default_factory=dict)
    """The first few rejections by code, as file:line."""
    longest_list: int = 0
    longest_sentence: int = 0
    scored: int = 0
    lowest_score: float | None = None
    highest_score: float | None = None
    words: int = 0
    unknown_words: dict[str, int] = field(default_factory=dict)
    """The number of words unknown to each checkpoint."""
    frequent_unknown_words: dict[str, list[str]] = field(default_factory=dict)

    def count(
        self, lists: Iterable[NBest], is_unknown: Mapping[str, Callable[[str], bool]]
    ) -> None:
        """Add lists; ``is_unknown`` tells for each checkpoint whether it lacks a word."""
        unknown: dict[str, Counter[str]] = {name: Counter() for name in is_unknown}
        for nbest in lists:
            self.add(nbest)
            words = nbest.candidates[0].words if nbest.candidates else []
            for name, is_unknown_word in is_unknown.items():
                unknown[name].update(filter(is_unknown_word, words))
        for name, counts in unknown.items():
            self.unknown_words[name] = counts.total()
            self.frequent_unknown_words[name] = [
                word for word, _ in counts.most_common(SHOWN_WORDS)
            ]

    def add(self, nbest: NBest) -> None:
        """Add a list."""
        candidates = nbest.candidates
        self.sentences += 1
        self.without_candidates += not candidates
        self.candidates += len(candidates)
        self.duplicates += sum(first is not None for first in nbest.duplicates())
        self.repaired += sum(candidate.is_repaired for candidate in candidates)
        self.longest_list = max(self.longest_list, len(candidates))
        if candidates:
            words = len(candidates[0].words)
            self.words += words
            self.longest_sentence = max(self.longest_sentence, words)
        for rejected in nbest.rejected:
            self.rejected += 1
            count = self.rejected_by_code.get(rejected.code, 0) + 1
            self.rejected_by_code[rejected.code] = count
            lines = self.rejected_lines.setdefault(rejected.code, [])
            if len(lines) < SHOWN_LINES:
                lines.append(f"{rejected.file}:{rejected.line}: {rejected.message}")
        for candidate in candidates:
            if (score := candidate.parser_score) is not None:
                lowest, highest = self.lowest_score, self.highest_score
                self.scored += 1
                self.lowest_score = score if lowest is None else min(lowest, score)
                self.highest_score = score if highest is None else max(highest, score)

    def format(self) -> str:
        """Return the report as a table to read."""
        rows: list[tuple[str, Any]] = [
            *((file["name"], f"format {file['format']}") for file in self.files),
            ("sentences", self.sentences),
            ("  without a usable candidate", self.without_candidates),
            ("  words in the longest", self.longest_sentence),
            ("candidates", self.candidates),
            ("  in the longest list", self.longest_list),
            ("  repeating an earlier one", self.duplicates),
            ("  repaired", self.repaired),
            ("  with a score", self.scored),
        ]
        if self.lowest_score is not None and self.highest_score is not None:
            scores = f"{self.lowest_score:.2f} to {self.highest_score:.2f} nats"
            rows.append(("  scores", scores))
        for name, count in self.unknown_words.items():
            examples = ", ".join(self.frequent_unknown_words[name])
            share = 100 * count / max(1, self.words)
            rows.append((f"words unknown to {name}", f"{count} ({share:.1f}%): {examples}"))
        rows.append(("rejected", self.rejected))
        for code, count in sorted(self.rejected_by_code.items()):
            rows.append((f"  {code}", count))
            rows.extend(("", line) for line in self.rejected_lines[code])
            if count > SHOWN_LINES:
                rows.append(("", f"... and {count - SHOWN_LINES} more"))
        width = max(len(name) for name, _ in rows) + 2
        return "\n".join(f"{name:{width}}{value}".rstrip() for name, value in rows)
