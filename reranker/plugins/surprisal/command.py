"""``rerank surprisal``: text in, what each word costs a reader out."""

from __future__ import annotations

import argparse
import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reranker.checkpoints.ensemble_file import language_of_models, named_models
from reranker.commands import text_files
from reranker.commands.arguments import add_format, add_output, add_threads, counted
from reranker.commands.progress import ProgressBar, loading, message, print_rejected, rejection
from reranker.commands.resuming import opened_output, skip_written
from reranker.errors import InputError
from reranker.files.figure import new_figure, save_figure
from reranker.files.journal import AnswerOutput, journaled_path
from reranker.files.opening import expanded, input_digest
from reranker.files.output import output_paths
from reranker.files.records import Written
from reranker.nbest import NBest, NBestFiles, ReadOptions, read_nbest
from reranker.process.flags import positive
from reranker.process.machine import available_cores
from reranker.text.conventions import convention_of
from reranker.text.reading import Text, TextSentence

if TYPE_CHECKING:
    from reranker.plugins.surprisal.surprisal import SentenceSurprisal, SurprisalReader

EXAMPLES = """examples:
  echo "The horse raced past the barn fell." | rerank surprisal -
  rerank surprisal stories.txt --beam 200 --unit nats --out stories.tsv
  rerank surprisal items.txt --sentences --output json --out items.jsonl --resume
  rerank surprisal items.txt --sentences --plot items.png

One row a word; docs/surprisal.md says what the columns are.

exit status: 0 success, 1 a sentence was not read or not as it is written, 2 unusable files or
flags, 3 out of memory, 130 interrupted, 141 the reader of standard output closed it"""

USAGE = "%(prog)s FILE [FILE ...] [flags]"
GROUPS = {
    "everyday flags": "text --sentences --tokens --models --output --unit --plot --out --resume",
    "input": "--words --nbest --format",
    "limits": "--beam --rows --longest --threads",
}

