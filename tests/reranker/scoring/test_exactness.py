"""The scores on real lists against a float64 computation of the obvious kind, trained models.

REAL_LIST_STEP=1 takes every list; by default one in 150.
"""

from __future__ import annotations

import copy
import functools
import os
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from reranker.checkpoints.members import LoadedMember, load_member
from reranker.checkpoints.span_vocabulary import SpanVocabulary
from reranker.models import LanguageModel
from reranker.models.span_model import SpanModel
from reranker.nbest import NBest, read_nbest
from reranker.pipeline import Reranker
from reranker.process.cancellation import Cancellation
from reranker.ranking import Weighing, rank
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.ensemble import Ensemble
from reranker.scoring.lanes import Lanes
from reranker.scoring.scorer import Scorer
from reranker.scoring.winner import WinnerSearch
from tests.reranker.scoring.one_by_one import score_spans_one_by_one

ROOT = Path(__file__).parents[3]
DATA = ROOT.parent / "shared/data/nbest"
STEP = int(os.environ.get("REAL_LIST_STEP", "150"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.exists(), reason="the real n-best lists are not here"),
]


@functools.cache
def members() -> list[LoadedMember]:
    return [load_member(path) for path in sorted(ROOT.glob("ckpt/*.pt"))]


@pytest.fixture(params=["gum_dev_50best.txt.gz", "craft_dev_first1200_50best.txt.gz"])
def lists(request: pytest.FixtureRequest) -> list[NBest]:
    return list(islice(read_nbest(DATA / request.param), 0, None, STEP))


def straightforward(model: LanguageModel, sequences: list[list[int]], eos: int) -> np.ndarray:
    """Compute log P of each sequence [C]: padded, every position, the whole vocabulary, in
    float64."""
    totals = []
    with torch.inference_mode():
        for some in chunks(sequences, 8):
            length = max(map(len, some))
            targets = torch.tensor([[*ids, *[eos] * (length - len(ids))] for ids in some]).T
            inputs = torch.cat([torch.full((1, len(some)), eos), targets[:-1]])
            features, _ = model(inputs, model.initial_state(len(some)))
            table = model.log_probabilities(features)
            found = table.gather(2, targets.unsqueeze(2)).squeeze(2)
            totals += [float(found[: len(ids), column].sum()) for column, ids in enumerate(some)]
    return np.array(totals)


def chunks(sequences: list[list[int]], size: int) -> Iterator[list[list[int]]]:
    for start in range(0, len(sequences), size):
        yield sequences[start : start + size]


def test_scores_are_those_of_float64(lists: list[NBest]) -> None:
    doubles = [copy.deepcopy(member.model).double() for member in members()]
    scorer = Scorer(Ensemble(members(), "sum", Lanes(1)), False)
    sentences = [DistinctCandidates(nbest) for nbest in lists]
    largest, orders, compared = 0.0, 0, 0
    for sentence, (scores,) in ((one, scorer.score([one], Cancellation())) for one in sentences):
        expected = np.zeros(len(sentence.sequences))
        for model, member in zip(doubles, members(), strict=True):
            sequences, vocabulary = sentence.sequences, member.vocabulary
            if isinstance(vocabulary, SpanVocabulary):
                assert isinstance(model, SpanModel)
                expected -= score_spans_one_by_one(model, vocabulary, sequences)
            else:
                assert isinstance(model, LanguageModel)
                ids = [vocabulary.encode(tokens) for tokens in sequences]
                expected -= straightforward(model, ids, vocabulary.eos)
        by_place = {place: one for (place, _), one in zip(sentence.candidates, scores, strict=True)}
        found = np.array([by_place[place].nll for place in range(len(sentence.sequences))])
        largest = max(largest, float(np.abs(found - expected).max()) / len(members()))
        compared += len(expected)
        # Ranked alike, except scores that float64 has within a ten-thousandth of a nat.
        order = np.argsort(found.round(4), kind="stable")
        steps = np.diff(expected[order])
        assert (steps > -2e-4).all()
        orders += bool((steps > 1e-4).all())
    print(f"{compared} candidates, largest difference {largest:.1e} nats, {orders} orders strict")
    assert largest < 1e-4


def test_the_winner_alone_is_the_winner_of_all(lists: list[NBest]) -> None:
    ensemble = Ensemble(members(), "sum", Lanes(2))
    scorer, search = (
        Scorer(ensemble, False),
        WinnerSearch(ensemble, patience_tokens=0),
    )
    weighing = Weighing(0.5)
    everything, best = [], []
    for start in range(0, len(lists), 40):
        sentences = [DistinctCandidates(nbest) for nbest in lists[start : start + 40]]
        everything += scorer.score(sentences, Cancellation())
        best += search.score(sentences, Cancellation(), scorer, weighing, 1)
    for nbest, all_scores, some in zip(lists, everything, best, strict=True):
        assert rank(nbest, some, weighing).cut(1) == rank(nbest, all_scores, weighing).cut(1)
    left = sum(one is not None for scores in best for one in scores)
    print(f"{len(lists)} sentences, {left} of {sum(map(len, best))} candidates scored exactly")


def test_alone_together_shuffled_with_one_thread_or_two(lists: list[NBest]) -> None:
    one, two = Reranker(members(), threads=1), Reranker(members(), threads=2)
    together = [scores for _, scores in one.score_lists(lists)]
    assert [scores for _, scores in two.score_lists(lists)] == together
    order = list(range(len(lists)))
    random.Random(1).shuffle(order)
    shuffled = [scores for _, scores in two.score_lists([lists[number] for number in order])]
    assert shuffled == [together[number] for number in order]
    for nbest, expected in list(zip(lists, together, strict=True))[:40]:
        assert [scores for _, scores in two.score_lists([nbest])] == [expected]
