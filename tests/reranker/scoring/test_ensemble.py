"""Members together: each with its own vocabulary, from the start of a tree or from its end."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.members import LoadedMember
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import RerankError
from reranker.files.text import TextInMemory
from reranker.nbest import read_nbest
from reranker.process.cancellation import Cancellation
from reranker.ranking.ranker import Combination
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.ensemble import Ensemble
from reranker.scoring.lanes import Lanes
from reranker.scoring.scorer import Scorer
from reranker.scoring.winner import Coarse, TwoPassScorer
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree
from tests.reranker.ensembles import CANDIDATES, untrained
from tests.reranker.scoring.one_by_one import score_one_by_one
from tests.reranker.small_files import bllip
from tests.reranker.span_models import untrained_spans

TOKENS = [linearize(Tree.from_string(text)) for text in CANDIDATES]
FORWARD, BACKWARD = untrained(1, name="forward"), untrained(2, name="backward", backward=True)
SPANS = untrained_spans(3)


def log_probabilities(
    members: list[Checkpoint], combination: Combination = "sum"
) -> list[np.ndarray]:
    return Ensemble(members, combination, Lanes(1)).log_probabilities(TOKENS, Cancellation())


def one_by_one(member: Checkpoint, tokens: tuple[str, ...]) -> list[float]:
    """Compute log P of each token of a sequence, in the order of the sequence, and of <eos>."""
    model, symbols = member.model, member.vocabulary.symbols
    ids = [symbols.index(token if token[0] in "()" else token.lower()) for token in tokens]
    eos = symbols.index("<eos>")
    totals = [
        float(score_one_by_one(model, [[*ids, eos][:end]], eos)[0])
        for end in range(1, len(ids) + 2)
    ]
    return [total - before for before, total in pairwise([0.0, *totals])]


def test_each_member_reads_in_its_own_direction_and_tells_in_the_trees() -> None:
    found = log_probabilities([FORWARD, BACKWARD])
    for tokens, values in zip(TOKENS, found, strict=True):
        assert values[0] == pytest.approx(one_by_one(FORWARD, tokens), abs=1e-4)
        *from_the_end, end = one_by_one(BACKWARD, tokens[::-1])
        assert values[1] == pytest.approx([*reversed(from_the_end), end], abs=1e-4)


def test_nothing_but_its_end_is_read_of_an_empty_tree() -> None:
    ensemble = Ensemble([FORWARD, BACKWARD], "sum", Lanes(1))
    (values,) = ensemble.log_probabilities([()], Cancellation())
    assert values[:, 0] == pytest.approx([one_by_one(FORWARD, ())[0], one_by_one(BACKWARD, ())[0]])


def test_the_score_is_the_sum_of_both_directions() -> None:
    (nbest,) = read_nbest(TextInMemory(bllip(CANDIDATES).encode(), "n.txt"))
    scorer = Scorer(Ensemble([FORWARD, BACKWARD], "sum", Lanes(1)), True)
    (scores,) = scorer.score([DistinctCandidates(nbest)], Cancellation())
    for tokens, scored in zip(TOKENS, scores, strict=True):
        forth, back = one_by_one(FORWARD, tokens), one_by_one(BACKWARD, tokens[::-1])
        assert scored.nll == pytest.approx(-sum(forth) - sum(back), abs=1e-3)
        assert scored.token_scores is not None
        assert [token for token, _ in scored.token_scores] == [*tokens, "<eos>"]
        first = forth[0] + back[-2]  # the token that a backward model reads last before <eos>
        assert scored.token_scores[0][1] == pytest.approx(first, abs=1e-3)


def test_bounds_and_exact_values_of_a_backward_member() -> None:
    ensemble = Ensemble([FORWARD, BACKWARD], "sum", Lanes(1))
    expected = ensemble.log_probabilities(TOKENS, Cancellation())
    models = [member.model for member in (FORWARD, BACKWARD)]
    stand_ins = [Coarse(model.output_weight, model.decoder_bias) for model in models]
    two_pass = TwoPassScorer(ensemble, stand_ins, TOKENS, Cancellation())
    for bounds, values in zip(two_pass.upper_bounds(), expected, strict=True):
        assert (bounds >= values - 1e-5).all()
    for values, exact in zip(expected, two_pass.exact(range(len(TOKENS))), strict=True):
        assert exact.tolist() == values.tolist()


def test_models_of_one_direction_are_averaged() -> None:
    members = [BACKWARD, untrained(3, backward=True)]
    averaged = log_probabilities(members, "average")
    for values, single in zip(averaged, log_probabilities(members), strict=True):
        assert values == pytest.approx(np.log(np.exp(single).mean(0, keepdims=True)))


def test_what_cannot_be_averaged() -> None:
    other = untrained(4, words=("owl",), name="other")
    for members, reason in (
        ([FORWARD, untrained(3), BACKWARD], "backward and forward read in different directions"),
        ([BACKWARD, FORWARD], "forward and backward read in different directions"),
        ([FORWARD, other], "other and forward have different vocabularies"),
        ([FORWARD, classed(FORWARD)], "classed and forward have different vocabularies"),
    ):
        with pytest.raises(RerankError, match=rf"^{reason}, so .* combine them by sum$"):
            Ensemble(members, "average", Lanes(1))
        Ensemble(members, "sum", Lanes(1))
    with pytest.raises(RerankError, match="at least one"):
        Ensemble([], "sum", Lanes(1))


def classed(member: Checkpoint) -> Checkpoint:
    vocabulary = Vocabulary(member.vocabulary.symbols, {"owl": 1})
    return replace(member, name="classed", vocabulary=vocabulary)


def test_equal_vocabularies_become_one() -> None:
    first, second, backward = untrained(1), untrained(2), untrained(2, backward=True)
    assert first.vocabulary is not second.vocabulary
    members = Ensemble([first, second, backward, classed(first)], "sum", Lanes(1)).members
    assert members[0].vocabulary is members[1].vocabulary
    assert len({id(one.vocabulary) for one in members}) == 3
    assert [one.model for one in members[:2]] == [first.model, second.model]


@pytest.mark.parametrize(
    "members, models",
    [([FORWARD], 1), ([FORWARD, SPANS, BACKWARD], 2), ([SPANS], 0), ([FORWARD, FORWARD], 2)],
    ids=["language model", "both kinds", "span model", "average"],
)
def test_perplexity_is_of_the_language_models(members: list[LoadedMember], models: int) -> None:
    combination: Combination = "average" if members == [FORWARD, FORWARD] else "sum"
    (nbest,) = read_nbest(TextInMemory(bllip(CANDIDATES).encode(), "n.txt"))
    scorer = Scorer(Ensemble(members, combination, Lanes(1)), True)
    (scores,) = scorer.score([DistinctCandidates(nbest)], Cancellation())
    for tokens, scored in zip(TOKENS, scores, strict=True):
        forth, back = one_by_one(FORWARD, tokens), one_by_one(BACKWARD, tokens[::-1])
        nll = -sum(forth) - (sum(back) if BACKWARD in members else 0.0)
        read = 2 if BACKWARD in members else 1
        words = sum(token[0] not in "()" for token in tokens)
        assert scored.token_scores is not None
        values = [value for _, value in scored.token_scores]
        if models == 0:
            assert scored.perplexity is scored.token_perplexity is None
            assert scored.span_nll == scored.nll
            assert values == [None] * (len(tokens) + 1)
            continue
        assert scored.perplexity == pytest.approx(math.exp(nll / read / words), rel=1e-3)
        per_token = math.exp(nll / read / (len(tokens) + 1))
        assert scored.token_perplexity == pytest.approx(per_token, rel=1e-3)
        assert (scored.span_nll is None) == (SPANS not in members)
        assert scored.nll == pytest.approx(nll + (scored.span_nll or 0.0), abs=1e-3)
        # A surprisal is never negative: a span model's gain is no token's.
        known = [value for value in values if value is not None]
        assert len(known) == len(values) and max(known) <= 0
        assert sum(known) == pytest.approx(-nll, abs=1e-3)
