"""Flags that several commands have, and the summary of a run."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from reranker import registry
from reranker.files.journal import journaled_path
from reranker.files.visible import counted
from reranker.nbest import FORMATS
from reranker.process.flags import positive
from reranker.work.sinks import Destination


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add ``--threads``."""
    text = "CPU threads (default: one for each core)"
    parser.add_argument("--threads", type=positive, metavar="N", help=text)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add ``--out`` and ``--resume``, for a command that can resume."""
    add = parser.add_argument
    text = "write to FILE, which appears when it is complete (default: standard output)"
    add("--out", type=Path, metavar="FILE", help=text)
    text = "continue an interrupted run with the same --out"
    add("--resume", action="store_true", help=text)


def destination(
    arguments: argparse.Namespace,
    files: Sequence[str | Path],
    others: Sequence[str | Path] = (),
    outputs: Sequence[Path | None] = (),
) -> Destination:
    """Return the destination that ``--out`` and ``--resume`` name. ``files`` are the run's inputs,
    ``others`` further files that its parsers read, ``outputs`` further files that it writes. Raises
    InputError for an output that would replace one of them, or a file that the command has read."""
    return Destination(
        journaled_path(arguments.out, [*files, *others], outputs),
        arguments.resume,
        [*map(str, files)],
        arguments.command_line,
    )


def add_table(
    parser: argparse.ArgumentParser, unit: str = "row"
) -> argparse._MutuallyExclusiveGroup:
    """Add ``--csv`` and ``--json``, for a command whose output is a table with tabs; a JSON object
    has one ``unit``. Return their group."""
    form = parser.add_mutually_exclusive_group()
    text = "write commas, not tabs, between columns, and an apostrophe before =, +, - and @"
    form.add_argument("--csv", action="store_true", help=text)
    form.add_argument("--json", action="store_true", help=f"write one JSON object per {unit}")
    return form


def add_restore(parser: argparse.ArgumentParser) -> None:
    """Add ``--restore``."""
    text = "write bracketed trees with the sentence's words and tags, not the parser's text"
    parser.add_argument("--restore", action="store_true", help=text)


def add_format(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--format``; ``what`` begins its help text."""
    text = f"{what} (default: auto-detected; docs/formats.md)"
    names = Formats(("auto", *FORMATS))
    parser.add_argument("--format", choices=names, default="auto", metavar="NAME", help=text)


class Formats(list[str]):
    """The formats of this repository, for ``--help``; other packages' can be chosen, too."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or registry.has("dialects", str(name))


def summary(counts: Mapping[str, int]) -> str:
    """Return the summary of all sentences, on one line."""
    parts = [f"{counted(counts['candidates'], 'candidate')} ranked"]
    if counts["repaired"]:
        parts.append(f"{counts['repaired']} of them repaired")
    if counts["rejected"]:
        parts.append(f"{counts['rejected']} rejected")
    if counts["failed"]:
        parts.append(f"{counted(counts['failed'], 'sentence')} without a usable candidate")
    of = counted(counts["sentences"], "tree")
    return f"rerank: reranking changed {counts['changed']} of {of}; {', '.join(parts)}"


def exit_code(counts: Mapping[str, int]) -> int:
    """Return 0 if every sentence has an answer and no candidate was rejected, else 1."""
    return 1 if counts["rejected"] or counts["failed"] else 0
