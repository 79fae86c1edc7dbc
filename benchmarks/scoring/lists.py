"""The input of a run: models, and real n-best lists with their token ids."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from reranker.checkpoints.checkpoint import Checkpoint, load_checkpoint
from reranker.checkpoints.ensemble_file import named_models
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import RerankError
from reranker.models import AwdLstmDoc, Config
from reranker.nbest import NBest, read_nbest
from reranker.scoring.trie import Trie

# Of each raw candidate as the parser listed it, duplicates included; each ends in <eos>.
Ids = list[list[int]]
PAPER = Config(6_922)  # its other sizes are the defaults


class TimedSentence(NamedTuple):
    nbest: NBest
    ids: Ids


class Setting(NamedTuple):
    title: str
    checkpoints: list[Checkpoint]
    sentences: list[TimedSentence]

    @property
    def raw_tokens(self) -> int:
        """Return the number of tokens to score if nothing is shared."""
        return sum(len(sequence) for sentence in self.sentences for sequence in sentence.ids)

    @property
    def nodes(self) -> int:
        """Return the number of distinct beginnings that something follows: the tokens left to
        compute if all is shared."""
        return sum(Trie(each.ids, each.ids[0][-1]).rows for each in self.sentences)


def load(arguments: argparse.Namespace) -> Setting:
    """Load models and lists. Raises RerankError for lists or models that are missing or do not fit
    together."""
    if not Path(arguments.lists).is_file():
        raise RerankError(
            f"{arguments.lists}: no such lists; name others with --lists (make bench LISTS=FILE), "
            "examples/parses.txt for example"
        )
    checkpoints = [load_checkpoint(path) for path in named_models(arguments.models).paths]
    vocabulary, title = checkpoints[0].vocabulary, ", ".join(each.name for each in checkpoints)
    if arguments.paper_size:
        vocabulary, title = enlarged(vocabulary, PAPER.vocabulary_size), "paper-size"
        checkpoints = [untrained(PAPER, vocabulary)]
    if any(each.vocabulary != vocabulary for each in checkpoints):
        raise RerankError("the models have different vocabularies; name one at a time")
    if not all(isinstance(each.model, AwdLstmDoc) for each in checkpoints):
        raise RerankError("the authors' code and the count of operations are for awd-lstm-doc only")
    lists = [
        replace(nbest, candidates=nbest.candidates[: arguments.candidates])
        for nbest in read_nbest(arguments.lists)
        if nbest.candidates
    ]
    return Setting(title, checkpoints, encoded(sample(lists, arguments.sentences), vocabulary))


def untrained(config: Config, vocabulary: Vocabulary, seed: int = 0) -> Checkpoint:
    """Return a model with random weights: computing with them takes the time that trained ones
    take."""
    torch.manual_seed(seed)
    model = AwdLstmDoc(config).requires_grad_(False).eval()
    return Checkpoint(f"random {seed}", model, vocabulary)


def enlarged(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """Add symbols spelled like nothing else. Raises RerankError if the vocabulary is larger
    already."""
    more = size - len(vocabulary)
    if more < 0:
        raise RerankError(f"the vocabulary has {-more} symbols too many: name another model")
    symbols = [*vocabulary.symbols, *(f"<unused-{number}>" for number in range(more))]
    return Vocabulary(symbols, vocabulary.classes, vocabulary.backward, vocabulary.neutral)


def sample(lists: Sequence[NBest], wanted: int) -> list[NBest]:
    """Return ``wanted`` lists that stand for all: the middle one of each of so many equal parts, by
    the length of the parser's first tree."""
    by_size = sorted(lists, key=lambda nbest: len(nbest.candidates[0].tokens))
    wanted = min(wanted, len(by_size))
    return [by_size[(2 * part + 1) * len(by_size) // (2 * wanted)] for part in range(wanted)]


def encoded(lists: Sequence[NBest], vocabulary: Vocabulary) -> list[TimedSentence]:
    """Return the lists with the ids of their tokens."""
    return [
        TimedSentence(nbest, [vocabulary.encode(each.tokens) for each in nbest.candidates])
        for nbest in lists
    ]
