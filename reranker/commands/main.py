"""The ``rerank`` command: finds the subcommand; each has its flags and its work in a file of its
own.

Only that file is imported, and torch only by code that scores or trains, so that ``--help`` and
``rerank eval`` answer at once.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn, Protocol, cast

from reranker import registry
from reranker.commands.endings import INTERRUPTED, dealt_with, ending, interrupt_at_signals, leave
from reranker.commands.progress import count_rejections, logged_messages, start_messages
from reranker.errors import InputError
from reranker.files.both_ways import one_command
from reranker.files.encoding import encoding
from reranker.files.output import write_errors
from reranker.files.visible import visible_message


class FlagParser(argparse.ArgumentParser):
    """The parser of a command's flags. With ``groups``, ``--help`` shows only the first of them;
    reranker.commands.help, which few runs need, writes help and errors."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.command: str | None = None  # else part of one
        self.groups: Mapping[str, str] = {}  # names of flags by title
        self._typed: list[str] = []
        self.add_argument("--help-all", action="help", help=argparse.SUPPRESS)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, and remember the typed words."""
        self._typed = list(args or ())
        return super().parse_known_args(args, namespace)

    def format_help(self, is_short: bool = False) -> str:
        """Return the help with every flag, or with the most used ones."""
        from reranker.commands.help import description, text

        if self.command:
            self.description = description(self.command)
        return text(self, self.groups, is_short) if self.groups else super().format_help()

    def print_help(self, file: Any = None) -> None:
        """Print the short help or, after ``--help-all``, the whole one."""
        (file or sys.stdout).write(self.format_help("--help-all" not in self._typed))

    def error(self, message: str) -> NoReturn:
        """Exit with one line, which names the flag that was probably meant."""
        from reranker.commands.help import error_line

        self.exit(2, error_line(self, self._typed, message))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from reranker.commands.help import no_choice

            raise argparse.ArgumentError(action, no_choice(value, action.choices))


class _Command(Protocol):
    __name__: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int: ...


def load_command(name: str) -> _Command:
    """Import the subcommand's module, when it is needed: importing all of them takes longer than
    `rerank eval`."""
    if name == "rerank":
        return cast(_Command, import_module("reranker.commands.rerank"))
    return cast(_Command, registry.load("commands", name))


def _is_command(name: str) -> bool:
    return not name.startswith("-") and registry.has("commands", name)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 0 fine, 1 some input rejected, 2 unusable input,
    3 out of memory, 130 interrupted, 141 the reader of standard output closed it."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given == ["help"]:
        given = ["--help"]
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        print("rerank: standard output is closed", file=sys.stderr)
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):  # whatever the locale: trees are UTF-8
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    interrupt_at_signals()
    if given[:1] == ["serve"]:
        from reranker.commands.serve import end_at_sigterm

        end_at_sigterm()
    start_messages()
    name = given[0] if given[:1] and _is_command(given[0]) else "rerank"
    text = ""
    try:
        try:
            with logged_messages(), one_command():
                return _run(given)
        finally:
            # Not left to Python, which can only complain of an error on its way out.
            count_rejections()
            with write_errors("standard output"):
                sys.stdout.flush()
    except KeyboardInterrupt as interrupt:  # perhaps with a note on the work that is kept
        code, text = INTERRUPTED, f"interrupted{interrupt}"
        dealt_with()
    except BrokenPipeError:  # the reader has seen enough, as in `rerank ... | head`
        code = 128 + signal.SIGPIPE
    except Exception as error:
        code, text = ending(error, _less_memory(name))
    if text:  # not before: the memory that the error's frames hold is free now
        _say(text)
    _discard_output()
    return code


def _less_memory(command: str) -> str | None:
    """Return a command's advice on taking less memory, if the command can be loaded."""
    with contextlib.suppress(ImportError, MemoryError, InputError):
        return getattr(load_command(command), "LESS_MEMORY", None)
    return None


def _say(text: str) -> None:
    with contextlib.suppress(OSError, MemoryError):  # the terminal is gone
        print(f"rerank: {visible_message(text)}", file=sys.stderr)


def _discard_output() -> None:
    """Keep Python from retrying at exit to write output that could not be written before."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_WITHOUT_TEXT = frozenset({"serve", "models", "completion"})


def command_names() -> list[str]:
    """Return the names of all commands, ``rerank`` itself first."""
    return ["rerank", *registry.built_in("commands")]


def command_parser(name: str) -> FlagParser:
    """Return the flags of one of ``command_names``, for its ``--help`` and the documentation."""
    command = load_command(name)
    parser = FlagParser(
        prog="rerank" if name == "rerank" else f"rerank {name}",
        usage=getattr(command, "USAGE", None),
        epilog=getattr(command, "EXAMPLES", ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.command, parser.groups = name, getattr(command, "GROUPS", {})
    if name == "rerank":
        from importlib.metadata import version

        text = f"parse-reranker {version('parse-reranker')}"
        parser.add_argument("--version", action="version", version=text)
    command.add_arguments(parser)
    if name not in _WITHOUT_TEXT:
        text = "encoding of the files that are read (default: UTF-8, else Windows-1252)"
        parser.add_argument("--encoding", metavar="NAME", help=text)
    return parser


def _run(given: list[str]) -> int:
    if given and _is_command(given[0]):
        name = given.pop(0)
        command_line = (name, *given)
    elif not given:
        raise InputError(
            "nothing to do; to rerank n-best lists, or to parse plain text (rerank --help: more):\n"
            "  rerank --nbest FILE\n"
            "  rerank parse FILE"
        )
    elif not given[0].startswith("-"):
        from reranker.commands.help import no_command

        raise InputError(no_command(given[0]))
    else:
        name, command_line = "rerank", tuple(given)
    parser = command_parser(name)
    parser.set_defaults(command_line=command_line)
    arguments = parser.parse_args(given)
    with encoding(getattr(arguments, "encoding", None)):
        return load_command(name).run(arguments)


def program() -> NoReturn:
    """Run ``main`` as a program of its own."""
    gc.set_threshold(50_000)  # importing torch makes many objects, to be looked at each time
    leave(main())


if __name__ == "__main__":
    program()
