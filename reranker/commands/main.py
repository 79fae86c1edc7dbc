"""The ``rerank`` command: flags only; the work is done elsewhere.

torch is imported by the code that scores or trains, so that ``--help`` and ``rerank eval`` answer
at once.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version
from types import FrameType
from typing import NoReturn, Protocol

import reranker.commands.analyse as analysis_cli
import reranker.commands.compare as comparing_cli
import reranker.commands.convert as convert_cli
import reranker.commands.evaluate as evalb_cli
import reranker.commands.rerank as rerank_cli
import reranker.commands.serve as serve_cli
import reranker.commands.train as training_cli
import reranker.commands.tune as tuning_cli
import reranker.commands.validate as validate_cli
from reranker.errors import RerankError


class _Command(Protocol):
    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int: ...


_SUBCOMMANDS: dict[str, tuple[_Command, str]] = {
    "analyse": (analysis_cli, "what models do: the papers' tables and figures about them"),
    "compare": (comparing_cli, "is the difference of two parsers' F1 more than chance"),
    "convert": (convert_cli, "n-best files from one format to another"),
    "eval": (evalb_cli, "EVALB's figures for two treebank files"),
    "serve": (serve_cli, "the same over HTTP, with a page to look at"),
    "train": (training_cli, "train a language model on a treebank"),
    "tune": (tuning_cli, "the best --lm-weight and more, from ranked output and gold trees"),
    "validate": (validate_cli, "what is in an n-best file, and what is wrong with it"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 0 fine, 1 some input rejected, 2 unusable input."""
    given = list(sys.argv[1:] if argv is None else argv)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        print("rerank: standard output is closed", file=sys.stderr)
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):  # whatever the locale: trees are UTF-8
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    logging.basicConfig(format="rerank: %(message)s", level=logging.INFO, stream=sys.stderr)
    if given and given[0] in _SUBCOMMANDS:
        name = given.pop(0)
        module, description = _SUBCOMMANDS[name]
        parser = _parser(f"rerank {name}", description, getattr(module, "EXAMPLES", ""))
    else:
        module = rerank_cli
        commands = "\n".join(f"  rerank {n} --help   {_SUBCOMMANDS[n][1]}" for n in _SUBCOMMANDS)
        parser = _parser(
            "rerank",
            "Choose the best of a parser's n-best trees with an ensemble of language models.",
            f"{rerank_cli.EXAMPLES}\n\nother commands:\n{commands}",
        )
        parser.add_argument(
            "--version", action="version", version=f"parse-reranker {version('parse-reranker')}"
        )
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        module.add_arguments(parser)
        return module.run(parser.parse_args(given))
    except RerankError as error:
        print(f"rerank: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("rerank: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        print("rerank: standard output was closed before everything was written", file=sys.stderr)
        # Python would try to flush it once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2


def _parser(program: str, description: str, epilog: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog=program,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
