"""The service's settings: from flags, environment variables (``RERANK_...``) or a TOML file.

Flags override the environment, which overrides the file. A field's description is its ``--help``.
"""

from __future__ import annotations

import argparse
import difflib
import glob
import ipaddress
import os
import re
import tomllib
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from reranker.checkpoints.ensemble_file import language_of_models
from reranker.checkpoints.installed import models_of
from reranker.errors import InputError
from reranker.files.opening import read_text
from reranker.parsers.choice import ParserChoice
from reranker.parsers.parser import CHART_CANDIDATES, MOST_CANDIDATES, ParserSettings, option_of
from reranker.text.conventions import Convention, convention_of
from reranker.trees.tree import MAX_DEPTH


def _split(value: Any) -> Any:
    if isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    return value


def _networks(values: list[str]) -> list[str]:
    for value in values:
        if value != "*":
            ipaddress.ip_network(value)
    return values


_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^\s/?#@A-Z]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_HOST = re.compile(r"\*|[\w.-]+|\[?[0-9a-fA-F:]+\]?")


def _origins(values: list[str]) -> list[str]:
    """Return the origins. Raises ValueError for a text that no browser sends as an origin, for
    instance with a path or a slash at the end."""
    for value in values:
        if not _ORIGIN.fullmatch(value):
            raise ValueError(f"{value!r} is not an origin, such as https://app.example.com")
    return values


def _hosts(values: list[str]) -> list[str]:
    """Return the names of hosts. Raises ValueError for a text that no request has as its host, for
    instance with a scheme or a port."""
    for value in values:
        if not _HOST.fullmatch(value):
            raise ValueError(f"{value!r} is not the name of a host, such as rerank.example.com")
    return values


def _stripped_keys(values: list[SecretStr]) -> list[SecretStr]:
    """Return the keys without surrounding spaces, which no header can send. Raises ValueError for
    an empty key, which anyone can send, and for one that nobody can."""
    keys = [value.get_secret_value().strip() for value in values]
    for key in keys:
        check_key(key)
    return [*map(SecretStr, keys)]


def check_key(key: str) -> None:
    """Raise ValueError for an empty key, and for one with a control character, which no header can
    have. The key is not quoted."""
    if not key:
        raise ValueError("a key is empty")
    if _CONTROL.search(key):
        raise ValueError("a key has a control character, such as NUL, that no header can send")


_HERE = "ckpt/*.pt"
"""Checkpoints in the working directory: of a checkout, or of the image."""

# NoDecode: a list in the environment is comma-separated, not JSON.
_Words = Annotated[list[str], NoDecode, BeforeValidator(_split)]
_Networks = Annotated[_Words, AfterValidator(_networks)]
_Keys = Annotated[
    list[SecretStr], NoDecode, BeforeValidator(_split), AfterValidator(_stripped_keys)
]
_Count = Annotated[int, Field(ge=1)]
_Seconds = Annotated[float, Field(gt=0, le=86_400)]

_PREFIX = "RERANK_"


