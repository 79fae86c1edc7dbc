"""Word vectors trained on large corpora (GloVe, word2vec, fastText), which teach what a treebank is
too small for: which rare words are similar, and good initial embeddings.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from reranker.checkpoints.vocabulary import Vocabulary, class_number
from reranker.errors import InputError
from reranker.files.text import open_text
from reranker.models import LanguageModel
from reranker.plugins.training.loop.settings import TrainSettings

_ROUNDS = 15
_MOST_DIMENSIONS = 4_096
_PRODUCTS = 1 << 23  # of points and centers at a time: bounds memory
_HEADER = re.compile(r"[0-9]{1,9} [0-9]{1,9}\s*")


@dataclass(frozen=True, slots=True)
class WordVectors:
    """A list of words in lower case, most frequent first as such files have them, and their
    vectors."""

    words: tuple[str, ...]
    vectors: Tensor  # [N, D] float32

    @classmethod
    def of(cls, settings: TrainSettings) -> WordVectors | None:
        """Read the vectors that the flags of `rerank train` name, if any; raises InputError."""
        return cls.read(settings.vectors, settings.vector_words) if settings.vectors else None

    @classmethod
    def read(cls, path: Path, limit: int) -> WordVectors:
        """Read the first ``limit`` words of a text file, plain, gzip or zstd. Each line is a word
        and its D numbers, separated by spaces; a first line with N and D is optional. The first of
        words that differ only in case counts; entries with spaces (". . ." in GloVe) are skipped.

        Raises InputError for a file that cannot be read or a line that is not a word vector.
        """
        rows: dict[str, NDArray[np.float32]] = {}
        size = 0
        with open_text(path) as lines:
            for number, line in enumerate(lines, 1):
                if len(rows) == limit:
                    break
                if number == 1 and _HEADER.fullmatch(line):
                    size = int(line.split()[1])
                    continue
                size = size or line.rstrip().count(" ")
                word, *values = line.rstrip().rsplit(" ", min(size, _MOST_DIMENSIONS))
                vector = _numbers(values)
                *spaced, last = word.split(" ")
                if not 0 < len(vector) == size or (spaced and len(_numbers([last]))):
                    raise InputError(
                        f"{path}:{number}: not a word and {size or 'its'} numbers: {line[:40]!r}"
                    )
                if not spaced:
                    rows.setdefault(word.lower(), vector)
        if lines.damage is not None:
            raise InputError(f"{path}: damaged: {lines.damage}")
        if not rows:
            raise InputError(f"{path}: contains no word vectors")
        return cls(tuple(rows), torch.from_numpy(np.stack(list(rows.values()))))

    def classes(self, rare: Collection[str], count: int) -> dict[str, int]:
        """Return the class, 0 to ``count`` - 1, of each word that has a letter and no digit; empty
        if none of these words is ``rare``.

        Spherical k-means (by the angle between vectors), fitted to the ``rare`` words, for which
        the classes are made, from centers evenly spread over their frequencies. In float64, so that
        the number of threads makes no difference.
        """
        eligible = [
            place
            for place, word in enumerate(self.words)
            if not any(map(str.isdigit, word)) and any(map(str.isalpha, word))
        ]
        points = functional.normalize(self.vectors[eligible].double(), dim=1)
        fitted = points[[row for row, place in enumerate(eligible) if self.words[place] in rare]]
        count = min(count, len(fitted))
        if count == 0:
            return {}
        centers = fitted[torch.arange(count) * len(fitted) // count]
        for _ in range(_ROUNDS):
            sums = torch.zeros_like(centers).index_add_(0, _nearest(fitted, centers), fitted)
            empty = (sums == 0).all(1, keepdim=True)
            centers = functional.normalize(torch.where(empty, centers, sums), dim=1)
        numbers = _nearest(points, centers).tolist()
        return {self.words[place]: number for place, number in zip(eligible, numbers, strict=True)}


def start_embedding(model: LanguageModel, vocabulary: Vocabulary, vectors: WordVectors) -> None:
    """Set the embedding of each word to its vector, and of each class to the mean of its words'
    vectors; other symbols keep their random start.

    Vectors are centered, rotated to their principal axes, cut to the embedding's size if longer,
    and scaled to its standard deviation; if shorter, the rest of a row stays random. Identical
    vectors change nothing.
    """
    exact = vectors.vectors.double()
    places = {word: place for place, word in enumerate(vectors.words)}
    members: dict[int, list[int]] = {}
    for word, number in vocabulary.classes.items():
        members.setdefault(number, []).append(places[word])
    rows, means = [], []
    for row, symbol in enumerate(vocabulary.symbols):
        of_class = class_number(symbol)
        if of_class is not None:
            words = members.get(of_class, [])
        else:
            words = [places[symbol]] if symbol in places else []
        if words:
            rows.append(row)
            means.append(exact[words].mean(0))
    if len(rows) < 2:
        return
    points = torch.stack(means)
    points = points - points.mean(0)
    _, _, axes = torch.linalg.svd(points, full_matrices=False)
    turned = points @ axes[: model.embedding.shape[1]].T
    if turned.std() == 0:
        return
    with torch.no_grad():
        scaled = turned * (model.embedding.std() / turned.std())
        model.embedding[rows, : turned.shape[1]] = scaled.to(model.embedding)


def _nearest(points: Tensor, centers: Tensor) -> Tensor:
    """Return the center with the smallest angle to each point, [N]."""
    step = max(1, _PRODUCTS // len(centers))
    starts = range(0, len(points), step)
    return torch.cat([(points[at : at + step] @ centers.T).argmax(1) for at in starts])


def _numbers(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the numbers; empty unless all are finite."""
    try:
        with np.errstate(over="ignore"):
            numbers = np.array(texts, dtype=np.float32)
    except ValueError:
        return np.zeros(0, dtype=np.float32)
    return numbers if np.isfinite(numbers).all() else numbers[:0]
