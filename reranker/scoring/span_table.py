"""A span model's reading of a sentence, shared by its parser and its ranking."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from reranker.checkpoints.span_vocabulary import NO_LABEL, PADDING, SpanVocabulary
from reranker.models.span_model import SpanModel
from reranker.process.cancellation import Cancellation

Words = tuple[str, ...]
Place = tuple[int, int, int]  # a span's first and last word, and the number of a label
Values = tuple[float, list[float]]
"""The log P of the tree without any constituent, and log P(label) - log P(no constituent) at some
places, in nats."""
_MEMORY_BYTES = 64 << 20  # for the tables of one model: some hundred sentences of 25 words


class SpanTable(NamedTuple):
    """The log P in nats of every label of every span, and of every tag of every word."""

    labels: NDArray[np.float32]
    """The labels' log-probabilities by a span's first and last word, [n, n, L]; entries that end
    before they start have no meaning."""
    tags: NDArray[np.float32]
    """The tags' log-probabilities, [n, T]; T is 0 if the model knows no tags."""

    @property
    def nbytes(self) -> int:
        return self.labels.nbytes

    def values(self, places: Sequence[Place]) -> Values:
        none = self.labels[:, :, NO_LABEL].astype(np.float64)
        starts, lasts, labels = np.array(places, np.int64).reshape(-1, 3).T
        found = self.labels[starts, lasts, labels].astype(np.float64) - none[starts, lasts]
        return float(none[np.tri(len(none), dtype=bool).T].sum()), found.tolist()


class TreeValues(NamedTuple):
    """The values that some trees of a sentence need, in place of its table."""

    without: float
    gains: Mapping[Place, float]
    tags: NDArray[np.float32] | None = None  # as in ``SpanTable``, if known

    @property
    def nbytes(self) -> int:
        return 200 * len(self.gains) + (0 if self.tags is None else self.tags.nbytes)

    def values(self, places: Sequence[Place]) -> Values | None:
        """Return the values at these places, None if one is missing."""
        if not all(place in self.gains for place in places):
            return None
        return self.without, [self.gains[place] for place in places]


# The most sentences that the encoder reads at once, with more of which products are hardly faster,
# and the most of their words, padding included: nothing stops a reading on its way.
_ON_THE_CPU, _ON_A_GPU = (32, 2_048), (64, 4_096)


def read_sentence(
    model: SpanModel,
    vocabulary: SpanVocabulary,
    words: Words,
    cancellation: Cancellation | None = None,
) -> SpanTable:
    """Read a sentence of at least one word with the model, and keep the table for ``remembered``.
    The table takes 4 n² L bytes. Raises Stopped if cancelled."""
    return next(read_each(model, vocabulary, [words], cancellation))


def read_each(
    model: SpanModel,
    vocabulary: SpanVocabulary,
    sentences: Iterable[Words],
    cancellation: Cancellation | None = None,
) -> Iterator[SpanTable]:
    """Yield the table of each sentence; a table depends on no other sentence."""
    for words, data in readings(model, vocabulary, sentences):
        with torch.inference_mode():
            table = table_of(model, words, data, cancellation)
        yield table


def readings(
    model: SpanModel, vocabulary: SpanVocabulary, sentences: Iterable[Words]
) -> Iterator[tuple[Words, torch.Tensor]]:
    """Yield each sentence with the result of ``SpanModel.read_one``; the encoder reads some
    sentences at once, and on a GPU the whole model does."""
    is_on_cpu = model.embedding.device.type == "cpu"
    read, most = (_read, _ON_THE_CPU) if is_on_cpu else (read_together, _ON_A_GPU)
    for some in _groups(sentences, *most):
        yield from zip(some, read(model, vocabulary, some), strict=True)


def _groups(sentences: Iterable[Words], at_once: int, most_words: int) -> Iterator[list[Words]]:
    """Yield the sentences in groups of ``at_once``, fewer if they are long."""
    some: list[Words] = []
    longest = 0
    for words in sentences:
        longest = max(longest, len(words))
        if len(some) == at_once or (some and longest * (len(some) + 1) > most_words):
            yield some
            some, longest = [], len(words)
        some.append(words)
    if some:
        yield some


def _read(
    model: SpanModel, vocabulary: SpanVocabulary, sentences: Sequence[Words]
) -> Iterator[torch.Tensor]:
    device = model.embedding.device
    given = [
        (torch.tensor(rows, device=device), torch.from_numpy(_array(features)).to(device))
        for rows, features in map(vocabulary.encode, sentences)
    ]
    with torch.inference_mode():
        read = model.read_several(given)
    yield from read


