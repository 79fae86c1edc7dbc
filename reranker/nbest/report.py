"""What is in n-best lists, counted: for ``rerank validate`` and ``POST /validate``."""

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
    """What is counted; ``rerank validate --json`` prints just this."""

    files: list[dict[str, str]] = field(default_factory=list)
    sentences: int = 0
    without_candidates: int = 0
    candidates: int = 0
    duplicates: int = 0
    repaired: int = 0
    rejected: int = 0
    rejected_by_code: dict[str, int] = field(default_factory=dict)
    rejected_lines: dict[str, list[str]] = field(default_factory=dict)
    """By code, the first few as file:line."""
    longest_list: int = 0
    longest_sentence: int = 0
    scored: int = 0
    lowest_score: float | None = None
    highest_score: float | None = None
    words: int = 0
    unknown_words: dict[str, int] = field(default_factory=dict)
    """By checkpoint, words of the sentences that it does not know."""
    frequent_unknown_words: dict[str, list[str]] = field(default_factory=dict)

    def count(
        self, lists: Iterable[NBest], is_unknown: Mapping[str, Callable[[str], bool]]
    ) -> None:
        """Add lists; ``is_unknown`` has for each checkpoint which words it does not know."""
        unknown: dict[str, Counter[str]] = {name: Counter() for name in is_unknown}
        for nbest in lists:
            self.add(nbest)
            words = nbest.candidates[0].words if nbest.candidates else []
            for name, is_unknown_word in is_unknown.items():
                unknown[name].update(filter(is_unknown_word, words))
        for name, counts in unknown.items():
            frequent = counts.most_common(SHOWN_WORDS)
            self.unknown_words[name] = counts.total()
            self.frequent_unknown_words[name] = [word for word, _ in frequent]

    def add(self, nbest: NBest) -> None:
        """Add a list."""
        self.sentences += 1
        self.without_candidates += not nbest.candidates
        self.candidates += len(nbest.candidates)
        self.duplicates += sum(first is not None for first in nbest.duplicates())
        self.repaired += sum(one.is_repaired for one in nbest.candidates)
        self.longest_list = max(self.longest_list, len(nbest.candidates))
        if nbest.candidates:
            words = len(nbest.candidates[0].words)
            self.words += words
            self.longest_sentence = max(self.longest_sentence, words)
        for one in nbest.rejected:
            self.rejected += 1
            self.rejected_by_code[one.code] = self.rejected_by_code.get(one.code, 0) + 1
            lines = self.rejected_lines.setdefault(one.code, [])
            if len(lines) < SHOWN_LINES:
                lines.append(f"{one.file}:{one.line}: {one.message}")
        scores = [one.parser_score for one in nbest.candidates if one.parser_score is not None]
        if scores:
            self.scored += len(scores)
            lowest, highest = self.lowest_score, self.highest_score
            self.lowest_score = min(scores) if lowest is None else min(lowest, *scores)
            self.highest_score = max(scores) if highest is None else max(highest, *scores)

    def format(self) -> str:
        """The report as a table to read."""
        rows: list[tuple[str, Any]] = [
            *((one["name"], f"format {one['format']}") for one in self.files),
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
            rows.append((f"words unknown to {name}", f"{count} ({share:.1f} %): {examples}"))
        rows.append(("rejected", self.rejected))
        for code, count in sorted(self.rejected_by_code.items()):
            rows.append((f"  {code}", count))
            rows.extend(("", line) for line in self.rejected_lines[code])
            if count > SHOWN_LINES:
                rows.append(("", f"... and {count - SHOWN_LINES} more"))
        width = max(len(name) for name, _ in rows) + 2
        return "\n".join(f"{name:{width}}{value}".rstrip() for name, value in rows)
