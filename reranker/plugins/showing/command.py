"""``rerank show``: draws the best trees beside the parser's first, and says which are better."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from reranker.commands import nbest_flags
from reranker.commands.progress import message
from reranker.errors import InputError
from reranker.files.visible import counted, visible
from reranker.outputs.form import Form
from reranker.plugins.showing.changes import Change
from reranker.plugins.showing.pictures import Pictures
from reranker.plugins.showing.sentences import Changes, ChangeSummary, Show
from reranker.process.flags import whole_number
from reranker.trees.picture import KINDS, check_installed
from reranker.trees.treebank import treebank_files
from reranker.work import loop
from reranker.work.sinks import TextSink

EXAMPLES = """examples:
  rerank show ranked.jsonl
  rerank show ranked.jsonl --gold gold.mrg --gold-tags --width 250 | less -S
  rerank show ranked.jsonl --gold gold.mrg --gold-tags --brief
  rerank show ranked.jsonl --sentence s3 --svg s3.svg
  rerank show parses.txt.gz --pdf drawings.pdf
  rerank --nbest parses.txt --models ckpt/*.pt --output ranked | rerank show -

*NP is a bracket that the other tree does not have; with --gold, ✓ is a right bracket, ✗ a wrong
one, as EVALB counts them with COLLINS' settings.

exit status: 0 success, 1 some trees could not be read or scored, 2 unusable files, 3 out of
memory"""

USAGE = "%(prog)s FILE [flags]"
GROUPS = {
    "everyday flags": "file --sentence --all --brief --gold --gold-tags --svg --png --pdf",
    "input": "--format --tokens --repair --no-repair --beam",
    "output": "--width",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank show`` to ``parser``."""
    add = parser.add_argument
    text = (
        "output of `rerank --output ranked`, or n-best lists or trees, whose first trees are "
        "drawn; - reads standard input"
    )
    add("file", metavar="FILE", help=text)
    add("--gold", metavar="FILE", help="gold trees: a file, a folder or a quoted pattern")
    add("--gold-tags", action="store_true", help="give every tree the gold tags first")
    text = "show only these sentences, by id, or by number from 1 if no sentence has the id"
    add("--sentence", nargs="+", default=[], metavar="ID", help=text)
    text = "also show sentences whose best tree is the parser's first"
    add("--all", action="store_true", help=text)
    add(
        "--brief",
        action="store_true",
        help=("write words, changed brackets and F1 instead of drawings"),
    )
    drawings = parser.add_mutually_exclusive_group().add_argument
    text = "write drawings to FILE.svg for one sentence, or to a folder with a file per sentence"
    drawings("--svg", type=Path, metavar="FILE", help=text)
    for kind in ("png", "pdf"):
        pages = ", or to one file with a page per sentence" if kind == "pdf" else ""
        text = f"the same as {kind.upper()}{pages}; needs parse-reranker[draw]"
        drawings(f"--{kind}", type=Path, metavar="FILE", help=text)
    text = "draw trees that are wider than N columns as outlines (default: the terminal's width)"
    add("--width", type=whole_number(20), metavar="N", help=text)
    nbest_flags.add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Draw trees as the flags say; return the exit code."""
    if arguments.gold_tags and not arguments.gold:
        raise InputError("--gold-tags needs --gold")
    named = ((kind, getattr(arguments, kind)) for kind in KINDS)
    kind, path = next(((kind, path) for kind, path in named if path), ("", None))
    if path and arguments.brief:
        raise InputError(f"--brief leaves out the drawings that --{kind} writes")
    if path:
        _check_ending(path, kind)
        check_installed(kind)
    gold = None
    if arguments.gold:
        from reranker.evaluation.brackets import GoldTrees

        gold = GoldTrees([arguments.gold], arguments.gold_tags)
    changes = Changes(arguments.file, nbest_flags.options(arguments))
    job = Show(arguments.file, arguments.sentence, gold, has_unchanged=arguments.all)
    if path:
        gold_files = treebank_files([arguments.gold] if arguments.gold else [])
        inputs = [arguments.file, *gold_files, *filter(None, [arguments.tokens])]
        pictures = Pictures(path, kind, inputs)
        counts = loop.run(changes, job, pictures)
        message(f"rerank: drawings of {counted(pictures.number, 'sentence')} written to {path}")
        if pictures.left_out:
            return 1
    else:
        width = None
        if not arguments.brief:
            width = arguments.width or shutil.get_terminal_size().columns
        form = _Drawings(width, None if arguments.sentence else job.summary)
        counts = loop.run(changes, job, TextSink(form))
    return 1 if counts["rejected"] else 0


class _Drawings(Form[Change]):
    """A sentence's changes and, unless ``width`` is None, its trees, drawn within that many
    columns; at the end the summary."""

    is_table = is_painted = True

    def __init__(self, width: int | None, summary: ChangeSummary | None) -> None:
        self._width, self._summary = width, summary
        self._has_colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def line(self, answer: Change, number: int) -> str:
        """Return the lines about a sentence, and a blank one."""
        from reranker.plugins.showing.terminal import draw, paint

        lines = answer.text()
        if self._width is not None:
            lines += ["", *draw(answer.titled(), self._width)]
        lines = [*map(visible, lines)]
        return "\n".join([*(map(paint, lines) if self._has_colours else lines), "", ""])

    def end(self) -> str:
        return "" if self._summary is None else f"{self._summary.format()}\n"


def _check_ending(path: Path, kind: str) -> None:
    """Raise InputError for a file with another ending than ``kind``."""
    ending = path.suffix.removeprefix(".")
    if ending in ("", kind) or path.is_dir():
        return
    other = f"; for {ending.upper()}: --{ending} {path}" if ending in KINDS else ""
    raise InputError(
        f"{path}: --{kind} writes {kind.upper()}: name a file that ends in .{kind}, such as "
        f"{path.with_suffix(f'.{kind}')}, or a folder without an ending{other}"
    )
