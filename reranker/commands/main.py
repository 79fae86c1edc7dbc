"""The ``rerank`` command: finds the subcommand; each has its flags and its work in a file of its
own.

Only that file is imported, and torch only by code that scores or trains, so that ``--help`` and
``rerank eval`` answer at once.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import logging
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, Protocol, cast

from reranker import registry
from reranker.commands.endings import INTERRUPTED, dealt_with, ending, interrupt_at_signals, leave
from reranker.commands.progress import MessageHandler, count_rejections, start_messages
from reranker.errors import InputError
from reranker.files.output import write_errors
from reranker.files.visible import visible, visible_message


class _Command(Protocol):
    __name__: str
    EXAMPLES: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int: ...


def _command(name: str) -> _Command:
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
    logging.basicConfig(
        format="rerank: %(message)s", level=logging.INFO, handlers=[MessageHandler()]
    )
    logging.getLogger("torch").setLevel(logging.WARNING)  # an import cut short reports statistics
    interrupt_at_signals()
    if given[:1] == ["serve"]:
        from reranker.commands.serve import end_at_sigterm

        end_at_sigterm()
    start_messages()
    name = given[0] if given[:1] and _is_command(given[0]) else "rerank"
    text = ""
    try:
        try:
            return _run(given)
        finally:
            # Not left to Python, which can only complain of an error on its way out.
            count_rejections()
            with write_errors("standard output"):
                sys.stdout.flush()
    except KeyboardInterrupt as interrupt:  # perhaps with what is kept of the work
        code, text = INTERRUPTED, f"interrupted{interrupt}"
        dealt_with()
    except BrokenPipeError:  # the reader has seen enough, as in `rerank ... | head`
        code = 128 + signal.SIGPIPE
    except Exception as error:
        code, text = ending(error, name)
    if text:  # not before: what the error's frames hold is free now
        _say(text)
    _discard_output()
    return code


def _say(text: str) -> None:
    with contextlib.suppress(OSError, MemoryError):  # the terminal is gone
        print(f"rerank: {visible_message(text)}", file=sys.stderr)


def _discard_output() -> None:
    """Keep Python from retrying at exit what could not be written before."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def command_names() -> list[str]:
    """Return the names of all commands, ``rerank`` itself first."""
    return ["rerank", *registry.ours("commands")]


def command_parser(name: str) -> argparse.ArgumentParser:
    """Return the flags of one of ``command_names``, for its ``--help`` and the documentation."""
    command = _command(name)
    examples = getattr(command, "EXAMPLES", "")
    if name == "rerank":
        parser = _rerank_parser()
    else:
        parser = _parser(f"rerank {name}", _description(name, command), examples)
    command.add_arguments(parser)
    return parser


def whole_parser() -> argparse.ArgumentParser:
    """Return the flags of ``rerank`` and of all its subcommands, for shell completion."""
    parser = _rerank_parser()
    _command("rerank").add_arguments(parser)
    subparsers = parser.add_subparsers()
    for name, description in _summaries().items():
        with contextlib.suppress(InputError):  # another package's that cannot be imported
            _command(name).add_arguments(
                subparsers.add_parser(name, help=description, description=description)
            )
    return parser


def _description(name: str, command: _Command) -> str:
    """Return the line above a command's flags: for another package's the module's first line."""
    own = (getattr(command, "__doc__", None) or "").strip().partition("\n")[0]
    return _summary(name) if name in registry.ours("commands") or not own else own


def _summary(name: str) -> str:
    entry = registry.ours("commands").get(name)
    return entry.help if entry else f"of the package {registry.package_of('commands', name)}"


def _summaries() -> dict[str, str]:
    """Return a line about each subcommand, those of other packages included."""
    return {name: _summary(name) for name in registry.names("commands")}


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
        raise InputError(_no_command(given[0]))
    else:
        name, command_line = "rerank", tuple(given)
    parser = command_parser(name)
    parser.set_defaults(command_line=command_line)
    return _command(name).run(parser.parse_args(given))


def _no_command(word: str) -> str:
    """Return the message that says what to type instead of ``rerank WORD``."""
    if os.path.exists(word) or os.path.dirname(word) or os.path.splitext(word)[1]:
        return (
            f"{word} is not a command; to rerank n-best lists, or to parse plain text:\n"
            f"  rerank --nbest {word}\n"
            f"  rerank parse {word}"
        )
    known = registry.names("commands")
    similar = [name for name in known if word.startswith(name)]
    similar += difflib.get_close_matches(word, known, n=1)
    if similar:
        return f"unknown command: {word}; did you mean {similar[0]}?"
    return f"unknown command: {word}; there are {', '.join(known)} (see rerank --help)"


def _rerank_parser() -> argparse.ArgumentParser:
    commands = "\n".join(
        f"  rerank {name + ' --help':17}  {description}"
        for name, description in _summaries().items()
    )
    from importlib.metadata import version

    parser = _parser(
        "rerank",
        "Choose the best of a parser's n-best trees with an ensemble of language models.\n"
        "From plain text to trees: rerank parse.",
        f"{_command('rerank').EXAMPLES}\n\nother commands:\n{commands}",
    )
    parser.add_argument(
        "--version", action="version", version=f"parse-reranker {version('parse-reranker')}"
    )
    return parser


def _parser(program: str, description: str, epilog: str) -> argparse.ArgumentParser:
    return _Parser(
        prog=program,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with a message that quotes what was typed."""
        super().error(visible(message))


def program() -> NoReturn:
    """Run ``main`` as a program of its own."""
    leave(main())


if __name__ == "__main__":
    program()
