"""Treebank trees as a language model reads them: what every analysis starts from."""

from __future__ import annotations

import math
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

Tick = Callable[[int], object]  # called with how many tokens have been read since the last call


class LinearTree(NamedTuple):
    """A tree's tokens, and of each of them and the ``<eos>`` after them the kind: a word's part of
    speech, a bracket with its label, ``<eos>``."""

    tokens: tuple[str, ...]
    kinds: tuple[str, ...]

    def as_read(self, checkpoint: Checkpoint) -> LinearTree:
        """In the order the model reads them: from the tree's end if it is a backward one."""
        if not checkpoint.vocabulary.backward:
            return self
        return LinearTree(self.tokens[::-1], (*self.kinds[-2::-1], EOS))


class Reading(NamedTuple):
    """A batch of trees as a model reads them; column b is the tree number ``places[b]``, its tokens
    in the order of ``LinearTree.as_read``."""

    places: list[int]
    features: Features  # [T, B, ...]
    targets: Tensor  # [T, B], PADDING after a tree's end
    wanted: Tensor  # where targets are no padding


def linear_tree(tree: Tree) -> LinearTree:
    """
    >>> linear_tree(Tree.from_string("(S1 (NP-SBJ (DT the) (NN end)))")).kinds
    ('(NP', 'DT', 'NN', ')NP', '<eos>')
    """
    tokens = linearize(tree)
    tags = iter(_tags(tree))
    return LinearTree(tokens, (*(next(tags) if is_word(t) else t for t in tokens), EOS))


def read_trees(paths: Iterable[Path], sample: int | None = None, seed: int = 0) -> list[LinearTree]:
    """All trees of the files, or a random ``sample`` of them, in their order; no more than that is
    held. Raises InputError as ``read_treebank`` does."""
    generator = random.Random(seed)
    kept: list[tuple[int, LinearTree]] = []
    for number, tree in enumerate(read_treebank(paths)):
        if sample is None or number < sample:
            kept.append((number, linear_tree(tree)))
        else:  # the nth tree is kept with probability sample / n (reservoir sampling)
            place = generator.randrange(number + 1)
            if place < sample:
                kept[place] = (number, linear_tree(tree))
    return [tree for _, tree in sorted(kept, key=lambda pair: pair[0])]


def token_count(trees: Iterable[LinearTree]) -> int:
    """How many tokens a model predicts in them, ``<eos>`` included."""
    return sum(len(tree.kinds) for tree in trees)


def readings(
    checkpoint: Checkpoint, trees: Sequence[LinearTree], tick: Tick = lambda tokens: None
) -> Iterator[Reading]:
    """Every tree once, each from the start state, in batches of trees alike in length."""
    encoded = [checkpoint.vocabulary.encode(tree.tokens) for tree in trees]
    lengths = [len(ids) for ids in encoded]
    for places in grouped_by_length(range(len(encoded)), lengths, _BATCH_TOKENS):
        batch = whole_trees([encoded[place] for place in places], checkpoint.vocabulary.eos)
        with torch.no_grad():
            features, _ = checkpoint.model(
                batch.inputs, checkpoint.model.initial_state(len(places))
            )
        yield Reading(places, features, batch.targets, batch.targets != PADDING)
        tick(sum(len(encoded[place]) for place in places))


def token_log_probabilities(
    checkpoint: Checkpoint, trees: Sequence[LinearTree], tick: Tick = lambda tokens: None
) -> Iterator[tuple[int, list[float]]]:
    """The number of each tree and log P of each of its tokens and ``<eos>``, in nats and in the
    tree's order."""
    is_backward = checkpoint.vocabulary.backward
    for reading in readings(checkpoint, trees, tick):
        wanted = reading.wanted
        picked = at(reading.features, wanted)
        values = torch.zeros(wanted.shape, dtype=torch.float64)
        values[wanted] = checkpoint.model.target_log_probability(
            picked, reading.targets[wanted]
        ).double()
        for column, place in enumerate(reading.places):
            *of_tokens, of_end = values[: len(trees[place].kinds), column].tolist()
            yield place, [*(of_tokens[::-1] if is_backward else of_tokens), of_end]


def at(features: Features, positions: Tensor) -> Features:
    """What words are predicted from at ``positions`` [T, B] (true or false) alone, [N, ...]."""
    return features._replace(
        components=features.components[positions], log_weights=features.log_weights[positions]
    )


def perplexity(negative_log_likelihood: float, tokens: int) -> float:
    """exp of nats a token."""
    mean = negative_log_likelihood / tokens
    return math.exp(mean) if mean < 700 else math.inf


def _tags(tree: Tree) -> Iterator[str]:
    """Of every word that is no trace, left to right, without function tags."""
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
