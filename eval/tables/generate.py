"""Train encoder-decoders, generate with them and tabulate what a study describes, all of it or what
is not done yet:

    python eval/tables/generate.py eval/tables/encdec.toml --budget 180
    python eval/tables/generate.py eval/recipes/encoder-decoder/ptb.toml --data ~/ptb --device cuda

docs/tables.md explains the tables and the study's file. Interrupted at any moment, the same
command resumes.
"""

from __future__ import annotations

import argparse
import glob
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from generation_study import GenerationStudy, GenerationTable, System
from make import TRAINING_SHARE, common_settings, machine, made, publish, training_length
from measures import MEASURES, Bracketing, Measure
from prepare import spread
from report import NONE, mean_text, p_text, provenance, size_text, without_empty_columns
from study import ROOT, to_toml
from work import Step, Work, work_folder

from reranker.checkpoints.encoder_decoder_file import load_generator
from reranker.errors import InputError
from reranker.files.output import open_whole
from reranker.files.text import read_lines
from reranker.trees.linearize import cleaned
from reranker.trees.tree import Tree
from reranker.trees.treebank import read_treebank


def main(argv: Sequence[str]) -> int:
    """Make the tables; returns 0, 1 if a row failed, 2 if nothing could be done."""
    return made("generate.py", __doc__, argv, _make)


def _make(arguments: argparse.Namespace) -> int:
    """Plan, run and report."""
    study = GenerationStudy.read(arguments.study, arguments.only, arguments.shrink, arguments.seeds)
    rows = [row for table in study.tables.values() for row in table.rows if not row.ensemble_of]
    count = len(rows) * study.seeds
    minutes = TRAINING_SHARE * arguments.budget * arguments.workers / count
    flags, length = training_length(arguments.epochs, minutes)
    data = {name: _Data(table, arguments.data) for name, table in study.tables.items()}
    sources = [path for each in data.values() for path in each.all_files()]
    settings = {
        **common_settings(arguments, study.shrink, minutes, sources),
        "search": {name: [t.beams, t.length_power] for name, t in study.tables.items()},
    }
    folder = arguments.work or Path("runs", "-".join(["tables", study.path.stem, *arguments.only]))
    with work_folder(folder, settings, arguments.workers, arguments.threads) as work:
        print(f"{count} models to be trained {length}", file=sys.stderr)
        options = ["--device", arguments.device, "--threads", str(arguments.threads)]
        plan = _Plan(study, folder, data, [*flags, *options], options)
        for name in study.tables:
            plan.prepare(name, work, arguments.sentences)
        work.run([*plan.steps()])
        for name, table in study.tables.items():
            figures = plan.figures(name, work)
            how = {
                "method": _method(arguments, study, length, table, figures),
                "commands": [arguments.command],
                "settings": settings,
            }
            publish(name, {**figures, **how}, folder, _markdown)
        print(f"tables: as Markdown and JSON in {folder}", file=sys.stderr)
        return 1 if work.failures else 0


