"""A study as data: the ``rerank`` commands that train and score its models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prepare import Files
from study import Study
from work import Step


def plan(study: Study, files: Files, length: Sequence[str], options: Sequence[str]) -> list[Step]:
    """All steps: training, first seeds first, then scoring. ``length`` are the flags of training
    that say how long, ``options`` flags of every command."""
    trained = [(name, seed) for name in study.trained for seed in _seeds(study, name)]
    trained.sort(key=lambda run: run[1])
    flags = [*length, *options]
    steps = [training_step(study, name, seed, files, flags) for name, seed in trained]
    return steps + [
        step for run in study.all_runs() for step in _scoring(study, run, files, options)
    ]


def training_step(study: Study, name: str, seed: int, files: Files, flags: Sequence[str]) -> Step:
    run, start = f"{name}-{seed}", study.models[name].start_from
    out, logs = files.checkpoint(run), files.folder / "training" / run
    arguments = ["train", "--config", files.config(name), "--train", files.data("train.mrg")]
    arguments += ["--dev", files.data("dev.mrg"), "--out", out, "--log-folder", logs]
    arguments += ["--seed", seed]
    needs = [files.checkpoint(f"{start}-{seed}")] if start else []
    if needs:
        arguments += ["--start-from", *needs]
    # The state that training resumes from is several times as large as the checkpoint.
    return Step(run, [*map(str, arguments), *flags], out, needs, scratch=logs / "state.pt")


def _scoring(study: Study, run: str, files: Files, options: Sequence[str]) -> Iterator[Step]:
    """The trees of every set, for perplexity, and its lists, if a table asks for their F1."""
    tables = [table for table in study.tables.values() if table.kind == "F1"]
    shown = [table for table in tables if any(run in study.members(row) for row in table.rows)]
    listed = {name for table in shown for name in table.sets}
    listed |= {study.sets[name].weight_from for name in listed}
    checkpoint = files.checkpoint(run)
    for name in study.sets:
        kinds = [(f"{run}:{name}:text", f"{name}.text", ["--token-scores"])]
        if name in listed:
            kinds.append((f"{run}:{name}", f"{name}.lists", []))
        for label, kind, more in kinds:
            out = files.scored(run, kind)
            arguments = ["--nbest", files.data(f"{kind}.jsonl"), "--models", checkpoint]
            arguments += ["--output", "ranked", "--out", out, "--resume", *more]
            yield Step(label, [*map(str, arguments), *options], out, [checkpoint])


def _seeds(study: Study, name: str) -> range:
    return range(1, study.models[name].seeds + 1)
