"""``rerank convert``: n-best files from one dialect to another, treebanks to what parsers learn
from."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from reranker import registry
from reranker.commands import nbest_flags
from reranker.commands.arguments import Formats
from reranker.commands.progress import message
from reranker.errors import InputError, TreeError
from reranker.files.output import output_path, output_paths
from reranker.files.records import AnswerCounts
from reranker.files.visible import counted
from reranker.nbest import FORMATS
from reranker.nbest.dialects.registry import DIALECTS
from reranker.nbest.writing import MOST_LINES, tokens_text
from reranker.outputs.form import Form
from reranker.process.flags import whole_number
from reranker.trees.annotation import Annotation
from reranker.trees.linearize import cleaned, linearize
from reranker.trees.newer_tags import newer_tags
from reranker.trees.tree import Tree
from reranker.trees.treebank import TreeText
from reranker.work import loop
from reranker.work.conversion import (
    Convert,
    Converted,
    ConvertSettings,
    TreeFile,
    conversion_summary,
)
from reranker.work.loop import Job
from reranker.work.nbest_files import NBestLists, log_rejected
from reranker.work.sinks import WholeFiles
from reranker.work.treebanks import Treebanks

logger = logging.getLogger(__name__)

EXAMPLES = """examples:
  rerank convert samples.rnng --tokens sentences.txt --to bllip --out parses.txt
  rerank convert bllip.txt.gz berkeley.txt --to jsonl --out pooled.jsonl
  rerank convert parses.txt --to seq2seq --tokens-out sentences.tsv --out beams.txt
  rerank convert parses.txt --to trees > first.txt
  rerank convert wsj/02/ wsj/03/ --to trees --clean --out train.mrg
  rerank convert masc.mrg.gz --to trees --clean --without NML --out train.mrg
  rerank convert swbd/ --to trees --clean --drop DFL EDITED CODE --out speech.mrg
  rerank convert genia/ --to trees --clean --newer-tags --out genia.mrg

exit status: 0 success, 1 some candidates were rejected, 2 unusable files or flags, 3 out of
memory"""

USAGE = "%(prog)s FILE [FILE ...] --to NAME [flags]"
GROUPS = {
    "everyday flags": "nbest --to --out --format --tokens --clean --without --drop",
    "input": "--repair --no-repair --beam --newer-tags --separators",
    "output": "--to-beam --tokens-out",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank convert`` to ``parser``."""
    add = parser.add_argument
    nbest_flags.add_arguments(parser, required=False)
    formats = Formats([*FORMATS, *registry.names("tree-files")])
    text = f"format to write: {', '.join(formats)}"
    add("--to", required=True, choices=formats, metavar="NAME", help=text)
    add_to_beam(parser)
    text = (
        "read treebanks (files or folders), and write their trees as parsers learn from them: "
        "without traces and function tags, with roots called TOP; for --to trees or a treebank's "
        "format"
    )
    add("--clean", action="store_true", help=text)
    text = (
        "with --clean: write part-of-speech tags as newer treebanks do: IN for the preposition "
        "to, and TO only before a verb; PRP$, WP$, -LRB-, -RRB- and SYM"
    )
    add("--newer-tags", action="store_true", help=text)
    text = "with --clean: leave out brackets with these labels, but keep their contents"
    add("--without", nargs="+", default=[], metavar="LABEL", help=text)
    text = (
        "with --clean: leave out brackets and words with these labels, together with their "
        "contents, such as DFL (marks of transcribed speech) and EDITED (self-corrections)"
    )
    add("--drop", nargs="+", default=[], metavar="LABEL", help=text)
    text = (
        "with --clean: characters that end a label as - and = do: '*' for NP*SUB, '#' for "
        "ADJ##lemma=x##"
    )
    add("--separators", default="", metavar="CHARACTERS", help=text)
    add("--out", type=Path, metavar="FILE", help="write to FILE (default: standard output)")
    text = "write words and tags to FILE, for formats without them"
    add("--tokens-out", type=Path, metavar="FILE", help=text)


def add_to_beam(parser: argparse.ArgumentParser) -> None:
    """Add ``--to-beam``, for a command with ``--to``."""
    text = "candidates per list, for --to opennmt"
    parser.add_argument("--to-beam", type=whole_number(1, MOST_LINES), metavar="K", help=text)


