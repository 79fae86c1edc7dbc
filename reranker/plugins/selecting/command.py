"""``rerank select``: the sentences of a text whose annotation teaches a parser most."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reranker.commands import parser_flags
from reranker.commands.arguments import counted
from reranker.commands.progress import message
from reranker.errors import InputError
from reranker.plugins.grep.parses import Parses
from reranker.plugins.grep.tree_files import TreeFiles, groups
from reranker.plugins.grep.tree_files import add_arguments as add_files
from reranker.plugins.selecting.choosing import POOL, Budget, Chosen, Uncertain, choose
from reranker.plugins.selecting.sentence import (
    MOST_NEW,
    annotated_sentences,
    check_language,
    uncertain,
)
from reranker.process.flags import number_from, whole_number
from reranker.trees.treebank import treebank_files

EXAMPLES = """examples:
  rerank select notes.txt -n 50 > next.tsv
  rerank select corpus/*.txt --budget 3000 --output trees --out next.mrg --resume
  rerank select notes.txt --annotated treebank/ --parser-model mine.pt > next.tsv

The first sentence is the one of whose tree the parser is least sure, word for word.
docs/commands/select.md explains the choice and the columns.

exit status: 0 success; 1 some sentences were left out; 2 unusable files or flags;
3 out of memory; 130 interrupted; 141 the reader of standard output closed it"""

USAGE = "%(prog)s FILE [FILE ...] [-n N] [flags]"
GROUPS = groups("files --number --budget --annotated --as --output --out --resume --language")
GROUPS["limits"] += " --most-new"

_COLUMNS = ("file", "line", "words", "entropy", "entropy_a_word", "sentence", "tree")
_MOST = POOL // 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank select`` to ``parser``."""
    add_files(parser)
    parser.set_defaults(candidates=None)
    add = parser.add_argument
    text = f"how many sentences, at most {_MOST:,} (default: 200, without --budget)"
    add("--number", "-n", type=whole_number(1, _MOST), metavar="N", help=text)
    text = "how many words to annotate, in all"
    add("--budget", type=whole_number(1), metavar="WORDS", help=text)
    text = "leave out near-duplicates of the sentences of these treebanks"
    add("--annotated", nargs="+", default=[], metavar="TREEBANK", help=text)
    text = (
        "tsv: place, entropy, sentence and the parser's tree to correct; trees: the trees alone "
        "(default: %(default)s)"
    )
    add("--output", choices=("tsv", "trees"), default="tsv", help=text)
    text = (
        "leave out sentences with a greater share of words that are new to the parser, most likely "
        "of another language; 1 for a parser that knows few words (default: %(default)s)"
    )
    add("--most-new", type=number_from(0, 1), default=MOST_NEW, metavar="SHARE", help=text)


def run(arguments: argparse.Namespace) -> int:
    """Write the sentences to annotate; return the exit code."""
    if arguments.number is None and arguments.budget is None:
        arguments.number = 200
    choice = parser_flags.choice(arguments)
    is_sure = choice.names == ["chart"] and not arguments.temperature
    if is_sure and not arguments.candidates:
        arguments.candidates = 1  # the entropy is of all trees
    annotated = treebank_files(arguments.annotated)
    for name in annotated:
        if not Path(name).is_file():
            raise InputError(f"{name}: a treebank of --annotated must be a file or a folder")
        next(annotated_sentences([name]))  # before a text is parsed for hours
    with TreeFiles(arguments) as files:
        files.inputs += annotated
        unknown: Any = None

        def read(parses: Parses) -> tuple[Any, ...]:
            nonlocal unknown
            if parses.certainty is not None and unknown is None:
                # The model is loaded once for all parsers.
                unknown = getattr(choice.create(), "unknown_words", lambda _: 0)
            found = uncertain(parses)
            if parses.certainty is not None:
                check_language(found.words.split(" "), unknown, arguments.most_new)
            return found

        def table(said: Iterator[list[Any]]) -> Iterator[str]:
            numbers = itertools.count()
            sentences = (Uncertain(*row) for row, _ in zip(said, numbers, strict=False))
            budget = Budget(arguments.number, arguments.budget)
            chosen = choose(sentences, budget, annotated_sentences(annotated) if annotated else ())
            message(_summary(chosen, next(numbers), files.rejected))
            yield from _written(chosen.sentences, arguments.output)

        return files.write(read, table, ("number", "budget", "annotated", "output", "most_new"))


def _written(sentences: list[Uncertain], output: str) -> Iterator[str]:
    if output == "tsv":
        yield "\t".join(_COLUMNS) + "\n"
    for each in sentences:
        if output == "trees":
            yield f"{each.tree}\n"
            continue
        numbers = each.line, each.length, f"{each.entropy:.4g}", f"{each.value:.4g}"
        cells = each.file, *map(str, numbers), each.text, each.tree
        yield "\t".join(" ".join(cell.split()) for cell in cells) + "\n"


def _summary(chosen: Chosen, total: int, rejected: int) -> str:
    parts = [
        f"chose {len(chosen.sentences):,} of {counted(total, 'sentence')}, {chosen.words:,} words",
        f"left out: {chosen.same:,} with the same words, {chosen.near_chosen:,} nearly like chosen "
        f"ones, {chosen.near_annotated:,} nearly like annotated ones",
    ]
    if rejected:
        parts[-1] += f", {rejected:,} that could not be used"
    if chosen.is_search_cut:
        parts.append("its sentences share too many words to look for all near-duplicates")
    if chosen.is_pool_used_up:
        parts.append(f"only the {POOL:,} of the greatest entropy a word were compared")
    return "rerank: " + "; ".join(parts)
