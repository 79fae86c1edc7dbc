"""A study's TOML: data, models, and the tables that compare them (docs/research/tables.md).

Reading checks names, configurations and sizes: all that can be known before hours of training.
"""

from __future__ import annotations

import glob
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from reranker.errors import InputError
from reranker.plugins.training.language_models.config import TrainingConfig

CONFIGS = Path(__file__).resolve().parents[2] / "models" / "configs"
DEFAULT_SIZES = {"embedding_size": 280, "hidden_sizes": [960, 960, 620]}


class _StudyPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Data(_StudyPart):
    """The data from which models learn and by which they are selected; file patterns, relative to
    ``--data``."""

    train: list[str]
    dev: list[str]
    text: bool = False  # running text, one sentence per line, instead of trees


class EvaluationSet(_StudyPart):
    """The data by which models are judged: perplexity of ``trees``, or of text, F1 of their choices
    of ``nbest``."""

    name: str
    trees: list[str]
    passages: bool = False  # of text: each line is read from the start state
    nbest: str = ""
    gold: str = ""  # of the lists, if not ``trees``
    tokens: str = ""  # the sentences, for candidates that hide words
    gold_tags: bool = False
    weight_from: str = ""  # the set that tunes the mixture's weight; without it, cross-validation


class StudyModel(_StudyPart):
    """A file of ``models/configs``, with changes, trained with seeds 1 to ``seeds``."""

    config: str
    seeds: PositiveInt = 1
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}
    start_from: str = ""  # another model, whose run with the same seed this one continues


class StudyRow(_StudyPart):
    """One model, all its seeds separately, or an ensemble of several models' seeds."""

    name: str
    models: Annotated[list[str], Field(min_length=1)]
    ensemble: bool = False
    seeds: int = 0  # of each model in an ensemble; 0 is all
    printed: str = ""  # the figure in the paper


class StudyTable(_StudyPart):
    title: str
    kind: Literal["F1", "perplexity"]
    sets: Annotated[list[str], Field(min_length=1)]
    rows: Annotated[list[StudyRow], Field(min_length=1)]
    reference: str = ""  # the row whose F1 the other rows are tested against, besides the parser's