class Settings(BaseSettings):
    """The settings of ``rerank serve``."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, extra="forbid", hide_input_in_errors=True, frozen=True
    )

    config: Path | None = Field(None, description="TOML file with any of these settings")

    models: _Words = Field(
        [],
        description="checkpoints, glob patterns, an ensemble.toml from `rerank tune`, or the name "
        f"of installed models; by default {_HERE} if there are such files, else the first of "
        "`rerank models`",
    )
    sha256: _Words = Field(
        [],
        description=(
            "accept only checkpoints with these SHA-256 hashes (the first 8 digits are enough)"
        ),
    )
    combine: Literal["sum", "average"] = Field(
        "sum", description="sum the members' log-probabilities, or average their probabilities"
    )
    device: str = Field(
        "auto",
        description="cpu, cuda or cuda:0,cuda:1; auto: all GPUs, or the CPU if there are none",
    )
    threads: _Count | None = Field(
        None,
        description="CPU threads per engine; by default all cores, divided among the engines",
    )
    engines: int = Field(
        1,
        ge=1,
        le=64,
        description=(
            "number of processes that score, each with its own models; all share one queue"
        ),
    )
    heartbeat_seconds: _Seconds = Field(
        30.0,
        ge=1,  # a busy machine stops processes for some tenths
        description="seconds without progress after which a process that scores, parses or reads "
        "is killed and restarted",
    )
    precision: Literal["exact", "fast"] = Field(
        "fast", description="exact: float32; fast: products of 8-bit integers where they are faster"
    )
    host: str = Field("127.0.0.1", description="address to listen on; 0.0.0.0: all")
    public: bool = Field(False, description="accept requests from other machines without API keys")
    allow_host: Annotated[_Words, AfterValidator(_hosts)] = Field(
        [],
        description=(
            "host names under which clients may reach the service; *: any; by default any name "
            "if there are keys, else only localhost and IP addresses"
        ),
    )
    port: int = Field(8000, ge=0, le=65_535, description="port to listen on; 0: any free port")

    parser_model: str | None = Field(
        None,
        description="the parser's span model, or the name of an installed ensemble with a span "
        "model; by default the span model of the ensemble, else the installed one",
    )
    language: str = Field("", description=option_of(ParserSettings, "language")[1])
    candidates: int = Field(
        CHART_CANDIDATES,
        ge=1,
        le=MOST_CANDIDATES,
        description="trees that the parser proposes per sentence",
    )
    words: Convention | None = Field(
        None,
        description="how to split words: gum, wsj, spaced, id, zh or characters, as for "
        "`rerank parse --words`; by default it depends on the language",
    )

    batch_tokens: _Count = Field(
        100_000,
        description="most tokens scored in one call; a call takes half a second, or two seconds "
        "for a long list, and a longer request takes several calls",
    )
    queue_requests: _Count = Field(
        128,
        description=("most requests at once, else 429; one client may have three quarters of them"),
    )
    queue_tokens: _Count = Field(
        1_000_000,
        description=(
            "most waiting tokens, else 429, which a request also gets if it would probably miss "
            "its deadline"
        ),
    )
    client_rate: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description=(
            "most requests per second and client (key or address), averaged over ten seconds, "
            "else 429"
        ),
    )

    connections: _Count = Field(
        1000, description="most open connections; when there are more, idle ones are closed first"
    )
    max_body_bytes: _Count = Field(16 * 2**20, description="largest body, else 413")
    queue_bytes: _Count = Field(
        64 * 2**20,
        description=(
            "most bytes of all request bodies in memory, else 429; small bodies are always received"
        ),
    )
    max_sentences: _Count = Field(1000, description="most sentences per request, else 422")
    max_candidates: _Count = Field(1000, description="most candidates per sentence, else 422")
    max_tree_tokens: _Count = Field(
        1500, description="most language model tokens per tree, else 422"
    )
    max_depth: int = Field(
        500, ge=1, le=MAX_DEPTH, description="deepest nesting of brackets in a tree, else 422"
    )
    max_characters: _Count = Field(200_000, description="longest text to parse, else 422")
    longest: _Count = Field(
        200,
        description="most words of a sentence that is parsed; a longer one gets a flat tree",
    )
    request_seconds: _Seconds = Field(
        60.0, description="deadline of requests without X-Request-Timeout, else 504"
    )
    max_request_seconds: _Seconds = Field(
        600.0, description="longest deadline that X-Request-Timeout can set"
    )
    body_seconds: _Seconds = Field(
        20.0, description="time for a request's headers to arrive, then for its body, else 408"
    )

    reading_seconds: _Seconds = Field(
        10.0,
        description=(
            "CPU time to read a body of up to a megabyte, proportionally more for a longer one, "
            "else 422"
        ),
    )

    api_keys: _Keys = Field(
        [], description="keys for using the service; without any, no key is needed"
    )
    api_keys_file: Path | None = Field(None, description="file of API keys, one per line")
    admin_keys: _Keys = Field(
        [], description="keys for reloading models; without any, only SIGHUP reloads"
    )
    admin_keys_file: Path | None = Field(None, description="file of admin keys, one per line")
    cors_origins: Annotated[_Words, AfterValidator(_origins)] = Field(
        [], description="origins whose web pages may call the service"
    )

    forwarded_allow_ips: _Networks = Field(
        [], description="proxies whose X-Forwarded-For is trusted: addresses or networks; *: any"
    )

    drain_seconds: _Seconds = Field(
        30.0, description="after SIGTERM: time to finish accepted requests"
    )
    log_format: Literal["text", "json"] = Field("text", description="log format")
    log_text: bool = Field(False, description="log the text of requests, for debugging")
    traces: bool = Field(
        False, description="send OpenTelemetry traces; OTEL_... variables say where"
    )

    # Limits without a flag: nobody has needed other values.
    address_connections: ClassVar[int] = 250
    """Most open connections of one address (of IPv6, a network); proxies of ``forwarded_allow_ips``
    may have all."""
    max_values: ClassVar[int] = 500_000
    """Most values and names of fields in a JSON body, and most lines of a text."""
    max_tree_bytes: ClassVar[int] = 200_000
    """Most bytes of a tree in a JSON body."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return flags, environment, file; no .env in the working directory."""
        given = init_settings()
        path = given.get("config") or os.environ.get("RERANK_CONFIG")
        file = InitSettingsSource(settings_cls, _read_toml(path) if path else {})
        return init_settings, env_settings, file

    @property
    def loading(self) -> dict[str, Any]:
        """Return the arguments of ``Reranker.load``."""
        return {
            "models": self.named,
            "combination": self.combine,
            "device": self.device,
            "threads": self.threads,
            "precision": self.precision,
            "sha256": self.sha256,
        }

    @property
    def named(self) -> list[str] | None:
        """Return the models to load; None for the installed ones."""
        if self.models or not (of_language := models_of(self.language)):
            return self.models or ([_HERE] if glob.glob(_HERE) else None)
        return [of_language]

    @property
    def convention(self) -> Convention:
        """Return the convention by which text is split into words."""
        return self.words or convention_of(self.text_language)

    @cached_property
    def text_language(self) -> str:
        """Return the language of the text: as given, or that of the ensemble."""
        return self.language or language_of_models(self.named)

    @property
    def parser_choice(self) -> ParserChoice:
        """Return the built-in parser with its model."""
        settings = ParserSettings(
            candidates=self.candidates,
            language=self.language,
            device=self.device,
            precision=self.precision,
        )
        models = [self.parser_model] if self.parser_model else []
        return ParserChoice(named_models=models, settings=settings, reranking=self.named)

    @property
    def parsing_models(self) -> str | None:
        """Return the name of the ensemble that chooses among the parser's trees, unless a request
        asks for language models; None if the ensemble for lists does."""
        is_pinned = self.models or self.sha256
        return None if is_pinned else replace(self.parser_choice, reranking=()).own_models

    @property
    def has_keys(self) -> bool:
        return bool(self.api_keys or self.api_keys_file)

    @property
    def limits(self) -> dict[str, int | float]:
        """Return every limit on a request, as ``/info`` shows the limits."""
        names = (
            "max_body_bytes max_values max_tree_bytes max_sentences max_candidates "
            "max_tree_tokens max_depth max_characters longest queue_requests queue_tokens "
            "queue_bytes connections address_connections request_seconds max_request_seconds "
            "body_seconds reading_seconds"
        )
        return {name: getattr(self, name) for name in names.split()}


