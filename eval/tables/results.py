"""From scored files to a table's figures, as plain data: what its JSON and its Markdown show.

Every model is scored once; ensembles, weights and tests are arithmetic on those scores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from prepare import StudyFiles
from study import Study, StudyRow, Table
from work import Work, analysis

from reranker.checkpoints.members import LoadedMember, load_member
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import InputError
from reranker.evaluation.brackets import GoldTrees, corpus_f1
from reranker.evaluation.significance import compare
from reranker.files.text import open_text
from reranker.ranking import Weighing
from reranker.tuning.choosing import cross_validated
from reranker.tuning.lists import ScoredLists, read_scored
from reranker.tuning.search import tune

FOLDS = 10
# The figures of a table that are of the JSON of these kinds of `rerank analyse`.
ANALYSED = {
    "variation": ["coefficient_of_variation"],
    "rank": ["rank", "at_most", "contexts"],
    "last-word": ["perplexity", "accuracy", "last_word_perplexity"],
}
Counts = NDArray[np.int64]  # [S, 3] matched, gold and test brackets of each sentence


def token_log_probabilities(path: Path) -> NDArray[np.float64]:
    """[tokens] in nats, of every tree in the output of ``--output ranked --token-scores``, or of
    every line of text in that of ``rerank analyse perplexity --token-scores``."""
    values: list[float] = []
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            scores = json.loads(line)
            if isinstance(scores, dict):
                if not scores["ranking"]:
                    raise InputError(f"{path}:{number}: the tree was not scored")
                scores = scores["ranking"][0]["token_scores"]
            values += [value for _, value in scores]
    return np.array(values)


def perplexity(members: Sequence[NDArray[np.float64]]) -> float:
    """Per token, ``<eos>`` counted, of the average of the members' probabilities."""
    averaged = np.logaddexp.reduce(np.stack(members), axis=0) - np.log(len(members))
    return float(np.exp(-averaged.mean()))


class StudyLists:
    """The n-best lists of a set, scored by many models."""

    def __init__(self, paths: Mapping[str, Path], gold: Path, gold_tags: bool) -> None:
        """``paths`` are the scored files by model."""
        self._columns = {name: column for column, name in enumerate(paths)}
        self.all = read_scored(_merged(list(paths.values())), GoldTrees([gold], gold_tags))

    def of(self, names: Sequence[str]) -> ScoredLists:
        """As these models alone score them, each with its share of the mean log-probability.

        A sum of many would choose the same alone, but mix well only under weights so small that
        tuning, which looks at a tenth of all weights together, passes them by.
        """
        columns = [self._columns[name] for name in names]
        return replace(self.all, members=self.all.members[:, :, columns] / len(columns))

    def random_f1(self) -> float:
        """F1 of the expected brackets if all different candidates are equally likely."""
        chances = self.all.is_candidate / self.all.is_candidate.sum(1, keepdims=True)
        matched, gold, test = (self.all.counts * chances[:, :, None]).sum((0, 1)).tolist()
        return float(200 * matched / (gold + test)) if gold + test else 0.0


