"""Types of flags, which argparse calls with the text of a value, and the frame of a script."""

from __future__ import annotations

import argparse
import functools
import math
import sys
from collections.abc import Callable
from typing import ParamSpec

from reranker.errors import RerankError

P = ParamSpec("P")


def file_name(text: str) -> str:
    """Return the name of a file as it was typed; shells complete it."""
    return text


def script_parser(program: str, description: str | None) -> argparse.ArgumentParser:
    """Return the parser of a script whose ``description`` is printed with its line breaks."""
    return argparse.ArgumentParser(
        prog=program, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def reporting_errors(program: str) -> Callable[[Callable[P, int]], Callable[P, int]]:
    """Return a decorator for a script's main: errors in its input are printed, with exit code 2."""

    def decorate(main: Callable[P, int]) -> Callable[P, int]:
        @functools.wraps(main)
        def reporting(*arguments: P.args, **named: P.kwargs) -> int:
            try:
                return main(*arguments, **named)
            except (RerankError, OSError) as error:
                print(f"{program}: {error}", file=sys.stderr)
                return 2

        return reporting

    return decorate


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return the type of a flag that takes an integer, ``least`` and ``most`` included."""
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
    """Return the type of a flag that takes a finite number, ``least`` and ``most`` included."""
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
