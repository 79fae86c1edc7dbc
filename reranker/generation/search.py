"""Sentences -> outputs, in the order of the sentences, batched by length."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from reranker.checkpoints.encoder_decoder_file import Generator
from reranker.generation.beam import BeamSettings, Hypothesis, beam_search
from reranker.models.batch import source_batch

_AHEAD = 320  # sentences that are read to fill batches
_ROWS = 320  # hypotheses under way at a time
_MOST_FOR_ONE = {"parsing": 6, "text": 2}  # tokens for a position; a tree has three for a word
_MOST_MORE = 20


class Generated(NamedTuple):
    """One output of a sentence."""

    tokens: list[str]  # the tokens of a tree, or words
    log_probability: float
    """The log-probability in nats; for an ensemble, from the average of its probabilities of each
    token."""
    score: float  # the number by which outputs are ordered


def generate(
    members: Sequence[Generator],
    sentences: Iterable[Sequence[str]],
    beam: BeamSettings = BeamSettings(),
    device: str = "cpu",
) -> Iterator[list[Generated]]:
    """At most ``beam.size`` outputs for each sentence, best first; none for a sentence without
    words.

    The members share their vocabulary, whose unknown symbol is never generated. Sentences are read
    a few hundred at a time.
    """
    vocabulary = members[0].vocabulary
    beam = BeamSettings(beam.size, beam.length_power, (*beam.banned, vocabulary.unknown))
    waiting = iter(sentences)
    while chunk := list(itertools.islice(waiting, _AHEAD)):
        hypotheses: dict[int, list[Hypothesis]] = {}
        sources = {number: vocabulary.encode_source(words) for number, words in enumerate(chunk)}
        order = sorted((n for n in sources if sources[n]), key=lambda n: len(sources[n]))
        step = max(1, _ROWS // beam.size)
        for start in range(0, len(order), step):
            numbers = order[start : start + step]
            some = [sources[number] for number in numbers]
            batch = source_batch(some).to(device)
            longest = [_MOST_FOR_ONE[vocabulary.task] * len(each) + _MOST_MORE for each in some]
            models = [member.model for member in members]
            outputs = beam_search(models, batch, longest, vocabulary.eos, beam)
            hypotheses.update(zip(numbers, outputs, strict=True))
        for number in range(len(chunk)):
            yield [
                Generated(vocabulary.decode(each.tokens), each.log_probability, each.score)
                for each in hypotheses.get(number, [])
            ]


def fairseq_text(number: int, words: Sequence[str], outputs: Sequence[Generated]) -> str:
    """A sentence's outputs as fairseq prints them, which `rerank --nbest` reads; without the last
    line break."""
    lines = [f"S-{number}\t{' '.join(words)}"]
    for each in outputs:
        lines.append(f"H-{number}\t{each.score / math.log(2):.15g}\t{' '.join(each.tokens)}")
        lines.append(f"P-{number}\t{each.log_probability / math.log(2):.15g}")
    return "\n".join(lines)
