"""The figures of a table from scored files: as plain data, for its JSON, and as Markdown.

Every model is scored once; ensembles, weights and tests are arithmetic on those scores.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from steps import StudyWork
from study import StudyRow, StudyTable

from reranker.checkpoints.members import load_member
from reranker.errors import InputError
from reranker.evaluation.brackets import GoldTrees, corpus_f1
from reranker.evaluation.significance import Counts, compare
from reranker.files.table import grid
from reranker.files.text import open_text
from reranker.plugins.tuning.choosing import cross_validated
from reranker.plugins.tuning.scored_lists import ScoredLists, read_scored
from reranker.plugins.tuning.weight_search import tune
from reranker.ranking import Weighing

FOLDS = 10
NONE = "-"


def token_scores(path: Path) -> tuple[list[str], NDArray[np.float64]]:
    """Return the tokens and their log-probabilities, [tokens] in nats, of every tree in the output
    of ``--output ranked --token-scores``, or of every line of text in that of ``rerank analyse
    perplexity --token-scores``."""
    pairs: list[tuple[str, float]] = []
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            scores = json.loads(line)
            if isinstance(scores, dict):
                if not scores["ranking"]:
                    raise InputError(f"{path}:{number}: the tree was not scored")
                scores = scores["ranking"][0]["token_scores"]
            pairs += scores
    return [token for token, _ in pairs], np.array([value for _, value in pairs])


def perplexity(paths: Sequence[Path]) -> float | None:
    """Return the perplexity per token, ``<eos>`` counted, of the average of the members'
    probabilities; None if the members do not predict the same tokens in the same order."""
    tokens, values = zip(*map(token_scores, paths), strict=True)
    if any(each != tokens[0] for each in tokens):
        return None
    averaged = np.logaddexp.reduce(np.stack(values), axis=0) - np.log(len(paths))
    return float(np.exp(-averaged.mean()))


def merged(paths: Sequence[Path]) -> Iterator[str]:
    """Yield ranked output of an ensemble, from that of each member separately.

    Raises InputError where files are not of the same candidates.
    """
    files = [path.read_text("utf-8", errors="surrogateescape").splitlines() for path in paths]
    if len({len(lines) for lines in files}) > 1:
        raise InputError(f"{paths[0].parent}: scored files of different lengths")
    for number, lines in enumerate(zip(*files, strict=True), 1):
        rankings = [json.loads(line)["ranking"] for line in lines]
        scores = [{each["index"]: each["nll"] for each in ranking} for ranking in rankings]
        if any(each.keys() != scores[0].keys() for each in scores):
            raise InputError(f"{paths[0].parent}: line {number}: other candidates are scored")
        for each in rankings[0]:
            each["member_nll"] = [member[each["index"]] for member in scores]
        yield json.dumps({"ranking": rankings[0]})


def random_f1(lists: ScoredLists) -> float:
    """Return F1 of the expected brackets if all different candidates are equally likely."""
    chances = lists.is_candidate / lists.is_candidate.sum(1, keepdims=True)
    matched, gold, test = (lists.counts * chances[:, :, None]).sum((0, 1)).tolist()
    return float(200 * matched / (gold + test)) if gold + test else 0.0


def averaged(lists: ScoredLists, columns: Sequence[int]) -> ScoredLists:
    """Return the lists as these members alone score them, each with its share of the mean
    log-probability.

    A sum of many would choose the same alone, but mix well only under weights so small that
    tuning, which looks at a tenth of all weights together, passes them by.
    """
    return replace(lists, members=lists.members[:, :, columns] / len(columns))


def choice(lists: ScoredLists, tuned_on: ScoredLists | None) -> dict[str, Counts]:
    """Return the models' choices ``alone`` and, if the parser gave scores, ``mixed`` with those,
    under a weight that is tuned on ``tuned_on`` or, without it, cross-validated in ``FOLDS`` blocks
    of neighbouring sentences."""
    alone = {"alone": lists.chosen(Weighing())}
    if not lists.has_parser_scores:
        return alone
    if tuned_on is None:
        return {**alone, "mixed": cross_validated(lists, False, False, FOLDS)}
    return {**alone, "mixed": lists.chosen(tune(tuned_on, False, False))}


class Figures:
    """The figures of a work folder."""

    def __init__(self, work: StudyWork) -> None:
        self.study, self.work = work.study, work
        names = [run for name in self.study.models for run in self.study.runs(name)]
        self.runs = {run: work.checkpoint(run) for run in names if run not in work.failures}
        self.members = {run: load_member(path) for run, path in self.runs.items()}
        self._choice = functools.cache(self._chosen)
        self.lists: dict[str, ScoredLists] = {}
        self._columns: dict[str, list[str]] = {}
        for name, judged in self.study.sets.items():
            paths = {run: work.scored(run, f"{name}.lists") for run in self.runs}
            if paths := {run: path for run, path in paths.items() if path.exists()}:
                gold = GoldTrees([work.data(f"{name}.gold.mrg")], judged.gold_tags)
                self.lists[name] = read_scored(merged(list(paths.values())), gold)
                self._columns[name] = list(paths)

    def scored_by(self, name: str, runs: Sequence[str]) -> ScoredLists:
        """Return a set's lists as these models alone score them."""
        return averaged(self.lists[name], [self._columns[name].index(run) for run in runs])

    def table(self, table: StudyTable) -> dict[str, Any]:
        """Return everything about a table."""
        return {
            "title": table.title,
            "kind": table.kind,
            "reference": table.reference,
            "sets": {name: self._set(name, table) for name in table.sets},
            "rows": [self._row(row, table) for row in table.rows],
        }

    def _set(self, name: str, table: StudyTable) -> dict[str, Any]:
        figures: dict[str, Any] = {"name": self.study.sets[name].name}
        if table.kind == "F1" and name in self.lists:
            lists = self.lists[name]
            first, oracle = corpus_f1(lists.parsers_first()), corpus_f1(lists.oracle())
            figures |= {"sentences": len(lists), "parser": first, "random": random_f1(lists)}
            figures["oracle"] = oracle
        return figures

    def _row(self, row: StudyRow, table: StudyTable) -> dict[str, Any]:
        runs, failures = self.study.members(row), self.work.failures
        named = {"name": row.name, "printed": row.printed, "runs": runs}
        if failed := [failures[run] for run in runs if run in failures]:
            return {**named, "failed": failed}
        members = [self.members[run] for run in runs]
        sizes = [sum(each.numel() for each in member.model.parameters()) for member in members]
        sets: dict[str, dict[str, Any]] = {}
        for name in table.sets:
            sets[name] = {"perplexity": self._perplexities(row, name)}
            if table.kind == "F1":
                sets[name] |= self._f1(row, name, table)
        return {
            **named,
            "ensemble": row.ensemble,
            "parameters": sum(sizes) if row.ensemble else sizes[0],
            "trained_tokens": [int(member.information["tokens"]) for member in members],
            "trained_minutes": [round(member.information["minutes"], 2) for member in members],
            "commands": [self.work.record(run)["command"] for run in runs],
            "signature": self._signature(row, table),
            "sets": sets,
        }

    def _perplexities(self, row: StudyRow, name: str) -> list[float | None]:
        """Return the perplexities of each run, or one of an ensemble."""
        parts, kind = self.study.parts(row), self.work.figures_of(name)
        paths = [[self.work.scored(run, f"{name}.{kind}") for run in part] for part in parts]
        if kind != "last-word":
            return [perplexity(part) for part in paths]
        analyses = [json.loads(path.read_text("utf-8"))[0]["sets"] for [path] in paths]
        return [figures["perplexity"] for sets in analyses for figures in sets.values()]

    def _f1(self, row: StudyRow, name: str, table: StudyTable) -> dict[str, Any]:
        lists, parts = self.lists[name], self.study.parts(row)
        parser = lists.parsers_first()
        low, high = corpus_f1(parser), corpus_f1(lists.oracle())
        choices = [self._choice(name, *part) for part in parts]
        tested = {"parser": {"alone": parser, "mixed": parser}}
        for other in table.rows:
            has_failed = set(self.study.members(other)) & self.work.failures.keys()
            if other.name == table.reference != row.name and not has_failed:
                tested["reference"] = self._choice(name, *self.study.parts(other)[0])
        timed = [[self.work.record(f"{run}:{name}")["seconds"] for run in part] for part in parts]
        figures: dict[str, Any] = {"seconds": [round(sum(seconds), 1) for seconds in timed]}
        for kind in ("alone", "mixed"):
            chosen = [each[kind] for each in choices if kind in each]
            found = [corpus_f1(counts) for counts in chosen]
            gaps = [100 * (f1 - low) / (high - low) if high > low else None for f1 in found]
            figures[kind] = [
                {"f1": f1, "gap_closed": gap} for f1, gap in zip(found, gaps, strict=True)
            ]
            for against, counts in tested.items():
                if chosen and kind in counts:
                    test = asdict(compare(counts[kind], chosen[0]))
                    figures[f"{kind}_against_{against}"] = test
        return figures

    def _chosen(self, name: str, *part: str) -> dict[str, Counts]:
        """Return the choices of these runs together."""
        other = self.study.sets[name].weight_from
        tuned_on = self.scored_by(other, part) if other else None
        return choice(self.scored_by(name, part), tuned_on)

    def _signature(self, row: StudyRow, table: StudyTable) -> str:
        runs = self.study.members(row)
        models = ",".join(f"{run}:{self.members[run].sha256[:8]}" for run in runs)
        parts = [f"version={version('parse-reranker')}", f"models={models}"]
        if table.kind == "F1":
            first = self.study.sets[table.sets[0]]
            tags = "gold" if first.gold_tags else "parser"
            weight = f"tuned-on-{first.weight_from}" if first.weight_from else f"{FOLDS}-fold"
            parts += ["combine=mean-log", f"lm-weight=1|{weight}", "evalb=COLLINS", f"tags={tags}"]
        elif row.ensemble:
            parts.append("combine=average")
        return " ".join(parts)


