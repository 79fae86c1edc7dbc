"""Treebank trees as a language model reads them; every analysis builds on this."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import EOS
from reranker.models import Features
from reranker.models.batch import PADDING, grouped_by_length, whole_trees
from reranker.trees.linearize import FUNCTION_TAG, is_word, linearize
from reranker.trees.tree import TRACE, Tree
from reranker.trees.treebank import read_treebank

UNTAGGED = "untagged"
_BATCH_TOKENS = 4_096  # padding counted; bounds memory, unless one tree is longer

Tick = Callable[[int], object]  # called with the number of tokens read since the last call


def ignore(tokens: int) -> None:
    """Do nothing: a ``Tick`` for callers without a progress bar."""


class LinearTree(NamedTuple):
    """A tree's tokens, and the kind of each and of the ``<eos>`` that follows: a word's part
    of speech, a bracket with its label, or ``<eos>``."""

    tokens: tuple[str, ...]
    kinds: tuple[str, ...]

    def as_read(self, checkpoint: Checkpoint) -> LinearTree:
        """Return the tokens in the order in which the model reads them: from the tree's end for a
        backward model."""
        if not checkpoint.vocabulary.backward:
            return self
        return LinearTree(self.tokens[::-1], (*self.kinds[-2::-1], EOS))


class ReadBatch(NamedTuple):
    """A batch of trees that a model has read; column b is the tree number ``numbers[b]``, its
    tokens in the order of ``LinearTree.as_read``."""

    numbers: list[int]
    features: Features  # [T, B, ...]
    targets: Tensor  # [T, B], PADDING after a tree's end

    @property
    def is_token(self) -> Tensor:
        """Return whether each position holds a token, [T, B]; false after a tree's end."""
        return self.targets != PADDING

    def log_probabilities(self, checkpoint: Checkpoint) -> Tensor:
        """Return log P of the tokens in nats, [N], one time step after another."""
        is_token = self.is_token
        return checkpoint.model.target_log_probability(
            self.features.at(is_token), self.targets[is_token]
        ).double()

    @property
    def attention(self) -> Tensor:
        """Return alpha, [T, B, L], the oldest position first; only for a model with attention."""
        assert self.features.attention is not None
        return self.features.attention


def linear_tree(tree: Tree) -> LinearTree:
    """Linearise a tree without its traces and function tags.

    >>> linear_tree(Tree.from_string("(S1 (NP-SBJ (DT the) (NN end)))")).kinds
    ('(NP', 'DT', 'NN', ')NP', '<eos>')
    """
    tokens = linearize(tree)
    tags = iter(_tags(tree))
    return LinearTree(tokens, (*(next(tags) if is_word(t) else t for t in tokens), EOS))


def read_trees(paths: Iterable[Path], sample: int | None = None, seed: int = 0) -> list[LinearTree]:
    """Return all trees of the files, or a random ``sample`` of them, in their order.

    Only the sample is held in memory. Raises InputError as ``read_treebank`` does.
    """
    generator = random.Random(seed)
    kept: list[tuple[int, LinearTree]] = []
    for number, tree in enumerate(read_treebank(paths)):
        if sample is None or number < sample:
            kept.append((number, linear_tree(tree)))
        else:  # the nth tree is kept with probability sample / n (reservoir sampling)
            replaced = generator.randrange(number + 1)
            if replaced < sample:
                kept[replaced] = (number, linear_tree(tree))
    return [tree for _, tree in sorted(kept)]


def token_count(trees: Iterable[LinearTree]) -> int:
    """Return the number of tokens that a model predicts in the trees, ``<eos>`` included."""
    return sum(len(tree.kinds) for tree in trees)


def read_in_batches(
    checkpoint: Checkpoint, trees: Sequence[LinearTree], tick: Tick = ignore
) -> Iterator[ReadBatch]:
    """Read every tree once, each from the start state, in batches of trees of similar length."""
    encoded = [checkpoint.vocabulary.encode(tree.tokens) for tree in trees]
    lengths = list(map(len, encoded))
    for numbers in grouped_by_length(range(len(trees)), lengths, _BATCH_TOKENS):
        batch = whole_trees([encoded[number] for number in numbers], checkpoint.vocabulary.eos)
        device = checkpoint.model.embedding.device
        with torch.no_grad():
            start = checkpoint.model.initial_state(len(numbers))
            features, _ = checkpoint.model(batch.inputs.to(device), start)
        yield ReadBatch(numbers, features, batch.targets.to(device))
        tick(sum(lengths[number] for number in numbers))


def token_log_probabilities(
    checkpoint: Checkpoint, trees: Sequence[LinearTree], tick: Tick = ignore
) -> Iterator[tuple[int, list[float]]]:
    """Yield the number of each tree and log P of each of its tokens and ``<eos>``, in nats and in
    the tree's order."""
    is_backward = checkpoint.vocabulary.backward
    for batch in read_in_batches(checkpoint, trees, tick):
        values = torch.zeros(batch.targets.shape, dtype=torch.float64)
        values[batch.is_token] = batch.log_probabilities(checkpoint)
        for column, number in enumerate(batch.numbers):
            *of_tokens, of_end = values[: len(trees[number].kinds), column].tolist()
            yield number, [*(of_tokens[::-1] if is_backward else of_tokens), of_end]


def _tags(tree: Tree) -> Iterator[str]:
    """Yield tags without function tags, left to right, but no tags of traces."""
    stack: list[Tree | str] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield UNTAGGED
        elif not node.is_preterminal:
            stack.extend(reversed(node.children))
        elif node.label != TRACE:
            is_symbol = node.label[:1] == "-"  # -LRB-
            yield (node.label if is_symbol else FUNCTION_TAG.sub("", node.label)) or UNTAGGED
