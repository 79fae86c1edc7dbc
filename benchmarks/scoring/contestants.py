"""The contestants: a name, and a way from models to a function that scores sentences.

A contestant gets the models before the clock runs, then all sentences at once; how it batches them
is its own affair. It returns, for each sentence, the log-probability of each raw candidate in nats,
summed over the models. One that only looks for the winner gives minus infinity for all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.scoring.authors import AuthorsScorer
from benchmarks.scoring.lists import Ids, TimedSentence
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.models import Features, LanguageModel
from reranker.models.batch import whole_trees
from reranker.pipeline import Reranker

Scores = list[NDArray[np.float64]]
Scorer = Callable[[Sequence[TimedSentence]], Scores]
Preparation = Callable[[Sequence[Checkpoint], int], Scorer]  # models, threads
Decode = Callable[[LanguageModel, Features, Tensor], Tensor]

# Elements of [N, J, V] at a time in the straightforward form: 64 MB of logits.
STRAIGHTFORWARD_BLOCK = 1 << 24


class Contestant(NamedTuple):
    name: str
    prepare: Preparation
    shares_prefixes: bool = False
    winner_only: bool = False


def by_sentence(
    scorer_of: Callable[[Checkpoint], Callable[[Ids], NDArray[np.float64]]],
) -> Preparation:
    """Score every sentence separately: the sum of the scores that each model's scorer gives its
    candidates."""

    def prepare(checkpoints: Sequence[Checkpoint], threads: int) -> Scorer:
        scorers = [scorer_of(checkpoint) for checkpoint in checkpoints]

        def score(sentences: Sequence[TimedSentence]) -> Scores:
            torch.set_num_threads(threads)
            return [np.sum([of(each.ids) for of in scorers], axis=0) for each in sentences]

        return score

    return prepare


def authors(checkout: Path, memory_limit: float) -> Contestant:
    """Return the contestant with the authors' code from ``checkout``; see ``AuthorsScorer``."""
    scorer = by_sentence(
        lambda checkpoint: AuthorsScorer(checkout, checkpoint, memory_limit).scores
    )
    return Contestant("authors", scorer)


def token_scores(checkpoint: Checkpoint, ids: Ids, decode: Decode) -> NDArray[np.float64]:
    """Return the [T, B] log-probability of every token of every raw candidate from <eos> to <eos>,
    in nats, 0 for padding; ``decode`` makes log-probabilities of features and targets, padding left
    out."""
    model, batch = checkpoint.model, whole_trees(ids, checkpoint.vocabulary.eos)
    inputs = batch.inputs.to(model.embedding.device)
    targets = batch.targets.to(model.embedding.device)
    with torch.inference_mode():
        features, _ = model(inputs, model.initial_state(len(ids)))
        is_real = targets >= 0
        values = torch.zeros(targets.shape, dtype=torch.float64, device=targets.device)
        values[is_real] = decode(model, features.at(is_real), targets[is_real]).double()
    return values.cpu().numpy()


def one_batch_a_sentence(decode: Decode) -> Preparation:
    return by_sentence(lambda model: lambda ids: token_scores(model, ids, decode).sum(0))


def straightforward(model: LanguageModel, features: Features, targets: Tensor) -> Tensor:
    """Compute the whole vocabulary's log-probabilities, then pick the targets'."""
    parts: list[Tensor] = []
    left = targets.unsqueeze(1)
    for block in features.blocks(STRAIGHTFORWARD_BLOCK, len(model.output_weight)):
        table = model.log_probabilities(block)
        parts.append(table.gather(1, left[: len(table)]).squeeze(1))
        left = left[len(table) :]
    return torch.cat(parts)


def target_only(model: LanguageModel, features: Features, targets: Tensor) -> Tensor:
    """Compute the targets' log-probabilities alone, normalisers streamed."""
    return model.target_log_probability(features, targets)


def all_scores(checkpoints: Sequence[Checkpoint], threads: int) -> Scorer:
    """Score like `rerank --output ranked` without reading and writing, on one lane for each
    thread."""
    reranker = Reranker(checkpoints, threads=threads)

    def score(sentences: Sequence[TimedSentence]) -> Scores:
        torch.set_num_threads(1)  # each lane's; in MKL this is everybody's
        scored_lists = reranker.score_lists(sentence.nbest for sentence in sentences)
        return [np.array([-each.nll for each in scored]) for _, scored in scored_lists]

    return score


def winner_only(checkpoints: Sequence[Checkpoint], threads: int) -> Scorer:
    """Score like `rerank`, which writes the best tree and no more."""
    reranker = Reranker(checkpoints, threads=threads)

    def score(sentences: Sequence[TimedSentence]) -> Scores:
        torch.set_num_threads(1)
        scores: Scores = []
        rankings = reranker.rerank_lists((sentence.nbest for sentence in sentences), top=1)
        for (nbest, _), ranking in zip(sentences, rankings, strict=True):
            best = ranking.ranking[0]
            is_best = [candidate.index == best.index for candidate in nbest.candidates]
            scores.append(np.where(is_best, -best.nll, -np.inf))
        return scores

    return score


OURS = (
    Contestant("straightforward", one_batch_a_sentence(straightforward)),
    Contestant("target only", one_batch_a_sentence(target_only)),
    Contestant("all scores", all_scores, shares_prefixes=True),
    Contestant("winner only", winner_only, shares_prefixes=True, winner_only=True),
)