class Study(_StudyPart):
    """A study's file, with sizes divided by ``shrink``."""

    path: Path
    data: Data
    sets: dict[str, EvaluationSet]
    models: dict[str, StudyModel]
    tables: dict[str, StudyTable]
    training: dict[str, Any] = {}
    shrink: PositiveInt = 1

    @classmethod
    def read(cls, path: Path, only: Sequence[str] = (), shrink: int = 0, seeds: int = 0) -> Study:
        """Read the study, or the part that the tables named ``only`` need; ``shrink`` and
        ``seeds``, unless 0, override the file. Raises InputError naming file and setting."""
        try:
            content = tomllib.loads(path.read_text("utf-8"))
            study = cls.model_validate({**content, "path": path})._restricted(only, shrink, seeds)
            study._check()
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
        return study

    def sources(self, root: Path) -> list[Path]:
        """Return every file the study reads. Raises InputError naming all that are missing."""
        patterns = [*self.data.train, *self.data.dev]
        for judged in self.sets.values():
            patterns += [*judged.trees, judged.nbest, judged.gold, judged.tokens]
        found = {pattern: matching(root, [pattern]) for pattern in patterns if pattern}
        if missing := [pattern for pattern, paths in found.items() if not paths]:
            listed = "".join(f"\n  {root / pattern}" for pattern in missing)
            raise InputError(
                f"{self.path} needs data that are not here:{listed}\n"
                "Say where they are with --data FOLDER, or `make tables DATA=FOLDER`; where they "
                "come from: docs/research/tables.md"
            )
        return list(dict.fromkeys(path for paths in found.values() for path in paths))

    def settings(self, name: str) -> dict[str, dict[str, Any]]:
        """Return the ``[model]`` and ``[training]`` tables that the model is trained with."""
        changes = self.models[name]
        file = CONFIGS / changes.config
        if not file.is_file():
            raise ValueError(f"no {changes.config} in {CONFIGS}")
        base = tomllib.loads(file.read_text("utf-8"))
        model = {**base.get("model", {}), **changes.model}
        if "architecture" not in model:
            model = {**DEFAULT_SIZES, **model}
        for size in ("embedding_size", "hidden_sizes"):
            if size in model:
                model[size] = self._divided(size, model[size])
        training = {**base.get("training", {}), **self.training, **changes.training}
        return {"model": model, "training": training | ({"text": True} if self.data.text else {})}

    def runs(self, name: str) -> list[str]:
        """Return the names of a model's runs, one for each seed."""
        return [f"{name}-{seed}" for seed in range(1, self.models[name].seeds + 1)]

    def members(self, row: StudyRow) -> list[str]:
        """Return the runs of a row."""
        return [run for name in row.models for run in self.runs(name)[: row.seeds or None]]

    def parts(self, row: StudyRow) -> list[list[str]]:
        """Return the runs whose figures a row shows: each seed alone, or all together."""
        members = self.members(row)
        return [members] if row.ensemble else [[run] for run in members]

    def lineage(self, name: str) -> list[str]:
        """Return the model, the one it starts from, the one that starts from, and so on."""
        lineage = [name]
        while start := self.models[lineage[-1]].start_from:
            if start in lineage:
                raise ValueError(f"models.{name}: start_from leads back to it")
            lineage.append(start)
        return lineage

    def _restricted(self, only: Sequence[str], shrink: int, seeds: int) -> Study:
        """Return the study without parts that the other tables alone need; with other sizes and
        seeds."""
        tables = {name: self.tables[name] for name in only} if only else self.tables
        rows = [row for table in tables.values() for row in table.rows]
        models = {name for row in rows for shown in row.models for name in self.lineage(shown)}
        sets = {name for table in tables.values() for name in table.sets}
        sets |= {self.sets[name].weight_from for name in sets} - {""}
        changes = {"seeds": seeds} if seeds else {}
        kept = {
            name: model.model_copy(update=changes)
            for name, model in self.models.items()
            if name in models
        }
        judged = {name: self.sets[name] for name in self.sets if name in sets}
        parts = {"tables": tables, "sets": judged, "models": kept}
        return self.model_copy(update={**parts, "shrink": shrink or self.shrink})

    def _check(self) -> None:
        for name, judged in self.sets.items():
            unfit = "nbest" if self.data.text else "passages"
            if getattr(judged, unfit):
                raise ValueError(f"sets.{name}: {unfit} and data.text = {self.data.text}")
            if judged.weight_from and not self.sets[judged.weight_from].nbest:
                raise ValueError(f"sets.{name}: weight_from needs a set with nbest")
        for name, model in self.models.items():
            try:
                if model.start_from and self.models[model.start_from].seeds < model.seeds:
                    raise ValueError(f"{model.start_from} has fewer seeds to start from")
                settings = self.settings(name)
                TrainingConfig(**settings["training"], model=settings["model"]).check()
            except (TypeError, ValueError) as error:
                raise ValueError(f"models.{name}: {error}") from error
        for name, table in self.tables.items():
            self._check_table(name, table)

    def _check_table(self, name: str, table: StudyTable) -> None:
        """Raise ValueError if the sets and rows cannot have such figures."""
        sets = [self.sets[listed] for listed in table.sets]
        if table.kind == "F1" and not all(judged.nbest for judged in sets):
            raise ValueError(f"tables.{name}: F1 needs sets with nbest")
        if table.reference and table.reference not in [row.name for row in table.rows]:
            raise ValueError(f"tables.{name}: there is no row {table.reference!r}")
        for row in table.rows:
            place = f"tables.{name}: row {row.name!r}"
            if not row.ensemble and len(row.models) > 1:
                raise ValueError(f"{place}: several models need ensemble = true")
            if row.ensemble and any(judged.passages for judged in sets):
                raise ValueError(f"{place}: no ensemble has figures of passages")

    def _divided(self, name: str, size: Any) -> Any:
        """Divide a size exactly, so that a multiple of something else remains one."""
        if isinstance(size, list):
            return [self._divided(name, each) for each in size]
        if size % self.shrink:
            raise ValueError(f"{name} {size} cannot be divided by {self.shrink} (shrink)")
        return size // self.shrink


def matching(root: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files in ``root`` of these patterns, in the patterns' order."""
    return [Path(path) for each in patterns for path in sorted(glob.glob(str(root / each)))]
