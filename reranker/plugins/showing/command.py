"""``rerank show``: draws the best trees beside the parser's first, and says which are better."""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reranker.commands import nbest_flags
from reranker.commands.arguments import counted
from reranker.commands.progress import message, rejection
from reranker.errors import InputError
from reranker.files.output import open_whole, write_errors
from reranker.files.text import TextFile, TextInMemory, open_text, read_lines
from reranker.files.visible import shown_id, visible
from reranker.nbest import NBest, read_nbest
from reranker.outputs.ranked_file import is_ranked, read_ranked
from reranker.process.flags import whole_number
from reranker.trees.picture import KINDS, check_installed, write_picture
from reranker.trees.treebank import treebank_files
from reranker.work.nbest_files import log_rejected

if TYPE_CHECKING:
    from reranker.evaluation.brackets import GoldTrees
    from reranker.plugins.showing.changes import Change

EXAMPLES = """examples:
  rerank show ranked.jsonl
  rerank show ranked.jsonl --gold gold.mrg --gold-tags --width 250 | less -S
  rerank show ranked.jsonl --gold gold.mrg --gold-tags --brief
  rerank show ranked.jsonl --sentence s3 --svg s3.svg
  rerank show parses.txt.gz --pdf drawings/
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
        "from `rerank --output ranked`, or n-best lists or trees; the first tree of each list is "
        "drawn; - reads stdin"
    )
    add("file", metavar="FILE", help=text)
    add("--gold", metavar="FILE", help="gold trees: a file, a folder or a quoted pattern")
    add("--gold-tags", action="store_true", help="give every tree the gold tags first")
    text = "only these sentences: by id, or by number, from 1, if no sentence has that id"
    add("--sentence", nargs="+", default=[], metavar="ID", help=text)
    text = "also sentences whose best tree is the parser's first (default: only the others)"
    add("--all", action="store_true", help=text)
    add("--brief", action="store_true", help="no drawings: words, changed brackets and F1")
    drawings = parser.add_mutually_exclusive_group().add_argument
    text = "write drawings instead: FILE.svg for one sentence, or a folder with a file for each"
    drawings("--svg", type=Path, metavar="FILE", help=text)
    for kind in ("png", "pdf"):
        text = f"the same as {kind.upper()}; needs parse-reranker[draw]"
        drawings(f"--{kind}", type=Path, metavar="FILE", help=text)
    text = "columns; wider trees become outlines (default: the terminal's width)"
    add("--width", type=whole_number(20), metavar="N", help=text)
    nbest_flags.add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Draw trees as the flags say; return the exit code."""
    from reranker.plugins.showing.terminal import draw, paint

    if arguments.gold_tags and not arguments.gold:
        raise InputError("--gold-tags needs --gold")
    named = ((kind, getattr(arguments, kind)) for kind in KINDS)
    kind, path = next(((kind, path) for kind, path in named if path), ("", None))
    if path and arguments.brief:
        raise InputError(f"--brief leaves out the drawings that --{kind} writes")
    if path:
        _check_ending(path, kind)
        check_installed(kind)
    changes = _changes(arguments)
    if arguments.gold:
        from reranker.evaluation.brackets import GoldTrees

        changes = _judged(changes, GoldTrees([arguments.gold], arguments.gold_tags))
    summary = _Summary()
    wanted = _wanted(summary.counted(changes), arguments)
    if path:
        _write_pictures(wanted, arguments, path, kind)
        return 1 if summary.problems else 0
    width = arguments.width or shutil.get_terminal_size().columns
    has_colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    with open_whole(None) as out:
        for change in wanted:
            lines = change.text()
            if not arguments.brief:
                lines += ["", *draw(change.titled(), width)]
            lines = [*map(visible, lines)]
            painted = map(paint, lines) if has_colours else lines
            out.write("\n".join([*painted, "", ""]), is_painted=True)
        if not arguments.sentence:
            out.write(summary.format() + "\n")
    return 1 if summary.problems else 0


def _changes(arguments: argparse.Namespace) -> Iterator[Change]:
    """Yield the sentences of the file."""
    from reranker.plugins.showing.changes import Change

    source = _source(arguments.file)
    if is_ranked(next(filter(str.strip, read_lines(source())), "")):
        yield from _ranked_changes(arguments.file, source)
        return
    for number, nbest in enumerate(read_nbest(source(), options=nbest_flags.options(arguments)), 1):
        log_rejected(nbest, number)
        best = nbest.candidates[0].tree if nbest.candidates else None
        name = shown_id(nbest.id, number)
        yield Change(name, "first tree", best, problems=len(nbest.rejected))


def _source(name: str) -> Callable[[], str | TextFile]:
    """Return a function that opens the file, as often as needed; standard input and pipes are read
    into memory."""
    if os.path.isfile(name):
        return lambda: name
    content = "".join(read_lines(open_text(name, streams=True))).encode("utf-8", "surrogateescape")
    return lambda: TextInMemory(content, "standard input" if name == "-" else name)


def _ranked_changes(name: str, source: Callable[[], str | TextFile]) -> Iterator[Change]:
    lists = read_nbest(source())  # knows the parsers' notations
    sentences = read_ranked(name, read_lines(source()), with_indexes=True)
    for number, (sentence, nbest) in enumerate(zip(sentences, lists, strict=True), 1):
        log_rejected(nbest, number)
        change = _ranked_change(sentence, nbest)
        yield replace(change, id=shown_id(change.id, number))