def markdown(table: dict[str, Any]) -> str:
    """Write the whole table: its caption, its figures and, folded away, how each row was made."""
    parts = [f"**{table['title']}.** {table['method']}"]
    if table["kind"] == "F1":
        parts += [_f1_table(table, name) for name in table["sets"]]
    else:
        parts.append(_perplexity_table(table))
    failures = [
        f"- {row['name']}: {line}" for row in table["rows"] for line in row.get("failed", ())
    ]
    if failures:
        parts.append("Failed:\n\n" + "\n".join(failures))
    lines = ["<details><summary>Commands and signatures</summary>", "", "```text"]
    complete = [row for row in table["rows"] if "failed" not in row]
    for row in complete:
        minutes = ", ".join(f"{each:g}" for each in row["trained_minutes"])
        lines.append(f"{row['name']}: trained for {minutes} minutes; {row['signature']}")
    commands = dict.fromkeys(command for row in complete for command in row["commands"])
    lines += ["", *table["commands"], *commands, "```", "", "</details>"]
    return "\n\n".join([*parts, "\n".join(lines)]) + "\n"


def _f1_table(table: dict[str, Any], name: str) -> str:
    figures = table["sets"][name]
    caption = figures["name"]
    caption += f", {figures['sentences']} sentences" if "sentences" in figures else ""
    heads = ["model", "seeds", "parameters", "perplexity", "F1 alone", "F1 mixed", "gap closed"]
    heads += ["p, parser", f"p, {table['reference']}", "seconds", "printed"]
    fixed = {
        key: [key, *[NONE] * 3, f"{figures[key]:.2f}", *[NONE] * 6]
        for key in ("parser", "random", "oracle")
        if key in figures
    }
    oracle = fixed.pop("oracle", None)
    rows = [*fixed.values(), *(_f1_row(row, name) for row in table["rows"])]
    rows += [oracle] if oracle else []
    return f"{caption}:\n\n{_without_empty_columns(heads, rows)}"


