"""``rerank completion``: a script that completes commands, flags and file names in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from reranker.files.output import write_line

EXAMPLES = """examples:
  rerank completion bash > ~/.local/share/bash-completion/completions/rerank
  rerank completion zsh > ~/.zfunc/_rerank      # with fpath+=(~/.zfunc) before compinit
  rerank completion fish > ~/.config/fish/completions/rerank.fish"""

# What stands for files and folders in the help of the commands.
_FILES = ("FILE", "TREES", "GOLD", "RANKED", "FIRST", "OTHER", "TEST", "RUN", "FOLDER")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank completion`` to ``parser``."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(arguments: argparse.Namespace) -> int:
    """Print the script; returns the exit code."""
    import shtab

    from reranker.commands.main import whole_parser

    parser = whole_parser()
    for action in _actions(parser):
        takes_files = action.type is Path or action.dest in ("config", "models")
        if takes_files or str(action.metavar).startswith(_FILES):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    write_line(shtab.complete(parser, arguments.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of its subparsers."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                yield from _actions(subparser)
