"""Sentences that the encoder reads at once have the tables that they have alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from reranker.checkpoints.span_file import SpanCheckpoint, load_span_model
from reranker.nbest import read_nbest
from reranker.scoring import span_table
from reranker.scoring.span_table import (
    SpanTable,
    Words,
    read_each,
    read_sentence,
    read_together,
    table_of,
)
from reranker.scoring.spans import SpanSequences, span_log_probabilities
from reranker.trees.linearize import is_word

ROOT = Path(__file__).parents[3]


@functools.cache
def shipped() -> SpanCheckpoint:
    return load_span_model(ROOT / "ckpt/spans.pt")


@functools.cache
def sentences() -> list[Words]:
    """Return 12 sentences of different lengths, one of which does not fit the encoder's
    positions."""
    lists = [*read_nbest(ROOT / "examples/parses.txt")][:11]
    read = [tuple(filter(is_word, each.candidates[0].tokens)) for each in lists]
    return [*read, tuple(["It", "was", "not", "antidisestablishmentarianism", "!"] * 30)]


@functools.cache
def alone() -> list[SpanTable]:
    """Return the tables of these sentences, each read alone."""
    member = shipped()
    return [read_sentence(member.model, member.vocabulary, words) for words in sentences()]


@pytest.mark.parametrize("order", [1, -1])
def test_tables_are_those_of_each_alone(order: int) -> None:
    member = shipped()
    together = read_each(member.model, member.vocabulary, sentences()[::order])
    for one, other in zip(alone()[::order], together, strict=True):
        assert (one.labels == other.labels).all()
        assert (one.tags == other.tags).all()


def test_sentences_read_together_as_on_a_gpu() -> None:
    member, words = shipped(), sentences()
    together = read_together(member.model, member.vocabulary, words)
    for one, own, other in zip(words, alone(), together, strict=True):
        with torch.inference_mode():
            table = table_of(member.model, one, other)
        upper = np.triu_indices(len(one))
        np.testing.assert_allclose(table.labels[upper], own.labels[upper], atol=1e-3)
        np.testing.assert_allclose(table.tags, own.tags, atol=1e-3)


def test_long_sentences_are_read_in_small_groups() -> None:
    lengths = [2, 2, 2, 1_500, 1_500, 1_500, 9_000, 2]
    groups = span_table._groups([("a",) * length for length in lengths], 2, 4_096)
    assert [[*map(len, some)] for some in groups] == [
        [2, 2], [2, 1_500], [1_500, 1_500], [9_000], [2],
    ]  # fmt: skip


def test_the_mode_of_torch_is_the_callers() -> None:
    member = shipped()
    for _ in read_each(member.model, member.vocabulary, sentences()[:2]):
        assert not torch.is_inference_mode_enabled()


def test_values_of_lists_do_not_depend_on_what_was_read_before() -> None:
    lists = [*read_nbest(ROOT / "examples/parses.txt")][20:24]
    sequences = [each.tokens for nbest in lists for each in nbest.candidates[:5]]
    first, again, reverse = (values(some) for some in (sequences, sequences, sequences[::-1]))
    assert first == again == reverse[::-1]


def values(sequences: Sequence[tuple[str, ...]]) -> list[float]:
    member, spans = shipped(), SpanSequences(sequences)
    edges = span_log_probabilities(member.model, member.vocabulary, spans)
    return [float(edges[path].sum()) for path in spans.paths]
