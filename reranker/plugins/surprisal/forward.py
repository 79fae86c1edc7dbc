"""Forward language models of linearised trees, whose probabilities are averaged token by token."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from reranker.checkpoints.checkpoint import READS_TAGS, Checkpoint
from reranker.checkpoints.ensemble_file import ModelNames, named_models
from reranker.checkpoints.members import LoadedMember, load_member
from reranker.checkpoints.vocabulary import UNKNOWN_CLOSING, UNKNOWN_OPENING, Vocabulary
from reranker.errors import CheckpointError, InputError, RerankError
from reranker.models import Features, LanguageModel
from reranker.models.language_model import State
from reranker.models.layer import Layer
from reranker.models.products import bulk_rows, linear, packed
from reranker.process.forks import ForkSafeCache

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]

_LOG2_E = math.log2(math.e)
_TINY = 1e-20


class ForwardModels:
    """One model, or several with one vocabulary.

    Brackets are numbered by ``labels``: label number n opens by action n and closes by action
    ``len(labels) + n``.
    """

    def __init__(self, members: Sequence[LoadedMember]) -> None:
        """Raise RerankError, naming the model, for a span model, a backward one, and one whose
        vocabulary is not that of the first."""
        if not members:
            raise RerankError("surprisal needs at least one language model")
        forward: list[Checkpoint] = []
        for member in members:
            fault = why_not_forward(member)
            if fault is not None or not isinstance(member, Checkpoint):
                raise RerankError(f"{member.name} is {fault}: surprisal needs forward models")
            forward.append(member)
            if member.vocabulary != forward[0].vocabulary:
                raise RerankError(
                    f"{member.name} and {forward[0].name} have different vocabularies, so their "
                    "probabilities cannot be averaged: name only one of them"
                )
        self.members = tuple(forward)
        self.kept = ForkSafeCache()
        """The tables that are computed once from the models."""
        self.vocabulary: Vocabulary = forward[0].vocabulary
        symbols = self.vocabulary.symbols
        number = {symbol: place for place, symbol in enumerate(symbols)}
        self.labels = tuple(
            symbol[1:]
            for symbol in symbols
            if symbol[0] == "(" and symbol != UNKNOWN_OPENING and ")" + symbol[1:] in number
        )
        openings = [number["(" + label] for label in self.labels]
        closings = [number[")" + label] for label in self.labels]
        rest = {place for symbol, place in number.items() if symbol[0] in "()"} - {
            *openings,
            *closings,
        }
        self.brackets: Numbers = np.array([*openings, *closings], dtype=np.int64)
        """The token of each action."""
        self._not_words = torch.tensor([*self.brackets, self.vocabulary.eos, *sorted(rest)])
        assert {number[UNKNOWN_OPENING], number[UNKNOWN_CLOSING]} <= rest

    def memory(self) -> Memory:
        """Return an empty memory, with the state before the first token in its only row."""
        memory = Memory(len(self.members))
        memory.add([member.model.initial_state(1) for member in self.members])
        return memory

    def read(self, memory: Memory, rows: Numbers, tokens: Numbers, word: int) -> Reading:
        """Let the models read one of ``tokens`` [R] each from the states ``rows`` [R] of the
        memory, where the states after them are added; and predict what follows, the next word
        being ``word``, or ``<eos>`` at the end of the sentence."""
        count = len(tokens)
        size = bulk_rows(count)
        read = functional.pad(torch.from_numpy(tokens), (0, size - count))
        distinct, of = torch.unique(read, return_inverse=True)  # brackets are few
        distinct = functional.pad(distinct, (0, bulk_rows(len(distinct)) - len(distinct)))
        places = functional.pad(torch.from_numpy(rows), (0, size - count))
        columns = torch.cat([self._not_words, torch.tensor([word])])
        tables, states = [], []
        with torch.inference_mode():
            for number, member in enumerate(self.members):
                model = member.model
                first = model.layers[0]
                assert isinstance(first, Layer)
                projected = first.project(functional.embedding(distinct, model.embedding))[of]
                features, state = model.step(read, memory.rows(number, places), projected)
                states.append(tuple(tuple(part[:count] for part in layer) for layer in state))
                logs = _log_probabilities(model, features, columns)
                tables.append(logs[:count].double().numpy())
        memory.add(states)
        table = np.logaddexp.reduce(tables, axis=0) - math.log(len(tables))
        return Reading(table, len(self.brackets))


def _log_probabilities(model: LanguageModel, features: Features, columns: Tensor) -> Tensor:
    """Return log P of some symbols, [R, C]: ``mixture.log_probabilities`` without the others.

    Powers of two cost a third of exp, and trained logits need no maximum to be subtracted.
    """
    weight, bias = packed(model, model.output_weight), model.decoder_bias
    rows = features.components.flatten(0, 1)
    logits = linear(rows * _LOG2_E, weight, bias * _LOG2_E)  # [R J, V], base 2
    chosen = logits[:, columns]
    sums = logits.exp2_().sum(1)
    log_sums = sums.log2()
    if not bool(((sums > _TINY) & (sums < 1 / _TINY)).all()):
        log_sums = torch.logsumexp(linear(rows, weight, bias), 1) * _LOG2_E
    per_softmax = (chosen - log_sums.unsqueeze(1)) / _LOG2_E
    per_softmax = per_softmax.view(*features.log_weights.shape, -1)
    return torch.logsumexp(features.log_weights.unsqueeze(-1) + per_softmax, dim=1)


class Reading:
    """The predictions of some hypotheses, in nats."""

    def __init__(self, table: Values, brackets: int) -> None:
        self.brackets = table[:, :brackets]
        """log P of each action, [R, 2 L]."""
        self.word = table[:, -1]
        """log P of the next word, or of ``<eos>``, [R]."""
        others = np.minimum(np.exp(table[:, :-1]).sum(1), 1 - 1e-12)
        self.any_word = np.maximum(np.log1p(-others), self.word)
        """log P that some word is next, [R]."""


class Memory:
    """The states of all models after each hypothesis that was read since the last word."""

    def __init__(self, models: int) -> None:
        self._states: list[State | None] = [None] * models
        self.count = 0

    def rows(self, model: int, rows: Tensor) -> State:
        """Return copies of some states of a model."""
        state = self._states[model]
        assert state is not None
        return tuple(tuple(part.index_select(0, rows) for part in layer) for layer in state)

    @torch.inference_mode()
    def keep(self, rows: Numbers) -> None:
        """Forget all states but these, which are numbered from 0 then."""
        places = torch.from_numpy(rows)
        self._states = [self.rows(model, places) for model in range(len(self._states))]
        self.count = len(rows)

    @torch.inference_mode()
    def add(self, states: Sequence[State]) -> None:
        """Add more states of each model, behind the states that are there."""
        count = len(states[0][0][0])
        for model, new in enumerate(states):
            old = self._states[model] or tuple(tuple(p[:0] for p in layer) for layer in new)
            pairs = zip(old, new, strict=True)
            self._states[model] = tuple(
                tuple(self._appended(*parts) for parts in zip(*layers, strict=True))
                for layers in pairs
            )
        self.count += count

    def _appended(self, old: Tensor, new: Tensor) -> Tensor:
        """Return ``old`` with ``new`` behind its first ``count`` rows; twice as large if it is
        full."""
        end = self.count + len(new)
        if end > len(old):
            larger = old.new_empty(max(end, 2 * len(old)), *old.shape[1:])
            larger[: self.count] = old[: self.count]
            old = larger
        old[self.count : end] = new
        return old


def why_not_forward(member: LoadedMember) -> str | None:
    """Return why surprisal cannot be computed with a model; None if it can."""
    if not isinstance(member, Checkpoint):
        return "a span model, which sees the whole sentence at once"
    if member.vocabulary.backward:
        return "a language model that reads from the end"
    if member.vocabulary.reads_tags:
        return READS_TAGS
    return None


def load_forward(names: ModelNames | None = None) -> ForwardModels:
    """Load the named models; for None, the first forward language model of the default ensemble.

    Raises InputError for a name of no file, and for a file that is no forward language model.
    """
    chosen = named_models(names)
    hashes = chosen.sha256 or [""] * len(chosen.paths)
    members: list[LoadedMember] = []
    try:
        for path, sha256 in zip(chosen.paths, hashes, strict=True):
            members.append(load_member(path, sha256))
            if names is None and why_not_forward(members[-1]) is None:
                return ForwardModels(members[-1:])
        return ForwardModels(members)
    except (CheckpointError, RerankError) as error:
        raise InputError(str(error)) from error
