"""The names of models, and ``ensemble.toml``: checkpoints with the weights ``rerank tune`` found.

An ensemble file has ``version``, ``criterion``, ``lm_weight`` and ``token_bonus``, then for each
member ``file`` (relative to the file's folder), ``sha256`` and ``weight``, and the coefficients of
the confidence (``[confidence]``, if they could be fitted); docs/tuning.md shows one.
"""

from __future__ import annotations

import glob
import json
import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reranker.checkpoints import MOST_BYTES
from reranker.checkpoints.installed import (
    Installed,
    default_models,
    installed_models,
    installed_span_model,
    models_in_environment,
)
from reranker.errors import InputError, RerankError
from reranker.files.opening import file_sha256, open_file, read_text
from reranker.files.output import open_whole
from reranker.languages import ENGLISH
from reranker.ranking import Weighing
from reranker.ranking.confidence import FEATURES, Calibration

# One or several of: a checkpoint, a glob, a folder of checkpoints, an ensemble.toml, a name of the
# hub (hub.py).
ModelNames = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_PIN = re.compile(r"[0-9a-f]{8,64}")
_VERSION = 2
_KEYS = {"version": int, "criterion": str, "lm_weight": float, "token_bonus": float}
_MEMBER_KEYS = {"file": str, "sha256": str, "weight": float}
_CONFIDENCE_KEYS = dict.fromkeys(("intercept", *FEATURES), float)

# An ensemble file whose [confidence], shortlist and member weights hold for checkpoints beside it.
CONFIDENCE_FILE = "confidence.toml"


@dataclass(frozen=True, slots=True)
class WeighedModels:
    """Checkpoint files and the weighing of their scores."""

    paths: tuple[Path, ...]
    weighing: Weighing
    calibration: Calibration | None = None
    """The calibration for this weighing; None if there is none."""
    sha256: tuple[str, ...] = ()
    """The hash that each file must have when it is loaded; empty if any hash is accepted."""
    parser: str = ""
    """The name of the installed ensemble, if the ensemble has a parser."""


def named_models(
    names: ModelNames | None, combination: str = "sum", pins: Iterable[str] = ()
) -> WeighedModels:
    """Return the checkpoints of one or several names, sorted, with globs expanded and a folder
    standing for every ``*.pt`` in it; or one ensemble file with its weights; or an installed
    ensemble by its name, or for None the default one (reranker.checkpoints.installed).
    ``hf://OWNER/NAME`` is a folder of the Hugging Face hub (reranker.checkpoints.hub). ``pins`` are
    the SHA-256 of the checkpoints, if given (``pinned``).

    Raises InputError for anything but a path, for a name that matches nothing, for checkpoints that
    are not the pinned ones, and for an ensemble file that is invalid, whose checkpoints have
    changed or that was tuned for another combination.
    """
    pins = [pins] if isinstance(pins, str) else [*pins]
    if names is None:
        names = models_in_environment() or None
    installed = default_models() if names is None else named_ensemble(names)
    if installed is not None:
        names, pins = installed.path, pins or [*installed.sha256]
    assert names is not None
    named = _named(names, combination)
    if installed is not None and installed.parser:
        named = replace(named, parser=installed.name)
    return replace(named, sha256=pinned(named.paths, pins, *named.sha256)) if pins else named


def pinned(paths: Sequence[Path], pins: Iterable[str], *digests: str) -> tuple[str, ...]:
    """Return the full hash of each file, if each matches one of the ``pins``, in any order: full
    hashes, or their first 8 digits or more. ``digests`` are the files' hashes, if known.

    Raises InputError, naming file and hashes, for a file without a pin, a pin without a file, and a
    pin that is not a hash.
    """
    left = sorted(map(_checked_pin, pins), key=len, reverse=True)
    digests = digests or tuple(file_sha256(path, MOST_BYTES) for path in paths)
    for path, digest in zip(paths, digests, strict=True):
        mine = next((pin for pin in left if digest.startswith(pin)), None)
        if mine is None:
            expected = f"one of {', '.join(left)}" if left else "one of those given, all used up"
            raise InputError(f"{path}: its SHA-256 is {digest}, not {expected}")
        left.remove(mine)
    if left:
        raise InputError(
            f"no checkpoint has SHA-256 {', '.join(left)}: "
            + ", ".join(f"{path} has {digest}" for path, digest in zip(paths, digests, strict=True))
        )
    return digests


