"""A study's TOML: data, models, and the tables that compare them (docs/tables.md describes it).

Reading checks names, configurations and sizes: all that can be known before hours of training.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from reranker.errors import InputError
from reranker.training.config import TrainingConfig

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "models" / "configs"
DEFAULT_SIZES = {"embedding_size": 280, "hidden_sizes": [960, 960, 620]}


class _StudyTable(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Data(_StudyTable):
    """What models learn from and are selected on; file patterns, relative to ``--data``."""

    train: list[str]
    dev: list[str]
    text: bool = False  # running text, a sentence a line, instead of trees


class EvaluationSet(_StudyTable):
    """What models are judged on: perplexity of ``trees``, or of text, F1 of what they choose of
    ``nbest``."""

    name: str
    trees: list[str]
    passages: bool = False  # of text: each line is read from the start state, for its last word
    nbest: str = ""
    gold: str = ""  # of the lists, if not ``trees``
    tokens: str = ""  # the sentences, for candidates that hide words
    gold_tags: bool = False
    weight_from: str = ""  # the set that tunes the mixture's weight; without it, cross-validation


class StudyModel(_StudyTable):
    """A file of ``models/configs``, with changes, trained with seeds 1 to ``seeds``; or a
    ``checkpoint``, relative to the repository's root, judged as it is."""

    config: str = ""
    seeds: PositiveInt = 1
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}
    start_from: str = ""  # another model, whose run with the same seed this one continues
    checkpoint: str = ""


class StudyRow(_StudyTable):
    """One model, all its seeds separately, or an ensemble of several models' seeds."""

    name: str
    models: Annotated[list[str], Field(min_length=1)]
    ensemble: bool = False
    seeds: int = 0  # of each model in an ensemble; 0 is all
    printed: str = ""  # the figure in the paper


class Table(_StudyTable):
    title: str
    kind: Literal["F1", "perplexity", "variation", "rank", "last word"]
    sets: Annotated[list[str], Field(min_length=1)]
    rows: Annotated[list[StudyRow], Field(min_length=1)]
    reference: str = ""  # the row whose F1 the other rows are tested against, besides the parser's


