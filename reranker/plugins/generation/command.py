"""``rerank generate``: trees, translations or headlines by encoder-decoders."""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reranker.checkpoints.ensemble_file import named_models
from reranker.commands.arguments import add_output, add_threads, counted
from reranker.commands.progress import Bar, loading, message
from reranker.commands.resuming import opened_output, skip_written
from reranker.errors import InputError
from reranker.files.journal import journaled_path
from reranker.files.opening import file_sha256, input_digest, text_digest
from reranker.files.records import Written
from reranker.files.text import open_text, read_lines
from reranker.nbest.tokens_file import read_sentences
from reranker.nbest.words import split_words
from reranker.process.flags import number_from, positive

if TYPE_CHECKING:
    from reranker.plugins.generation.beam_search import Hypothesis

EXAMPLES = """examples:
  rerank generate --models parser.pt --source sentences.txt --out parses.fairseq
  rerank generate --models parser-*.pt --source sentences.txt --beam 50 |
      rerank --nbest - --models ckpt/*.pt
  rerank generate --models en-de.pt --source test.en.gz --format text --nbest 1 --out test.out.de

exit status: 0 success, 1 a sentence has no words, 2 unusable files or flags, 3 out of
memory, 130 interrupted"""

_OUTPUT, _NO_WORDS = Written(0, 0, 0, 0), Written(None, 0, 0, 0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``rerank generate`` to ``parser``."""
    add = parser.add_argument
    text = (
        "encoder-decoders of `rerank train`, with one vocabulary; their probabilities are averaged"
    )
    add("--models", required=True, nargs="+", metavar="FILE.pt", help=text)
    text = "sentences, one a line, words between spaces; .gz and .zst too (default: stdin)"
    add("--source", default="-", metavar="FILE", help=text)
    add_output(parser)
    add("--beam", type=positive, default=10, metavar="K", help="hypotheses (default: %(default)s)")
    text = "outputs of each sentence to write (default: as many as --beam)"
    add("--nbest", type=positive, metavar="N", help=text)
    text = (
        "order outputs by log P / length ** A: 0 is log P itself, 1 its mean over tokens (default: "
        "%(default)s)"
    )
    add("--length-power", type=number_from(0), default=1.0, metavar="A", help=text)
    text = (
        "fairseq: S, H and P lines, which `rerank --nbest` reads; text: outputs alone, a line each "
        "(default: %(default)s)"
    )
    add("--format", choices=("fairseq", "text"), default="fairseq", help=text)
    add("--device", default="cpu", metavar="cpu|cuda")
    add_threads(parser)


def run(arguments: argparse.Namespace) -> int:
    """Generate as the flags say; return the exit code."""
    count = arguments.nbest or arguments.beam
    if count > arguments.beam:
        raise InputError(f"--nbest {count}: a beam of {arguments.beam} has no more outputs")
    paths = named_models(arguments.models).paths
    out = journaled_path(arguments.out, [arguments.source, *paths])
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
    settings = {
        "models": [file_sha256(path) for path in paths],
        "source": input_digest(arguments.source),
        "search": [arguments.beam, count, arguments.length_power, arguments.format],
    }
    counts = Counter[str]()
    with opened_output(out, arguments, [arguments.source], settings) as output:
        is_parser = members[0].vocabulary.task == "parsing"
        sentences = _sentences(arguments.source, is_parser)
        for _, record in skip_written(output, sentences):
            counts.update(record.counts())
        given, read = itertools.tee(sentences)
        beam = BeamSettings(arguments.beam, arguments.length_power)
        lists = generate(members, read, beam, str(device))
        with Bar("generating", " sentences") as bar:
            bar.add(counts["sentences"])
            for outputs in lists:
                words = next(given)
                text = _text(counts["sentences"], words, outputs[:count], arguments.format)
                record = _OUTPUT if words else _NO_WORDS
                output.write(text, record, words.digest())
                counts.update(record.counts())
                bar.add(1)
    if empty := counts["failed"]:
        are_empty = f"{counted(empty, 'sentence')} without words {'has' if empty == 1 else 'have'}"
        message(f"rerank: {are_empty} no output")
    return 1 if empty else 0


class _Sentence(tuple[str, ...]):
    """The words of a sentence."""

    def digest(self) -> str:
        """Return by what the sentence is recognised when it is read again."""
        return text_digest(*self)


def _sentences(source: str, is_parser: bool) -> Iterator[_Sentence]:
    """Yield the sentences; those for a parser are spelled as in trees."""
    if is_parser:
        return (_Sentence(sentence.words) for sentence in read_sentences(source))
    lines = read_lines(open_text(source, streams=True))
    return (_Sentence(split_words(line)) for line in lines)


def _text(number: int, words: Sequence[str], outputs: Sequence[Hypothesis[str]], form: str) -> str:
    """Return a sentence's outputs, without the last line break."""
    if form == "text":
        return "\n".join(" ".join(each.tokens) for each in outputs)
    from reranker.plugins.generation.beam_search import fairseq_text

    return fairseq_text(number, words, outputs)
