"""What a run measures: models, and real n-best lists with their token ids."""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import torch

from reranker.checkpoints.checkpoint import Checkpoint, load_checkpoint
from reranker.checkpoints.ensemble_file import named_models
from reranker.checkpoints.vocabulary import (
    EOS,
    UNKNOWN_CLOSING,
    UNKNOWN_OPENING,
    UNKNOWN_WORD,
    Vocabulary,
)
from reranker.errors import RerankError
from reranker.models import AwdLstmDoc, Config
from reranker.nbest import NBest, read_nbest
from reranker.scoring.trie import Trie

# Of each raw candidate as the parser listed it, duplicates included; each ends in <eos>.
Ids = list[list[int]]
PAPER = Config(6_922)  # its other sizes are the defaults
# Symbols that every vocabulary needs.
NEEDED = (EOS, UNKNOWN_WORD, UNKNOWN_OPENING, UNKNOWN_CLOSING)
# Of 500 real candidates (BLLIP, 12 sentences of GUM dev), this share repeats an earlier one.
REPEATED = 0.41


class TimedSentence(NamedTuple):
    nbest: NBest
    ids: Ids


class Setting(NamedTuple):
    title: str
    checkpoints: list[Checkpoint]
    sentences: list[TimedSentence]


def load(arguments: argparse.Namespace) -> Setting:
    """Raises RerankError for lists or models that are not there or do not fit together."""
    if not Path(arguments.lists).is_file():
        raise RerankError(
            f"{arguments.lists}: no such lists; name others with --lists (make bench LISTS=FILE), "
            "examples/parses.txt for example"
        )
    checkpoints = [load_checkpoint(path) for path in named_models(arguments.models).paths]
    vocabulary, title = checkpoints[0].vocabulary, ", ".join(each.name for each in checkpoints)
    if arguments.paper_size:
        vocabulary, title = resized(vocabulary, PAPER.vocabulary_size), "paper-size"
        checkpoints = [untrained(PAPER, vocabulary)]
    if any(each.vocabulary != vocabulary for each in checkpoints):
        raise RerankError("the models have different vocabularies; name one at a time")
    if not all(isinstance(each.model, AwdLstmDoc) for each in checkpoints):
        raise RerankError("the authors' code and the count of operations are for awd-lstm-doc only")
    lists = sample(read(arguments.lists, arguments.candidates), arguments.sentences)
    return Setting(title, checkpoints, encoded(lists, vocabulary))


def untrained(config: Config, vocabulary: Vocabulary, seed: int = 0) -> Checkpoint:
    """Random weights: computing with them takes the time that trained ones take."""
    torch.manual_seed(seed)
    model = AwdLstmDoc(config).requires_grad_(False).eval()
    return Checkpoint(f"random {seed}", model, vocabulary)


def resized(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """The ``size`` most frequent symbols, including those that every vocabulary needs; or all, and
    symbols spelled like nothing else."""
    others = (symbol for symbol in vocabulary.symbols if symbol not in NEEDED)
    kept = {*NEEDED, *islice(others, size - len(NEEDED))}
    symbols = [symbol for symbol in vocabulary.symbols if symbol in kept]
    symbols += islice((f"<unused-{number}>" for number in count()), size - len(symbols))
    return Vocabulary(symbols, vocabulary.classes, vocabulary.backward, vocabulary.rules)


def read(path: str, candidates: int) -> list[NBest]:
    """Every list's first ``candidates``; raises RerankError if the file cannot be read."""
    return [
        replace(nbest, candidates=nbest.candidates[:candidates])
        for nbest in read_nbest(path)
        if nbest.candidates
    ]


def sample(lists: Sequence[NBest], wanted: int) -> list[NBest]:
    """``wanted`` lists that stand for all: the middle one of each of so many equal parts, by the
    length of the parser's first tree."""
    by_size = sorted(lists, key=lambda nbest: len(nbest.candidates[0].tokens))
    wanted = min(wanted, len(by_size))
    return [by_size[(2 * part + 1) * len(by_size) // (2 * wanted)] for part in range(wanted)]


def stretched(nbest: NBest, length: int, seed: int = 0) -> NBest:
    """A list of ``length`` candidates, longer than a parser has printed: the given ones first, then
    earlier ones again, most of them with the label of one opening bracket exchanged for another of
    the list's.

    Words and lengths stay, brackets need not match, and only ``tokens`` change. On real lists of 50
    this leaves about as many trie nodes as real lists of 500 have.
    """
    draw = random.Random(seed)
    candidates = list(nbest.candidates[:length])
    labels = sorted({token for each in candidates for token in each.tokens if token[0] == "("})
    while len(candidates) < length:
        again = draw.choice(candidates)
        tokens = list(again.tokens)
        openings = [place for place, token in enumerate(tokens) if token[0] == "("]
        if openings and draw.random() >= REPEATED:
            tokens[draw.choice(openings)] = draw.choice(labels)
        candidates.append(replace(again, index=len(candidates), tokens=tuple(tokens)))
    return replace(nbest, candidates=tuple(candidates))


def encoded(lists: Sequence[NBest], vocabulary: Vocabulary) -> list[TimedSentence]:
    """With the ids of their tokens."""
    return [
        TimedSentence(
            nbest, [vocabulary.encode(candidate.tokens) for candidate in nbest.candidates]
        )
        for nbest in lists
    ]


def raw_tokens(sentences: Sequence[TimedSentence]) -> int:
    """What is scored if nothing is shared."""
    return sum(len(sequence) for sentence in sentences for sequence in sentence.ids)


def nodes(sentences: Sequence[TimedSentence]) -> int:
    """Distinct beginnings that something follows: what is left to compute if all is shared."""
    return sum(Trie(sentence.ids, sentence.ids[0][-1]).rows for sentence in sentences)
