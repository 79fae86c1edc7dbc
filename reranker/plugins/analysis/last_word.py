"""The prediction of the last word of passages such as LAMBADA's (Daniluk 2016, Tables 4.5 to
4.7; Paperno et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import EOS
from reranker.errors import InputError
from reranker.models import Features, LanguageModel
from reranker.perplexity import perplexity
from reranker.plugins.analysis.passages import read_passages
from reranker.plugins.analysis.readings import LinearTree, Tick, ignore, read_in_batches
from reranker.plugins.analysis.report import Report, grouped_bars, percent
from reranker.text.reading import Refused

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLOCK = 1 << 24  # elements of [passages, J, V] at a time


class PassageSet(NamedTuple):
    """A file's passages as sequences of tokens, and the lines that were left out."""

    name: str
    passages: list[LinearTree]
    refused: list[Refused]


class LastWord(NamedTuple):
    """The scores of one model on one set."""

    passages: int
    correct: int  # the last word is more probable than any other symbol
    unknown: int  # last words outside the vocabulary, which count as wrong
    nll: float  # of the last words, in nats
    tokens: int  # of whole passages, ``<eos>`` included
    whole_nll: float  # of all of these

    @property
    def accuracy(self) -> float:
        return self.correct / self.passages

    @property
    def perplexity(self) -> float:
        """Return the perplexity per last word; a word outside the vocabulary has the probability of
        ``<unk>``."""
        return perplexity(self.nll, self.passages)

    @property
    def whole_perplexity(self) -> float:
        """Return the perplexity per token of whole passages, each read from the start state."""
        return perplexity(self.whole_nll, self.tokens)

    def to_json(self, rejected: int) -> dict[str, Any]:
        return {
            "passages": self.passages,
            "rejected": rejected,
            "accuracy": self.accuracy,
            "correct": self.correct,
            "unknown": self.unknown,
            "last_word_perplexity": self.perplexity,
            "tokens": self.tokens,
            "perplexity": self.whole_perplexity,
        }


def read_set(path: Path, name: str) -> PassageSet:
    """Return the passages of a file. Raises InputError for a file that cannot be opened or has no
    usable passage."""
    passages, refused = [], []
    for each in read_passages(path):
        if isinstance(each, Refused):
            refused.append(each)
        else:
            passages.append(LinearTree(each, (*each, EOS)))
    if not passages:
        reason = f"; {refused[0]}" if refused else ""
        raise InputError(f"{path}: contains no passage of two words or more{reason}")
    return PassageSet(name, passages, refused)


def last_word(
    checkpoint: Checkpoint, passages: Sequence[LinearTree], name: str, tick: Tick = ignore
) -> LastWord:
    """Read each passage from the start state. Raises InputError for a backward model."""
    vocabulary = checkpoint.vocabulary
    if vocabulary.backward:
        raise InputError(f"{name}: a backward model reads the last word first")
    is_unknown = [vocabulary.is_unknown(passage.tokens[-1]) for passage in passages]
    correct = tokens = 0
    nll = whole_nll = 0.0
    for batch in read_in_batches(checkpoint, passages, tick):
        is_token, values = batch.is_token, batch.log_probabilities(checkpoint)
        tokens += len(values)
        whole_nll -= float(values.sum())
        is_last = torch.zeros_like(is_token)
        for column, number in enumerate(batch.numbers):
            is_last[len(passages[number].tokens) - 1, column] = True
        nll -= float(values[is_last[is_token]].sum())
        guesses = _most_probable(checkpoint.model, batch.features.at(is_last))
        hits = (guesses == batch.targets[is_last]).tolist()
        columns = is_last.nonzero()[:, 1].tolist()
        for hit, column in zip(hits, columns, strict=True):
            correct += hit and not is_unknown[batch.numbers[column]]
    return LastWord(len(passages), correct, sum(is_unknown), nll, tokens, whole_nll)


def last_word_report(models: dict[str, dict[str, LastWord]], refused: dict[str, int]) -> Report:
    """Report several models on several sets; ``refused`` counts the lines left out of each set."""
    rows: list[tuple[str, ...]] = [
        ("model", "set", "passages", "accuracy", "perplexity", "of all words", "unknown")
    ]
    for model, sets in models.items():
        for name, each in sets.items():
            figures = (f"{each.perplexity:.2f}", f"{each.whole_perplexity:.2f}")
            counts = (str(each.passages), percent(each.accuracy), *figures, str(each.unknown))
            rows.append((model, name, *counts))
    data = [
        {"model": model, "sets": {name: s.to_json(refused[name]) for name, s in sets.items()}}
        for model, sets in models.items()
    ]
    draw = partial(_draw, models, list(refused))
    return Report([rows], data, draw, left=2, is_partial=any(refused.values()))


def _draw(models: dict[str, dict[str, LastWord]], names: list[str], figure: Figure) -> None:
    """Draw a group of bars for each set, a bar for each model's accuracy."""
    axes = figure.subplots()
    shares = {
        model: [100 * sets[name].accuracy for name in names] for model, sets in models.items()
    }
    grouped_bars(axes, names, shares)
    axes.set(title="Last words predicted", ylabel="accuracy (%)")


def _most_probable(model: LanguageModel, features: Features) -> torch.Tensor:
    """Return the most probable symbol after each position, [N]."""
    blocks = features.blocks(_BLOCK, model.config.vocabulary_size)
    return torch.cat([model.log_probabilities(block).argmax(-1) for block in blocks])