def _checked_pin(pin: str) -> str:
    if not isinstance(pin, str) or not _PIN.fullmatch(pin.lower()):
        raise InputError(
            f"{pin!r:.80} is not a SHA-256: give its 64 hexadecimal digits, or at least the first 8"
        )
    return pin.lower()


def hashes(names: ModelNames) -> str:
    """Return the SHA-256 of the checkpoints of these names, with commas between them. Raises
    InputError."""
    return ",".join(map(file_sha256, named_models(names).paths))


def parser_of(names: ModelNames | None, language: str = "") -> str:
    """Return the name of the installed ensemble that ``names`` (None: ``RERANK_MODELS``) stands
    for, if the ensemble has a parser other than the default one; "" if not, or if its language is
    not ``language``."""
    installed = named_ensemble(names)
    if installed is None or not installed.parser or language not in ("", installed.language):
        return ""
    is_default = installed.parser == installed_span_model("", installed.language)[0]
    return "" if is_default and installed.language in (language, ENGLISH) else installed.name


def language_of_models(names: ModelNames | None) -> str:
    """Return the language of the installed ensemble that ``names`` (None: ``RERANK_MODELS``) stands
    for, else English."""
    installed = named_ensemble(names)
    return ENGLISH if installed is None else installed.language


def named_ensemble(names: ModelNames | None) -> Installed | None:
    """Return the installed ensemble that ``names`` (None: ``RERANK_MODELS``) stands for, unless a
    file has that name."""
    names = models_in_environment() if names is None else names
    if isinstance(names, Sequence) and not isinstance(names, str | bytes) and len(names) == 1:
        names = names[0]
    if not isinstance(names, str) or os.path.exists(names) or os.path.dirname(names):
        return None
    return next((each for each in installed_models() if each.name == names), None)


def _named(names: ModelNames, combination: str) -> WeighedModels:
    paths = _checkpoint_paths(names)
    if not paths:
        raise InputError("no models: the list is empty (None stands for the installed ones)")
    files = [path for path in paths if path.suffix == ".toml"]
    if not files:
        beside = _beside(paths) if combination == "sum" else None
        if beside is None:
            return WeighedModels(tuple(paths), Weighing())
        weighing = replace(beside.weighing, lm_weight=1.0, criterion="perplexity", token_bonus=0.0)
        return replace(beside, weighing=weighing)
    if len(paths) > 1:
        raise InputError(f"{files[0]} is a complete ensemble: name it alone")
    if combination != "sum":
        raise InputError(f"{files[0]} was tuned for the sum of its models, not their {combination}")
    return read_ensemble_file(files[0])


def _checkpoint_paths(names: ModelNames) -> list[Path]:
    if isinstance(names, str | bytes | os.PathLike) or not isinstance(names, Iterable):
        names = [names]  # anything but a path is refused below
    paths: list[Path] = []
    for name in names:
        if not isinstance(name, str | os.PathLike):
            raise InputError(f"expected the path of a model, got {name!r:.40}")
        if isinstance(name, str) and name.startswith("hf://"):
            from reranker.checkpoints.hub import from_hub

            name = from_hub(name)
        matches = [name] if os.path.exists(name) else sorted(glob.glob(os.fspath(name)))
        if not matches:
            raise InputError(f"{name}: {_why_nothing(os.fspath(name))}")
        for path in map(Path, matches):
            files = sorted(path.glob("*.pt")) if path.is_dir() else [path]
            if not files:
                raise InputError(f"{path}: this folder contains no checkpoint (*.pt)")
            for file in files:
                _check_file(file)
            paths += files
    return paths


def _check_file(path: Path) -> None:
    """Raise InputError for a file that cannot be read, before PyTorch is loaded."""
    try:
        open_file(path, most=MOST_BYTES).close()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def _why_nothing(name: str) -> str:
    if glob.has_magic(name):
        return "no file matches"
    installed = ", ".join(each.name for each in installed_models())
    if installed and not os.path.dirname(name) and not os.path.splitext(name)[1]:
        return f"no such file, and no installed ensemble of this name; there are {installed}"
    return "no such file"


