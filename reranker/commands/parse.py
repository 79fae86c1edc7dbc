"""``rerank parse``: text in, the best tree of each sentence out."""

from __future__ import annotations

import argparse
import contextlib
import glob
import itertools
import os
from collections.abc import Iterator
from typing import Any

from reranker.commands import answers, parser_flags
from reranker.commands.arguments import positive
from reranker.commands.nbest_files import digest, print_rejected
from reranker.commands.progress import message
from reranker.errors import InputError
from reranker.files.patterns import expanded
from reranker.files.text import TextFile, open_text
from reranker.languages import ENGLISH
from reranker.nbest import NBest
from reranker.nbest.guess import not_text
from reranker.parsers.language import LanguageCheck
from reranker.parsers.parser import language_of
from reranker.parsers.running import ParsedLists
from reranker.ranking import Ranking
from reranker.text.conventions import CONVENTIONS, convention_of
from reranker.text.reading import CUT, Text, TextSentence
from reranker.text.splitting import LONGEST

EXAMPLES = """examples:
  echo "They served coffee and cake to the guests." | rerank parse -
  rerank parse book.txt.gz --output ranked --out book.jsonl
  rerank parse notes.txt --parser-command './my-parser --nbest 50' > trees.txt
  rerank parse notes.txt --parser bllip --parser command --parser-command ./my-parser
  rerank parse notes.txt --least-sure 20
  rerank parse one-a-line.txt --sentences --parser-model bllip-model/ --out trees.txt --resume

A sentence that cannot be parsed gets a flat tree and is named on standard error.

exit status: 0 success, 1 a sentence was not parsed or not read as it is written, or candidates were
rejected, 2 unusable files or flags, 3 out of memory, 130 interrupted, 141 the reader of standard
output closed it"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank parse`` to ``parser``."""
    add_text_arguments(parser, "+")
    text = (
        "instead of trees, write the N sentences whose trees are least sure, to be checked by hand "
        "first: confidence, place, the least probable bracket, its probability and words, and the "
        "sentence, with tabs between them"
    )
    parser.add_argument("--least-sure", type=positive, metavar="N", help=text)
    parser_flags.add_arguments(parser, longest=200)
    answers.add_arguments(parser)


def add_text_arguments(parser: argparse.ArgumentParser, number: str) -> None:
    """Add the flags that say which text to read, ``number`` files as in argparse's ``nargs``, and
    what its sentences and words are."""
    text = "text, plain, .gz or .zst; - reads standard input"
    parser.add_argument("text", nargs=number, metavar="FILE", help=text)
    form = parser.add_mutually_exclusive_group()
    text = "one sentence a line (default: running text)"
    form.add_argument(
        "--sentences",
        dest="form",
        action="store_const",
        const="sentences",
        default="text",
        help=text,
    )
    text = "one sentence a line, a space between words"
    form.add_argument("--tokens", dest="form", action="store_const", const="tokens", help=text)
    add_words(parser)


