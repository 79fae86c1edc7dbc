"""The files of `rerank grep` and `rerank measure`: treebanks, n-best lists and raw text, each
sentence with its trees and their probabilities."""

from __future__ import annotations

import argparse
import contextlib
import itertools
from collections.abc import Iterable, Iterator
from typing import Literal, Self

from reranker.commands import nbest_files, parser_flags
from reranker.commands.arguments import number_from
from reranker.commands.progress import message
from reranker.errors import InputError, TreeError
from reranker.files.text import TextFile, open_text, read_lines
from reranker.nbest import NBest, Rejected, read_nbest
from reranker.nbest.dialects.registry import recognise
from reranker.nbest.guess import not_text
from reranker.nbest.words import encoding_fault
from reranker.parsers.language import LanguageCheck
from reranker.parsers.running import ParsedLists
from reranker.search.parses import Parses, from_nbest
from reranker.text.reading import CUT, Text, TextSentence
from reranker.text.splitting import Form
from reranker.trees.splitting import split_trees
from reranker.trees.tree import Tree
from reranker.trees.treebank import treebank_files

Kind = Literal["trees", "lists", "text"]
Source = str | TextFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the files, and the flags that say how to read and parse them."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="treebanks (folders, too), parsers' output, n-best lists or text; plain, .gz or .zst; "
        "- reads standard input",
    )
    parser.add_argument(
        "--as",
        dest="form",
        choices=("auto", "trees", "text", "sentences", "tokens"),
        default="auto",
        help="what the files are: trees, running text, sentences one a line, or the same with a "
        "space between words (default: found out file by file; n-best lists: --format)",
    )
    parser.add_argument(
        "--words",
        choices=("gum", "wsj"),
        default="gum",
        help="how to split the words of a text (default: %(default)s; docs/parsing.md)",
    )
    parser.add_argument(
        "--temperature",
        type=number_from(0.01),
        metavar="T",
        help="a tree's probability is in proportion to exp(score / T) (default: 1 for n-best "
        "lists; for text the parser's own)",
    )
    nbest_files.add_reading_arguments(parser)
    parser_flags.add_choice(parser, longest=200)