class _Data:
    """The files of a table. Raises InputError naming what is missing."""

    def __init__(self, table: GenerationTable, root: Path) -> None:
        self.files: dict[str, list[Path]] = {}
        for name in ("train", "dev", "test", "train_target", "dev_target", "test_target"):
            patterns = getattr(table, name)
            found = [sorted(map(Path, glob.glob(str(root / each)))) for each in patterns]
            for pattern, paths in zip(patterns, found, strict=True):
                if not paths:
                    raise InputError(f"{root / pattern} is missing; say where with --data FOLDER")
            self.files[name] = [path for paths in found for path in paths]

    def all_files(self) -> list[Path]:
        return [path for paths in self.files.values() for path in paths]

    def flags(self) -> list[str]:
        """Flags of ``rerank train``."""
        flags = []
        for name in ("train", "train_target", "dev", "dev_target"):
            if self.files[name]:
                flags += [f"--{name.replace('_', '-')}", *map(str, self.files[name])]
        return flags


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is done for the tables, and where everything is in the work folder."""

    study: GenerationStudy
    folder: Path
    data: dict[str, _Data]
    training_flags: list[str]
    options: list[str]

    def prepare(self, name: str, work: Work, sentences: int) -> None:
        """Write configurations, the test sources and their references."""
        table = self.study.tables[name]
        for row in table.rows:
            if not row.ensemble_of:
                settings = self.study.settings(table, row)
                work.write(self._config(name, row), to_toml(settings))
        sources, references = _test(table, self.data[name])
        chosen = spread(len(sources), sentences)
        self.source(name).parent.mkdir(parents=True, exist_ok=True)
        for path, lines in ((self.source(name), sources), (self.reference(name), references)):
            with open_whole(path) as file:
                file.write("".join(f"{lines[place]}\n" for place in chosen))

    def source(self, name: str) -> Path:
        return self.folder / "data" / f"{name}.source"

    def reference(self, name: str) -> Path:
        return self.folder / "data" / f"{name}.reference"

    def steps(self) -> Iterator[Step]:
        """First seeds first, then what is generated."""
        for seed in range(1, self.study.seeds + 1):
            for name, table in self.study.tables.items():
                for row in table.rows:
                    if not row.ensemble_of:
                        yield self._training(name, row, seed)
        for name, table in self.study.tables.items():
            for row in table.rows:
                for part in self.parts(name, row):
                    yield from self._generating(name, table, part)

    def parts(self, name: str, row: System) -> list[list[str]]:
        """The runs whose figures a row shows: those of each seed, or all together."""
        runs = self.study.runs(name, row)
        return [runs] if row.ensemble_of else [[run] for run in runs]

    def columns(self, name: str) -> dict[str, str]:
        """What is measured: a heading and the ending of its files."""
        table = self.study.tables[name]
        ending = "fairseq" if table.measure == "F1" else "txt"
        columns = {f"beam {beam}": f"beam{beam}.{ending}" for beam in table.beams}
        return {**columns, **({"reranked": "reranked.mrg"} if table.rerank else {})}

    def output(self, part: Sequence[str], ending: str) -> Path:
        """The output file of a model or an ensemble."""
        stem = part[0] if len(part) == 1 else f"{part[0]}x{len(part)}"
        return self.folder / "outputs" / f"{stem}.{ending}"

    def figures(self, name: str, work: Work) -> dict[str, Any]:
        """Everything about a table."""
        table = self.study.tables[name]
        measure = MEASURES[table.measure](self.reference(name))
        sentences = sum(1 for _ in read_lines(self.reference(name)))
        return {
            "title": table.title,
            "measure": table.measure,
            "names": list(measure.names),
            "columns": list(self.columns(name)),
            "signature": measure.signature,
            "sentences": sentences,
            "reference": table.reference,
            "rows": [self._row(name, table, row, measure, work) for row in table.rows],
        }

    def _row(
        self, name: str, table: GenerationTable, row: System, measure: Measure, work: Work
    ) -> dict[str, Any]:
        runs = self.study.runs(name, row)
        named = {"name": row.name, "printed": row.printed, "runs": runs}
        if failed := [work.failures[run] for run in runs if run in work.failures]:
            return {**named, "failed": failed}
        parts = self.parts(name, row)
        columns: dict[str, Any] = {}
        for heading, ending in self.columns(name).items():
            paths = [self.output(part, ending) for part in parts]
            columns[heading] = {"figures": [measure.figures(path) for path in paths]}
            if table.reference and row.name != table.reference:
                other = self.parts(name, table.row(table.reference))[0]
                if not set(other) & work.failures.keys():
                    against = measure.p(paths[0], self.output(other, ending))
                    columns[heading]["p"] = against
            if isinstance(measure, Bracketing) and path_is_beam(paths[0], table):
                columns[heading]["oracle"] = [measure.oracle(path) for path in paths]
        members = [load_generator(self._checkpoint(run)) for run in runs]
        records = [member.information for member in members]
        return {
            **named,
            "ensemble": bool(row.ensemble_of),
            "parameters": sum(p.numel() for p in members[0].model.parameters()),
            "dev_perplexity": [each["dev_perplexity"] for each in records],
            "trained_tokens": [each["tokens"] for each in records],
            "trained_minutes": [round(each["minutes"], 2) for each in records],
            "models": [f"{run}:{m.sha256[:8]}" for run, m in zip(runs, members, strict=True)],
            "commands": [work.record(run)["command"] for run in runs],
            "columns": columns,
        }

    def _training(self, name: str, row: System, seed: int) -> Step:
        run = f"{name}.{row.stem}-{seed}"
        out, logs = self._checkpoint(run), self.folder / "training" / run
        arguments = ["train", "--config", str(self._config(name, row)), *self.data[name].flags()]
        arguments += ["--out", str(out), "--log-folder", str(logs), "--seed", str(seed)]
        return Step(run, [*arguments, *self.training_flags], out, scratch=logs / "state.pt")

    def _generating(self, name: str, table: GenerationTable, part: Sequence[str]) -> Iterator[Step]:
        models = [self._checkpoint(run) for run in part]
        is_parser = table.measure == "F1"
        for beam, ending in zip(table.beams, self.columns(name).values(), strict=False):
            out = self.output(part, ending)
            arguments = ["generate", "--models", *map(str, models), "--beam", str(beam)]
            arguments += ["--source", str(self.source(name)), "--out", str(out), "--resume"]
            arguments += ["--length-power", str(table.length_power)]
            arguments += [] if is_parser else ["--format", "text", "--nbest", "1"]
            yield Step(f"{part[0]}:{len(part)}:{ending}", [*arguments, *self.options], out, models)
        if table.rerank:
            reranked = self.output(part, self.columns(name)["reranked"])
            lms = [str(path) for pattern in table.rerank for path in sorted(ROOT.glob(pattern))]
            arguments = ["--nbest", str(out), "--models", *lms, "--restore", "--resume"]
            arguments += ["--out", str(reranked), *self.options]
            yield Step(f"{part[0]}:{len(part)}:reranked", arguments, reranked, [out])

    def _checkpoint(self, run: str) -> Path:
        return self.folder / "models" / f"{run}.pt"

    def _config(self, name: str, row: System) -> Path:
        return self.folder / "configs" / f"{name}.{row.stem}.toml"


def path_is_beam(path: Path, table: GenerationTable) -> bool:
    """Whether a file has the lists of the widest beam."""
    return path.name.endswith(f".beam{table.beams[-1]}.fairseq")


def _test(table: GenerationTable, data: _Data) -> tuple[list[str], list[str]]:
    """Test sources and what should come out, a line each."""
    if table.measure == "F1":
        trees = [cleaned(tree).to_string() for tree in read_treebank(data.files["test"])]
        return [" ".join(Tree.from_string(tree).leaves()) for tree in trees], trees
    lines = [line.rstrip("\r\n") for path in data.files["test"] for line in read_lines(path)]
    if data.files["test_target"]:
        paths = data.files["test_target"]
        targets = [line.rstrip("\r\n") for path in paths for line in read_lines(path)]
    else:
        pairs = [line.partition("\t") for line in lines]
        lines, targets = [pair[0] for pair in pairs], [pair[2] for pair in pairs]
    if len(lines) != len(targets):
        raise InputError(f"{data.files['test'][0]}: {len(lines)} lines, {len(targets)} targets")
    return lines, targets


def _method(
    arguments: argparse.Namespace,
    study: GenerationStudy,
    length: str,
    table: GenerationTable,
    figures: dict[str, Any],
) -> str:
    """What a reader has to know, in sentences."""
    side = f"{arguments.workers} side by side with {arguments.threads} thread(s) each"
    parts = [f"Systems were trained {length} on the same pairs, {side}"]
    if study.shrink > 1:
        parts.append(f"sizes are those of their configurations divided by {study.shrink}")
    parts.append(f"{figures['sentences']} test sentences; {figures['signature']}")
    if table.rerank:
        parts.append(f"reranked by {' '.join(table.rerank)}, beam {table.beams[-1]}")
    return "; ".join(parts) + f". parse-reranker {version('parse-reranker')}, {machine()}."


def _markdown(table: dict[str, Any]) -> str:
    """The whole table: caption, figures and, folded away, how each row was made."""
    heads = ["system", "seeds", "parameters", "dev perplexity"]
    for column in table["columns"]:
        heads += [f"{name}, {column}" for name in table["names"]]
        heads.append(f"p, {column}")
    heads += ["oracle", "printed"]
    cells = []
    for row in table["rows"]:
        if "failed" in row:
            cells.append([row["name"], *["failed"] * (len(heads) - 2), row["printed"] or NONE])
            continue
        line = [row["name"], str(len(row["runs"])), size_text(row["parameters"])]
        line.append(mean_text(row["dev_perplexity"]))
        oracles: list[float] = []
        for column in row["columns"].values():
            line += [mean_text(list(values)) for values in zip(*column["figures"], strict=True)]
            line.append(p_text(column.get("p")))
            oracles += column.get("oracle", [])
        line += [mean_text(oracles), row["printed"] or NONE]
        cells.append(line)
    failures = [
        f"- {row['name']}: {line}" for row in table["rows"] for line in row.get("failed", ())
    ]
    parts = [f"**{table['title']}.** {table['method']}", without_empty_columns(heads, cells)]
    if failures:
        parts.append("Failed:\n\n" + "\n".join(failures))
    made_by = provenance(table, lambda row: " ".join(row["models"]))
    return "\n\n".join([*parts, made_by]) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
