"""The way from files to output for `rerank grep` and `rerank measure`: treebanks, n-best lists
and raw text, each sentence with its trees and their probabilities. The messages about each file
are kept, so that a run with ``--out`` can be resumed."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from reranker.commands import nbest_files, parser_flags, text_files
from reranker.commands.arguments import add_output
from reranker.commands.progress import message, print_rejected, rejection
from reranker.commands.resuming import opened_output, skip_written
from reranker.errors import InputError, KindError, TreeError
from reranker.files.journal import journaled_path
from reranker.files.kinds import refuse_other_than_trees
from reranker.files.opening import input_digest, text_digest
from reranker.files.output import standard_output
from reranker.files.records import Written
from reranker.files.text import TextFile, encoding_fault, open_text, read_lines
from reranker.nbest import NBest, Rejected, read_nbest
from reranker.nbest.candidates import score_warnings
from reranker.nbest.dialects.registry import recognise
from reranker.nbest.words import printable
from reranker.parsers.parser import CANDIDATES
from reranker.plugins.grep.parses import Parses, from_nbest, has_every_score
from reranker.process.flags import number_from
from reranker.text.reading import CUT, refuse_other_than_text
from reranker.text.splitting import Form
from reranker.trees.treebank import Remarks, TreeReader, TreeText, treebank_files

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
    text_files.add_words(parser, "of a text: ")
    text = (
        "a tree's probability is in proportion to exp(score / T) (default: 1 for n-best lists; for "
        "text the parser's own)"
    )
    add("--temperature", type=number_from(0.01), metavar="T", help=text)
    nbest_files.add_reading_arguments(parser)
    parser_flags.add_choice(parser, longest=200)
    # Sums over the trees of a sentence need more of them than choosing the best one does.
    parser.set_defaults(candidates=CANDIDATES)
    add_output(parser)


def groups(everyday: str) -> dict[str, str]:
    """Return the groups of flags of a command that has these everyday ones."""
    others = "--words --format --tokens --repair --no-repair --beam"
    return {
        "everyday flags": everyday,
        "input": " ".join(flag for flag in others.split() if flag not in everyday.split()),
        "parser": "--parser --parser-command --parser-model --candidates --overparsing "
        "--temperature",
        "limits": "--longest --parser-seconds --jobs",
    }


class SourceSentence(NamedTuple):
    """A sentence of the files."""

    read_digest: str
    """By which it is recognised when it is read again."""
    parses: Parses | None = None
    """None if no tree of it can be used, and if it was skipped."""
    rejected: int = 0
    """Trees that were rejected, or 1 if it was not parsed; each was named on standard error."""

    def digest(self) -> str:
        """Return by what the sentence is recognised when it is read again."""
        return self.read_digest


Read = Callable[[Parses], Any]
"""What there is to say about a sentence, as plain data. May raise TreeError."""
Table = Callable[[Iterator[Any]], Iterator[str]]
"""The text of the output, piece by piece, from what was said about every sentence."""


class TreeFiles:
    """The sentences of all files. Broken trees and sentences without any are named on standard
    error, and counted in ``rejected``."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Open the files. Raises InputError for missing files and flags that do not fit
        together."""
        self._arguments = arguments
        self.files = treebank_files(arguments.files)
        if self.files.count("-") > 1:
            raise InputError("standard input (-) can be read only once")
        self._choice = parser_flags.choice(arguments)
        self.inputs = [*self.files, *map(str, parser_flags.inputs(self._choice))]
        self.rejected = 0
        self._usable = 0
        self._is_skipping = False
        self._remarks = Remarks(_say)
        self._open = contextlib.ExitStack()
        recognised = self._all_recognised()
        first = next(recognised, None)  # before anything is written
        self._recognised_files = itertools.chain([first] if first else [], recognised)
        self._sentences = self._all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def write(
        self, read: Read, table: Table, flags: Sequence[str], *, is_painted: bool = False
    ) -> int:
        """Write what ``table`` makes of what ``read`` says about each sentence, to standard output
        or to ``--out``; return the exit code. ``flags`` are those on which that depends;
        ``is_painted`` is for visible text in colours.

        Raises InputError for a file that is none of all this or cannot be read to its end, and if
        no sentence has a tree.
        """
        arguments = self._arguments
        out = journaled_path(arguments.out, self.inputs)
        settings = self._settings(flags) if out else {}

        def finish(answers: Iterable[str]) -> Iterable[str]:
            return table(said for said in map(json.loads, answers) if said is not None)

        with opened_output(out, arguments, self.files, settings, finish) as output:
            if out is None:
                writer = standard_output()
                for text in table(said for said, _ in self._said(read) if said is not None):
                    writer.write(text, is_painted=is_painted)
            else:
                for _, record in skip_written(output, iter(self._skip, None)):
                    self._count(record)
                for said, sentence in self._said(read):
                    output.write(json.dumps(said), _record(sentence), sentence.digest())
        return 1 if self.rejected else 0

    def _said(self, read: Read) -> Iterator[tuple[Any, SourceSentence]]:
        self._is_skipping = False
        for sentence in self._sentences:
            said = None
            if sentence.parses is not None:
                try:
                    said = read(sentence.parses)
                except TreeError as error:
                    _say(f"{sentence.parses.file}:{sentence.parses.line}: left out: {error}")
                    sentence = sentence._replace(rejected=sentence.rejected + 1)
            self._count(_record(sentence))
            yield said, sentence
        if not self._usable:
            raise InputError(f"{', '.join(self.files[:3])}: no sentence with a tree")

    def _skip(self) -> SourceSentence | None:
        """Skip a sentence without parsing it; None if there is none left."""
        self._is_skipping = True
        return next(self._sentences, None)

    def _count(self, record: Written) -> None:
        self._usable += record.best_index is not None
        self.rejected += record.rejected

    def _settings(self, flags: Sequence[str]) -> dict[str, Any]:
        """Return the settings that the output depends on."""
        names = ("form", "words", "temperature", *flags)
        parser: dict[str, Any] = {}
        with contextlib.suppress(InputError):  # there is none, and only a text needs one
            parser = parser_flags.identity(self._choice, self._arguments)
        return {
            "files": [input_digest(file) for file in self.files],
            **nbest_files.reading_settings(self._arguments),
            **parser,
            **{name: getattr(self._arguments, name) for name in names},
        }

    def _all(self) -> Iterator[SourceSentence]:
        read = {"trees": self._trees, "lists": self._lists, "text": self._parsed}
        for kind, group in itertools.groupby(self._recognised_files, lambda each: each[0]):
            sources = [source for _, source in group]
            # One parser for text files that follow each other; of the others, file by file.
            for part in [sources] if kind == "text" else [[source] for source in sources]:
                is_empty = True
                for sentence in read[kind](part):
                    is_empty = False
                    yield sentence
                if is_empty and kind != "text":
                    self._reject(f"{', '.join(map(str, part))}: there is no sentence")

    def _all_recognised(self) -> Iterator[tuple[str, Source]]:
        """Yield the kind of each file, and the file. A file of another kind is named, if it is not
        the only file."""
        for path in self.files:
            try:
                yield self._recognised(path)
            except KindError as error:
                if len(self.files) == 1:
                    raise
                self._reject(str(error))

    def _recognised(self, path: str) -> tuple[str, Source]:
        """Return whether a file is trees, lists or text, and the file. Raises KindError if it is
        none of them."""
        form, given = self._arguments.form, self._arguments.format
        with contextlib.ExitStack() as closing:
            file = closing.enter_context(open_text(path, streams=True))
            start = file.head()
            if given != "auto":
                kind = "trees" if given == "trees" else "lists"
            elif form != "auto":
                kind = "trees" if form == "trees" else "text"
            elif name := recognise(start.splitlines(keepends=True)):
                kind = "trees" if name == "trees" else "lists"
            else:
                kind = "text"
            if kind == "text":
                refuse_other_than_text(file.name, start)
            elif kind == "trees":
                refuse_other_than_trees(file.name, start)
            if file.size is not None and path != "-":
                return kind, path
            self._open.push(closing.pop_all())
            return kind, file

    def _reject(self, text: str) -> None:
        """Name what belongs to no sentence that is written."""
        self.rejected += 1
        _say(text)

    def _trees(self, sources: Iterable[Source]) -> Iterator[SourceSentence]:
        for source in sources:
            for piece in TreeReader(str(source), read_lines(source), self._remarks):
                if not piece.text:
                    continue
                place = TreeText(str(source), piece.line, piece.text, piece.problem)
                digest = text_digest(place.file, str(place.line), place.text)
                if self._is_skipping:
                    yield SourceSentence(digest)
                    continue
                try:
                    if fault := encoding_fault(place.text):
                        raise TreeError("encoding", fault)
                    tree = place.tree()
                except TreeError as error:
                    _say(f"{place}: tree rejected, {error.code}: {error}")
                    yield SourceSentence(digest, None, 1)
                    continue
                yield SourceSentence(digest, Parses(place.file, place.line, (tree,)))

    def _lists(self, sources: Iterable[Source]) -> Iterator[SourceSentence]:
        options = nbest_files.options(self._arguments)
        has_said = False
        warned: set[str] = set()
        for source in sources:
            with contextlib.closing(read_nbest(source, options=options, warn=rejection)) as lists:
                for number, nbest in enumerate(lists, 1):
                    if self._is_skipping:
                        yield SourceSentence(nbest.digest())
                        continue
                    if len(nbest.candidates) > 1 and has_every_score(nbest):
                        for warning in score_warnings(nbest, warned):
                            message(f"rerank: {warning}")
                    sentence = _from_nbest(nbest, self._arguments.temperature or 1.0, number)
                    parses = sentence.parses
                    if parses is None and not sentence.rejected:
                        _say(f"{source}:{nbest.line}: a list without a tree")
                        sentence = sentence._replace(rejected=1)
                    is_scored = len(nbest.candidates) == 1 or has_every_score(nbest)
                    if parses is not None and not is_scored and not has_said:
                        has_said = True
                        message(
                            f"rerank: {parses.file}:{parses.line}: trees without scores: only the "
                            "first of such a list is read, and its probability is not known"
                        )
                    yield sentence

    def _parsed(self, sources: Iterable[Source]) -> Iterator[SourceSentence]:
        arguments = self._arguments
        form: Form = "text" if arguments.form == "auto" else arguments.form
        text = text_files.ParsedText(arguments, self._choice, sources, form)
        self._open.callback(text.close)
        temperature = arguments.temperature or text.temperature
        was_cut = False
        unseen = {_origin_of(source): source for source in sources}
        for number in itertools.count(1):
            nbest = text.skip() if self._is_skipping else next(text, None)
            if nbest is None:
                break
            if nbest.origin is not None:
                unseen.pop(nbest.origin.file, None)
            if self._is_skipping:
                yield SourceSentence(nbest.digest())
                continue
            unparsed = next((each for each in nbest.rejected if each.code == "unparsed"), None)
            is_cut = unparsed is not None and unparsed.message == CUT
            if unparsed is None:
                yield _from_nbest(nbest, temperature, number)
            elif is_cut and was_cut:  # of parts without an end of a sentence, the first is named
                yield SourceSentence(nbest.digest())
            else:
                _say(f"{unparsed.file}:{unparsed.line}: not parsed: {unparsed.message}")
                yield SourceSentence(nbest.digest(), None, 1)
            was_cut = is_cut
        self.rejected += text.faults
        for source in unseen.values():
            self._reject(f"{source}: there is no sentence")


def _origin_of(source: Source) -> str:
    """Return the name of a text in the origins of its sentences."""
    return printable(source.name if isinstance(source, TextFile) else str(Path(source)))


def _from_nbest(nbest: NBest, temperature: float, number: int) -> SourceSentence:
    print_rejected(nbest, number)
    rejected = [*nbest.rejected]

    def reject(each: Rejected) -> None:
        rejected.append(each)
        _say(f"{each.file}:{each.line}: candidate rejected, {each.code}: {each.message}")

    digest = nbest.digest()
    parses = from_nbest(nbest, temperature, reject)
    return SourceSentence(digest, parses, len(rejected))


def _record(sentence: SourceSentence) -> Written:
    return Written(None if sentence.parses is None else 0, 0, sentence.rejected, 0)


def _say(text: str) -> None:
    rejection(f"rerank: {text}")