def _read_toml(path: str | Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path, "utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: invalid TOML: {error}") from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add a flag for every setting but keys, since other users of the machine can read command
    lines. Settings without a given flag come from environment or file."""
    for name, field in Settings.model_fields.items():
        if name in ("api_keys", "admin_keys"):
            continue
        default = (
            f" (default: {_shown(field.default)})" if field.default not in (None, [], "") else ""
        )
        options: dict[str, Any] = {
            "dest": name,
            "default": argparse.SUPPRESS,
            "help": f"{field.description}{default}".replace("%", "%%"),
        }
        if field.annotation is bool:
            options["action"] = argparse.BooleanOptionalAction
        elif get_origin(field.annotation) is list:
            options.update(nargs="+", metavar="NAME")
        elif get_origin(field.annotation) is Literal:
            options["choices"] = get_args(field.annotation)
        else:
            options["metavar"] = name.rpartition("_")[2].upper()
        parser.add_argument(f"--{name.replace('_', '-')}", **options)


def load_settings(flags: dict[str, Any]) -> Settings:
    """Return the settings; ``flags`` override environment and file. Raises InputError that names
    the wrong setting."""
    _check_environment()
    try:
        return Settings(**flags)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            raise InputError(f"setting {name}: unknown{_did_you_mean(name)}") from error
        reason = first["msg"].replace("Input should be", "must be").replace("Value error, ", "")
        raise InputError(f"setting {name}: {reason}") from error


def _check_environment() -> None:
    """Refuse unknown variables: a misspelt RERANK_API_KEYS must not open the service."""
    known = {f"{_PREFIX}{name.upper()}" for name in Settings.model_fields}
    for name in sorted(os.environ):
        upper = name.upper()
        if upper.startswith(_PREFIX) and upper not in known:
            setting = upper.removeprefix(_PREFIX).lower()
            hint = _did_you_mean(setting, _PREFIX)
            raise InputError(f"environment variable {name}: unknown setting{hint}")


def _did_you_mean(name: str, prefix: str = "") -> str:
    close = difflib.get_close_matches(name, Settings.model_fields, 1)
    meant = prefix + (close[0].upper() if prefix else close[0]) if close else ""
    return f"; did you mean {meant}?" if close else ""


def _shown(default: Any) -> str:
    if isinstance(default, bool):
        return "on" if default else "off"
    return " ".join(default) if isinstance(default, list) else str(default)