def settings(arguments: argparse.Namespace) -> ConvertSettings:
    """Return the settings that ``--to`` and ``--to-beam`` describe. Raises InputError for a format
    that needs ``--to-beam`` if that is missing."""
    name, beam = arguments.to, arguments.to_beam
    if name in DIALECTS and DIALECTS[name].needs_beam and beam is None:
        raise InputError(f"--to {name} needs --to-beam K")
    return ConvertSettings(name, beam)


def run(arguments: argparse.Namespace) -> int:
    """Convert as the flags say; returns the exit code."""
    if arguments.clean:
        return _clean(arguments)
    for name in ("newer_tags", "without", "drop", "separators"):
        if getattr(arguments, name):
            raise InputError(f"--{name.replace('_', '-')} is for --clean")
    inputs = nbest_flags.inputs(arguments)
    out_path, tokens_path = output_paths((arguments.out, arguments.tokens_out), inputs)
    job = Convert(settings(arguments))
    files: list[tuple[Path | None, Form[Converted]]] = [(out_path, _Lists(arguments.to))]
    if tokens_path is not None:
        files.append((tokens_path, _Tokens()))
    lists = NBestLists(arguments.nbest, nbest_flags.options(arguments))
    counts = loop.run(lists, job, WholeFiles(*files), _Report())
    message(f"rerank: {conversion_summary(counts)}")
    return 1 if counts["rejected"] or counts["failed"] else 0


class _Lists(TreeFile):
    """Lists in another format."""

    def line(self, answer: Converted, number: int) -> str:
        return answer.text


class _Tokens(Form[Converted]):
    """The words and tags of lists."""

    is_table = True

    def line(self, answer: Converted, number: int) -> str:
        return tokens_text(answer.given)


class _Report(loop.Progress):
    """Logs what cannot be written."""

    def answered(self, answer: Converted, number: int) -> None:
        log_rejected(answer.given, number)
        if answer.problem:
            logger.warning("%s", answer.problem)


def _clean(arguments: argparse.Namespace) -> int:
    """Write the trees of treebanks in the form that parsers learn from; returns the exit code."""
    if (arguments.to != "trees" and arguments.to in DIALECTS) or arguments.tokens_out:
        others = ", ".join(["trees", *registry.names("tree-files")])
        raise InputError(f"--clean is for --to {others}, without --tokens-out")
    form = TreeFile(arguments.to)
    annotation = Annotation(arguments.drop, arguments.separators)
    job = _Clean(form, annotation, arguments.without, has_newer_tags=arguments.newer_tags)
    trees = Treebanks(arguments.nbest)
    sink: WholeFiles[str | None] = WholeFiles((output_path(arguments.out, trees.files), form))
    counts = loop.run(trees, job, sink)
    rejected = counts["rejected"] + trees.faults
    emptied = counts["sentences"] - counts["candidates"] - counts["rejected"]
    left_out = f", {emptied} without other words left out" if emptied else ""
    written = counted(counts["candidates"], "tree")
    message(f"rerank: {written} written, {rejected} rejected{left_out}")
    for label in sorted(annotation.unseen):
        message(f"rerank: --drop {label}: no tree has this label")
    for label in sorted(job.unseen):
        message(f"rerank: --without {label}: no tree has this label")
    return 1 if rejected else 0


class _Clean(Job[TreeText, str | None]):
    """Trees without traces and function tags, as text; "" for a tree that has no words left."""

    def __init__(
        self, form: TreeFile, annotation: Annotation, without: Sequence[str], has_newer_tags: bool
    ) -> None:
        self._form, self._annotation, self._without = form, annotation, without
        self._has_newer_tags = has_newer_tags
        self._written = 0
        self.unseen = set(without)
        """Labels of ``without`` that no tree has."""

    def answer(self, sentence: TreeText) -> str | None:
        """Return the text of the cleaned tree; log a rejected tree, and return None."""
        try:
            text = self._text(sentence.tree())
        except TreeError as error:
            logger.warning("%s: tree rejected, %s: %s", sentence, error.code, error)
            return None
        self._written += bool(text)
        return text

    def _text(self, whole: Tree) -> str:
        tree = self._annotation.stripped(whole)
        if whole.words() and not (tree and tree.words()):
            return ""
        tree = tree or whole
        if self.unseen:
            self.unseen.difference_update(token[1:] for token in linearize(tree))
        tree = cleaned(tree, self._without)
        return self._form.tree(newer_tags(tree) if self._has_newer_tags else tree, self._written)

    def counts(self, sentence: TreeText, answer: str | None) -> AnswerCounts:
        """Count the tree as a candidate if it is written."""
        return AnswerCounts(0, int(bool(answer)), int(answer is None), 0)