MOST_DRAWN = 20
"""Sentences of a picture."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank surprisal`` to ``parser``."""
    text_files.add_arguments(parser, "*")
    text = (
        "instead of a text, a parser's n-best lists: the same sums over their trees, called "
        "hindsight, since a list was made knowing the whole sentence"
    )
    add = parser.add_argument
    add("--nbest", nargs="+", metavar="FILE", help=text)
    add_format(parser, "of the lists")
    text = (
        "forward language models with one vocabulary, whose probabilities are averaged token by "
        "token (default: the first one of the ensemble that `rerank models` says)"
    )
    add("--models", nargs="+", metavar="FILE.pt", help=text)
    text = (
        "partial trees that are kept at each word; ten times as many are tried between two words "
        "(default: %(default)s)"
    )
    add("--beam", type=positive, default=100, metavar="K", help=text)
    add("--unit", choices=("bits", "nats"), default="bits", help="default: %(default)s")
    text = (
        "a row for each word as it is written, up to the next white space, or for each of the "
        "tokens that it is split into (default: %(default)s)"
    )
    add("--rows", choices=("word", "token"), default="word", help=text)
    text = "tsv: a row a word; json: a line a sentence (default: %(default)s)"
    add("--output", choices=("tsv", "json"), default="tsv", help=text)
    text = (
        f"also draw the first {MOST_DRAWN} sentences, a bar for each word (.svg and .pdf too; "
        "needs matplotlib)"
    )
    add("--plot", type=Path, metavar="FILE.png", help=text)
    text = "do not read longer sentences (default: %(default)s)"
    add("--longest", type=positive, default=300, metavar="WORDS", help=text)
    add_output(parser)
    add_threads(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read the sentences as the flags say; return the exit code."""
    if bool(arguments.text) == bool(arguments.nbest):
        raise InputError("name either files of text or, after --nbest, n-best lists")
    paths = expanded(arguments.nbest) if arguments.nbest else text_files.text_paths(arguments.text)
    inputs = [*paths, *(arguments.models or ()), *named_models(arguments.models).paths]
    out = journaled_path(arguments.out, inputs)
    picture, _ = output_paths((arguments.plot, arguments.out), inputs)
    figure = new_figure(picture) if picture is not None else None
    with contextlib.closing(_Sentences(arguments, paths)) as sentences:
        with loading("models"):
            reader = _reader(arguments)
        drawn: list[SentenceSurprisal] = []
        settings = _settings(arguments, paths, reader)
        with opened_output(out, arguments, paths, settings) as output:
            for each in _read(reader, sentences, output, arguments):
                if figure is not None and len(drawn) < MOST_DRAWN and each.measures:
                    drawn.append(each)
    if figure is not None and picture is not None:
        from reranker.plugins.surprisal.plot import draw

        draw(figure, drawn)
        save_figure(figure, picture)
    if sentences.faults:
        message(f"rerank: {counted(sentences.faults, 'sentence')} not read as written")
    return 1 if sentences.faults or sentences.others else 0


def _reader(arguments: argparse.Namespace) -> SurprisalReader:
    from reranker.plugins.surprisal.beam import Width
    from reranker.plugins.surprisal.forward import load_forward
    from reranker.plugins.surprisal.surprisal import SurprisalReader

    models = load_forward(arguments.models)
    return SurprisalReader(models, Width(arguments.beam), arguments.unit, arguments.rows)


def _settings(
    arguments: argparse.Namespace, paths: list[str], reader: SurprisalReader
) -> dict[str, Any]:
    """Return the settings that the rows depend on."""
    names = ("form", "words", "longest", "beam", "unit", "rows", "output", "format")
    return {
        "text": [input_digest(path) for path in paths],
        "models": [member.sha256 for member in reader.models.members],
        **{name: getattr(arguments, name) for name in names},
    }


def _read(
    reader: SurprisalReader,
    sentences: _Sentences,
    output: AnswerOutput,
    arguments: argparse.Namespace,
) -> Iterator[SentenceSurprisal]:
    """Write the rows of every sentence that an interrupted run has not written."""
    from reranker.plugins.surprisal.table import heading, json_line, tsv_rows

    for _, record in skip_written(output, sentences):
        sentences.finish(is_fine=record.best_index is not None)
    first = output.kept
    is_tsv = arguments.output == "tsv"
    with sentences.progress() as progress:
        threads = arguments.threads or available_cores()
        for each in reader.read(sentences, threads, first + 1):
            answer = tsv_rows(each) if is_tsv else json_line(each, reader)
            if is_tsv and each.number == 1:
                answer = f"{heading(each, reader)}\n{answer}"
            if each.measures is None:
                rejection(f"rerank: {each.source.place}: not read: {each.problem}")
            is_fine = each.measures is not None and each.source.fault is None
            if each.nbest is not None:
                print_rejected(each.nbest, each.number)
                is_fine = is_fine and not each.nbest.rejected
            record = Written(0 if is_fine else None, 0, 0, 0)
            with contextlib.nullcontext() if arguments.out else progress.hidden():
                output.write(answer, record, (each.nbest or each.source).digest())
            sentences.finish(is_fine)
            yield each


class _Sentences:
    """An iterator over the sentences of a text, or over lists, that reports the characters it
    replaces, and counts."""

    def __init__(self, arguments: argparse.Namespace, paths: list[str]) -> None:
        """Open the file. Raises InputError for a wrong file, and for a text without words."""
        self._text: Text | None = None
        self._lists: NBestFiles | None = None
        self._iterator: Iterator[TextSentence | NBest]
        self.others = 0
        """Files that are not text."""
        if arguments.nbest:
            self._lists = read_nbest(*paths, options=ReadOptions(arguments.format))
            self.size, self._iterator = self._lists.size, iter(self._lists)
        else:
            files, self.others = text_files.checked_texts(paths)
            words = arguments.words or convention_of(language_of_models(arguments.models))
            self._text = Text(files, arguments.form, words, arguments.longest)
            self.size, self._iterator = self._text.size, iter(self._text)
        first = next(self._iterator, None)
        if first is None:
            raise InputError(f"{', '.join(paths)}: no {'lists' if arguments.nbest else 'text'}")
        self.position = 0
        self.faults = 0
        """Sentences that were not read, or not as they are written."""
        self._progress = ProgressBar(self)
        read = self._located(itertools.chain([first], self._iterator))
        self._iterator = self._progress.read(read)

    def __iter__(self) -> Iterator[TextSentence | NBest]:
        return self._iterator

    def _located(self, sentences: Iterator[TextSentence | NBest]) -> Iterator[TextSentence | NBest]:
        for given in sentences:
            if isinstance(given, TextSentence):
                self.position = given.position
                if given.warning:
                    rejection(f"rerank: {given.warning}")
            elif self._lists is not None:
                self.position = self._lists.position
            yield given

    def finish(self, is_fine: bool) -> None:
        """Count a sentence as written."""
        self.faults += not is_fine
        self._progress.finish_list()

    @contextlib.contextmanager
    def progress(self) -> Iterator[ProgressBar]:
        """Show how much of the text is finished."""
        self._progress.start()
        try:
            yield self._progress
            self._progress.finish()
        finally:
            self._progress.close()

    def close(self) -> None:
        if self._text is not None:
            self._text.close()
