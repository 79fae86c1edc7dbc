"""``rerank convert``: n-best files from one dialect to another, treebanks to what parsers learn
from."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from reranker import registry
from reranker.commands import nbest_flags
from reranker.commands.arguments import counted
from reranker.commands.progress import message, rejection
from reranker.errors import InputError, KindError, TreeError
from reranker.files.output import open_whole, output_path, output_paths
from reranker.nbest import FORMATS
from reranker.nbest.dialects.registry import DIALECTS
from reranker.nbest.writing import MOST_LINES, list_text, tokens_text
from reranker.process.flags import whole_number
from reranker.trees.annotation import Annotation
from reranker.trees.linearize import cleaned, linearize
from reranker.trees.newer_tags import newer_tags
from reranker.trees.tree import Tree
from reranker.trees.treebank import TreeText, named, read_texts, treebank_files
from reranker.work.nbest_files import NBestLists, log_rejected

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
    formats = [*FORMATS, *registry.names("tree-files")]
    text = f"format to write: {', '.join(formats)}"
    add("--to", required=True, choices=formats, metavar="NAME", help=text)
    add(
        "--to-beam",
        type=whole_number(1, MOST_LINES),
        metavar="K",
        help="lines per list, for --to opennmt",
    )
    text = (
        "with --to trees or a treebank's format: the files (or folders) are treebanks; write their "
        "trees without traces and function tags, with roots called TOP, as parsers learn from"
    )
    add("--clean", action="store_true", help=text)
    text = (
        "with --clean: write part-of-speech tags as newer treebanks do, where older ones differ: "
        "IN for the preposition to, and TO only before a verb; PRP$, WP$, -LRB-, -RRB- and SYM"
    )
    add("--newer-tags", action="store_true", help=text)
    text = (
        "with --clean: leave out the constituents with these labels, but not what is in them, "
        "where treebanks that are learned from together differ"
    )
    add("--without", nargs="+", default=[], metavar="LABEL", help=text)
    text = (
        "with --clean: leave out the constituents and words with these labels, and all that is in "
        "them: DFL for the marks of transcribed speech (-DFL-), EDITED for what a speaker took "
        "back (with --without EDITED its words stay)"
    )
    add("--drop", nargs="+", default=[], metavar="LABEL", help=text)
    text = (
        "with --clean: these characters end a label, as - and = do: '*' for NP*SUB, '#' for "
        "ADJ##lemma=x##"
    )
    add("--separators", default="", metavar="CHARACTERS", help=text)
    add("--out", type=Path, metavar="FILE", help="write here instead of stdout")
    text = "write words and tags here, for formats that leave them out"
    add("--tokens-out", type=Path, metavar="FILE", help=text)


def run(arguments: argparse.Namespace) -> int:
    """Convert as the flags say; returns the exit code."""
    if arguments.clean:
        return _clean(arguments)
    for name in ("newer_tags", "without", "drop", "separators"):
        if getattr(arguments, name):
            raise InputError(f"--{name.replace('_', '-')} is for --clean")
    start, write, end = _tree_file(arguments.to)
    inputs = nbest_flags.inputs(arguments)
    out_path, tokens_path = output_paths((arguments.out, arguments.tokens_out), inputs)
    if arguments.to in DIALECTS and DIALECTS[arguments.to].needs_beam and not arguments.to_beam:
        raise InputError(f"--to {arguments.to} needs --to-beam K")
    lists = NBestLists(arguments.nbest, nbest_flags.options(arguments))
    sentences = candidates = rejected = empty = 0
    with contextlib.ExitStack() as files:
        out = files.enter_context(open_whole(out_path))
        out.write(start)
        tokens_out = None
        if tokens_path is not None:
            tokens_out = files.enter_context(open_whole(tokens_path))
        for nbest in lists:
            log_rejected(nbest, sentences + 1)
            if arguments.to in DIALECTS:
                out.write(list_text(nbest, sentences, arguments.to, arguments.to_beam))
            elif nbest.candidates:
                first = nbest.candidates[0]
                try:
                    out.write(write(first.tree, sentences))
                except TreeError as error:
                    rejection(f"rerank: {first.file}:{first.line}: not written: {error}")
                    rejected += 1
            if tokens_out is not None:
                tokens_out.write(tokens_text(nbest))
            sentences += 1
            candidates += len(nbest.candidates)
            rejected += len(nbest.rejected)
            empty += not (nbest.candidates or nbest.rejected)
        out.write(end)
    without = f", {empty} without a candidate" if empty else ""
    written = f"{sentences} sentences, {candidates} candidates written, {rejected} rejected"
    message(f"rerank: {written}{without}")
    return 1 if rejected or empty else 0


def _clean(arguments: argparse.Namespace) -> int:
    """Write the trees of treebanks in the form that parsers learn from; returns the exit code."""
    if (arguments.to != "trees" and arguments.to in DIALECTS) or arguments.tokens_out:
        others = ", ".join(["trees", *registry.names("tree-files")])
        raise InputError(f"--clean is for --to {others}, without --tokens-out")
    start, write, end = _tree_file(arguments.to)
    files = treebank_files(arguments.nbest)
    out_path = output_path(arguments.out, files)
    annotation = Annotation(arguments.drop, arguments.separators)
    written = rejected = emptied = 0

    def reject(reason: object) -> None:
        nonlocal rejected
        rejection(f"rerank: {reason}")
        rejected += 1

    never = set(arguments.without)
    with open_whole(out_path) as out:
        for place in _texts(files, reject):
            try:
                whole = place.tree()
                tree = annotation.stripped(whole)
                if whole.words() and not (tree and tree.words()):
                    emptied += 1
                    continue
                tree = tree or whole
                if never:
                    never.difference_update(token[1:] for token in linearize(tree))
                tree = cleaned(tree, arguments.without)
                tree = newer_tags(tree) if arguments.newer_tags else tree
                out.write(start * (not written) + write(tree, written))
                written += 1
            except TreeError as error:
                reject(f"{place}: tree rejected, {error.code}: {error}")
        if not written:
            raise InputError(f"{named(arguments.nbest)}: no trees")
        out.write(end)
    left_out = f", {emptied} without other words left out" if emptied else ""
    message(f"rerank: {counted(written, 'tree')} written, {rejected} rejected{left_out}")
    for label in sorted(annotation.unseen):
        message(f"rerank: --drop {label}: no tree has this label")
    for label in sorted(never):
        message(f"rerank: --without {label}: no tree has this label")
    return 1 if rejected else 0


def _tree_file(name: str) -> tuple[str, Callable[[Tree, int], str], str]:
    """Return the first lines of a file of this format, what writes a tree with its number from 0,
    and the last lines."""
    if name in DIALECTS:
        return "", lambda tree, _: f"{tree.to_string()}\n", ""
    module = registry.load("tree-files", name)
    return module.START, module.write, module.END


def _texts(files: list[str], reject: Callable[[object], None]) -> Iterator[TreeText]:
    """Yield the trees of all files. Of several, ``reject`` gets the error of one that is of another
    kind; the only one raises it."""
    for file in files:
        try:
            yield from read_texts([file])
        except KindError as error:
            if len(files) == 1:
                raise
            reject(error)
