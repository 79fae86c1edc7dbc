"""``rerank parse``: text in, the best tree of each sentence out."""

from __future__ import annotations

import argparse
import contextlib

from reranker.commands import parser_flags, ranking_flags, text_flags
from reranker.commands.arguments import destination, exit_code, summary
from reranker.commands.least_sure import LeastSure, WithLists
from reranker.commands.progress import ProgressBar, message
from reranker.errors import InputError
from reranker.files.opening import shown_path
from reranker.process.flags import positive
from reranker.work import loop
from reranker.work.ranking import Rank, warn_of_language
from reranker.work.sinks import TextSink
from reranker.work.texts import ParsedText, UnparsedLog, recognised_texts, text_paths

LESS_MEMORY = "fewer --threads or a smaller ensemble (--models) take less, fewer --jobs too"

EXAMPLES = """examples:
  echo "They served coffee and cake to the guests." | rerank parse -
  rerank parse notes.txt --output brackets --csv > brackets.csv
  rerank parse book.txt.gz --output ranked --out book.jsonl
  rerank parse notes.txt --parser-command './my-parser --nbest 50' > trees.txt
  rerank parse notes.txt --parser bllip --parser command --parser-command ./my-parser
  rerank parse notes.txt --least-sure 20
  rerank parse one-a-line.txt --sentences --parser-model bllip-model/ --out trees.txt --resume

A sentence that cannot be parsed gets a flat tree and is named on standard error.

exit status: 0 success, 1 a sentence was not parsed or not read as it is written, or candidates were
rejected, 2 unusable files or flags, 3 out of memory, 130 interrupted, 141 the reader of standard
output closed it"""

USAGE = "%(prog)s [flags] FILE [FILE ...]"
GROUPS = {
    "everyday flags": (
        "text --sentences --language --parser --models --output --out --resume --least-sure"
    ),
    "input": "--tokens --prose --speakers --words --format --beam",
    "models": (
        "--parser-command --parser-model --candidates --overparsing --sha256 --lm-weight "
        "--criterion --combine"
    ),
    "output": "--csv --top --token-scores",
    "limits": "--longest --parser-seconds --jobs --threads --device --precision",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank parse`` to ``parser``."""
    text_flags.add_arguments(parser, "+")
    text = (
        "write a table of the N least certain sentences, each with its doubtful bracket, instead "
        "of trees"
    )
    parser.add_argument("--least-sure", type=positive, metavar="N", help=text)
    text = "write commas, not tabs, between columns (--output brackets, --least-sure)"
    parser.add_argument("--csv", action="store_true", help=text)
    parser_flags.add_arguments(parser, longest=200)
    ranking_flags.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Parse and rerank as the flags say; returns the exit code."""
    choice = parser_flags.choice(arguments)
    is_sure, count = "chart" in choice.names, arguments.least_sure
    if count and not is_sure:
        raise InputError("--least-sure needs the parser chart; other parsers give no probabilities")
    if count and arguments.output != "best":
        raise InputError("--least-sure cannot be combined with --output")
    table = {"least_sure": count, "csv": arguments.csv}
    if count:
        arguments.csv = False  # there is no table of --output
    settings = ranking_flags.settings(arguments, choice)
    paths = text_paths(arguments.text)
    out = destination(arguments, paths, parser_flags.inputs(choice))
    choice = choice if count else settings.parser_for(choice)
    texts, others = recognised_texts(paths)
    text = ParsedText(texts, text_flags.settings(arguments), choice)
    with contextlib.closing(text):
        if text.is_empty:
            raise InputError(f"{', '.join(map(shown_path, paths))}: no text")
        if not arguments.resume:  # which sentences to begin with is not known yet
            text.start()
        reranker = ranking_flags.load(settings)
        warn_of_language(text.language, reranker)
        job = Rank(reranker, settings, parsers=text.parsers)
        log = UnparsedLog()
        if count:
            progress = ProgressBar(text, lambda answer, number: log(answer[0], number))
            form = LeastSure(count, has_commas=table["csv"])
            counts = loop.run(text, WithLists(job, table), TextSink(form, out), progress)
        else:
            counts = loop.run(text, job, TextSink(settings.form, out), ProgressBar(text, log))
    code = exit_code(counts)
    if code or counts["sentences"] > 1:  # else the tree says it all
        message(summary(counts))
    return 1 if others or text.faults else code