def _f1_row(row: dict[str, Any], name: str) -> list[str]:
    if "failed" in row:
        return [row["name"], *["failed"] * 9, row["printed"] or NONE]
    figures = row["sets"][name]
    kind = "mixed" if figures["mixed"] else "alone"
    gaps = [each["gap_closed"] for each in figures[kind]]
    tests = [figures.get(f"{kind}_against_{other}") for other in ("parser", "reference")]
    return [
        row["name"],
        str(len(row["runs"])),
        _size_text(row["parameters"]),
        _mean_text(figures["perplexity"]),
        _mean_text([each["f1"] for each in figures["alone"]]),
        _mean_text([each["f1"] for each in figures["mixed"]]),
        NONE if None in gaps else f"{round(mean(gaps))}%",
        *(p_text(test["randomisation_p"]) if test else NONE for test in tests),
        f"{mean(figures['seconds']):.0f}",
        row["printed"] or NONE,
    ]


def _perplexity_table(table: dict[str, Any]) -> str:
    names = table["sets"]
    heads = ["model", "seeds", "parameters", "trained tokens"]
    heads += [figures["name"] for figures in names.values()] + ["printed"]
    cells = []
    for row in table["rows"]:
        figures = ["failed"] * (3 + len(names))
        if "failed" not in row:
            figures = [str(len(row["runs"])), _size_text(row["parameters"])]
            figures += [_size_text(mean(row["trained_tokens"]))]
            figures += [_mean_text(row["sets"][name]["perplexity"]) for name in names]
        cells.append([row["name"], *figures, row["printed"] or NONE])
    return _without_empty_columns(heads, cells)


def _without_empty_columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    columns = zip(heads, *rows, strict=True)
    kept = [column for column in columns if set(column[1:]) - {NONE}]
    kept_heads, *kept_rows = zip(*kept, strict=True)
    return grid(kept_heads, kept_rows)


def _mean_text(values: Sequence[float | None]) -> str:
    """Return the mean and, of several, their standard deviation; ``-`` for none, or if one is
    unknown."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return NONE
    deviation = f" ± {stdev(known):.2f}" if len(known) > 1 else ""
    return f"{mean(known):.2f}{deviation}"


def _size_text(value: float) -> str:
    return f"{value / 1e6:.1f} M" if value >= 1e5 else f"{value:,.0f}"


def p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
