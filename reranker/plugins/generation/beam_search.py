"""Beam search with an ensemble of encoder-decoders, many sentences at a time, batched by length.

Each step extends every hypothesis of a beam by one token and keeps the best by log-probability; all
have the same length, so no normalisation is needed among them. A hypothesis that ends is scored by
log P / length ** ``length_power``, ``<eos>`` counted in its length: 0 is log P itself, 1 the mean
over tokens, as in the parser of Suzuki et al. (2018). A sentence is done once as many hypotheses as
its beam has have ended, and the best of the others, if it ended now, would not be among them; with
``length_power`` 0 that loses nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from reranker.models.batch import source_batch
from reranker.models.encoder_decoder import AttendedSource, DecoderState, EncoderDecoder
from reranker.plugins.generation.encoder_decoder_file import Generator

_AHEAD = 320  # sentences that are read to fill batches
_ROWS = 320  # hypotheses under way at a time
_MOST_FOR_ONE = {"parsing": 6, "text": 2}  # tokens for a position; a tree has three for a word
_MOST_MORE = 20
_IMPOSSIBLE = -math.inf


T = TypeVar("T", int, str)


class Hypothesis(NamedTuple, Generic[T]):
    """One output of a sentence."""

    tokens: Sequence[T]  # of a tree, or words, or ids of tokens; without ``<eos>``
    log_probability: float
    """The log-probability of the tokens and ``<eos>`` in nats; for an ensemble, from the average of
    its probabilities of each token."""
    score: float  # the number by which a sentence's hypotheses are ordered; greater is better


@dataclass(frozen=True, slots=True)
class BeamSettings:
    """The settings of a search."""

    size: int = 10
    length_power: float = 0.0
    banned: tuple[int, ...] = ()
    """Tokens that are never generated, such as ``<unk>``; the others' probabilities are not
    changed."""

    def score(self, log_probability: float, length: int) -> float:
        """Return the score of a hypothesis of ``length`` tokens, ``<eos>`` included."""
        return log_probability / math.pow(length, self.length_power)


@torch.no_grad()
def beam_search(
    models: Sequence[EncoderDecoder],
    source: Tensor,
    longest: Sequence[int],
    eos: int,
    beam: BeamSettings = BeamSettings(),
) -> list[list[Hypothesis[int]]]:
    """Return for each sentence of ``source`` [S, B, F] at most ``beam.size`` hypotheses, best
    first, none with more than ``longest`` tokens of its sentence (``<eos>`` not counted).

    The models share their vocabularies; their probabilities are averaged. Fewer hypotheses than
    ``beam.size`` come back only where fewer exist.
    """
    search = _BeamSearch(models, source, longest, eos, beam)
    while search.sentences:
        search.step()
    return search.finished


class _BeamSearch:
    """The hypotheses under way: ``beam.size`` rows for each sentence that is not done."""

    def __init__(
        self,
        models: Sequence[EncoderDecoder],
        source: Tensor,
        longest: Sequence[int],
        eos: int,
        beam: BeamSettings,
    ) -> None:
        self.models, self.longest, self.eos, self.beam = models, longest, eos, beam
        self.sentences = list(range(source.shape[1]))  # the hypotheses that are not finished
        self.finished: list[list[Hypothesis[int]]] = [[] for _ in self.sentences]
        count = len(self.sentences)
        repeated = torch.arange(count, device=source.device).repeat_interleave(beam.size)
        self.memories: list[AttendedSource] = []
        self.states: list[DecoderState] = []
        for model in models:
            memory, state = model.encode(source)
            self.memories.append(memory)
            self.states.append(_rows(state, repeated))
        self.tokens = source.new_full((0, count * beam.size), eos)
        """The tokens each row has generated, [T, rows]."""
        self.scores = torch.full((count, beam.size), _IMPOSSIBLE, device=source.device)
        self.scores = self.scores.to(models[0].embedding.dtype)
        self.scores[:, 0] = 0.0  # the rows of a sentence begin alike
        """log P of each row's tokens; -inf for an unused row."""

    def step(self) -> None:
        """Extend every row by a token."""
        table = self._next_tokens()
        size, words = self.beam.size, table.shape[-1]
        joint = (self.scores.unsqueeze(-1) + table).flatten(1)  # [B, beam * V]
        # Of twice the beam, at least half do not end.
        best, places = joint.topk(min(2 * size, joint.shape[1]), dim=1)
        rows, tokens = places // words, places % words
        kept: list[int] = []
        for place, number in enumerate(self.sentences):
            columns = (part[place].tolist() for part in (best, rows, tokens))
            ranked = list(zip(*columns, strict=True))
            self._finish(number, place, ranked[:size])
            if not self._is_done(number, ranked):
                kept.append(place)
        self._extend(kept, best, rows, tokens)
        self.sentences = [self.sentences[place] for place in kept]

    def _next_tokens(self) -> Tensor:
        """Return log P of each token after each row, [B, beam, V], averaged over models."""
        device = self.scores.device
        read = self.tokens[-1:] if len(self.tokens) else None
        if read is None:
            read = torch.full((1, self.scores.numel()), self.eos, device=device)
        tables = []
        for number, model in enumerate(self.models):
            features, self.states[number] = model(read, self.memories[number], self.states[number])
            tables.append(model.log_probabilities(features)[0])
        table = torch.logsumexp(torch.stack(tables), dim=0) - math.log(len(tables))
        table = table.view(*self.scores.shape, -1)
        if self.beam.banned:
            table[..., list(self.beam.banned)] = _IMPOSSIBLE
        length = len(self.tokens)
        at_end = torch.tensor([length >= self.longest[number] for number in self.sentences])
        if bool(at_end.any()):
            is_other = torch.arange(table.shape[-1], device=device) != self.eos
            table[at_end.to(device).view(-1, 1, 1) & is_other.expand_as(table)] = _IMPOSSIBLE
        return table

    def _finish(self, number: int, place: int, ranked: list[tuple[float, int, int]]) -> None:
        """Keep the hypotheses that end here, the best ``beam.size`` of all."""
        mine = self.finished[number]
        for log_probability, row, token in ranked:
            if token == self.eos and log_probability > _IMPOSSIBLE:
                ids = tuple(self.tokens[:, place * self.beam.size + row].tolist())
                score = self.beam.score(log_probability, len(ids) + 1)
                mine.append(Hypothesis(ids, log_probability, score))
        mine.sort(key=lambda hypothesis: -hypothesis.score)
        del mine[self.beam.size :]

    def _is_done(self, number: int, ranked: list[tuple[float, int, int]]) -> bool:
        alive = [log for log, _, token in ranked if token != self.eos and log > _IMPOSSIBLE]
        if not alive:
            return True
        mine = self.finished[number]
        best = self.beam.score(alive[0], len(self.tokens) + 1)
        return len(mine) == self.beam.size and mine[-1].score >= best

    def _extend(self, kept: list[int], best: Tensor, rows: Tensor, tokens: Tensor) -> None:
        """Make the best unfinished hypotheses the rows of the next step, for the sentences not
        done."""
        where = torch.tensor(kept, device=best.device, dtype=torch.long)
        best, rows, tokens = best[where], rows[where], tokens[where]
        best = best.masked_fill(tokens == self.eos, _IMPOSSIBLE)
        # Stable, so that equally likely ones keep their order.
        order = best.argsort(dim=1, descending=True, stable=True)[:, : self.beam.size]
        missing = self.beam.size - order.shape[1]  # with a vocabulary smaller than the beam
        if missing:
            order = torch.cat([order, order[:, :1].expand(-1, missing)], dim=1)
        self.scores = best.gather(1, order)
        if missing:
            self.scores[:, -missing:] = _IMPOSSIBLE
        chosen = (rows.gather(1, order) + where.unsqueeze(1) * self.beam.size).flatten()
        new = tokens.gather(1, order).flatten()
        self.tokens = torch.cat([self.tokens[:, chosen], new.unsqueeze(0)])
        self.states = [_rows(state, chosen) for state in self.states]
        if len(kept) < len(self.sentences):
            self.memories = [memory.rows(where) for memory in self.memories]


