"""``ensemble.toml``: checkpoints and the weights that ``rerank tune`` found for them.

``version``, ``criterion``, ``lm_weight`` and ``token_bonus``, then for each member ``file`` (seen
from the folder of this file), ``sha256`` and ``weight``; docs/tuning.md shows one.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reranker.checkpoints.paths import checkpoint_paths
from reranker.errors import InputError, RerankError
from reranker.files.output import open_whole
from reranker.ranking import Weighing

_VERSION = 1
_KEYS = {"version": int, "criterion": str, "lm_weight": float, "token_bonus": float}
_MEMBER_KEYS = {"file": str, "sha256": str, "weight": float}


@dataclass(frozen=True, slots=True)
class WeighedModels:
    """Checkpoint files and how their scores are weighed."""

    paths: tuple[Path, ...]
    weighing: Weighing


def named_models(given: Iterable[str], combination: str = "sum") -> WeighedModels:
    """What ``--models`` names: checkpoints, globs expanded, or one ensemble file.

    Raises InputError for a name that matches nothing, and for an ensemble file that is none, whose
    checkpoints have changed, or that is to be combined in another way than it was tuned for.
    """
    paths = checkpoint_paths(given)
    files = [path for path in paths if path.suffix == ".toml"]
    if not files:
        return WeighedModels(tuple(paths), Weighing())
    if len(paths) > 1:
        raise InputError(f"{files[0]} is a whole ensemble, nothing can stand beside it")
    if combination != "sum":
        raise InputError(f"{files[0]} was tuned for the sum of its models, not their {combination}")
    return read_ensemble_file(files[0])


def read_ensemble_file(path: Path) -> WeighedModels:
    """Raises InputError, naming the file, if it is no ensemble or a checkpoint is not the one that
    the weights were tuned for."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        if data.get("version") != _VERSION:
            raise ValueError(f"version is {data.get('version')}, this program reads {_VERSION}")
        members = data.pop("members", None)
        if not isinstance(members, list) or not members:
            raise ValueError("there are no [[members]]")
        _check(data, _KEYS)
        for member in members:
            _check(member, _MEMBER_KEYS)
        weights = tuple(float(member["weight"]) for member in members)
        weighing = Weighing(
            float(data["lm_weight"]),
            data["criterion"],
            () if all(weight == 1 for weight in weights) else weights,
            float(data["token_bonus"]),
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RerankError) as error:
        raise InputError(f"{path}: no ensemble file: {error}") from error
    paths = []
    for member in members:
        checkpoint = path.parent / member["file"]
        if _sha256(checkpoint) != member["sha256"]:
            raise InputError(
                f"{checkpoint}: is not the checkpoint that {path} was tuned for; tune again"
            )
        paths.append(checkpoint)
    return WeighedModels(tuple(paths), weighing)


def write_ensemble_file(path: Path, models: WeighedModels, comments: Sequence[str] = ()) -> None:
    """Write the file, whole or not at all; ``comments`` go first, a line each.

    Raises InputError if a checkpoint cannot be read, RerankError if the file cannot be written.
    """
    weighing = models.weighing
    lines = [
        *(f"# {comment}" for comment in comments),
        f"version = {_VERSION}",
        f"criterion = {_quoted(weighing.criterion)}",
        f"lm_weight = {float(weighing.lm_weight)}",
        f"token_bonus = {float(weighing.token_bonus)}",
    ]
    weights = weighing.member_weights or (1.0,) * len(models.paths)
    for checkpoint, weight in zip(models.paths, weights, strict=True):
        lines += [
            "",
            "[[members]]",
            f"file = {_quoted(os.path.relpath(checkpoint.resolve(), path.parent.resolve()))}",
            f"sha256 = {_quoted(_sha256(checkpoint))}",
            f"weight = {float(weight)}",
        ]
    with open_whole(path) as file:
        file.write("\n".join(lines) + "\n")


def _check(table: Any, keys: Mapping[str, type]) -> None:
    """Raises ValueError unless ``table`` has these keys, and no others, with such values."""
    if not isinstance(table, dict):
        raise ValueError(f"{table!r} is no table")
    for name in table:
        if name not in keys:
            raise ValueError(f"{name} is no key of it")
    for name, kind in keys.items():
        value = table.get(name)
        allowed = (int, float) if kind is float else (kind,)
        if not isinstance(value, allowed) or isinstance(value, bool):
            raise ValueError(f"{name} is {value!r}" if name in table else f"{name} is missing")


def _quoted(text: str) -> str:
    """A TOML string; raises InputError for a file's name that is no text."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{text!r}: a name that is not UTF-8 cannot be written down") from error
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
