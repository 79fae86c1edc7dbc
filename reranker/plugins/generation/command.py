"""``rerank generate``: trees, translations or headlines by encoder-decoders."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from reranker.checkpoints.ensemble_file import named_models
from reranker.commands.arguments import add_output, add_threads, destination
from reranker.commands.progress import ProgressBar, loading, message
from reranker.errors import InputError
from reranker.files.opening import file_sha256, input_digest, text_digest
from reranker.files.records import AnswerCounts
from reranker.files.text import open_text, read_lines
from reranker.files.visible import counted
from reranker.nbest.tokens_file import read_sentences
from reranker.nbest.words import split_words
from reranker.outputs.form import Form
from reranker.process.flags import number_from, positive
from reranker.work import loop
from reranker.work.loop import Identity, Job, Source
from reranker.work.sinks import TextSink

if TYPE_CHECKING:
    from reranker.plugins.generation.beam_search import Hypothesis

LESS_MEMORY = "a smaller --beam takes less"

EXAMPLES = """examples:
  rerank generate --models parser.pt --source sentences.txt --out parses.fairseq
  rerank generate --models parser-*.pt --source sentences.txt --beam 50 |
      rerank --nbest - --models ckpt/*.pt
  rerank generate --models en-de.pt --source test.en.gz --format text --nbest 1 --out test.out.de

exit status: 0 success, 1 a sentence has no words, 2 unusable files or flags, 3 out of
memory, 130 interrupted"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank generate`` to ``parser``."""
    add = parser.add_argument
    text = (
        "encoder-decoders of `rerank train`, with one vocabulary; their probabilities are averaged"
    )
    add("--models", required=True, nargs="+", metavar="FILE.pt", help=text)
    text = (
        "sentences, one per line, a space between words: plain, .gz or .zst (default: standard "
        "input)"
    )
    add("--source", default="-", metavar="FILE", help=text)
    add_output(parser)
    add(
        "--beam",
        type=positive,
        default=10,
        metavar="K",
        help=("hypotheses to keep while decoding (default: %(default)s)"),
    )
    text = "outputs to write per sentence (default: as many as --beam)"
    add("--nbest", type=positive, metavar="N", help=text)
    text = (
        "order outputs by log P / length ** A: 0 is log P itself, 1 its mean over tokens (default: "
        "%(default)s)"
    )
    add("--length-power", type=number_from(0), default=1.0, metavar="A", help=text)
    text = (
        "fairseq: S, H and P lines, which `rerank --nbest` reads; text: only the outputs, one per "
        "line (default: %(default)s)"
    )
    add("--format", choices=("fairseq", "text"), default="fairseq", help=text)
    add("--device", default="cpu", metavar="cpu|cuda")
    add_threads(parser)


def run(arguments: argparse.Namespace) -> int:
    """Generate as the flags say; return the exit code."""
    count = arguments.nbest or arguments.beam
    if count > arguments.beam:
        raise InputError(
            f"--nbest {count}: a beam of {arguments.beam} has only {arguments.beam} outputs"
        )
    paths = named_models(arguments.models).paths
    out = destination(arguments, [arguments.source])
    with loading("PyTorch"):
        import torch

        from reranker.checkpoints.members import devices
        from reranker.plugins.generation.beam_search import BeamSettings, generate
        from reranker.plugins.generation.encoder_decoder_file import load_generators
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    (device, *more) = devices(arguments.device)
    if more:
        raise InputError(f"--device {arguments.device}: generating uses a single device")
    members = load_generators(paths, str(device))
    is_parser = members[0].vocabulary.task == "parsing"
    sentences = _Sentences(arguments.source, is_parser=is_parser)
    beam = BeamSettings(arguments.beam, arguments.length_power)
    settings = {
        "models": [file_sha256(path) for path in paths],
        "search": [arguments.beam, count, arguments.length_power, arguments.format],
    }
    job = _Generate(lambda read: generate(members, read, beam, str(device)), count, settings)
    form = _Text() if arguments.format == "text" else _Fairseq()
    counts = loop.run(sentences, job, TextSink(form, out), ProgressBar(sentences))
    if empty := counts["failed"]:
        are_empty = f"{counted(empty, 'sentence')} without words {'has' if empty == 1 else 'have'}"
        message(f"rerank: {are_empty} no output")
    return 1 if empty else 0


class _Sentence(tuple[str, ...]):
    """The words of a sentence."""

    def digest(self) -> str:
        """Return a digest that identifies the sentence when it is read again."""
        return text_digest(*self)


class _Sentences(Source[_Sentence]):
    """The sentences of a file; those for a parser are spelled as in trees."""

    def __init__(self, source: str, *, is_parser: bool) -> None:
        self._source = source
        if is_parser:
            words: Iterable[Sequence[str]] = (each.words for each in read_sentences(source))
        else:
            words = map(split_words, read_lines(open_text(source, streams=True)))
        super().__init__(map(_Sentence, words))

    def identity(self) -> Identity:
        return {"source": input_digest(self._source)}


Outputs = Sequence["Hypothesis[str]"]


class _Generate(Job[_Sentence, tuple[_Sentence, Outputs]]):
    """The job of generating the ``count`` best outputs."""

    def __init__(
        self,
        generate: Callable[[Iterator[_Sentence]], Iterator[Outputs]],
        count: int,
        settings: Identity,
    ) -> None:
        self._generate, self._count, self._settings = generate, count, settings

    def identity(self) -> Identity:
        return self._settings

    def answers(
        self, sentences: Iterable[_Sentence]
    ) -> Iterator[tuple[_Sentence, tuple[_Sentence, Outputs]]]:
        """Generate, several sentences at once."""
        given, read = itertools.tee(sentences)
        for outputs in self._generate(read):
            words = next(given)
            yield words, (words, outputs[: self._count])

    def counts(self, sentence: _Sentence, answer: object) -> AnswerCounts:
        """Count a sentence without words as failed."""
        return AnswerCounts(0 if sentence else None, 0, 0, 0)


class _Text(Form[tuple[_Sentence, Outputs]]):
    """The outputs alone, one per line."""

    def line(self, answer: tuple[_Sentence, Outputs], number: int) -> str:
        return "\n".join(" ".join(each.tokens) for each in answer[1])


class _Fairseq(Form[tuple[_Sentence, Outputs]]):
    """The outputs as fairseq prints them."""

    def line(self, answer: tuple[_Sentence, Outputs], number: int) -> str:
        from reranker.plugins.generation.beam_search import fairseq_text

        return fairseq_text(number - 1, *answer)