def read_ensemble_file(path: Path) -> WeighedModels:
    """Read the checkpoints and weights in an ensemble file.

    Raises InputError, naming the file, if it is invalid or a checkpoint is not the one that the
    weights were tuned for.
    """
    models = _parsed(path)
    for checkpoint, expected in zip(models.paths, models.sha256, strict=True):
        if file_sha256(checkpoint, MOST_BYTES) != expected:
            raise InputError(
                f"{checkpoint}: not the checkpoint that {path} was tuned for; tune again"
            )
    return models


def _beside(paths: Sequence[Path]) -> WeighedModels | None:
    """Return the content of ``confidence.toml`` in the checkpoints' folder, in their order, if it
    was made for exactly these checkpoints; else None. Raises InputError, naming the file, if it is
    invalid."""
    folders = {path.parent for path in paths}
    path = folders.pop() / CONFIDENCE_FILE
    if folders or not path.is_file():
        return None
    models = _parsed(path)
    if len(models.paths) != len(paths):
        return None
    hashes = tuple(file_sha256(each, MOST_BYTES) for each in paths)
    if sorted(models.sha256) != sorted(hashes):
        return None
    weights = dict(zip(models.sha256, models.weighing.member_weights, strict=False))
    in_order = tuple(weights[each] for each in hashes if weights)
    weighing = replace(models.weighing, member_weights=in_order)
    calibration = models.calibration and replace(models.calibration, weighing=weighing)
    return WeighedModels(tuple(paths), weighing, calibration, hashes)


def _parsed(path: Path) -> WeighedModels:
    """Return the content of an ensemble file. Raises InputError."""
    try:
        data = tomllib.loads(read_text(path))
        version = data.get("version")
        if type(version) is not int or version != _VERSION:
            raise ValueError(f"version {version}, this program reads {_VERSION}")
        members, confidence = data.pop("members", None), data.pop("confidence", None)
        shortlist = data.pop("shortlist", math.inf)
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
            shortlist,
        )
        calibration = None
        if confidence is not None:
            _check(confidence, _CONFIDENCE_KEYS)
            coefficients = tuple(float(confidence[name]) for name in FEATURES)
            calibration = Calibration(weighing, float(confidence["intercept"]), coefficients)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RerankError) as error:
        raise InputError(f"{path}: not an ensemble file: {error}") from error
    paths = tuple(path.parent / member["file"] for member in members)
    hashes = tuple(member["sha256"] for member in members)
    return WeighedModels(paths, weighing, calibration, hashes)


def write_ensemble_file(path: Path, models: WeighedModels, comments: Sequence[str] = ()) -> None:
    """Write the file, whole or not at all, starting with ``comments``, one per line.

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
    if weighing.shortlist < math.inf:
        lines.append(f"shortlist = {float(weighing.shortlist)}")
    weights = weighing.member_weights or (1.0,) * len(models.paths)
    files = [
        _quoted(os.path.relpath(checkpoint.resolve(), path.parent.resolve()))
        for checkpoint in models.paths
    ]
    for checkpoint, file_name, weight in zip(models.paths, files, weights, strict=True):
        lines += [
            "",
            "[[members]]",
            f"file = {file_name}",
            f"sha256 = {_quoted(file_sha256(checkpoint))}",
            f"weight = {float(weight)}",
        ]
    if (known := models.calibration) is not None:
        lines += ["", "[confidence]", f"intercept = {known.intercept}"]
        pairs = zip(FEATURES, known.coefficients, strict=True)
        lines += [f"{name} = {coefficient}" for name, coefficient in pairs]
    with open_whole(path) as file:
        file.write("\n".join(lines) + "\n")


def _check(table: Any, keys: Mapping[str, type]) -> None:
    """Raise ValueError unless ``table`` has exactly these keys, with values of these types."""
    if not isinstance(table, dict):
        raise ValueError(f"{table!r} is not a table")
    for name in table:
        if name not in keys:
            raise ValueError(f"unknown key {name}")
    for name, kind in keys.items():
        value = table.get(name)
        allowed = (int, float) if kind is float else (kind,)
        if not isinstance(value, allowed) or isinstance(value, bool):
            raise ValueError(f"{name} is {value!r}" if name in table else f"{name} is missing")


def _quoted(text: str) -> str:
    """Return a TOML string; raise InputError for a file name that is not text."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{text!r}: a file name that is not UTF-8 cannot be stored") from error
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
