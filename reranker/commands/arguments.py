"""Types of flags, which argparse calls with the text of a value, and numbers in messages."""

from __future__ import annotations

import argparse
import importlib.util
import math
from collections.abc import Callable
from pathlib import Path

from reranker.errors import InputError


def script_parser(program: str, description: str | None) -> argparse.ArgumentParser:
    """The parser of a script whose ``description`` is printed with its line breaks."""
    return argparse.ArgumentParser(
        prog=program, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add ``--threads``."""
    text = "CPU threads (default: one for each core)"
    parser.add_argument("--threads", type=positive, metavar="N", help=text)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add ``--out`` and ``--resume``, for a command that can resume."""
    add = parser.add_argument
    text = "write to FILE instead of stdout; it appears when complete"
    add("--out", type=Path, metavar="FILE", help=text)
    text = "continue from the FILE.part that an interrupted run with --out left, if there is one"
    add("--resume", action="store_true", help=text)


def add_restore(parser: argparse.ArgumentParser) -> None:
    """Add ``--restore``."""
    text = "write bracketed trees with the sentence's words and tags, not the parser's text"
    parser.add_argument("--restore", action="store_true", help=text)


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """The type of a flag that takes an integer, ``least`` and ``most`` included."""
    limits = f"of at least {least}" if most is None else f"from {least} to {most:,}"

    def convert(text: str) -> int:
        if text.isascii() and text.isdecimal():
            number = int(text)
            if least <= number and (most is None or number <= most):
                return number
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {limits}")

    return convert


positive = whole_number(1)


def number_from(least: float, most: float = math.inf) -> Callable[[str], float]:
    """The type of a flag that takes a finite number, ``least`` and ``most`` included."""
    limits = f"of at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"

    def convert(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (least <= number <= most and number < math.inf):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number {limits}")
        return number

    return convert


weight = number_from(0, 1)


def counted(number: int, noun: str) -> str:
    """``1 sentence``, ``2 sentences``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def require_ray(command: str, *packages: str) -> None:
    """Raises InputError, saying what to install, if one of the packages is missing."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            raise InputError(
                f"{command} needs the package {name}: pip install 'parse-reranker[ray]'"
            )
