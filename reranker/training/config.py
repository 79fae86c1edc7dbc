"""The settings of a training run, read from TOML; ``models/configs/`` holds one file per run."""

from __future__ import annotations

import math
import tomllib
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from reranker.errors import ConfigError
from reranker.models import ARCHITECTURES, AwdLstmDoc, Config, LanguageModel
from reranker.training.start import Start


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How to train. ``recipe`` is one of three; each ignores settings of the others.

    ``fast``: AdamW with warm-up and linear decay to zero over the budget, batches of whole trees.
    ``paper``: SGD, then averaged SGD, on one stream with truncated BPTT (docs/training.md).
    ``thesis``: Adam, its rate always the same, on one stream with truncated BPTT.
    """

    recipe: Literal["fast", "paper", "thesis"] = "fast"
    text: bool = False  # running text instead of trees
    seed: int = 1
    start: Start = "fast"  # what weights are before training
    minimum_count: int = 10  # rarer words become unknown-word classes
    direction: Literal["forward", "backward"] = "forward"  # trees are read from start or end
    word_classes: int = 256  # of similar words; only with word vectors
    budget_minutes: float = 0.0  # wall-clock, over all resumptions; 0 is no limit
    epochs: float = 0.0  # 0 is no limit (paper: for each phase)
    learning_rate: float = 3e-3
    weight_decay: float = 0.01
    clip: float = 1.0  # the largest norm of the gradient of the mean loss
    batch_tokens: int = 2_560  # fast
    warmup_batches: int = 100  # fast
    batch_size: int = 12  # paper, thesis: columns of the stream
    sequence_length: int = 70  # of the truncated BPTT; paper: its mean
    non_monotone_interval: int = 60  # paper: evaluations without improvement that end a phase
    fine_tuning: bool = True  # paper: averaged SGD again and again, until it brings nothing
    activation_regularization: float = 0.0  # alpha, on the dropped h^N
    temporal_regularization: float = 0.0  # beta, on the change of h^N
    mixture_balance: float = 1e-3  # lambda_beta, on the variation of the mixture weights
    mixture_balance_form: Literal["printed", "authors"] = "printed"  # of beta (docs/training.md)
    validate_every: int = 500  # batches; 0 is once an epoch
    validation_trees: int = 0  # taken evenly from the dev trees; 0 is all
    precision: Literal["bfloat16", "float32"] = "float32"  # of matrix products; weights are float32
    stored_precision: Literal["float16", "float32"] = "float16"
    model: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_file(cls, path: Path, **overrides: Any) -> TrainingConfig:
        """Read ``[training]`` and ``[model]`` tables; ``overrides`` that are not None win.

        Raises ConfigError naming the file and the offending setting.
        """
        try:
            tables = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: {error}") from error
        unknown_tables = set(tables) - {"training", "model"}
        if unknown_tables:
            raise ConfigError(f"{path}: {min(unknown_tables)!r} is neither [training] nor [model]")
        for name, table in tables.items():
            if not isinstance(table, dict):
                raise ConfigError(f"{path}: [{name}] must be a table, not {table!r}")
        given = {
            **tables.get("training", {}),
            **{name: value for name, value in overrides.items() if value is not None},
        }
        unknown = set(given) - {each.name for each in fields(cls) if each.name != "model"}
        if unknown:
            raise ConfigError(f"{path}: unknown setting {min(unknown)!r} in [training]")
        config = cls(**given, model=tables.get("model", {}))
        try:
            config.check()
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{path}: {error}") from error
        return config

    def check(self) -> None:
        """Raises ValueError or TypeError for an invalid value."""
        for each in fields(self):
            if each.default is not MISSING:
                _check_kind(each.name, getattr(self, each.name), each.default)
        for name, kind in get_type_hints(type(self)).items():
            allowed = get_args(kind) if get_origin(kind) is Literal else ()
            if allowed and getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}, not {' or '.join(allowed)}")
        if self.recipe != "paper" and not (self.budget_minutes or self.epochs):
            why = ", for its learning rate" if self.recipe == "fast" else ": nothing else ends it"
            raise ValueError(f"the {self.recipe} recipe needs budget_minutes or epochs{why}")
        if self.text:
            self._check_text()
        for name in ("batch_tokens", "batch_size", "sequence_length", "non_monotone_interval"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, not 1 or more")
        for name in ("learning_rate", "clip"):
            if getattr(self, name) == 0:
                raise ValueError(f"{name} is 0: nothing would be learned")
        self.model_config(vocabulary_size=1)

    def _check_text(self) -> None:
        if self.recipe == "fast":
            raise ValueError(
                "text needs recipe paper or thesis: the fast one reads every tree from the start"
            )
        if self.direction == "backward":
            raise ValueError("text is read forward: direction is backward")
        if self.validation_trees:
            raise ValueError("validation_trees is for trees: all of the dev text is read")

    @property
    def architecture(self) -> str:
        """The name of the model's architecture, ``awd-lstm-doc`` unless [model] says otherwise."""
        return str(self.model.get("architecture", AwdLstmDoc.architecture))

    def model_config(self, vocabulary_size: int) -> Config:
        """The model's configuration; raises TypeError or ValueError for a wrong setting."""
        if self.architecture not in ARCHITECTURES:
            known = ", ".join(ARCHITECTURES)
            raise ValueError(f"architecture is {self.architecture!r}, not one of {known}")
        config_class, _ = ARCHITECTURES[self.architecture]
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
        return config_class(vocabulary_size=vocabulary_size, **settings)

    def new_model(self, vocabulary_size: int) -> LanguageModel:
        """The model before training; raises what ``model_config`` does."""
        _, make = ARCHITECTURES[self.architecture]
        return make(self.model_config(vocabulary_size))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for checkpoints and for comparing with a saved run."""
        return asdict(self)


_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    tuple: "a list of whole numbers",
}


def _check_kind(name: str, value: object, default: object) -> None:
    """Raises TypeError if ``value`` has another type than ``default``, ValueError for a number that
    is negative or not finite."""
    if isinstance(default, tuple):
        fits = isinstance(value, tuple) and all(type(number) is int for number in value)
    else:  # true and false are not numbers here, though bool is an int in Python
        fits = type(value) is type(default) or (type(default) is float and type(value) is int)
    if not fits:
        raise TypeError(f"{name} must be {_KINDS[type(default)]}, not {value!r}")
    if isinstance(value, int | float) and not 0 <= value < math.inf:
        raise ValueError(f"{name} is {value}, not a finite number, 0 or more")
