"""Learning to choose: minimum risk training on n-best lists.

A language model learns what trees look like, not how the trees of one parser differ. With gold
trees at hand it can learn that, too: lower the expected number of wrong brackets (Smith & Eisner
2006, *Minimum Risk Annealing for Training Log-Linear Models*)

    R = sum_c q(c) errors(c),    q(c) proportional to p(c) p_parser(c) ^ b

where c are the candidates of a list. dR / d log p(c) = q(c) (errors(c) - R).
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from models import LanguageModel, mixture
from reranker.batching import PADDING, whole_trees
from reranker.bracket_counts import GoldTree
from reranker.errors import InputError
from reranker.evalb import Parameters
from reranker.linearize import linearize_text
from reranker.vocab import Vocabulary

# Candidates that would move the model less than this (errors a nat) are left out of a step.
_LEAST_WEIGHT = 0.01
_SCORED_TOKENS = 8_192  # at a time


@dataclass(frozen=True, slots=True)
class CandidateList:
    """Some candidates of a sentence, in the parser's order."""

    candidates: tuple[tuple[str, ...], ...]  # linearised
    parser: NDArray[np.float64]  # [C] the parser's log-probabilities in nats
    errors: NDArray[np.float64]  # [C] missing and wrong brackets, their mean


class _Candidate(NamedTuple):
    log_probability: float
    parser: float
    errors: float
    tree: str


def read_lists(
    ranked_lines: Iterable[str], gold_lines: Iterable[str], gold_tags: bool, most: int
) -> list[CandidateList]:
    """Lists to learn from: of each sentence of ``rerank --output ranked`` the ``most`` candidates
    that model and parser together like best, and that with the fewest errors.

    Sentences whose candidates are all as good or bad as one another teach nothing and are left out.
    Raises InputError for a line that is no such output or has no parser's scores, and when there
    are more of one kind than of the other.
    """
    parameters = Parameters.collins()
    lists = []
    gold = iter(gold_lines)
    number = 0
    for number, line in enumerate(ranked_lines, 1):
        gold_line = next(gold, None)
        if gold_line is None:
            raise InputError(f"more ranked sentences than the {number - 1} gold trees")
        standard = GoldTree(gold_line, parameters, gold_tags)
        try:
            found = [
                _candidate(one, standard)
                for one in sorted(json.loads(line)["ranking"], key=lambda one: int(one["index"]))
                if one["duplicate_of"] is None
            ]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"line {number} is not a sentence of `rerank --output ranked` with the parser's "
                f"scores: {error}"
            ) from error
        if len({one.errors for one in found}) > 1:
            lists.append(_list(found, most))
    if next(gold, None) is not None:
        raise InputError(f"more gold trees than the {number} ranked sentences")
    return lists


