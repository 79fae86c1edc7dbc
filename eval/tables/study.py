"""What a study's TOML says: data, models, and the tables that compare them.

docs/results.md describes the file. Reading checks everything that can be known before hours of
training: names, configurations and sizes.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from reranker.errors import InputError
from reranker.training.config import TrainingConfig

Kind = Literal["F1", "perplexity"]
ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "models" / "configs"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Data:
    """What models learn from and are selected on; patterns of files, seen from ``--data``."""

    train: list[str]
    dev: list[str]
    text: bool = False  # words, a sentence a line, in place of trees
    words_per_tree: int = 2_000  # of a text: those that are read from one start state


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """What models are judged on: perplexity of ``trees``, F1 of what they choose of ``nbest``."""

    name: str
    trees: list[str]
    nbest: str = ""
    gold: str = ""  # if not ``trees``, which then may be more than the lists are of
    tokens: str = ""  # the sentences, for candidates that hide words
    gold_tags: bool = False
    weight_from: str = ""  # a set to choose the weight of the mixture on; none: cross-validate


@dataclass(frozen=True, slots=True)
class Model:
    """A configuration of ``models/configs``, with changes, trained with seeds 1 to ``seeds``; or a
    ``checkpoint``, a file seen from the repository's root, that is judged as it is."""

    config: str = ""
    seeds: int = 1
    model: dict[str, Any] | None = None
    training: dict[str, Any] | None = None
    start_from: str = ""  # another model, whose run with the same seed this one goes on from
    checkpoint: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One model, every seed by itself and their mean shown, or an ensemble of several's seeds."""

    name: str
    models: list[str]
    ensemble: bool = False
    seeds: int = 0  # of each model in an ensemble; 0 is all
    printed: str = ""  # the figure in the paper


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    kind: Kind
    sets: list[str]
    rows: list[Row]
    reference: str = ""  # the row that the others' F1 is compared with, beside the parser's


