"""The tags that some language models read in place of words: a span model's, which depend on the
words alone, so that all candidates of a sentence have the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from reranker.chart.bracketed import best_tags
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.members import LoadedMember
from reranker.checkpoints.span_file import SpanCheckpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import RerankError
from reranker.process.cancellation import Cancellation
from reranker.scoring.span_table import Words, readings, remembered_tags, table_of
from reranker.scoring.spans import KEPT_WORDS
from reranker.trees.linearize import is_word
from reranker.trees.tagged import with_tags
from reranker.trees.tree import UNKNOWN_TAG


class Tagger:
    """A span model that knows tags."""

    def __init__(self, member: SpanCheckpoint) -> None:
        self._member = member
        self._names = [tag if _is_token(tag) else UNKNOWN_TAG for tag in member.vocabulary.tags]

    def tagged(
        self, sequences: Sequence[Sequence[str]], cancellation: Cancellation
    ) -> list[tuple[str, ...]]:
        """Return the sequences with its tag in the place of each word. Raises Stopped if
        cancelled."""
        words = [tuple(filter(is_word, tokens)) for tokens in sequences]
        tags = dict(self._tags(dict.fromkeys(words), cancellation))
        return [with_tags(tokens, tags[own]) for tokens, own in zip(sequences, words, strict=True)]

    def _tags(
        self, sentences: Iterable[Words], cancellation: Cancellation
    ) -> Iterator[tuple[Words, tuple[str, ...]]]:
        model, vocabulary = self._member.model, self._member.vocabulary
        unread = []
        for words in sentences:
            known = remembered_tags(model, words)
            if known is None and words:
                unread.append(words)
            else:
                yield words, () if known is None else self._best(words, known)
        for words, data in cancellation.until_cancelled(readings(model, vocabulary, unread)):
            with torch.inference_mode():
                if len(words) <= KEPT_WORDS:  # its labels are needed next
                    found = table_of(model, words, data, cancellation).tags
                else:
                    found = model.tag_log_probabilities(data).float().cpu().numpy()
            yield words, self._best(words, found)

    def _best(self, words: Words, log_probabilities: NDArray[np.float32]) -> tuple[str, ...]:
        return best_tags(words, log_probabilities, self._names, self._member.punctuation)


def tagger_of(members: Sequence[LoadedMember], readers: Sequence[Checkpoint]) -> Tagger:
    """Return the first span model with tags, for the members that read tags.

    Raises RerankError, naming a language model, if no span model has tags, or if the language model
    knows fewer than half of them.
    """
    for member in members:
        if isinstance(member, SpanCheckpoint) and member.vocabulary.tags:
            for reader in readers:
                _check_tags(reader, member)
            return Tagger(member)
    raise RerankError(f"{readers[0].name} reads tags: name a span model with tags as well")


def _check_tags(reader: Checkpoint, spans: SpanCheckpoint) -> None:
    tags = spans.vocabulary.tags
    known = sum(_knows(reader.vocabulary, tag) for tag in tags)
    if known < len(tags) / 2:
        raise RerankError(
            f"{reader.name} reads tags, but knows {known} of the {len(tags)} tags of {spans.name}: "
            "name a span model that was trained with the same tags"
        )


def _knows(vocabulary: Vocabulary, tag: str) -> bool:
    return _is_token(tag) and vocabulary.symbol(tag) == tag.lower()


def _is_token(tag: str) -> bool:
    """Return whether a tag can take the place of a word: a file may hold others."""
    return bool(tag) and is_word(tag)
