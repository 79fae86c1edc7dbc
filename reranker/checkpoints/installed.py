"""Models that need not be named by a path: installed ones, and ensembles in the user's folder.

An ensemble is a folder of checkpoints. Its ``about.toml``, if there is one, has its name and
description, the SHA-256 of its files, and in ``[[ensembles]]`` the names of its ensemble files. An
ensemble has a ``language``, by default English, and may name the span model that is the parser
``chart`` of that language, and the ensemble that chooses among that parser's trees (``parsing``),
by default itself. A model of a parser is one packed file, described by
``[[parser_models]]`` of the same file, or a folder of the user's with a BLLIP model.

Folders are searched in this order; the first match is used:

1. the paths or names in ``RERANK_MODELS``, with commas between them
2. ``ckpt/`` and ``ckpt/large/`` of the clone that this package is run from, or that ``pip install
   .`` installed it from
3. the distributions ``parse-reranker-models`` and ``parse-reranker-large``
4. the user's folders ``~/.local/share/parse-reranker/models/NAME`` (or in ``XDG_DATA_HOME``)
"""

from __future__ import annotations

import importlib.util
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from reranker.errors import InputError
from reranker.files.opening import read_text
from reranker.languages import ENGLISH, checked_language, language_name

VARIABLE = "RERANK_MODELS"
_PACKAGES = "parse_reranker_models", "parse_reranker_large"
_ABOUT = "about.toml"
_LISTED = {"ensembles": ("name", "file"), "parser_models": ("name", "file", "sha256")}
_TEXTS = ("name", "description", "terms", "parser", "parser_sha256", "parsing", "language")
_F1 = {"set": str, "parser": int | float, "reranked": int | float, "f1": int | float}
BLLIP_FILE = "terms.txt"  # the file that identifies a folder as a BLLIP model


@dataclass(frozen=True, slots=True)
class Installed:
    """An ensemble in a folder."""

    name: str
    folder: Path
    about: Mapping[str, Any] = field(default_factory=dict)  # from ``about.toml``
    file: Path | None = None  # its ensemble file; None for all checkpoints of the folder

    @property
    def path(self) -> Path:
        """Return the path to give to ``--models``."""
        return self.file or self.folder

    @property
    def language(self) -> str:
        """Return the code of the ensemble's language."""
        return str(self.about.get("language", ENGLISH))

    @property
    def parser(self) -> Path | None:
        """Return the span model that is the parser ``chart`` for this ensemble, if it has one."""
        path = self.folder / self.about.get("parser", "")
        return path if path.is_file() else None

    @property
    def sha256(self) -> tuple[str, ...]:
        """Return the hashes of the ensemble's files, if known; an ensemble file has its own."""
        return () if self.file else tuple(self.about.get("sha256", {}).values())


@dataclass(frozen=True, slots=True)
class ParserModel:
    """A model of the BLLIP parser: a packed file, or a folder."""

    name: str
    path: Path
    about: Mapping[str, Any] = field(default_factory=dict)  # from ``[[parser_models]]``

    @property
    def sha256(self) -> str | None:
        """Return the hash of the packed file, if known."""
        return self.about.get("sha256")


def installed_parser_models() -> list[ParserModel]:
    """Return every parser model found; of several with one name, the first. Raises InputError for
    an invalid ``about.toml``."""
    models: dict[str, ParserModel] = {}
    for folder in _folders():
        for about in _about(folder / _ABOUT).get("parser_models", ()):
            path = folder / about["file"]
            if path.is_file():
                models.setdefault(about["name"], ParserModel(about["name"], path, about))
        if (folder / BLLIP_FILE).is_file():
            models.setdefault(folder.name, ParserModel(folder.name, folder))
    return list(models.values())


def installed_models() -> list[Installed]:
    """Return every ensemble found; of several with one name, the first. Raises InputError for an
    invalid ``about.toml``."""
    ensembles: dict[str, Installed] = {}
    for each in _ensembles():
        ensembles.setdefault(each.name, each)
    return list(ensembles.values())


def _ensembles() -> Iterator[Installed]:
    for folder in _folders():
        if any(folder.glob("*.pt")):
            about = _about(folder / _ABOUT)
            yield Installed(str(about.get("name", folder.name)), folder, about)
            for more in about.get("ensembles", ()):
                file = folder / more["file"]
                if file.is_file():  # the wheel of models has only the English ones
                    yield Installed(more["name"], folder, more, file)


