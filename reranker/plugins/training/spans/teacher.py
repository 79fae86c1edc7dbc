"""A larger span model whose probabilities a smaller one learns, beside the trees: what the larger
one considers possible says more than its best tree (Hinton et al. 2015, *Distilling the Knowledge
in a Neural Network*)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reranker.checkpoints.span_file import load_span_model
from reranker.checkpoints.span_vocabulary import NO_LABEL, RARE_LABEL, SpanVocabulary
from reranker.errors import ConfigError
from reranker.languages import language_name
from reranker.models.batch import PADDING
from reranker.plugins.training.spans.sentences import Lexicon


class Teacher:
    """A larger model's probabilities of labels and tags, under the smaller one's numbers."""

    def __init__(
        self,
        path: Path,
        vocabulary: SpanVocabulary,
        lexicon: Lexicon,
        language: str,
        dtype: torch.dtype,
        device: str,
    ) -> None:
        """Load the larger model; ``lexicon`` has the words of all sentences that it will read, and
        ``dtype`` is the type of matrix products. Raises CheckpointError
        unless the file is a span model, and ConfigError for a model of another language or without
        a label of the smaller model."""
        known = load_span_model(path, device)
        if known.language != language:
            raise ConfigError(
                f"{path}: a model of {language_name(known.language)}, but --language is "
                f"{language_name(language)}"
            )
        if not {*known.vocabulary.labels} & {*vocabulary.labels}:
            raise ConfigError(f"{path}: the teacher knows none of the model's labels")
        self.sha256 = known.sha256
        self._model, self._table = known.model, lexicon.table(known.vocabulary)
        self._dtype, self._device = dtype, device
        labels = [NO_LABEL, RARE_LABEL, *map(vocabulary.label, known.vocabulary.labels)]
        self._labels = _renumbering(labels, vocabulary.label_count).to(device)
        tags = [*map(vocabulary.tag, known.vocabulary.tags)]
        self._tags = _renumbering(tags, vocabulary.tag_count).to(device)

    def __call__(
        self, sentences: Sequence[NDArray[np.int32]], targets: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Return for B sentences of n words, given by their places in the lexicon, the
        probabilities of the labels of their S spans, [S, B, L], in the order of ``span_ends``, and
        of their words' tags, [n, B, tags], or None if one of the two models knows none. The
        probabilities are 0 where the teacher does not know the right label or tag, which is in
        ``targets`` as of ``SpanModel.loss``."""
        words, features = (each.to(self._device) for each in self._table.read(sentences))
        # Not under no_grad, where products are as exact as in scoring; nothing needs a gradient.
        data = self._model.read(words, features, self._dtype)
        labels = _taught(self._model.span_logits(data), self._labels, targets)
        if not self._tags.numel():
            return labels, None
        return labels, _taught(self._model.tag_logits(data), self._tags, targets[len(labels) :])


def _taught(logits: Tensor, renumbering: Tensor, targets: Tensor) -> Tensor:
    right = targets[: len(logits)].to(logits.device)
    is_known = (right == PADDING) | renumbering.any(0)[right.clamp(min=0)]
    return logits.float().softmax(2) @ renumbering * is_known.unsqueeze(2)


def _renumbering(numbers: Sequence[int], count: int) -> Tensor:
    """Return the matrix [len(numbers), count] that brings probabilities to new numbers."""
    matrix = torch.zeros(len(numbers), count)
    for row, number in enumerate(numbers):
        if number != PADDING:
            matrix[row, number] = 1
    return matrix
