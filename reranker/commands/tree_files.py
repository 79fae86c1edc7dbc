"""The files of `rerank grep` and `rerank measure`: treebanks, n-best lists and raw text, each
sentence with its trees and their probabilities."""

from __future__ import annotations

import argparse
import contextlib
import itertools
from collections.abc import Iterable, Iterator
from typing import Self

from reranker.commands import nbest_files, parse, parser_flags
from reranker.commands.arguments import number_from
from reranker.commands.progress import message
from reranker.errors import InputError, TreeError
from reranker.files.text import TextFile, open_text, read_lines
from reranker.nbest import NBest, Rejected, read_nbest
from reranker.nbest.dialects.registry import recognise
from reranker.nbest.guess import not_text
from reranker.nbest.words import encoding_fault
from reranker.parsers.language import LanguageCheck
from reranker.parsers.parser import temperature_of
from reranker.parsers.running import ParsedLists
from reranker.search.parses import Parses, from_nbest
from reranker.text.reading import CUT, Text, TextSentence
from reranker.text.splitting import Form
from reranker.trees.splitting import split_trees
from reranker.trees.tree import Tree
from reranker.trees.treebank import treebank_files

Source = str | TextFile  # the name of a file or, if it can be read only once, the opened file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the files, and the flags that say how to read and parse them."""
    add = parser.add_argument
    text = (
        "treebanks (folders, too), parsers' output, n-best lists or text; plain, .gz or .zst; - "
        "reads standard input"
    )
    add("files", nargs="+", metavar="FILE", help=text)
    text = (
        "what the files are: trees, running text, sentences one a line, or the same with a space "
        "between words (default: found out file by file; n-best lists: --format)"
    )
    add(
        "--as",
        dest="form",
        choices=("auto", "trees", "text", "sentences", "tokens"),
        default="auto",
        help=text,
    )
    parse.add_words(parser, "of a text: ")
    text = (
        "a tree's probability is in proportion to exp(score / T) (default: 1 for n-best lists; for "
        "text the parser's own)"
    )
    add("--temperature", type=number_from(0.01), metavar="T", help=text)
    nbest_files.add_reading_arguments(parser)
    parser_flags.add_choice(parser, longest=200)


class TreeFiles:
    """Iterates over the sentences of all files. Broken trees and sentences without any are named on
    standard error, and counted in ``rejected``."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Raises InputError for files that are not there and flags that do not fit together."""
        self._arguments = arguments
        self.files = treebank_files(arguments.files)
        if self.files.count("-") > 1:
            raise InputError("standard input (-) can be read only once")
        self.inputs = [*self.files, *map(str, parser_flags.inputs(arguments))]
        self.rejected = 0
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def __iter__(self) -> Iterator[Parses]:
        """Raises InputError for a file that is none of all this or cannot be read to its end, and
        if there is no sentence at all."""
        count = 0
        read = {"trees": self._trees, "lists": self._lists, "text": self._parsed}
        for kind, group in itertools.groupby(map(self._recognised, self.files), lambda e: e[0]):
            sources = [source for _, source in group]
            # One parser for text files that follow each other; of the others, file by file.
            for part in [sources] if kind == "text" else [[source] for source in sources]:
                before = count, self.rejected
                for parses in read[kind](part):
                    count += 1
                    yield parses
                if (count, self.rejected) == before:
                    self._reject(f"{', '.join(map(str, part))}: there is no sentence")
        if not count:
            raise InputError(f"{', '.join(self.files[:3])}: no sentence with a tree")

    def _recognised(self, path: str) -> tuple[str, Source]:
        """Whether a file is trees, lists or text."""
        form, given = self._arguments.form, self._arguments.format
        with contextlib.ExitStack() as closing:
            file = closing.enter_context(open_text(path))
            if given != "auto":
                kind = "trees" if given == "trees" else "lists"
            elif form != "auto":
                kind = "trees" if form == "trees" else "text"
            elif dialect := recognise(file.head().splitlines(keepends=True)):
                kind = "trees" if dialect.name == "trees" else "lists"
            elif error := not_text(file.name, file.head()):
                raise error
            else:
                kind = "text"
            if file.size is not None and path != "-":
                return kind, path
            closing.pop_all()
            return kind, file

    def reject(self, parses: Parses, reason: str) -> None:
        """Name a sentence that cannot be used after all."""
        self._reject(f"{parses.file}:{parses.line}: {reason}")

    def _reject(self, text: str) -> None:
        self.rejected += 1
        message(f"rerank: {text}")

    def _trees(self, sources: Iterable[Source]) -> Iterator[Parses]:
        for source in sources:
            for line, text in split_trees(read_lines(source)):
                try:
                    if fault := encoding_fault(text):
                        raise TreeError("encoding", fault)
                    tree = Tree.from_string(text)
                except TreeError as error:
                    self._reject(f"{source}:{line}: tree rejected, {error.code}: {error}")
                    continue
                yield Parses(str(source), line, (tree,))

    def _lists(self, sources: Iterable[Source]) -> Iterator[Parses]:
        options = nbest_files.options(self._arguments)
        has_said = False
        for source in sources:
            with contextlib.closing(read_nbest(source, options=options, warn=message)) as lists:
                for nbest in lists:
                    parses = self._from_nbest(nbest, self._arguments.temperature or 1.0)
                    if parses is None:
                        continue
                    if parses.probabilities is None and len(nbest.candidates) > 1 and not has_said:
                        has_said = True
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

    def _parsed(self, sources: Iterable[Source]) -> Iterator[Parses]:
        arguments = self._arguments
        form: Form = "text" if arguments.form == "auto" else arguments.form
        parser = parser_flags.parser_from(arguments)
        temperature = arguments.temperature or temperature_of(parser)
        text = Text(sources, form, arguments.words, arguments.longest)
        self._open.callback(text.close)
        parsing = ParsedLists(parser, self._named(text), parser_flags.jobs(arguments))
        self._open.callback(parsing.close)
        language = LanguageCheck(parser)
        was_cut = False
        for nbest in parsing:
            if nbest.origin and (warning := language.add(nbest.origin.file, nbest.words)):
                message(f"rerank: {warning}")
            unparsed = next((each for each in nbest.rejected if each.code == "unparsed"), None)
            is_cut = unparsed is not None and unparsed.message == CUT
            if unparsed is None:
                if parses := self._from_nbest(nbest, temperature):
                    yield parses
            elif not (is_cut and was_cut):  # of parts without an end of a sentence, the first
                self._reject(f"{unparsed.file}:{unparsed.line}: not parsed: {unparsed.message}")
            was_cut = is_cut
        if warning := language.end():
            message(f"rerank: {warning}")

    def _named(self, text: Text) -> Iterator[TextSentence]:
        for sentence in text:
            if sentence.warning:
                self._reject(sentence.warning)
            yield sentence
