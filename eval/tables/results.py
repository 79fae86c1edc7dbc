"""A table's figures, all of them, as plain data: what its JSON holds and its Markdown shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from figures import (
    FOLDS,
    Choice,
    Lists,
    choice,
    comparison,
    f1_figures,
    perplexity,
    token_log_probabilities,
)
from prepare import Prepared
from steps import checkpoint_path, lists_path, text_path
from study import Row, Study, Table
from work import Work

from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.evaluation.brackets import corpus_f1


@dataclass(frozen=True, slots=True)
class Run:
    """A trained model."""

    name: str
    sha256: str
    parameters: int
    tokens: int  # that it was trained on
    minutes: float  # that it was trained for


class Results:
    """Figures of what is in the work folder."""

    def __init__(self, study: Study, work: Work, prepared: Prepared) -> None:
        self.study, self.work, self.prepared = study, work, prepared
        self.runs: dict[str, Run] = {}
        self._letters: dict[Vocabulary, str] = {}
        self._vocabulary_of: dict[str, str] = {}
        for name in study.all_runs():
            if not any(failed.split(":")[0] == name for failed in work.failures):
                checkpoint = load_checkpoint(checkpoint_path(work.folder, name))
                letter = chr(ord("A") + len(self._letters))
                letter = self._letters.setdefault(checkpoint.vocabulary, letter)
                self._vocabulary_of[name] = letter
                told = checkpoint.information
                self.runs[name] = Run(
                    name,
                    checkpoint.sha256,
                    sum(one.numel() for one in checkpoint.model.parameters()),
                    int(told["tokens"]),
                    float(told["minutes"]),
                )
        self._lists: dict[str, Lists] = {}

    def table(self, table: Table) -> dict[str, Any]:
        """Everything about a table."""
        choices = {
            (row.name, name): self._choices(row, name)
            for row in table.rows
            for name in table.sets
            if table.kind == "F1" and self._is_whole(row)
        }
        rows = [self._row(row, table, choices) for row in table.rows]
        letters = {letter for row in rows for letter in row.get("vocabularies", ())}
        return {
            "title": table.title,
            "kind": table.kind,
            "vocabularies": {
                letter: one.digest for one, letter in self._letters.items() if letter in letters
            },
            "reference": table.reference,
            "sets": {name: self._set(name, table) for name in table.sets},
            "rows": rows,
        }

    def _set(self, name: str, table: Table) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.study.sets[name].name}
        if table.kind == "F1" and self._scored_files(name):
            lists = self._scored(name)
            found |= {
                "sentences": len(lists),
                "parser": corpus_f1(lists.parser()),
                "oracle": corpus_f1(lists.oracle()),
                "random": lists.random_f1(),
            }
        return found

    def _row(
        self, row: Row, table: Table, choices: dict[tuple[str, str], list[Choice]]
    ) -> dict[str, Any]:
        members = self.study.members(row)
        found: dict[str, Any] = {"name": row.name, "printed": row.printed, "runs": members}
        if not self._is_whole(row):
            failures = self.work.failures.items()
            return {**found, "failed": [f"{n}: {why}" for n, why in failures if _of(n, members)]}
        runs = [self.runs[name] for name in members]
        parts = self._parts(row)
        return {
            **found,
            "ensemble": row.ensemble,
            "vocabularies": sorted({self._vocabulary_of[name] for name in members}),
            "parameters": sum(run.parameters for run in (runs if row.ensemble else runs[:1])),
            "trained_tokens": [run.tokens for run in runs],
            "trained_minutes": [round(run.minutes, 2) for run in runs],
            "commands": [one for name in members if (one := self.work.command(name))],
            "signature": self._signature(runs, table, row.ensemble),
            "sets": {
                name: {
                    "perplexity": [self._perplexity(name, part) for part in parts],
                    **(self._f1(row, name, table, choices) if table.kind == "F1" else {}),
                }
                for name in table.sets
            },
        }

    def _f1(
        self, row: Row, name: str, table: Table, choices: dict[tuple[str, str], list[Choice]]
    ) -> dict[str, Any]:
        lists = self._scored(name)
        parser, oracle = lists.parser(), lists.oracle()
        own = choices[row.name, name]
        reference = choices.get((table.reference, name))
        seconds = [
            sum(self.work.seconds(f"{run}:{name}") for run in part) for part in self._parts(row)
        ]
        found: dict[str, Any] = {"seconds": [round(one, 1) for one in seconds]}
        for kind in ("alone", "mixed"):
            counts = [one for one in (getattr(each, kind) for each in own) if one is not None]
            found[kind] = [f1_figures(one, parser, oracle) for one in counts]
            if counts:
                found[f"{kind}_against_parser"] = comparison(parser, counts[0])
            against = getattr(reference[0], kind) if reference else None
            if counts and against is not None and row.name != table.reference:
                found[f"{kind}_against_reference"] = comparison(against, counts[0])
        return found

    def _choices(self, row: Row, name: str) -> list[Choice]:
        source = self.study.sets[name].weight_from
        return [
            choice(self._scored(name).of(part), self._scored(source).of(part) if source else None)
            for part in self._parts(row)
        ]

    def _parts(self, row: Row) -> list[list[str]]:
        """The runs whose figures a row shows: those of each seed, or all together."""
        members = self.study.members(row)
        return [members] if row.ensemble else [[name] for name in members]

    def _perplexity(self, name: str, part: Sequence[str]) -> float | None:
        """None if the models have not all the same vocabulary and direction."""
        if len({self._vocabulary_of[run] for run in part}) > 1:
            return None
        paths = [text_path(self.work.folder, run, name) for run in part]
        return perplexity([token_log_probabilities(path) for path in paths])

    def _scored_files(self, name: str) -> dict[str, Path]:
        """The set's lists as each model scored them, without those that failed."""
        paths = {run: lists_path(self.work.folder, run, name) for run in self.runs}
        return {run: path for run, path in paths.items() if path.exists()}

    def _scored(self, name: str) -> Lists:
        if name not in self._lists:
            gold_tags = self.study.sets[name].gold_tags
            files = self._scored_files(name)
            self._lists[name] = Lists(files, self.prepared.gold(name), gold_tags)
        return self._lists[name]

    def _is_whole(self, row: Row) -> bool:
        members = self.study.members(row)
        return not any(_of(failed, members) for failed in self.work.failures)

    def _signature(self, runs: Sequence[Run], table: Table, ensemble: bool) -> str:
        models = ",".join(f"{run.name}:{run.sha256[:8]}" for run in runs)
        parts = [f"version={version('parse-reranker')}", f"models={models}"]
        if table.kind == "F1":
            one = self.study.sets[table.sets[0]]
            tags = "gold" if one.gold_tags else "parser"
            weight = f"tuned-on-{one.weight_from}" if one.weight_from else f"{FOLDS}-fold"
            parts += ["combine=mean-log", f"lm-weight=1|{weight}", "evalb=COLLINS", f"tags={tags}"]
        elif ensemble:
            parts.append("combine=average")
        return " ".join(parts)


def _of(step: str, runs: Sequence[str]) -> bool:
    """Whether a step is one of these runs'."""
    return step.split(":")[0] in runs
