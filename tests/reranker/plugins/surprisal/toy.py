"""A model so small that all its trees of a sentence can be counted."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.models import AwdLstmDoc, Config, LanguageModel
from reranker.models.rnn_n import RnnN, RnnNConfig
from reranker.plugins.surprisal.beam import Width

LABELS = ("S", "NP")
SENTENCE = ("it", "Rains", "here")
ALL = Width(words=2_000, actions=1_000_000, openings=2, depth=2)
"""Wide enough for all prefixes that its bounds allow: none has more than 1,100."""

_TOKENS = [f"{sign}{label}" for label in LABELS for sign in "()"]


def vocabulary(backward: bool = False, words: Sequence[str] = ()) -> Vocabulary:
    """Return two labels, the words of the sentence and a class of unknown ones, ``<unks>``."""
    known = [*_TOKENS, "it", "rains", "here", "boxes", *words]
    return Vocabulary.build(
        [[*known, *known, "Otters", "foxes"]], minimum_count=2, backward=backward
    )


@functools.cache
def checkpoint(seed: int, architecture: str = "awd-lstm-doc", backward: bool = False) -> Checkpoint:
    """Return a model with random weights that make large differences."""
    torch.manual_seed(seed)
    words = vocabulary(backward)
    sizes: dict[str, Any] = {
        "vocabulary_size": len(words),
        "embedding_size": 12,
        "embedding_range": 1.5,
    }
    model: LanguageModel
    if architecture == "awd-lstm-doc":
        model = AwdLstmDoc(Config(**sizes, hidden_sizes=(16, 12), components=(0, 1, 2)))
    else:
        model = RnnN(RnnNConfig(**sizes, hidden_sizes=(16,)))
    return Checkpoint(f"model-{seed}", model.requires_grad_(False).eval(), words, {}, "0" * 64)


def prefixes(words: Sequence[str], width: Width = ALL) -> Iterator[tuple[str, ...]]:
    """Yield every well-formed prefix that ends with the last word."""

    def grown(
        tokens: tuple[str, ...], open_labels: tuple[str, ...], read: int, opened: int
    ) -> Iterator[tuple[str, ...]]:
        after = (*tokens, words[read])
        if read + 1 == len(words):
            yield after
        else:
            yield from grown(after, open_labels, read + 1, 0)
        if opened < width.openings and len(open_labels) < width.depth:
            for label in LABELS:
                yield from grown((*tokens, f"({label}"), (*open_labels, label), read, opened + 1)
        if open_labels and tokens[-1][0] != "(":
            *outer, label = open_labels
            yield from grown((*tokens, f"){label}"), tuple(outer), read, opened)

    return grown((), (), 0, 0)


def trees(words: Sequence[str], width: Width = ALL) -> Iterator[tuple[str, ...]]:
    """Yield every well-formed linearised tree, or row of trees, of the words."""
    for prefix in prefixes(words, width):
        still_open: list[str] = []
        for token in prefix:
            if token[0] == "(":
                still_open.append(token[1:])
            elif token[0] == ")":
                still_open.pop()
        yield (*prefix, *(f"){label}" for label in reversed(still_open)))


def log_probabilities(
    members: Sequence[Checkpoint],
    sequences: Sequence[tuple[str, ...]],
    then: Callable[[str], bool] | None = None,
) -> list[float]:
    """Compute log P of each sequence, and that ``then`` is true of its next symbol, the slow way:
    every sequence from its beginning, the whole softmax, the members' probabilities averaged at
    each token. Sequences of one length are columns of a batch."""
    words = members[0].vocabulary
    right = [place for place, symbol in enumerate(words.symbols) if then is None or then(symbol)]
    found: dict[tuple[str, ...], float] = {}
    for _, some in itertools.groupby(sorted(sequences, key=len), key=len):
        columns = [*some]
        ids = torch.tensor([words.encode(tokens) for tokens in columns]).T.roll(1, 0)  # <eos> first
        table = torch.stack([_probabilities(each.model, ids) for each in members]).mean(0)
        totals = table[:-1].gather(-1, ids[1:].unsqueeze(-1)).log().sum((0, -1))
        if then is not None:
            totals += table[-1, :, right].sum(-1).log()
        found.update(zip(columns, totals.tolist(), strict=True))
    return [found[tokens] for tokens in sequences]


def _probabilities(model: LanguageModel, ids: Tensor) -> Tensor:
    """Return the probabilities of all symbols after each of these."""
    features, _ = model(ids, model.initial_state(ids.shape[1]))
    return model.log_probabilities(features).double().exp()
