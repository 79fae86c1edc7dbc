"""``rerank models``: the language models that need no path, and what is known of them."""

from __future__ import annotations

import argparse
import os

from reranker.checkpoints.installed import (
    VARIABLE,
    Installed,
    default_models,
    installed_models,
    models_in_environment,
    user_folder,
)
from reranker.errors import InputError

EXAMPLES = """examples:
  rerank models
  rerank --nbest parses.txt --models gum-craft

exit status: 0 success, 2 there are none"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``rerank models`` has no flags."""


def run(arguments: argparse.Namespace) -> int:
    """Print what is installed; returns the exit code."""
    found = installed_models()
    named = models_in_environment()
    if not found and not named:
        default_models()  # says what to do
    is_first_default = not named
    try:
        default = default_models().folder if is_first_default else None
    except InputError:
        default = None
    if named:
        print(f"{VARIABLE} names the models to use: {', '.join(named)}")
    for each in found:
        print(_described(each, each.folder == default))
    print(f"your own: a folder of checkpoints in {user_folder()}")
    return 0


def _described(installed: Installed, is_default: bool) -> str:
    about = installed.about
    files = sorted(installed.folder.glob("*.pt"))
    lines = [f"{installed.name}{' (used unless others are named)' if is_default else ''}"]
    rows = [
        ("folder", str(installed.folder)),
        ("files", f"{len(files)}, {sum(map(os.path.getsize, files)) / 1e6:.0f} MB"),
        ("models", about.get("description")),
        ("terms", about.get("terms", "not known")),
    ]
    for score in about.get("f1", ()):
        parser, reranked = score.get("parser", 0.0), score.get("reranked", 0.0)
        rows.append(("F1", f"{score.get('set')}: parser {parser:.2f}, reranked {reranked:.2f}"))
    if cost := about.get("milliseconds"):
        rows.append(("cost", f"{cost:g} ms on one core for 50 candidates of 20 words"))
    lines += [f"  {name:8}{text}" for name, text in rows if text]
    return "\n".join(lines)
