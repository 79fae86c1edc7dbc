"""The built-in parser: a chart over the scores of a span model (reranker.chart)."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from reranker.chart.best import Derivation, Gains, charts
from reranker.chart.bracketed import best_tags, bracketed
from reranker.chart.k_best import k_best
from reranker.chart.marginals import marginals_of_each
from reranker.checkpoints.installed import installed_span_model
from reranker.checkpoints.members import devices, load_placed
from reranker.checkpoints.span_file import SpanCheckpoint
from reranker.checkpoints.span_vocabulary import NO_LABEL, RARE_LABEL, SpanVocabulary
from reranker.errors import CheckpointError, InputError
from reranker.nbest import Candidate, NBest
from reranker.nbest.data import LEAST_PROBABILITY, Certainty, Sentence
from reranker.parsers.parser import CHART_CANDIDATES, ParserSettings
from reranker.process.cancellation import Cancellation
from reranker.ranking import SCORE_DECIMALS
from reranker.scoring.span_table import read_each

MOST_WORDS = 500
"""A longer sentence is not parsed: memory grows with the square of its length, 170 MB for this
one, and time with the cube."""

# Sentences whose charts are filled side by side: none is much longer than another, since the cost
# of a chart grows with the cube of its length, and their tables take at most 35 MB.
_MOST_AT_ONCE, _LONGER, _LONGEST_AT_ONCE = 16, 7, 64


class ChartParser:
    """The ``settings.candidates`` best of all trees, by the log-probability of the labels of all
    spans, which is the same number that the model gives as a member of an ensemble.
    ``settings.model`` is a span model, by default the installed one. It runs in this process, in as
    many threads as ask at once. On the CPU a sentence's list depends on nothing else; a GPU reads
    several sentences at once, which changes the last bits of scores."""

    root = "TOP"

    def __init__(self, settings: ParserSettings) -> None:
        """Load the span model. Raises InputError if there is none."""
        self._member, self.temperature = parser_model(settings)
        """Scores are divided by the temperature before probabilities are made of them."""
        self.language = self._member.language
        self._punctuation = self._member.punctuation
        self._candidates = settings.candidates or CHART_CANDIDATES
        self._is_certainty_wanted = settings.is_certainty_wanted
        self._is_batched = self._member.model.embedding.device.type != "cpu"
        self.batch_sizes = (1, 64, 256) if self._is_batched else (4, 16, 32)
        if self._is_batched:  # one thread computes while another waits for the GPU
            self.most_jobs = 2
        self._cancellation = Cancellation()

    def without_certainty(self) -> ChartParser:
        """Return the same parser, whose lists have no ``certainty`` on the CPU."""
        other = copy.copy(self)
        other._is_certainty_wanted = False
        return other

    def parse(
        self, sentences: Sequence[Sentence], cancellation: Cancellation | None = None
    ) -> list[NBest | str]:
        """Return for each sentence its list or, if it is too long, the reason. Raises Stopped if
        cancelled or, without a ``cancellation`` of the caller's, after ``stop``."""
        torch.set_num_threads(1)  # of this thread's products: as in scoring, the bits depend on it
        cancellation = cancellation or self._cancellation
        answers: list[NBest | str] = [
            f"{len(each.words)} words, more than the {MOST_WORDS} that the parser chart takes"
            for each in sentences
        ]
        short = [n for n, each in enumerate(sentences) if len(each.words) <= MOST_WORDS]
        parsed = self._at_once if self._is_batched else self._each
        for number, nbest in parsed([sentences[n] for n in short], cancellation):
            answers[short[number]] = nbest
        return answers

    def _each(
        self, sentences: Sequence[Sentence], cancellation: Cancellation
    ) -> Iterator[tuple[int, NBest]]:
        """Yield the number and the list of each sentence, which depends on no other."""
        member = self._member
        groups = alike([len(each.words) for each in sentences])
        words = [sentences[number].words for number in chain.from_iterable(groups)]
        tables = read_each(member.model, member.vocabulary, words, cancellation)
        for group in cancellation.until_cancelled(groups):
            own = [next(tables) for _ in group]
            gains = [Gains.of_table(table.labels, NO_LABEL, RARE_LABEL + 1) for table in own]
            certainties: Iterable[Certainty | None] = repeat(None)
            if self._is_certainty_wanted:
                certainties = certainties_of(gains, self.vocabulary.labels, self.temperature)
            every = zip(group, own, charts(gains), certainties, strict=False)
            for number, table, chart, certainty in cancellation.until_cancelled(every):
                trees = k_best(chart, self._candidates) if self._candidates > 1 else [chart.best()]
                found = table.tags, chart.gains.without, trees, certainty
                yield number, self._list(sentences[number], *found)

    def _at_once(
        self, sentences: Sequence[Sentence], cancellation: Cancellation
    ) -> Iterator[tuple[int, NBest]]:
        """Yield the number and the list of each sentence, read by the batch, for a GPU."""
        from reranker.scoring.span_batch import batches, read_batch

        model, vocabulary = self._member.model, self._member.vocabulary
        lengths = [len(each.words) for each in sentences]
        for batch in cancellation.until_cancelled(batches(lengths, vocabulary.label_count)):
            words = [sentences[number].words for number in batch]
            read = read_batch(model, vocabulary, words, self.temperature, self._candidates)
            for number, each in zip(cancellation.until_cancelled(batch), read, strict=True):
                tags, (places, numbers, probabilities, entropy), trees, values = each
                by_name = _by_name(vocabulary.labels, places, numbers, probabilities)
                certainty = Certainty(by_name, entropy)
                yield number, self._list(sentences[number], tags, values.without, trees, certainty)

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the span model."""
        return self._member.sha256

    @property
    def vocabulary(self) -> SpanVocabulary:
        """Return the words, tags and labels that the span model knows."""
        return self._member.vocabulary

    def unknown_words(self, words: Sequence[str]) -> int:
        """Return the number of words known by their spelling alone."""
        return sum(map(self._member.vocabulary.is_unknown, words))

    def stop(self) -> None:
        self._cancellation.cancel()

    def _list(
        self,
        sentence: Sentence,
        tags: NDArray[np.float32],
        without: float,
        trees: Sequence[Derivation],
        certainty: Certainty | None,
    ) -> NBest:
        words, vocabulary = sentence.words, self._member.vocabulary
        names = sentence.tags or best_tags(words, tags, vocabulary.tags, self._punctuation)
        candidates = []
        for index, tree in enumerate(trees):
            text, tokens = bracketed(tree.spans, vocabulary.labels, words, names, self.root)
            score = round(without + tree.score, SCORE_DECIMALS)
            candidates.append(Candidate(index, text, tokens, score, line=0))
        return NBest("", tuple(candidates), (), 0, sentence, root=self.root, certainty=certainty)


def parser_model(settings: ParserSettings) -> tuple[SpanCheckpoint, float]:
    """Load the span model of a parser; return it and its temperature. Raises InputError if there is
    none."""
    path, sha256 = installed_span_model(settings.model, settings.language)
    try:
        member = load_placed(path, sha256, devices(settings.device)[0], settings.precision)
    except CheckpointError as error:
        raise InputError(str(error)) from error
    if not isinstance(member, SpanCheckpoint):
        raise InputError(f"{path}: not a span model, which the parser chart needs")
    return member, _temperature(path, member.information.get("temperature", 1.0))


def _temperature(path: Path, value: object) -> float:
    """Return the temperature in a checkpoint. Raises InputError for an invalid one."""
    if not isinstance(value, int | float) or not 0.01 <= value <= 100:
        raise InputError(
            f"{path}: temperature must be a number from 0.01 to 100, got {value!r:.40}"
        )
    return float(value)


def alike(lengths: Sequence[int]) -> list[list[int]]:
    """Return the numbers of the sentences in groups whose charts are filled side by side, the
    shortest first. A long sentence, whose table is large, is by itself.

    >>> alike([3, 12, 200, 9, 200])
    [[0, 3], [1], [2], [4]]
    """
    groups: list[list[int]] = []
    for number in sorted(range(len(lengths)), key=lambda number: lengths[number]):
        last = groups[-1] if groups else []
        if 0 < len(last) < _MOST_AT_ONCE and lengths[number] <= min(
            lengths[last[0]] + _LONGER, _LONGEST_AT_ONCE
        ):
            last.append(number)
        else:
            groups.append([number])
    return groups


def certainties_of(
    several: Sequence[Gains],
    labels: Sequence[str],
    temperature: float,
    least: float = LEAST_PROBABILITY,
) -> Iterator[Certainty]:
    """Yield, for each sentence, every bracket whose probability is at least ``least``, with its
    probability. A label of several brackets counts for each of them."""
    for spans in marginals_of_each(several, temperature):
        found = np.flatnonzero(spans.probabilities >= least)
        rows, numbers = np.divmod(found, spans.probabilities.shape[1])
        values = spans.probabilities.ravel()[found]
        yield Certainty(_by_name(labels, spans.places[rows], numbers, values), spans.entropy)


def _by_name(
    labels: Sequence[str],
    places: NDArray[np.int64],
    numbers: NDArray[np.int64],
    values: NDArray[np.float64],
) -> dict[tuple[int, int, str], float]:
    """Return the probability of each bracket, given those of labels by first and last word."""
    probabilities: dict[tuple[int, int, str], float] = {}
    for (start, last), label, value in zip(
        places.tolist(), numbers.tolist(), values.tolist(), strict=True
    ):
        for name in dict.fromkeys(labels[label].split(" ")):
            key = start, last + 1, name
            probabilities[key] = min(1.0, probabilities.get(key, 0.0) + value)
    return probabilities