def _merged(paths: Sequence[Path]) -> Iterator[str]:
    """Ranked output of an ensemble, from that of each member separately.

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


def choice(lists: ScoredLists, tuned_on: ScoredLists | None) -> dict[str, Counts]:
    """What models choose ``alone`` and, if the parser gave scores, ``mixed`` with those, under a
    weight that is tuned on ``tuned_on`` or, without it, cross-validated in ``FOLDS`` blocks of
    neighbouring sentences."""
    alone = {"alone": lists.chosen(Weighing())}
    if not lists.has_parser_scores:
        return alone
    if tuned_on is None:
        return {**alone, "mixed": cross_validated(lists, False, False, FOLDS)}
    return {**alone, "mixed": lists.chosen(tune(tuned_on, False, False))}


def f1_figures(chosen: Counts, parser: Counts, oracle: Counts) -> dict[str, Any]:
    """F1 of all and of both halves, and the share of the gap from parser to oracle that it closes;
    percent."""
    half = (len(chosen) + 1) // 2
    f1, low, high = (corpus_f1(counts) for counts in (chosen, parser, oracle))
    return {
        "f1": f1,
        "halves": [corpus_f1(part) for part in (chosen[:half], chosen[half:])],
        "gap_closed": 100 * (f1 - low) / (high - low) if high > low else None,
    }


class ModelRun(NamedTuple):
    """What a table says of a model."""

    sha256: str
    parameters: int
    tokens: int  # that it was trained on
    minutes: float
    vocabulary: str  # its letter; empty for a span model, whose perplexity is of something else


class Results:
    """Figures of what is in the work folder."""

    def __init__(self, study: Study, work: Work, files: StudyFiles) -> None:
        self.study, self.work, self.files = study, work, files
        self.runs: dict[str, ModelRun] = {}
        self.lists: dict[str, StudyLists] = {}
        self._letters: dict[Vocabulary, str] = {}
        self._choices: dict[tuple[str, ...], dict[str, Counts]] = {}
        for name in study.all_runs():
            if name not in work.failures:
                self.runs[name] = self._run(load_member(files.checkpoint(name)))
        for name, evaluated in study.sets.items():
            paths = {run: files.scored(run, f"{name}.lists") for run in self.runs}
            if paths := {run: path for run, path in paths.items() if path.exists()}:
                gold = files.data(f"{name}.gold.mrg")
                self.lists[name] = StudyLists(paths, gold, evaluated.gold_tags)

    def table(self, table: Table) -> dict[str, Any]:
        """Everything about a table."""
        rows = [self._row(row, table) for row in table.rows]
        shown = {letter for row in rows for letter in row.get("vocabularies", ())}
        digests = {letter: vocabulary.digest for vocabulary, letter in self._letters.items()}
        return {
            "title": table.title,
            "kind": table.kind,
            "vocabularies": {name: digest for name, digest in digests.items() if name in shown},
            "reference": table.reference,
            "sets": {name: self._set(name, table) for name in table.sets},
            "rows": rows,
        }

    def _run(self, checkpoint: LoadedMember) -> ModelRun:
        letter = ""
        if isinstance(checkpoint.vocabulary, Vocabulary):
            new = chr(ord("A") + len(self._letters))
            letter = self._letters.setdefault(checkpoint.vocabulary, new)
        return ModelRun(
            checkpoint.sha256,
            sum(parameter.numel() for parameter in checkpoint.model.parameters()),
            int(checkpoint.information["tokens"]),
            round(float(checkpoint.information["minutes"]), 2),
            letter,
        )

    def _set(self, name: str, table: Table) -> dict[str, Any]:
        figures: dict[str, Any] = {"name": self.study.sets[name].name}
        if table.kind == "F1" and name in self.lists:
            lists = self.lists[name]
            figures["sentences"] = len(lists.all)
            figures["parser"] = corpus_f1(lists.all.parsers_first())
            figures["oracle"] = corpus_f1(lists.all.oracle())
            figures["random"] = lists.random_f1()
        return figures

    def _row(self, row: StudyRow, table: Table) -> dict[str, Any]:
        members = self.study.members(row)
        named = {"name": row.name, "printed": row.printed, "runs": members}
        if failed := self._failed(row):
            return {**named, "failed": failed}
        runs = [self.runs[name] for name in members]
        commands = [self.work.record(name)["command"] for name in members]
        sets: dict[str, dict[str, Any]] = {}
        for name in table.sets:
            sets[name] = self._figures(row, name, table)
            if table.kind == "F1":
                sets[name] |= self._f1(row, name, table)
        return {
            **named,
            "ensemble": row.ensemble,
            "vocabularies": sorted({run.vocabulary for run in runs}),
            "parameters": sum(run.parameters for run in (runs if row.ensemble else runs[:1])),
            "trained_tokens": [run.tokens for run in runs],
            "trained_minutes": [run.minutes for run in runs],
            "commands": [command for command in commands if command],
            "signature": self._signature(row, table),
            "sets": sets,
        }

    def _figures(self, row: StudyRow, name: str, table: Table) -> dict[str, Any]:
        """By their names, those of each run, or one of an ensemble."""
        parts, kind = self._parts(row), analysis(self.study, table, name)
        if kind not in ANALYSED:
            return {"perplexity": [self._perplexity(name, part) for part in parts]}
        analyses = [self._analysed(run, f"{name}.{kind}") for [run] in parts]
        if kind == "last-word":
            analyses = [figures for sets in analyses for figures in sets["sets"].values()]
        return {key: [figures[key] for figures in analyses] for key in ANALYSED[kind]}

    def _analysed(self, run: str, name: str) -> dict[str, Any]:
        """What ``rerank analyse`` says of the only model."""
        [figures] = json.loads(self.files.scored(run, name).read_text("utf-8"))
        return dict(figures)

    def _f1(self, row: StudyRow, name: str, table: Table) -> dict[str, Any]:
        lists, parts = self.lists[name].all, self._parts(row)
        parser, oracle = lists.parsers_first(), lists.oracle()
        choices = [self._choice(part, name) for part in parts]
        tested = {"parser": {"alone": parser, "mixed": parser}}
        for other in table.rows:
            if other.name == table.reference != row.name and not self._failed(other):
                tested["reference"] = self._choice(self._parts(other)[0], name)
        timed = [[self.work.record(f"{run}:{name}")["seconds"] for run in part] for part in parts]
        figures: dict[str, Any] = {"seconds": [round(sum(seconds), 1) for seconds in timed]}
        for kind in ("alone", "mixed"):
            chosen = [each[kind] for each in choices if kind in each]
            figures[kind] = [f1_figures(counts, parser, oracle) for counts in chosen]
            for against, counts in tested.items():
                if chosen and kind in counts:
                    test = asdict(compare(counts[kind], chosen[0]))
                    figures[f"{kind}_against_{against}"] = test
        return figures

    def _choice(self, part: Sequence[str], name: str) -> dict[str, Counts]:
        """What these runs choose together; computed once."""
        key = (name, *part)
        if key not in self._choices:
            tuned_on = self.lists.get(self.study.sets[name].weight_from)
            tuned_lists = tuned_on.of(part) if tuned_on else None
            self._choices[key] = choice(self.lists[name].of(part), tuned_lists)
        return self._choices[key]

    def _parts(self, row: StudyRow) -> list[list[str]]:
        """The runs whose figures a row shows: those of each seed, or all together."""
        members = self.study.members(row)
        return [members] if row.ensemble else [[run] for run in members]

    def _perplexity(self, name: str, part: Sequence[str]) -> float | None:
        """None for span models, and if the models have not all one vocabulary and direction."""
        letters = {self.runs[run].vocabulary for run in part}
        if len(letters) > 1 or letters == {""}:
            return None
        kind = "perplexity" if self.study.data.text else "text"
        paths = [self.files.scored(run, f"{name}.{kind}") for run in part]
        return perplexity([token_log_probabilities(path) for path in paths])

    def _failed(self, row: StudyRow) -> list[str]:
        """Why runs of the row failed."""
        failures = self.work.failures
        return [failures[run] for run in self.study.members(row) if run in failures]

    def _signature(self, row: StudyRow, table: Table) -> str:
        members = self.study.members(row)
        models = ",".join(f"{name}:{self.runs[name].sha256[:8]}" for name in members)
        parts = [f"version={version('parse-reranker')}", f"models={models}"]
        if table.kind == "F1":
            first = self.study.sets[table.sets[0]]
            tags = "gold" if first.gold_tags else "parser"
            weight = f"tuned-on-{first.weight_from}" if first.weight_from else f"{FOLDS}-fold"
            parts += ["combine=mean-log", f"lm-weight=1|{weight}", "evalb=COLLINS", f"tags={tags}"]
        elif row.ensemble:
            parts.append("combine=average")
        return " ".join(parts)
