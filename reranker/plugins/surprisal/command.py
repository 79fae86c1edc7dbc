"""``rerank surprisal``: text in, the surprisal of each word out."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from reranker.checkpoints.ensemble_file import language_of_models
from reranker.commands import text_flags
from reranker.commands.arguments import add_format, add_output, add_table, add_threads, destination
from reranker.commands.progress import ProgressBar, loading, message, rejection
from reranker.errors import InputError
from reranker.files.figure import new_figure, save_figure
from reranker.files.opening import expanded, shown_path
from reranker.files.output import output_path
from reranker.files.visible import counted
from reranker.nbest import NBest, ReadOptions
from reranker.process.flags import positive
from reranker.process.machine import available_cores
from reranker.text.conventions import convention_of
from reranker.text.reading import TextSentence
from reranker.work import loop
from reranker.work.loop import Source
from reranker.work.nbest_files import NBestLists, log_rejected
from reranker.work.sinks import TextSink
from reranker.work.texts import TextSentences, TextSettings, recognised_texts, text_paths

if TYPE_CHECKING:
    from reranker.outputs.form import Form
    from reranker.plugins.surprisal.surprisal import SentenceSurprisal

EXAMPLES = """examples:
  echo "The horse raced past the barn fell." | rerank surprisal -
  rerank surprisal stories.txt --beam 200 --unit nats --out stories.tsv
  rerank surprisal items.txt --sentences --csv --out items.csv --resume
  rerank surprisal items.txt --sentences --plot items.png

docs/surprisal.md explains the columns.

exit status: 0 success, 1 a sentence was not read or not as it is written, 2 unusable files or
flags, 3 out of memory, 130 interrupted, 141 the reader of standard output closed it"""

USAGE = "%(prog)s FILE [FILE ...] [flags]"
GROUPS = {
    "everyday flags": "text --sentences --tokens --csv --json --unit --plot --out --resume",
    "input": "--prose --speakers --words --nbest --format --models",
    "limits": "--beam --rows --longest --threads",
}

MOST_DRAWN = 20
"""Sentences of a picture."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank surprisal`` to ``parser``."""
    text_flags.add_arguments(parser, "*")
    text = (
        "read a parser's n-best lists instead of a text, and sum over their trees; the columns "
        "are called hindsight, because the parser has seen the whole sentence"
    )
    add = parser.add_argument
    add("--nbest", nargs="+", metavar="FILE", help=text)
    add_format(parser, "format of the lists")
    text = (
        "forward language models with one vocabulary; their probabilities are averaged (default: "
        "the first in the default ensemble)"
    )
    add("--models", nargs="+", metavar="FILE.pt", help=text)
    text = (
        "partial trees kept at each word; between two words ten times as many are tried "
        "(default: %(default)s)"
    )
    add("--beam", type=positive, default=100, metavar="K", help=text)
    add(
        "--unit",
        choices=("bits", "nats"),
        default="bits",
        help=("unit of surprisal (default: %(default)s)"),
    )
    text = (
        "a row per word as it is written between spaces, or per token, into which words are "
        "split (default: %(default)s)"
    )
    add("--rows", choices=("word", "token"), default="word", help=text)
    add_table(parser, "sentence")
    text = (
        f"also draw the first {MOST_DRAWN} sentences, a bar for each word (.svg and .pdf too; "
        "needs matplotlib)"
    )
    add("--plot", type=Path, metavar="FILE.png", help=text)
    text = "leave out sentences of more words (default: %(default)s)"
    add("--longest", type=positive, default=300, metavar="WORDS", help=text)
    add_output(parser)
    add_threads(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read the sentences as the flags say; return the exit code."""
    if bool(arguments.text) == bool(arguments.nbest):
        raise InputError("name either files of text or, after --nbest, n-best lists")
    paths = expanded(arguments.nbest) if arguments.nbest else text_paths(arguments.text)
    picture = output_path(arguments.plot, paths)
    out = destination(arguments, paths, outputs=[picture])
    figure = new_figure(picture) if picture is not None else None
    source, others = _source(arguments, paths)
    with contextlib.closing(source):
        with loading("models"):
            from reranker.plugins.surprisal.beam import Width
            from reranker.plugins.surprisal.forward import load_forward
            from reranker.plugins.surprisal.surprisal import (
                COLUMNS,
                Surprisal,
                SurprisalReader,
                named_hindsight,
            )
            from reranker.plugins.surprisal.table import JsonLines, Table

            reader = SurprisalReader(
                load_forward(arguments.models),
                Width(arguments.beam),
                arguments.unit,
                arguments.rows,
            )
            settings = {
                name: getattr(arguments, name) for name in ("beam", "unit", "rows", "csv", "json")
            }
            job = Surprisal(reader, arguments.threads or available_cores(), settings)
            columns = named_hindsight(COLUMNS) if arguments.nbest else COLUMNS
            form: Form[SentenceSurprisal] = (
                JsonLines(reader)
                if arguments.json
                else Table(reader, columns, has_commas=arguments.csv)
            )
        drawn: list[SentenceSurprisal] = []

        def report(sentence: SentenceSurprisal, number: int) -> None:
            if figure is not None and len(drawn) < MOST_DRAWN and sentence.measures:
                drawn.append(sentence)
            if sentence.measures is None:
                rejection(f"rerank: {sentence.source.place}: not read: {sentence.problem}")
            if sentence.nbest is not None:
                log_rejected(sentence.nbest, number)

        progress = ProgressBar(source, report)
        counts = loop.run(source, job, TextSink(form, out), progress)
    if figure is not None and picture is not None:
        from reranker.plugins.surprisal.plot import draw

        draw(figure, drawn)
        save_figure(figure, picture)
    if counts["failed"]:
        message(f"rerank: {counted(counts['failed'], 'sentence')} not read as written")
    return 1 if counts["failed"] or others else 0


def _source(
    arguments: argparse.Namespace, paths: list[str]
) -> tuple[Source[TextSentence] | Source[NBest], int]:
    """Open the text, or the lists; return the number of files that are not text, too. Raises
    InputError for a wrong file, and for a text without words."""
    if arguments.nbest:
        return NBestLists(paths, ReadOptions(arguments.format), describe=lambda _: None), 0
    files, others = recognised_texts(paths)
    words = arguments.words or convention_of(language_of_models(arguments.models))
    settings = TextSettings(arguments.form, words, arguments.longest, speakers=arguments.speakers)
    text = TextSentences(files, settings)
    if text.is_empty:
        raise InputError(f"{', '.join(map(shown_path, paths))}: no text")
    return text, others