def add_words(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Add ``--words``; ``of`` says of which files, if not of all."""
    text = (
        f"{of}split words as GUM, CRAFT and OntoNotes 5 do (hyphens and slashes are words); "
        "as the Wall Street Journal's treebank does (they are not, and quotes become `` and ''); "
        "or those of other languages: at spaces and punctuation, as the Indonesian treebank does, "
        "Chinese words, or every Chinese character by itself (default: what the language has)"
    )
    parser.add_argument("--words", choices=CONVENTIONS, help=text)


def run(arguments: argparse.Namespace) -> int:
    """Parse and rerank as the flags say; returns the exit code."""
    answers.check(arguments)
    if arguments.least_sure and (arguments.resume or arguments.output != "best"):
        raise InputError("--least-sure cannot be combined with --output or --resume")
    if arguments.least_sure and "chart" not in parser_flags.names(arguments):
        raise InputError("--least-sure needs the parser chart; no other parser says how sure it is")
    paths = text_paths(arguments.text)
    with contextlib.ExitStack() as opened:
        lists: list[_Lists] = []

        def open_lists() -> _Lists:
            lists.append(_Lists(arguments, paths))
            opened.callback(lists[0].close)
            return lists[0]

        def settings() -> dict[str, Any]:
            return {
                "text": [digest(path) for path in paths],
                "form": arguments.form,
                "words": arguments.words or convention_of(arguments.language or ENGLISH),
                **parser_flags.settings(arguments),
            }

        arguments.models = parser_flags.models(arguments)
        parsers = parser_flags.names(arguments)
        say = _Rejections().say
        others = parser_flags.inputs(arguments)
        code = answers.write(
            arguments, paths, others, open_lists, settings, say, parsers=parsers,
            least_sure_count=arguments.least_sure,
        )  # fmt: skip
        return 1 if lists[0].faults else code


def text_paths(names: list[str]) -> list[str]:
    """The files of a text, patterns expanded. Raises InputError for what cannot be one."""
    _check_files(names)
    paths = expanded(names)
    if paths.count("-") > 1:
        raise InputError("standard input (-) can be read only once")
    for path in paths:
        if os.path.isdir(path):
            raise InputError(f"{path}: cannot be read: it is a directory")
    return paths


def _check_files(names: list[str]) -> None:
    """Raises InputError if a sentence, quoted or not, stands where files should be named."""
    if any(name == "-" or os.path.lexists(name) or glob.glob(name) for name in names):
        return
    words = " ".join(names).split()
    ends = words[-1:] and words[-1].endswith((".", "?", "!"))
    has_names = any("." in word.rstrip(".") or os.sep in word for word in words)
    if len(words) > 2 and (ends or not has_names):
        raise InputError(
            f"there is no file {names[0]!r}: text is read from files or, with -, from standard "
            'input: echo "..." | rerank parse -'
        )


def checked_text(path: str) -> str | TextFile:
    """The path, or the opened file if it can be read only once. Raises InputError unless it is
    text."""
    file = open_text(path)
    is_read_once = file.size is None or path == "-"
    try:
        if error := not_text(file.name, file.head()):
            raise error
    except BaseException:
        file.close()
        raise
    if is_read_once:
        return file
    file.close()
    return path


class _Lists:
    """The lists of a text's sentences, which are being parsed."""

    def __init__(self, arguments: argparse.Namespace, paths: list[str]) -> None:
        """Raises InputError for a wrong file, parser or flag, and for a text without words."""
        files = [checked_text(path) for path in paths]
        parser = parser_flags.parser_from(arguments)
        self._language = LanguageCheck.of(parser)
        self.faults = 0  # the number of sentences in which characters were replaced
        self.language = arguments.language or language_of(parser)  # of the text
        self._warn(parser_flags.of_another_language(parser, self.language))
        words = arguments.words or convention_of(self.language)
        self._text = Text(files, arguments.form, words, arguments.longest)
        sentences = self._named(self._text)
        first = next(sentences, None)
        if first is None:
            raise InputError(f"{', '.join(paths)}: no text")
        sentences = itertools.chain([first], sentences)
        self._parsing = ParsedLists(parser, sentences, parser_flags.jobs(arguments))
        if not arguments.resume:  # which sentences to begin with is not known yet
            self._parsing.start()

    @property
    def size(self) -> int | None:
        return self._text.size

    @property
    def position(self) -> int:
        return self._parsing.position

    def __next__(self) -> NBest:
        nbest = next(self._parsing, None)
        if nbest is None:
            self._warn(self._language.end())
            raise StopIteration
        if nbest.origin is not None:
            self._warn(self._language.add(nbest.origin.file, nbest.words))
        return nbest

    def _warn(self, warning: str | None) -> None:
        if warning:
            message(f"rerank: {warning}")

    def skip(self) -> NBest | None:
        """Skip a sentence without parsing it."""
        return self._parsing.skip()

    def close(self) -> None:
        """Stop the parser and close the files."""
        self._parsing.close()
        self._text.close()

    def _named(self, text: Text) -> Iterator[TextSentence]:
        for sentence in text:
            if sentence.warning:
                self.faults += 1
                message(f"rerank: {sentence.warning}")
            yield sentence


class _Rejections:
    """Prints what was rejected; of consecutive parts of one overlong sentence, only the first."""

    def __init__(self) -> None:
        self._was_cut = False

    def say(self, ranking: Ranking) -> None:
        unparsed = next((each for each in ranking.rejected if each.code == "unparsed"), None)
        is_cut = unparsed is not None and unparsed.message == CUT
        if unparsed is None:
            print_rejected(ranking)
        elif not is_cut:
            message(f"rerank: {unparsed.file}:{unparsed.line}: a flat tree: {unparsed.message}")
        elif not self._was_cut:
            message(
                f"rerank: {unparsed.file}:{unparsed.line}: {LONGEST:,} characters without an end "
                "of a sentence: from here to the next end, parts of this size get flat trees"
            )
        self._was_cut = is_cut
