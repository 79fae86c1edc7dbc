"""The TOML of a study of encoder-decoders: data, systems, and the tables that compare them
(docs/tables.md describes it). Reading it checks names, settings and sizes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt
from study import CONFIGS, ROOT, input_errors

from reranker.training.pair_config import PairConfig

_SIZES = ("embedding_size", "attentional_size")


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class System(_Settings):
    """One row: a configuration with changes, all its seeds separately, or their ensemble."""

    name: str
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}
    ensemble_of: str = ""  # another row: its seeds together, instead of training
    printed: str = ""  # the figures in the paper

    @property
    def stem(self) -> str:
        """The name as it can stand in a file's."""
        return re.sub(r"[^\w.=-]+", "-", self.name).strip("-")


class GenerationTable(_Settings):
    """Systems trained alike on one set of pairs."""

    title: str
    measure: Literal["BLEU", "ROUGE", "F1"]
    config: str  # in models/configs/encoder-decoder
    train: Annotated[list[str], Field(min_length=1)]
    dev: Annotated[list[str], Field(min_length=1)]
    test: Annotated[list[str], Field(min_length=1)]
    train_target: list[str] = []
    dev_target: list[str] = []
    test_target: list[str] = []
    beams: Annotated[list[PositiveInt], Field(min_length=1)] = [5]
    length_power: float = 1.0
    rerank: list[str] = []  # language models that rerank the widest beam; of the repository
    reference: str = ""  # the row that the others are tested against
    rows: Annotated[list[System], Field(min_length=1)]

    def row(self, name: str) -> System:
        """Raises ValueError if there is none."""
        for row in self.rows:
            if row.name == name:
                return row
        raise ValueError(f"no row is called {name!r}")


class GenerationStudy(_Settings):
    """A study's file, with sizes divided by ``shrink``."""

    path: Path
    tables: dict[str, GenerationTable]
    seeds: PositiveInt = 3
    shrink: PositiveInt = 1

    @classmethod
    def read(
        cls, path: Path, only: Sequence[str] = (), shrink: int = 0, seeds: int = 0
    ) -> GenerationStudy:
        """The study, or the tables named ``only``; ``shrink`` and ``seeds``, unless 0, override
        the file. Raises InputError naming file and setting."""
        with input_errors(path):
            content = tomllib.loads(path.read_text("utf-8"))
            study = cls.model_validate({**content, "path": path})
            changes = {"shrink": shrink or study.shrink, "seeds": seeds or study.seeds}
            tables = {name: study.tables[name] for name in only or study.tables}
            study = study.model_copy(update={**changes, "tables": tables})
            for name, table in study.tables.items():
                study._check(name, table)
        return study

    def settings(self, table: GenerationTable, row: System) -> dict[str, dict[str, Any]]:
        """The ``[model]`` and ``[training]`` tables that a row is trained with."""
        file = CONFIGS / "encoder-decoder" / table.config
        if not file.is_file():
            raise ValueError(f"no {table.config} in {file.parent}")
        base = tomllib.loads(file.read_text("utf-8"))
        model = {**base.get("model", {}), **row.model}
        for name in _SIZES:
            model[name] = self._divided(name, model[name])
        model["hidden_sizes"] = [self._divided("hidden_sizes", n) for n in model["hidden_sizes"]]
        return {"model": model, "training": {**base.get("training", {}), **row.training}}

    def runs(self, name: str, row: System) -> list[str]:
        """The names of a row's runs in a table, one for each seed."""
        table = self.tables[name]
        trained = table.row(row.ensemble_of) if row.ensemble_of else row
        return [f"{name}.{trained.stem}-{seed}" for seed in range(1, self.seeds + 1)]

    def _check(self, name: str, table: GenerationTable) -> None:
        if table.reference:
            table.row(table.reference)
        stems = [row.stem for row in table.rows]
        if len(set(stems)) < len(stems):
            raise ValueError(f"tables.{name}: two rows have one name")
        for row in table.rows:
            if row.ensemble_of:
                if table.row(row.ensemble_of).ensemble_of:
                    raise ValueError(f"tables.{name}: {row.name} is an ensemble of ensembles")
                continue
            settings = self.settings(table, row)
            config = PairConfig(**settings["training"], model=settings["model"])
            config.check()
            has_targets = {bool(table.train_target), bool(table.dev_target)}
            if config.task == "parsing" and (True in has_targets or table.measure != "F1"):
                raise ValueError(f"tables.{name}: a parser has trees, no targets, and an F1")
            if config.task == "text" and table.measure == "F1":
                raise ValueError(f"tables.{name}: F1 is of parsers")
        if table.rerank and table.measure != "F1":
            raise ValueError(f"tables.{name}: only parses are reranked")
        for pattern in table.rerank:
            if not list(ROOT.glob(pattern)):
                raise ValueError(f"tables.{name}: no {pattern} in {ROOT}")

    def _divided(self, name: str, size: int) -> int:
        if size % self.shrink:
            raise ValueError(f"{name} {size} cannot be divided by {self.shrink} (shrink)")
        return size // self.shrink