def installed_span_model(name: str = "", language: str = "") -> tuple[Path, str]:
    """Return the span model that is the parser ``chart``, and its SHA-256 if known: ``name``, a
    file or an installed ensemble with a ``parser``, or the first span model of the language, by
    default English. Raises InputError if there is none."""
    if name and Path(name).is_file():
        return Path(name), ""
    wanted = language or ENGLISH
    for each in _ensembles():
        if each.parser and (each.name == name if name else each.language == wanted):
            return each.parser, str(each.about.get("parser_sha256", ""))
    if name:
        raise InputError(
            f"{name}: no such file, nor an installed ensemble that has a parser; the parser chart "
            "needs a span model"
        )
    if wanted != ENGLISH:
        raise _none_of(wanted)
    raise InputError(
        "no span model for the parser chart: install parse-reranker-models (`make wheels` in a "
        "clone builds it), or name one with --parser-model"
    )


def default_models(language: str = ENGLISH) -> Installed:
    """Return the models of a language to use if none are named and ``RERANK_MODELS`` is not set.
    Raises InputError if none are installed, or if several are and none comes with this program."""
    ensembles = [each for each in installed_models() if each.language == language]
    if not ensembles and language != ENGLISH:
        raise _none_of(language)
    if not ensembles:
        raise InputError(
            "no language models: install parse-reranker-models (`make wheels` in a clone builds "
            f"it), or name checkpoints after --models or in {VARIABLE}"
        )
    if len(ensembles) > 1 and not (ensembles[0].sha256 or ensembles[0].file):
        names = ", ".join(each.name for each in ensembles)
        raise InputError(f"several ensembles are installed; name one after --models: {names}")
    return ensembles[0]


def models_of(language: str | None) -> str | None:
    """Return the path of a language's models, for callers that name none; None for English, of
    which more is known (``ensemble_file.named_models``). Raises InputError if there are none."""
    if not language or checked_language(language) == ENGLISH:
        return None
    return str(default_models(language).path)


def parsing_models() -> str | None:
    """Return the name of the ensemble that chooses among the trees of the parser ``chart`` if no
    models are named; None if the default models do."""
    if models_in_environment():
        return None
    ensembles = [each for each in installed_models() if each.language == ENGLISH]
    name = ensembles[0].about.get("parsing") if ensembles else None
    return name if any(each.name == name for each in ensembles) else None


def is_installed(language: str) -> bool:
    """Return whether models of a language are installed."""
    return any(each.language == language for each in installed_models())


def _none_of(language: str) -> InputError:
    known = sorted({each.language for each in installed_models()})
    return InputError(
        f"no models of {language_name(language)} are installed, only of "
        f"{', '.join(map(language_name, known)) or 'no language'}; to train some: "
        "docs/languages.md"
    )


def models_in_environment() -> list[str]:
    """Return the names in ``RERANK_MODELS``."""
    return [name for part in os.environ.get(VARIABLE, "").split(",") if (name := part.strip())]


def user_folder() -> Path:
    """Return the folder for users' own ensembles."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local/share")
    return Path(data) / "parse-reranker" / "models"


def _folders() -> Iterator[Path]:
    parent = Path(__file__).resolve().parents[2]
    clone = parent if (parent / "pyproject.toml").is_file() else _installed_from(parent)
    if clone is not None:
        yield from (clone / "ckpt", clone / "ckpt" / "large")
    for specification in map(importlib.util.find_spec, _PACKAGES):
        if specification is not None and specification.origin is not None:
            yield Path(specification.origin).parent / "ckpt"
    if user_folder().is_dir():
        yield from sorted(filter(Path.is_dir, user_folder().iterdir()))


def _installed_from(site_packages: Path) -> Path | None:
    """Return the folder from which pip installed the package, if it was a folder (PEP 610)."""
    for distribution in distributions(name="parse-reranker", path=[str(site_packages)]):
        source = json.loads(distribution.read_text("direct_url.json") or "{}")
        if "dir_info" in source:
            return Path(url2pathname(urlsplit(source["url"]).path))
    return None


def _about(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        about = tomllib.loads(read_text(path))
        hashes = about.get("sha256", {})
        if not isinstance(hashes, dict) or not all(
            isinstance(each, str) for each in hashes.values()
        ):
            raise ValueError("sha256 is not a table of hashes")
        _check(about)
        for kind, needed in _LISTED.items():
            for each in _tables(about, kind):
                for key in needed:
                    if not isinstance(each.get(key), str):
                        raise ValueError(f"one of {kind} has no {key}, or one that is not text")
                _check(each)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be used: {error}") from error
    return about


def _check(about: Mapping[str, Any]) -> None:
    """Raise ValueError unless `rerank models` can print the description of a model."""
    for key in _TEXTS:
        if not isinstance(about.get(key, ""), str):
            raise ValueError(f"{key} is not text")
    if not isinstance(about.get("milliseconds", 0), int | float):
        raise ValueError("milliseconds is not a number")
    for score in _tables(about, "f1"):
        for key, kind in _F1.items():
            if key in score and not isinstance(score[key], kind):
                raise ValueError(f"{key} of f1 is not {'text' if kind is str else 'a number'}")


def _tables(about: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    tables = about.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise ValueError(f"{key} is not a list of tables")
    return tables
