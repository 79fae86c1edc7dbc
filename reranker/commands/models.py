"""``rerank models``: the models that can be used without a path, and their descriptions."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence

from reranker.checkpoints.installed import (
    VARIABLE,
    Installed,
    ParserModel,
    default_models,
    installed_models,
    installed_parser_models,
    models_in_environment,
    parsing_models,
    user_folder,
)
from reranker.errors import InputError
from reranker.files.output import write_line
from reranker.languages import language_name

EXAMPLES = """examples:
  rerank models
  rerank --nbest parses.txt --models fast

exit status: 0 success, 2 there are none"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: ``rerank models`` has no flags."""


def run(arguments: argparse.Namespace) -> int:
    """Print the installed models; return the exit code."""
    ensembles = installed_models()
    named = models_in_environment()
    if not ensembles and not named:
        default_models()  # says what to do
    is_first_default = not named
    try:
        default = default_models().path if is_first_default else None
    except InputError:
        default = None
    if named:
        write_line(f"{VARIABLE} names the models to use: {', '.join(named)}")
    own = parsing_models()
    for each in ensembles:
        is_default = each.path == default
        used = ["for lists" if own else ""] * is_default
        used += ["for the trees of the built-in parser"] * (each.name == own)
        write_line(_described(each, used))
    languages = dict.fromkeys(each.language for each in ensembles)
    if languages:
        names = (f"{language_name(code)} ({code})" for code in languages)
        write_line(f"languages of `rerank parse --language`: {', '.join(names)}")
    for place, model in enumerate(installed_parser_models()):
        write_line(_described_parser(model, [""] * (place == 0)))
    write_line(f"your own: a folder of checkpoints in {user_folder()}")
    return 0


def _described(installed: Installed, used: Sequence[str]) -> str:
    about = installed.about
    files = sorted(installed.folder.glob("*.pt"))
    sizes = f"{len(files)}, {sum(map(os.path.getsize, files)) / 1e6:.0f} MB"
    is_folder = installed.file is None
    rows = [
        ("reads", about.get("language") and language_name(installed.language)),
        ("folder" if is_folder else "file", str(installed.path)),
        ("files", sizes if is_folder else None),
        ("models", about.get("description")),
        ("terms", about.get("terms", "not known" if is_folder else None)),
    ]
    for score in about.get("f1", ()):
        parser, reranked = score.get("parser", 0.0), score.get("reranked", 0.0)
        rows.append(("F1", f"{score.get('set')}: parser {parser:.2f}, reranked {reranked:.2f}"))
    if cost := about.get("milliseconds"):
        rows.append(("cost", f"{cost:g} ms on one core for 50 candidates of 20 words"))
    return _table(installed.name, used, rows)


def _described_parser(model: ParserModel, used: Sequence[str]) -> str:
    about = model.about
    rows = [
        ("path", str(model.path)),
        ("parser", f"bllip; {about['description']}" if "description" in about else "bllip"),
        ("terms", about.get("terms", "not known")),
    ]
    rows += [
        ("F1", f"{score.get('set')}: {score.get('f1', 0.0):.2f}") for score in about.get("f1", ())
    ]
    if cost := about.get("milliseconds"):
        rows.append(("cost", f"{cost:g} ms on one core for a sentence of 20 words"))
    return _table(model.name, used, rows)


def _table(name: str, used: Sequence[str], rows: Iterable[tuple[str, str | None]]) -> str:
    """Return a table; ``used`` says for which trees, "" for all, the models are the default."""
    note = " ".join(filter(None, ("used", " and ".join(used), "unless others are named")))
    lines = [f"{name} ({note})" if used else name]
    lines += [f"  {key:8}{text}" for key, text in rows if text]
    return "\n".join(lines)