@contextmanager
def input_errors(path: Path) -> Iterator[None]:
    """A context in which whatever is wrong with a study is an InputError that names its file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        places = [(".".join(map(str, each["loc"])), each["msg"]) for each in error.errors()]
        problems = "; ".join(f"{place}: {message}" for place, message in places)
        raise InputError(f"{path}: {problems}") from error
    except KeyError as error:
        raise InputError(f"{path}: there is no {error}") from error
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: {error}") from error


class Study(_StudyTable):
    """A study's file, with sizes divided by ``shrink``."""

    path: Path
    data: Data
    sets: dict[str, EvaluationSet]
    models: dict[str, StudyModel]
    tables: dict[str, Table]
    training: dict[str, Any] = {}
    shrink: PositiveInt = 1

    @classmethod
    def read(cls, path: Path, only: Sequence[str] = (), shrink: int = 0, seeds: int = 0) -> Study:
        """The study, or the part that the tables named ``only`` need; ``shrink`` and ``seeds``,
        unless 0, override the file. Raises InputError naming file and setting."""
        with input_errors(path):
            content = tomllib.loads(path.read_text("utf-8"))
            study = cls.model_validate({**content, "path": path})._restricted(only, shrink, seeds)
            study._check()
        return study

    def settings(self, name: str) -> dict[str, dict[str, Any]]:
        """The ``[model]`` and ``[training]`` tables that the model is trained with."""
        changes = self.models[name]
        file = CONFIGS / changes.config
        if not file.is_file():
            raise ValueError(f"no {changes.config} in {CONFIGS}")
        base = tomllib.loads(file.read_text("utf-8"))
        model = {**base.get("model", {}), **changes.model}
        if "architecture" not in model:
            model = {**DEFAULT_SIZES, **model}
        if "embedding_size" in model:
            model["embedding_size"] = self._divided("embedding_size", model["embedding_size"])
        if "hidden_sizes" in model:
            sizes = model["hidden_sizes"]
            model["hidden_sizes"] = [self._divided("hidden_sizes", size) for size in sizes]
        training = {**base.get("training", {}), **self.training, **changes.training}
        if self.data.text:
            training["text"] = True
        return {"model": model, "training": training}

    def runs(self, name: str) -> list[str]:
        """The names of a model's runs, one for each seed; a checkpoint has one of its own name."""
        model = self.models[name]
        seeds = range(1, model.seeds + 1)
        return [name] if model.checkpoint else [f"{name}-{seed}" for seed in seeds]

    def all_runs(self) -> list[str]:
        return [run for name in self.models for run in self.runs(name)]

    @property
    def trained(self) -> list[str]:
        """The names of the models to be trained."""
        return [name for name, model in self.models.items() if not model.checkpoint]

    def members(self, row: StudyRow) -> list[str]:
        """The runs of a row."""
        return [run for name in row.models for run in self.runs(name)[: row.seeds or None]]

    def _restricted(self, only: Sequence[str], shrink: int, seeds: int) -> Study:
        """Without what the other tables alone need; with other sizes and seeds."""
        tables = {name: self.tables[name] for name in only} if only else self.tables
        rows = [row for table in tables.values() for row in table.rows]
        models = {name for row in rows for shown in row.models for name in self._lineage(shown)}
        sets = {name for table in tables.values() for name in table.sets}
        sets |= {self.sets[name].weight_from for name in sets} - {""}
        changes = {"seeds": seeds} if seeds else {}
        return self.model_copy(
            update={
                "tables": tables,
                "sets": {name: self.sets[name] for name in self.sets if name in sets},
                "models": {
                    name: model if model.checkpoint else model.model_copy(update=changes)
                    for name, model in self.models.items()
                    if name in models
                },
                "shrink": shrink or self.shrink,
            }
        )

    def _lineage(self, name: str) -> list[str]:
        """The model, the one it starts from, the one that starts from, and so on."""
        lineage = [name]
        while start := self.models[lineage[-1]].start_from:
            if start in lineage:
                raise ValueError(f"models.{name}: start_from leads back to it")
            lineage.append(start)
        return lineage

    def _check(self) -> None:
        for name, evaluated in self.sets.items():
            unfit = "nbest" if self.data.text else "passages"
            if getattr(evaluated, unfit):
                raise ValueError(f"sets.{name}: {unfit} and data.text = {self.data.text}")
        for name, model in self.models.items():
            try:
                self._check_model(name, model)
            except (TypeError, ValueError) as error:
                raise ValueError(f"models.{name}: {error}") from error
        run, count = Counter(self.all_runs()).most_common(1)[0]
        if count > 1:
            raise ValueError(f"models.{run} is also the name of another model's run")
        for name, evaluated in self.sets.items():
            if evaluated.weight_from and not self.sets[evaluated.weight_from].nbest:
                raise ValueError(f"sets.{name}: weight_from needs a set with nbest")
        for name, table in self.tables.items():
            if table.kind == "F1" and not all(self.sets[listed].nbest for listed in table.sets):
                raise ValueError(f"tables.{name}: F1 needs sets with nbest")
            self._check_kind(name, table)
            if table.reference and table.reference not in [row.name for row in table.rows]:
                raise ValueError(f"tables.{name}: there is no row {table.reference!r}")
            for row in table.rows:
                if not row.ensemble and len(row.models) > 1:
                    place = f"tables.{name}: row {row.name!r}"
                    raise ValueError(f"{place}: several models need ensemble = true")

    def _check_kind(self, name: str, table: Table) -> None:
        """Whether the sets and rows can have such figures."""
        sets = [self.sets[listed] for listed in table.sets]
        ensembles = [row.name for row in table.rows if row.ensemble]
        if table.kind == "last word" and not all(evaluated.passages for evaluated in sets):
            raise ValueError(f"tables.{name}: last word needs sets with passages")
        if table.kind in ("variation", "rank") and any(evaluated.passages for evaluated in sets):
            raise ValueError(f"tables.{name}: {table.kind} is not of passages")
        if ensembles and (
            table.kind not in ("F1", "perplexity") or any(evaluated.passages for evaluated in sets)
        ):
            raise ValueError(f"tables.{name}: row {ensembles[0]!r}: no ensemble has such figures")

    def _check_model(self, name: str, model: StudyModel) -> None:
        if model.checkpoint:
            if model.model_dump(exclude_defaults=True).keys() != {"checkpoint"}:
                raise ValueError("a checkpoint has no other settings")
            if not (ROOT / model.checkpoint).is_file():
                raise ValueError(f"no {model.checkpoint} in {ROOT}")
            return
        if not model.config:
            raise ValueError("config is missing")
        if start := self.models.get(model.start_from):
            if start.checkpoint:
                raise ValueError("start_from needs a model trained here, not a checkpoint")
            if start.seeds < model.seeds:
                raise ValueError(f"{model.start_from} has fewer seeds to start from")
        settings = self.settings(name)
        TrainingConfig(**settings["training"], model=settings["model"]).check()

    def _divided(self, name: str, size: int) -> int:
        """Exactly, so that what has to be a multiple of something else remains one."""
        if size % self.shrink:
            raise ValueError(f"{name} {size} cannot be divided by {self.shrink} (shrink)")
        return size // self.shrink


def to_toml(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Tables of plain values; JSON's notation of those is TOML's too."""
    lines: list[str] = []
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
        lines.append("")
    return "\n".join(lines)
