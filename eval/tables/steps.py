"""A study as ``rerank`` commands: training in waves, then scoring, and where their files are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prepare import Prepared
from study import Study
from work import Step


def checkpoint_path(folder: Path, run: str) -> Path:
    return folder / "models" / f"{run}.pt"


def text_path(folder: Path, run: str, name: str) -> Path:
    """The scored trees of a set."""
    return folder / "scored" / f"{run}.{name}.text.jsonl"


def lists_path(folder: Path, run: str, name: str) -> Path:
    """The scored lists of a set."""
    return folder / "scored" / f"{run}.{name}.lists.jsonl"


def waves(study: Study) -> list[list[tuple[str, int]]]:
    """Models and seeds to train, first those that need no other; first seeds first."""
    found: dict[int, list[tuple[int, str]]] = {}
    for name in study.trained:
        model = study.models[name]
        depth, start = 0, model.start_from
        while start:
            depth, start = depth + 1, study.models[start].start_from
        found.setdefault(depth, []).extend((seed, name) for seed in range(1, model.seeds + 1))
    first_seeds_first = [sorted(found[depth], key=lambda one: one[0]) for depth in sorted(found)]
    return [[(name, seed) for seed, name in wave] for wave in first_seeds_first]


def training(
    study: Study, name: str, seed: int, folder: Path, prepared: Prepared, options: Sequence[str]
) -> Step:
    run, start = f"{name}-{seed}", study.models[name].start_from
    out, logs = checkpoint_path(folder, run), folder / "training" / run
    arguments = ["train", "--config", folder / "configs" / f"{name}.toml"]
    arguments += ["--train", prepared.train, "--dev", prepared.dev, "--out", out]
    arguments += ["--log-folder", logs, "--seed", seed]
    if start:
        arguments += ["--start-from", checkpoint_path(folder, f"{start}-{seed}")]
    # What training resumes from is several times as large as what it makes.
    return Step(run, [*map(str, arguments), *options], out, scratch=logs / "state.pt")


def scoring(
    study: Study, run: str, folder: Path, prepared: Prepared, options: Sequence[str]
) -> list[Step]:
    """The trees of every set, for perplexity, and its lists, if a table asks for their F1."""
    tables = study.tables.values()
    in_f1 = {
        (member, name)
        for table in tables
        if table.kind == "F1"
        for row in table.rows
        for member in study.members(row)
        for listed in table.sets
        for name in (listed, study.sets[listed].weight_from)
    }
    steps = []
    for name in study.sets:
        kinds = [("text", prepared.text(name), text_path(folder, run, name), ["--token-scores"])]
        if (run, name) in in_f1:
            kinds.append(("", prepared.lists(name), lists_path(folder, run, name), []))
        for kind, nbest, out, more in kinds:
            arguments = ["--nbest", nbest, "--models", checkpoint_path(folder, run)]
            arguments += ["--output", "ranked", "--out", out, "--resume", *more]
            label = f"{run}:{name}:{kind}".removesuffix(":")
            steps.append(Step(label, [*map(str, arguments), *options], out))
    return steps
