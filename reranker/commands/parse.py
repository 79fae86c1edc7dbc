"""``rerank parse``: text in, the best tree of each sentence out."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

from reranker.commands import answers, parser_flags, text_files
from reranker.commands.nbest_files import digest, print_rejected
from reranker.commands.progress import rejection
from reranker.errors import InputError
from reranker.languages import ENGLISH
from reranker.process.flags import positive
from reranker.ranking import Ranking
from reranker.text.conventions import convention_of
from reranker.text.reading import CUT
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
    text_files.add_arguments(parser, "+")
    text = (
        "instead of trees, write the N sentences whose trees are least sure, to be checked by hand "
        "first: confidence, place, the least probable bracket, its probability and words, and the "
        "sentence, with tabs between them"
    )
    parser.add_argument("--least-sure", type=positive, metavar="N", help=text)
    parser_flags.add_arguments(parser, longest=200)
    answers.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Parse and rerank as the flags say; returns the exit code."""
    answers.check(arguments)
    if arguments.least_sure and (arguments.resume or arguments.output != "best"):
        raise InputError("--least-sure cannot be combined with --output or --resume")
    if arguments.least_sure and "chart" not in parser_flags.names(arguments):
        raise InputError("--least-sure needs the parser chart; no other parser says how sure it is")
    paths = text_files.text_paths(arguments.text)
    with contextlib.ExitStack() as opened:
        lists: list[text_files.ParsedText] = []

        def open_lists() -> text_files.ParsedText:
            sources, others = text_files.checked_texts(paths)
            text = text_files.ParsedText(arguments, sources, arguments.form)
            text.faults += others
            lists.append(text)
            opened.callback(text.close)
            if text.is_empty:
                raise InputError(f"{', '.join(paths)}: no text")
            if not arguments.resume:  # which sentences to begin with is not known yet
                text.start()
            return text

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
            rejection(f"rerank: {unparsed.file}:{unparsed.line}: a flat tree: {unparsed.message}")
        elif not self._was_cut:
            rejection(
                f"rerank: {unparsed.file}:{unparsed.line}: {LONGEST:,} characters without an end "
                "of a sentence: from here to the next end, parts of this size get flat trees"
            )
        self._was_cut = is_cut
