"""``rerank completion``: a script that completes commands, flags and file names in a shell."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path

from reranker.commands.help import summaries
from reranker.errors import InputError
from reranker.files.output import write_line
from reranker.process.flags import file_name

EXAMPLES = """examples:
  rerank completion bash > ~/.local/share/bash-completion/completions/rerank
  rerank completion zsh > ~/.zfunc/_rerank      # with fpath+=(~/.zfunc) before compinit
  rerank completion fish > ~/.config/fish/completions/rerank.fish"""

# The words that stand for files and folders in the help of the commands.
_FILES = ("FILE", "TREES", "GOLD", "TEST", "FOLDER")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank completion`` to ``parser``."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(arguments: argparse.Namespace) -> int:
    """Print the script; returns the exit code."""
    import shtab

    parser = whole_parser()
    for action in _actions(parser):
        takes_files = action.type in (Path, file_name) or action.dest in ("config", "models")
        if takes_files or str(action.metavar).startswith(_FILES):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    write_line(shtab.complete(parser, arguments.shell))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """Return the flags of ``rerank`` and of all its subcommands."""
    from reranker.commands import main  # which imports this module for this command alone

    parser = main.command_parser("rerank")
    subparsers = parser.add_subparsers()
    for name, description in summaries().items():
        with contextlib.suppress(InputError):  # another package's that cannot be imported
            main.load_command(name).add_arguments(
                subparsers.add_parser(name, help=description, description=description)
            )
    return parser


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of its subparsers."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                yield from _actions(subparser)