def _ranked_change(sentence: dict[str, Any], nbest: NBest) -> Change:
    """Return the best tree and the first one not rejected, which ``--top`` may have left out of the
    file."""
    from reranker.plugins.showing.changes import Change

    order = sorted(entry["index"] for entry in sentence["ranking"])
    trees = {order[candidate.index]: candidate.tree for candidate in nbest.candidates}
    best = sentence["best_index"]
    before = set(range(order[0])) if order else set()
    is_first_known = before <= {rejected["index"] for rejected in sentence["rejected"]}
    first = order[0] if order and is_first_known else None
    problems = len(nbest.rejected) + (best is None)
    if best is None or best == first:
        title = "best, the parser's first"
        return Change(nbest.id, title, trees.get(best), is_new=best is None, problems=problems)
    title = f"best, candidate {best + 1}"
    if first is None:
        title += " (the parser's first is not in the file)"
    first_tree = None if first is None else trees.get(first)
    return Change(nbest.id, title, trees.get(best), first_tree, problems=problems)


def _judged(changes: Iterable[Change], gold: GoldTrees) -> Iterator[Change]:
    """Yield the changes, scored. Raises InputError for more or fewer gold trees than sentences."""
    trees = zip(gold.places, gold, strict=True)
    for change in changes:
        place, tree = next(trees, (None, None))
        if tree is None:
            raise InputError(f"{gold.name}: no gold tree for sentence {change.id}")
        judged = change.judged(tree)
        score = judged.best_score
        if judged.best is not None and score is not None and score.status != "valid":
            rejection(f"rerank: {place}: sentence not scored: {score.reason}")
        yield judged
    if next(trees, None) is not None:
        raise InputError(f"{gold.name}: more gold trees than sentences")


def _wanted(changes: Iterable[Change], arguments: argparse.Namespace) -> Iterator[Change]:
    """Yield the sentences that the flags ask for. Raises InputError for a sentence that does not
    exist."""
    wanted = dict.fromkeys(arguments.sentence)
    found: set[str] = set()  # ids, of which files put together have some twice
    by_number: dict[str, Change] = {}
    unchanged = 0
    for number, change in enumerate(changes, 1):
        if change.id in wanted:
            found.add(change.id)
            yield change
        elif str(number) in wanted:
            by_number[str(number)] = change
        elif not arguments.sentence and (change.is_new or arguments.all):
            yield change
        else:
            unchanged += 1
    if unchanged and unchanged == number and not arguments.sentence:
        message("rerank: the best tree of every sentence is the parser's first; --all draws it")
    for name in wanted:
        if name in found:
            continue
        if name not in by_number:
            raise InputError(f"{arguments.file}: no sentence {name}")
        yield by_number[name]


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


def _write_pictures(
    changes: Iterator[Change], arguments: argparse.Namespace, path: Path, kind: str
) -> None:
    """Write drawings, named after the sentences if ``path`` is a folder.

    Raises InputError for one file and several sentences.
    """
    from reranker.trees.svg import svg

    is_file = path.suffix == f".{kind}" and not path.is_dir()
    if is_file:
        few = list(itertools.islice(changes, 2))
        if len(few) > 1:
            raise InputError(
                f"{path}: more than one sentence to draw: pick one with --sentence, or name a "
                "folder instead of a file"
            )
        changes = iter(few)
    gold = treebank_files([arguments.gold] if arguments.gold else [])
    inputs = [arguments.file, *gold, *filter(None, [arguments.tokens])]
    names: set[str] = set()
    for change in changes:
        if change.best is None:
            continue
        if not (is_file or path.exists()) and path.parent.is_dir():
            with write_errors(path):
                path.mkdir()
        name = re.sub(r"[^\w.-]+", "_", change.id).lstrip(".")[:100] or "sentence"
        numbered = (f"{name}-{number}" for number in itertools.count(2))
        name = next(each for each in itertools.chain([name], numbered) if each not in names)
        names.add(name)
        picture = path if is_file else path / f"{name}.{kind}"
        write_picture(svg(change.titled()), kind, picture, inputs, is_named=is_file)
    drawn = counted(len(names), "sentence")
    message(f"rerank: drawings of {drawn} written to {path}")


class _Summary:
    """A count of sentences, with the brackets that corpus F1 and its p-value need."""

    def __init__(self) -> None:
        self.problems = 0
        self._counts: Counter[str] = Counter()
        self._first: list[tuple[int, int, int]] = []  # matched, gold and test brackets
        self._best: list[tuple[int, int, int]] = []

    def counted(self, changes: Iterable[Change]) -> Iterator[Change]:
        """Yield the sentences, unchanged, and count them."""
        for change in changes:
            self._counts["all"] += 1
            self._counts["changed"] += change.first is not None
            self._counts[change.verdict] += 1
            self.problems += change.problems
            if change.first_score and change.best_score:
                self._first.append(change.first_score.counts)
                self._best.append(change.best_score.counts)
                self.problems += change.best_score.status == "error"
            yield change

    def format(self) -> str:
        """Return how many sentences changed, which way, and F1 before and after."""
        counts = self._counts
        text = counted(counts["all"], "sentence")
        if counts["changed"]:
            text += f", {counts['changed']} with another tree than the parser's first"
        if not self._best:
            return text
        import numpy as np

        from reranker.evaluation.brackets import corpus_f1
        from reranker.evaluation.significance import randomisation_p

        first, best = np.array(self._first), np.array(self._best)
        if not counts["changed"]:
            return f"{text}, F1 {corpus_f1(best):.2f}"
        verdicts = (f"{counts[name]} {name}" for name in ("better", "worse", "equal"))
        return (
            f"{text}: {', '.join(verdicts)}\nF1 {corpus_f1(first):.2f} -> {corpus_f1(best):.2f}, "
            f"p = {randomisation_p(first, best):.4f} (approximate randomisation)"
        )