class RiskTrainer:
    """Adds the gradient of the risk of a few lists to that of a batch of trees."""

    def __init__(
        self,
        model: LanguageModel,
        vocabulary: Vocabulary,
        lists: Sequence[CandidateList],
        lists_per_batch: int,
        parser_weight: float,
        seed: int,
    ) -> None:
        self.model, self.eos = model, vocabulary.eos
        self.lists, self.lists_per_batch = lists, lists_per_batch
        self.parser_weight, self.seed = parser_weight, seed
        self._ids = [[vocabulary.encode(one) for one in each.candidates] for each in lists]
        self._batches = -(-len(lists) // lists_per_batch)
        self._epoch, self._order = -1, list(range(len(lists)))

    def progress(self, batches: int) -> float:
        """Epochs done after so many batches."""
        return batches / self._batches

    def backward(self, batch: int, weight: float, dtype: torch.dtype, device: str) -> float:
        """Add the gradient of ``weight`` times the mean risk of the lists of this batch, the first
        being 0; returns that mean, in brackets a sentence."""
        chosen = self._chosen(batch)
        sequences = [ids for number in chosen for ids in self._ids[number]]
        totals = self._log_probabilities(sequences, dtype, device)
        pulls, risks, start = [], [], 0
        for number in chosen:
            one = self.lists[number]
            end = start + len(one.errors)
            pull, risk = risk_gradient(
                totals[start:end] + self.parser_weight * one.parser, one.errors
            )
            pulls.append(pull)
            risks.append(risk)
            start = end
        pull = np.concatenate(pulls)
        kept = np.flatnonzero(np.abs(pull) > _LEAST_WEIGHT).tolist()
        if kept:
            self.model.train()
            tree = whole_trees([sequences[place] for place in kept], self.eos)
            inputs, targets = tree.inputs.to(device), tree.targets.to(device)
            features, _ = self.model(inputs, self.model.initial_state(len(kept)), dtype)
            wanted = targets != PADDING
            # log p(c) is minus its negative log-likelihood
            shares = torch.tensor(-pull[kept] * weight / len(chosen), dtype=torch.float32)
            loss = mixture.negative_log_likelihood(
                features.components[wanted],
                features.log_weights[wanted],
                self.model.output_weight,
                self.model.decoder_bias,
                targets[wanted],
                shares.to(device).expand(targets.shape)[wanted],
            )
            loss.backward()  # type: ignore[no-untyped-call]
        return float(np.mean(risks))

    def _chosen(self, batch: int) -> list[int]:
        epoch, place = divmod(batch, self._batches)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, list(range(len(self.lists)))
            random.Random(f"lists {self.seed} {epoch}").shuffle(self._order)
        return self._order[place * self.lists_per_batch : (place + 1) * self.lists_per_batch]

    def _log_probabilities(
        self, sequences: Sequence[Sequence[int]], dtype: torch.dtype, device: str
    ) -> NDArray[np.float64]:
        """Of each, without dropout, in nats."""
        model = self.model
        model.eval()
        weight, bias = model.output_weight.to(dtype), model.decoder_bias.to(dtype)
        totals = np.empty(len(sequences))
        order = sorted(range(len(sequences)), key=lambda place: len(sequences[place]))
        while order:
            longest = len(sequences[order[-1]])
            places = order[-max(1, _SCORED_TOKENS // longest) :]
            del order[-len(places) :]
            tree = whole_trees([sequences[place] for place in places], self.eos)
            inputs, targets = tree.inputs.to(device), tree.targets.to(device)
            wanted = targets != PADDING
            with torch.no_grad():
                features, _ = model(inputs, model.initial_state(len(places)), dtype)
                found = mixture.target_log_probability(
                    features.components[wanted],
                    features.log_weights[wanted],
                    weight,
                    bias,
                    targets[wanted],
                )
                sums = torch.zeros(targets.shape, dtype=torch.float64, device=device)
                sums[wanted] = found.double()
            totals[places] = sums.sum(0).cpu().numpy()
        return totals


def risk_gradient(
    scores: NDArray[np.float64], errors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """dR / d score of each candidate, [C], and R, for q = softmax(scores)."""
    q = np.exp(scores - scores.max())
    q /= q.sum()
    risk = float(q @ errors)
    return q * (errors - risk), risk


def _candidate(one: dict[str, Any], gold: GoldTree) -> _Candidate:
    tree = str(one["tree"])
    matched, standard, test = gold.counts(tree)
    errors = (standard + test) / 2 - matched
    return _Candidate(-float(one["nll"]), float(one["parser_score"]), errors, tree)


def _list(found: Sequence[_Candidate], most: int) -> CandidateList:
    liked = sorted(range(len(found)), key=lambda n: -found[n].log_probability - found[n].parser)
    best = min(range(len(found)), key=lambda n: found[n].errors)
    kept = [found[number] for number in sorted({*liked[:most], best})]
    return CandidateList(
        tuple(tuple(linearize_text(one.tree)) for one in kept),
        np.array([one.parser for one in kept]),
        np.array([one.errors for one in kept]),
    )