def _rows(state: DecoderState, which: Tensor) -> DecoderState:
    return tuple(tuple(part[which] for part in layer) for layer in state)


def generate(
    members: Sequence[Generator],
    sentences: Iterable[Sequence[str]],
    beam: BeamSettings = BeamSettings(),
    device: str = "cpu",
) -> Iterator[list[Hypothesis[str]]]:
    """Yield at most ``beam.size`` outputs for each sentence, best first; none for a sentence
    without words.

    The members share their vocabulary, whose unknown symbol is never generated. Sentences are read
    a few hundred at a time.
    """
    vocabulary = members[0].vocabulary
    beam = BeamSettings(beam.size, beam.length_power, (*beam.banned, vocabulary.unknown))
    waiting = iter(sentences)
    while chunk := list(itertools.islice(waiting, _AHEAD)):
        hypotheses: dict[int, list[Hypothesis[int]]] = {}
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
                Hypothesis(vocabulary.decode(each.tokens), each.log_probability, each.score)
                for each in hypotheses.get(number, [])
            ]


def fairseq_text(number: int, words: Sequence[str], outputs: Sequence[Hypothesis[str]]) -> str:
    """Return a sentence's outputs as fairseq prints them, for `rerank --nbest` to read; without the
    last line break."""
    lines = [f"S-{number}\t{' '.join(words)}"]
    for each in outputs:
        lines.append(f"H-{number}\t{each.score / math.log(2):.15g}\t{' '.join(each.tokens)}")
        lines.append(f"P-{number}\t{each.log_probability / math.log(2):.15g}")
    return "\n".join(lines)
