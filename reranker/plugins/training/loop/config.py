"""The settings that all training runs share, and how they are read from TOML."""

from __future__ import annotations

import math
import tomllib
from abc import ABC, abstractmethod
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from reranker.errors import ConfigError
from reranker.files.opening import read_text
from reranker.languages import ENGLISH, checked_language

_CONFIGS = Path(__file__).parents[3] / "models" / "configs"

StoredPrecision = Literal["float16", "float32", "int8", "int6"]


_MOST_SHARDS = 10_000  # each costs time, whether it has columns or not


@dataclass(frozen=True, slots=True)
class RunConfig(ABC):
    """The settings of a training and, in ``model``, of its model; a subclass names the recipes."""

    recipe: str = "fast"
    seed: int = 1
    language: str = ENGLISH  # of the trees: a code of ISO 639
    minimum_count: int = 10  # rarer words become unknown-word classes
    budget_minutes: float = 0.0  # wall-clock, over all resumptions; 0 is no limit
    epochs: float = 0.0  # 0 is no limit (paper: for each phase)
    learning_rate: float = 3e-3
    weight_decay: float = 0.01
    clip: float = 1.0  # the largest norm of the gradient of the mean loss
    batch_tokens: int = 2_560  # fast
    warmup_batches: int = 100  # fast
    averaged: float = 0.0  # fast: share of the budget, at its end, whose weights are averaged
    shards: int = 0  # parts of a batch that several processes share out; 0: batches stay whole
    validate_every: int = 500  # batches; 0 is once an epoch
    keep: Literal["best", "last"] = "best"  # the weights with the least dev perplexity, or the last
    stored_precision: StoredPrecision = "float16"
    model: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_file(cls, path: Path, **overrides: Any) -> Self:
        """Read ``[training]`` and ``[model]`` tables; ``overrides`` that are not None win.

        Raises ConfigError naming the file and the offending setting.
        """
        tables = read_tables(path)
        given = {
            **tables.get("training", {}),
            **{name: value for name, value in overrides.items() if value is not None},
        }
        unknown = set(given) - {each.name for each in fields(cls) if each.name != "model"}
        if unknown:
            raise ConfigError(f"{path}: unknown setting {min(unknown)!r} in [training]")
        return cls(**given, model=tables.get("model", {})).checked(path)

    def checked(self, path: Path) -> Self:
        """Return the settings. Raises ConfigError naming the file for an invalid value."""
        try:
            self.check()
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{path}: {error}") from error
        return self

    def check(self) -> None:
        """Raise ValueError or TypeError for an invalid value."""
        for each in fields(self):
            if each.default is not MISSING:
                _check_kind(each.name, getattr(self, each.name), each.default)
        for name, kind in get_type_hints(type(self)).items():
            allowed = get_args(kind) if get_origin(kind) is Literal else ()
            if allowed and getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} must be {' or '.join(allowed)}, got {getattr(self, name)!r}"
                )
        checked_language(self.language)
        if self.recipe != "paper" and not (self.budget_minutes or self.epochs):
            why = ", for its learning rate" if self.recipe == "fast" else ": nothing else ends it"
            raise ValueError(f"the {self.recipe} recipe needs budget_minutes or epochs{why}")
        self.at_least_one("batch_tokens")
        if self.shards > _MOST_SHARDS:
            raise ValueError(f"shards must be at most {_MOST_SHARDS:,}, got {self.shards}")
        if self.averaged >= 1:
            raise ValueError(f"averaged must be a share below 1, got {self.averaged}")
        for name in ("learning_rate", "clip"):
            if getattr(self, name) == 0:
                raise ValueError(f"{name} is 0: nothing would be learned")

    def at_least_one(self, *names: str) -> None:
        """Raise ValueError if a setting is less than 1."""
        for name in names:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    @property
    @abstractmethod
    def architecture(self) -> str:
        """Return the name of the model's architecture."""

    def model_settings(self, config_class: type[Any]) -> dict[str, Any]:
        """Return the settings in [model]. Raises TypeError or ValueError for a wrong setting."""
        settings: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.model.items()
            if name != "architecture"
        }
        defaults = {e.name: e.default for e in fields(config_class) if e.default is not MISSING}
        for name, value in settings.items():
            if name not in defaults:
                raise ValueError(f"unknown setting {name!r} in [model] of {self.architecture}")
            _check_kind(name, value, defaults[name])
        return settings

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for checkpoints and for comparing with a saved run."""
        return asdict(self)


def config_path(name: Path) -> Path:
    """Return the file of a configuration: the one that is named or, where there is no such file,
    ``NAME.toml`` of those that the package brings. Raises ConfigError, which lists them."""
    if name.suffix == ".toml" or (name.exists() and not name.is_dir()):
        return name
    path = _CONFIGS / f"{name}.toml"
    known = sorted(str(each.relative_to(_CONFIGS))[:-5] for each in _CONFIGS.rglob("*.toml"))
    if str(name) not in known:
        raise ConfigError(f"there is no configuration {str(name)!r}; there are {', '.join(known)}")
    return path


def read_tables(path: Path) -> dict[str, dict[str, Any]]:
    """Read [training] and [model] of a configuration. Raises ConfigError naming the file."""
    try:
        tables = tomllib.loads(read_text(path))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    unknown_tables = set(tables) - {"training", "model"}
    if unknown_tables:
        raise ConfigError(f"{path}: {min(unknown_tables)!r} is neither [training] nor [model]")
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: [{name}] must be a table, got {table!r}")
    return tables


_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    tuple: "a list of whole numbers",
}


def _check_kind(name: str, value: object, default: object) -> None:
    """Raise TypeError unless ``value`` has the type of ``default``, ValueError for a number that is
    negative or not finite."""
    if isinstance(default, tuple):
        fits = isinstance(value, tuple) and all(type(number) is int for number in value)
    else:  # true and false are not numbers here, though bool is an int in Python
        fits = type(value) is type(default) or (type(default) is float and type(value) is int)
    if not fits:
        raise TypeError(f"{name} must be {_KINDS[type(default)]}, got {value!r}")
    if isinstance(value, int | float) and not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a finite number of at least 0, got {value}")