def read_together(
    model: SpanModel, vocabulary: SpanVocabulary, sentences: Sequence[Words]
) -> Iterator[torch.Tensor]:
    """Yield the result of ``SpanModel.read_one`` for each sentence but for the last bits, which
    depend on the other sentences."""
    rows, features, lengths = inputs_of(vocabulary, sentences)
    device = model.embedding.device
    with torch.inference_mode():
        data = model.read_together(rows.to(device), features.to(device), lengths)
    for number, length in enumerate(lengths.tolist()):
        with torch.inference_mode():
            own = data[:length, number : number + 1]
        yield own


def inputs_of(
    vocabulary: SpanVocabulary, sentences: Sequence[Words]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the rows of all words and of their features as ``SpanModel.read`` takes them, and the
    number of rows of each sentence."""
    encoded = [vocabulary.encode(words) for words in sentences]
    sizes = [(len(features), len(features[0])) for _, features in encoded]
    longest, widest = map(max, zip(*sizes, strict=True))
    all_rows = np.zeros((longest, len(encoded)), np.int64)
    all_features = np.full((longest, len(encoded), widest), PADDING, np.int64)
    for column, ((rows, features), size) in enumerate(zip(encoded, sizes, strict=True)):
        all_rows[: size[0], column] = rows
        all_features[: size[0], column, : size[1]] = _array(features)
    lengths = torch.tensor([length for length, _ in sizes])
    return torch.from_numpy(all_rows), torch.from_numpy(all_features), lengths


def _array(features: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return rows of equal length as an array; ``torch.tensor`` takes eight times as long."""
    size = len(features), len(features[0])
    return np.fromiter(chain.from_iterable(features), np.int64, size[0] * size[1]).reshape(size)


def table_of(
    model: SpanModel, words: Words, data: torch.Tensor, cancellation: Cancellation | None = None
) -> SpanTable:
    """Return a sentence's table from the result of ``SpanModel.read_one``, and keep it for
    ``remembered``. Raises Stopped if cancelled."""
    labels = label_table(model, data, cancellation)
    table = SpanTable(labels, model.tag_log_probabilities(data).float().cpu().numpy())
    keep(model, words, table)
    return table


def label_table(
    model: SpanModel, data: torch.Tensor, cancellation: Cancellation | None = None
) -> NDArray[np.float32]:
    """Return ``SpanTable.labels`` from the result of ``SpanModel.read_one``. Raises Stopped if
    cancelled."""
    cancellation = cancellation or Cancellation()
    words = len(data) - 2
    labels = np.zeros((words, words, model.config.label_count), np.float32)
    starts, lasts = np.triu_indices(words)
    for first, some in cancellation.until_cancelled(model.label_log_probabilities(data)):
        here = slice(first, first + len(some))
        labels[starts[here], lasts[here]] = some.float().cpu().numpy()
    return labels


def keep(model: SpanModel, words: Words, known: SpanTable | TreeValues) -> None:
    """Keep the table of a sentence, or less, for ``remembered``."""
    _memory_of(model).keep(words, known)


def remembered(model: SpanModel, words: Words, places: Sequence[Place]) -> Values | None:
    """Return the values at some places of a sentence that this very model has recently read for its
    parser; None if it has not, or if they are not those of trees that the parser has found."""
    known = _known(model, words)
    return known.values(places) if known else None


def remembered_tags(model: SpanModel, words: Words) -> NDArray[np.float32] | None:
    """Return the log P of every tag of every word of a sentence that this very model has recently
    read, as in ``SpanTable``; None if it has not."""
    known = _known(model, words)
    return known.tags if known else None


def _known(model: SpanModel, words: Words) -> SpanTable | TreeValues | None:
    with _lock:
        memory = _memories.get(model)
    return memory.get(words) if memory else None


class _Memory:
    """The tables of the last sentences, up to a number of bytes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: OrderedDict[Words, SpanTable | TreeValues] = OrderedDict()
        self._bytes = 0

    def get(self, words: Words) -> SpanTable | TreeValues | None:
        with self._lock:
            return self._tables.get(words)

    def keep(self, words: Words, table: SpanTable | TreeValues) -> None:
        size = table.nbytes
        with self._lock:
            if words in self._tables or size > _MEMORY_BYTES:
                return
            self._tables[words] = table
            self._bytes += size
            while self._bytes > _MEMORY_BYTES:
                _, oldest = self._tables.popitem(last=False)
                self._bytes -= oldest.nbytes


_lock = threading.Lock()
_memories: WeakKeyDictionary[SpanModel, _Memory] = WeakKeyDictionary()


def _memory_of(model: SpanModel) -> _Memory:
    with _lock:
        return _memories.setdefault(model, _Memory())
