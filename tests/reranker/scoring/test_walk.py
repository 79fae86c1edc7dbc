from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from reranker.models import AwdLstmDoc
from reranker.models.config import Config
from reranker.process.cancellation import Cancellation, Stopped
from reranker.scoring import windows
from reranker.scoring.trie import Trie
from reranker.scoring.walk import edge_log_probabilities
from reranker.scoring.winner import CachedWalk, coarse_output
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree
from tests.reranker.ensembles import CANDIDATES, untrained
from tests.reranker.scoring.one_by_one import score_one_by_one

MEMBER = untrained(1)
SEQUENCES = [MEMBER.vocabulary.encode(linearize(Tree.from_string(text))) for text in CANDIDATES]
EOS = MEMBER.vocabulary.eos


def totals(sequences: list[list[int]]) -> np.ndarray:
    trie = Trie(sequences, EOS)
    return trie.totals(edge_log_probabilities(MEMBER.model, trie))


def test_trie_scores_equal_the_straightforward_ones() -> None:
    expected = score_one_by_one(MEMBER.model, SEQUENCES, EOS)
    assert np.abs(totals(SEQUENCES) - expected).max() < 1e-4
    assert len(set(expected.round(2))) == 5  # all differ but the repeated one


def test_prefixes_are_shared() -> None:
    assert Trie(SEQUENCES, EOS).edges < 0.7 * sum(map(len, SEQUENCES))


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_scores_do_not_depend_on_batch_or_order(batch: int) -> None:
    sequences = [[*ids[:-length], EOS] for ids in SEQUENCES for length in range(1, 9, 2)]
    expected = score_one_by_one(MEMBER.model, sequences, EOS)
    order = list(range(len(sequences)))
    random.Random(batch).shuffle(order)
    found = np.zeros(len(sequences))
    for start in range(0, len(order), batch):
        part = order[start : start + batch]
        found[part] = totals([sequences[number] for number in part])
    assert np.abs(found - expected).max() < 1e-4


def test_levels_wider_than_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = np.random.default_rng(1).integers(3, 21, (120, 3))
    sequences = [[*ids[:3], *end, EOS] for ids in SEQUENCES for end in ends.tolist()]
    expected = totals(sequences)
    monkeypatch.setattr(windows, "_WINDOW_ROWS", 32)
    assert max(len(level.tokens) for level in Trie(sequences, EOS).levels) > 100
    assert totals(sequences).tolist() == expected.tolist()


def test_nothing_to_score() -> None:
    assert totals([]).tolist() == []


@pytest.mark.parametrize(
    ("config", "count"),
    [
        # A real model's sizes, for the sake of the matrix products, and odd ones, for vectors.
        (Config(3_000, 128, (320, 320, 256), (0, 0, 1, 2), embedding_range=0.5), 150),
        (Config(50, 12, (16, 14, 12), (0, 1, 1, 2), embedding_range=1.0), 3_000),
    ],
)
def test_scores_are_the_same_to_the_last_bit_whatever_is_beside_them(
    config: Config, count: int
) -> None:
    torch.manual_seed(3)
    generator = random.Random(3)
    model = AwdLstmDoc(config).eval()
    words = config.vocabulary_size
    sequences = [
        [generator.randrange(1, words) for _ in range(generator.randrange(2, 30))] + [0]
        for _ in range(count)
    ]

    def totals(chosen: list[list[int]]) -> list[float]:
        trie = Trie(chosen, 0)
        return [float(one) for one in trie.totals(edge_log_probabilities(model, trie))]

    together = totals(sequences)
    assert [totals([one])[0] for one in sequences[:20]] == together[:20]
    assert totals(sequences[7:40]) == together[7:40]
    assert totals(sequences[::-1]) == together[::-1]


def test_a_walk_gives_bounds_of_all_and_exact_values_of_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trie = Trie(SEQUENCES, EOS)
    expected = edge_log_probabilities(MEMBER.model, trie)
    weight, bias = MEMBER.model.output_weight, MEMBER.model.decoder_bias
    coarse = coarse_output(weight, bias, frequent=4, clusters=3)
    assert coarse is not None
    for rows in (32, 4_096):
        monkeypatch.setattr(windows, "_WINDOW_ROWS", rows)
        walk = CachedWalk(MEMBER.model, trie)
        bounds = walk.upper_bounds(coarse)
        assert (bounds >= expected - 1e-6).all()
        assert (bounds > expected + 0.01).any()
        some = np.array([0, 3, 4, trie.edges - 1])
        assert walk.exact(some).tolist() == expected[some].tolist()
        assert walk.exact(np.arange(trie.edges)).tolist() == expected.tolist()
        assert walk.exact(some[:0]).tolist() == []


def test_what_is_cancelled_stops() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Stopped):
        edge_log_probabilities(MEMBER.model, Trie(SEQUENCES, EOS), cancellation)