class TreeFiles:
    """Iterates over the sentences of all files. Broken trees and sentences without any are named on
    standard error, and counted."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Raises InputError for files that are not there and flags that do not fit together."""
        self._arguments = arguments
        self.files = treebank_files(arguments.files)
        if self.files.count("-") > 1:
            raise InputError("standard input (-) can be read only once")
        self.inputs = [*self.files, *map(str, parser_flags.inputs(arguments))]
        self.sentences = self.rejected = 0
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def __iter__(self) -> Iterator[Parses]:
        """Raises InputError for a file that is none of all this, that cannot be read to its end,
        and if there is no sentence at all."""
        sources = ((self._kind(file), file) for file in self.files)
        opened = ((kind, source) for (kind, source), _ in sources)
        for kind, group in itertools.groupby(opened, key=lambda entry: entry[0]):
            paths = (source for _, source in group)
            if kind == "text":
                yield from self._counted(self._parsed(paths))
            else:
                for path in paths:
                    before = self.sentences + self.rejected
                    yield from self._counted(
                        self._trees(path) if kind == "trees" else self._lists(path)
                    )
                    if self.sentences + self.rejected == before:
                        self._reject(f"{path}: there is no tree")
        if not self.sentences:
            raise InputError(f"{', '.join(map(str, self.files[:3]))}: no sentence with a tree")

    def _counted(self, sentences: Iterable[Parses]) -> Iterator[Parses]:
        for parses in sentences:
            self.sentences += 1
            yield parses

    def _kind(self, path: str) -> tuple[Kind, Source]:
        """What a file is; it is given opened if it can be read only once."""
        file = open_text(path)
        is_read_once = file.size is None or path == "-"
        source: Source = file if is_read_once else path
        try:
            kind = self._kind_of(file)
        except BaseException:
            file.close()
            raise
        if not is_read_once:
            file.close()
        return kind, source

    def _kind_of(self, file: TextFile) -> Kind:
        form, given = self._arguments.form, self._arguments.format
        if given != "auto":
            return "trees" if given == "trees" else "lists"
        if form != "auto":
            return "trees" if form == "trees" else "text"
        dialect = recognise(file.head().splitlines(keepends=True))
        if dialect is not None:
            return "trees" if dialect.name == "trees" else "lists"
        if error := not_text(file.name, file.head()):
            raise error
        return "text"

    def reject(self, parses: Parses, reason: str) -> None:
        """Name a sentence that cannot be used after all."""
        self._reject(f"{parses.file}:{parses.line}: {reason}")

    def _reject(self, text: str) -> None:
        self.rejected += 1
        message(f"rerank: {text}")

    def _trees(self, source: Source) -> Iterator[Parses]:
        name = source.name if isinstance(source, TextFile) else source
        for line, text in split_trees(read_lines(source)):
            try:
                if fault := encoding_fault(text):
                    raise TreeError("encoding", fault)
                tree = Tree.from_string(text)
            except TreeError as error:
                self._reject(f"{name}:{line}: tree rejected, {error.code}: {error}")
                continue
            yield Parses(name, line, (tree,))

    def _lists(self, source: Source) -> Iterator[Parses]:
        arguments = self._arguments
        lists = read_nbest(source, options=nbest_files.options(arguments), warn=message)
        temperature = arguments.temperature or 1.0
        says_so = True
        with contextlib.closing(lists):
            for nbest in lists:
                parses = self._from_nbest(nbest, temperature)
                if parses is None:
                    continue
                if says_so and parses.probabilities is None and len(nbest.candidates) > 1:
                    says_so = False
                    message(
                        f"rerank: {parses.file}:{parses.line}: trees without scores: only the "
                        "first of such a list is read, and its probability is not known"
                    )
                yield parses

    def _from_nbest(self, nbest: NBest, temperature: float) -> Parses | None:
        nbest_files.print_rejected(nbest)
        self.rejected += len(nbest.rejected)
        return from_nbest(nbest, temperature, self._reject_candidate)

    def _reject_candidate(self, rejected: Rejected) -> None:
        place = f"{rejected.file}:{rejected.line}"
        self._reject(f"{place}: candidate rejected, {rejected.code}: {rejected.message}")

    def _parsed(self, paths: Iterable[Source]) -> Iterator[Parses]:
        arguments = self._arguments
        form: Form = "text" if arguments.form == "auto" else arguments.form
        parser = parser_flags.parser_from(arguments)
        temperature = arguments.temperature or getattr(parser, "temperature", 1.0)
        text = Text(paths, form, arguments.words, arguments.longest)
        self._open.callback(text.close)
        parsing = ParsedLists(parser, self._named(text), parser_flags.jobs(arguments))
        self._open.callback(parsing.close)
        language = LanguageCheck(parser)
        was_cut = False
        for nbest in parsing:
            if nbest.origin is not None and (
                warning := language.add(nbest.origin.file, nbest.words)
            ):
                message(f"rerank: {warning}")
            unparsed = next((each for each in nbest.rejected if each.code == "unparsed"), None)
            if unparsed is not None:
                # Of parts that follow each other without an end of a sentence, the first is named.
                is_cut = unparsed.message == CUT
                if is_cut and was_cut:
                    self.rejected += 1
                else:
                    self._reject(f"{unparsed.file}:{unparsed.line}: not parsed: {unparsed.message}")
                was_cut = is_cut
            elif parses := self._from_nbest(nbest, temperature):
                was_cut = False
                yield parses
        if warning := language.end():
            message(f"rerank: {warning}")

    def _named(self, text: Text) -> Iterator[TextSentence]:
        for sentence in text:
            if sentence.warning:
                self._reject(sentence.warning)
            yield sentence