@dataclass(frozen=True, slots=True)
class Study:
    """A study's file, with sizes divided by ``shrink``."""

    path: Path
    data: Data
    sets: Mapping[str, EvaluationSet]
    models: Mapping[str, Model]
    tables: Mapping[str, Table]
    training: Mapping[str, Any]
    shrink: int

    @classmethod
    def read(cls, path: Path, only: Sequence[str] = (), shrink: int = 0, seeds: int = 0) -> Study:
        """The study, or what of it the tables named ``only`` need; ``shrink`` and ``seeds``, unless
        0, replace what it says. Raises InputError naming file and setting."""
        try:
            given = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise InputError(f"{path}: {error}") from error
        try:
            study = cls(
                path,
                _made(Data, given["data"], "data"),
                {n: _made(EvaluationSet, one, n) for n, one in given["sets"].items()},
                {n: _made(Model, one, n) for n, one in given["models"].items()},
                {n: _table(n, one) for n, one in given["tables"].items()},
                given.get("training", {}),
                shrink or given.get("shrink", 1),
            )
            study = study._with_seeds(seeds)._only(only)
            study._check()
        except KeyError as error:
            raise InputError(f"{path}: there is no {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: {error}") from error
        return study

    def settings(self, name: str) -> dict[str, dict[str, Any]]:
        """The ``[model]`` and ``[training]`` tables that the model is trained with."""
        own = self.models[name]
        file = CONFIGS / own.config
        if not file.is_file():
            raise ValueError(f"models.{name}: no {own.config} in {CONFIGS}")
        given = tomllib.loads(file.read_text(encoding="utf-8"))
        model = {**given.get("model", {}), **(own.model or {})}
        defaults = {"embedding_size": 280, "hidden_sizes": [960, 960, 620]}
        for size, default in defaults.items():
            if "architecture" not in model or size in model:
                model[size] = _divided(model.get(size, default), self.shrink, f"{name}: {size}")
        training = {**given.get("training", {}), **self.training, **(own.training or {})}
        return {"model": model, "training": training}

    def runs(self, name: str) -> list[str]:
        """The names of a model's runs, one for each seed; a checkpoint's is its own."""
        model = self.models[name]
        if model.checkpoint:
            return [name]
        return [f"{name}-{seed}" for seed in range(1, model.seeds + 1)]

    @property
    def trained(self) -> list[str]:
        """The names of the models that are to be trained."""
        return [name for name, model in self.models.items() if not model.checkpoint]

    def members(self, row: Row) -> list[str]:
        """The runs of a row."""
        return [run for name in row.models for run in self.runs(name)[: row.seeds or None]]

    def all_runs(self) -> list[str]:
        return [run for name in self.models for run in self.runs(name)]

    def _with_seeds(self, seeds: int) -> Study:
        models = {
            name: one if one.checkpoint else replace(one, seeds=seeds or one.seeds)
            for name, one in self.models.items()
        }
        return replace(self, models=models)

    def _only(self, names: Sequence[str]) -> Study:
        """Without what the other tables alone need."""
        tables = {name: self.tables[name] for name in names} if names else self.tables
        wanted = {model for table in tables.values() for row in table.rows for model in row.models}
        for name in list(wanted):
            chain = {name}
            while name := self.models[name].start_from:
                if name in chain:
                    raise ValueError(f"models.{name}: start_from leads back to it")
                chain.add(name)
            wanted |= chain
        sets = {name for table in tables.values() for name in table.sets}
        sets |= {self.sets[name].weight_from for name in sets} - {""}
        return replace(
            self,
            tables=tables,
            models={name: one for name, one in self.models.items() if name in wanted},
            sets={name: one for name, one in self.sets.items() if name in sets},
        )

    def _check(self) -> None:
        for name, model in self.models.items():
            if model.checkpoint:
                if model != Model(checkpoint=model.checkpoint):
                    raise ValueError(f"models.{name}: a checkpoint has no other settings")
                if not (ROOT / model.checkpoint).is_file():
                    raise ValueError(f"models.{name}: no {model.checkpoint} in {ROOT}")
                continue
            if not model.config:
                raise ValueError(f"models.{name}: config is missing")
            if not isinstance(model.seeds, int) or model.seeds < 1:
                raise ValueError(f"models.{name}: seeds is {model.seeds!r}, not a number from 1")
            if model.start_from and self.models[model.start_from].checkpoint:
                raise ValueError(f"models.{name}: start_from is trained here; that is a checkpoint")
            if model.start_from and self.models[model.start_from].seeds < model.seeds:
                raise ValueError(f"models.{name}: {model.start_from} has fewer seeds to start from")
            tables = self.settings(name)
            settings = TrainingConfig(**tables["training"], model=tables["model"])
            try:
                settings.check()
            except (TypeError, ValueError) as error:
                raise ValueError(f"models.{name}: {error}") from error
        runs = Counter(self.all_runs())
        for run in runs:
            if runs[run] > 1:
                raise ValueError(f"models.{run} is also the name of another model's run")
        for name, one in self.sets.items():
            if one.weight_from and not self.sets[one.weight_from].nbest:
                raise ValueError(f"sets.{name}: weight_from needs a set with nbest")
        for name, table in self.tables.items():
            if table.kind not in get_args(Kind):
                raise ValueError(f"tables.{name}: kind is {table.kind!r}, not F1 or perplexity")
            if table.kind == "F1" and not all(self.sets[one].nbest for one in table.sets):
                raise ValueError(f"tables.{name}: F1 needs sets with nbest")
            if table.reference and table.reference not in [row.name for row in table.rows]:
                raise ValueError(f"tables.{name}: there is no row {table.reference!r}")
            if not table.rows or not table.sets:
                raise ValueError(f"tables.{name}: no {'sets' if table.rows else 'rows'}")
            for row in table.rows:
                if not row.models or (not row.ensemble and len(row.models) != 1):
                    raise ValueError(f"tables.{name}: {row.name!r} is one model, or an ensemble")


def to_toml(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Tables of plain values; JSON's notation of those is TOML's too."""
    lines: list[str] = []
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(one)}" for key, one in table.items()), ""]
    return "\n".join(lines)


def _table(name: str, given: dict[str, Any]) -> Table:
    rows = [_made(Row, one, f"tables.{name}: a row") for one in given.get("rows", ())]
    return _made(Table, {**given, "rows": rows}, f"tables.{name}")


def _made(kind: type[T], given: dict[str, Any], where: str) -> T:
    known = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
    for key in given:
        if key not in known:
            raise ValueError(f"{where}: {key!r} is no setting")
    for key, one in known.items():
        if key not in given and one.default is MISSING:
            raise ValueError(f"{where}: {key} is missing")
    return kind(**given)


def _divided(size: int | Iterable[int], shrink: int, where: str) -> int | list[int]:
    """Exactly, so that what has to be a multiple of something else remains one."""
    if not isinstance(size, int):
        return [_divided(one, shrink, where) for one in size]  # type: ignore[misc]
    if shrink < 1 or size % shrink:
        raise ValueError(f"{where} {size} cannot be divided by {shrink}, as shrink asks")
    return size // shrink
